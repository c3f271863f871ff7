//! Tensors: a view and its backing (fact sheet `tensor`).
//!
//! Device and pinned host tensors come from the GLOBAL heap of the first core of their logical core, on its default HBM
//! channel, and so outlive models. Plain host tensors are host memory of the platform.

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

use crate::abi::{dmem_t, nrt_tensor_mem_type_t, nrt_tensor_storage_t, nrt_tensor_t};
use crate::arch::Arch;
use crate::arena::{StorageSlot, TENSOR_NAME, TensorSlot};
use crate::dmem::{DmemRequest, in_host_memory, within};
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::status::Status;
use crate::sync;
use crate::system::System;
use crate::text;
use crate::usage::{Location, Usage};

/// Where a tensor lives (`nrt_tensor_placement_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Placement {
    /// HBM.
    Device = 0,
    /// Pinned host memory; refused on CAYMAN.
    Host = 1,
    /// Plain host memory.
    Virtual = 2,
}

/// Channel of a tensor that is not in device memory.
const NO_CHANNEL: u32 = u32::MAX;
const UNNAMED: &str = "unnamed";

/// A live tensor of a caller who keeps it alive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorRef {
    slot: NonNull<TensorSlot>,
    pub(crate) bytes: u64,
    pub(crate) vnc: i32,
}

/// What backs a tensor.
enum Backing {
    Dmem(NonNull<dmem_t>),
    Plain(NonNull<u8>),
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Allocates a tensor on logical core `vnc`, which the caller has checked to exist. All or nothing.
    ///
    /// # Errors
    /// `NRT_RESOURCE` for pinned host memory on CAYMAN, a full pool or no device memory; `NRT_FAIL_HOST_MEM_ALLOC` when
    /// there is no host memory; `NRT_INVALID` for a size of 0 or a name over 255 bytes.
    pub(crate) fn tensor_allocate(&self, vnc: u32, placement: Placement, bytes: u64, name: &str) -> Result<NonNull<TensorSlot>> {
        if placement == Placement::Host && self.settings.arch == Arch::Cayman {
            return Err(Error::new(Status::Resource, Cause::HostTensor));
        }
        if name.len() >= TENSOR_NAME {
            return Err(Error::invalid(Cause::NameTooLong { length: name.len(), limit: TENSOR_NAME - 1 }));
        }
        if bytes == 0 {
            return Err(Error::invalid(Cause::ZeroSize));
        }
        let name = if name.is_empty() { UNNAMED } else { name };
        let view = self.arenas.tensors.take()?;
        let storage = match self.arenas.storages.take() {
            Ok(storage) => storage,
            Err(error) => {
                self.arenas.tensors.give(view);
                return Err(error);
            }
        };
        match self.tensor_backing(vnc, placement, bytes, name) {
            Ok((backing, channel)) => {
                // SAFETY: both slots were free and are this thread's.
                unsafe {
                    let raw: *mut nrt_tensor_storage_t = &raw mut (*storage.as_ptr()).storage;
                    (*raw).hbm_idx = channel;
                    (*raw).allocated_size = bytes as usize;
                    match backing {
                        Backing::Dmem(node) => {
                            (*raw).r#type = nrt_tensor_mem_type_t::DMA;
                            (*raw).mem.dmem = node.as_ptr();
                        }
                        Backing::Plain(memory) => {
                            (*raw).r#type = nrt_tensor_mem_type_t::MALLOC;
                            (*raw).mem.vmem = memory.as_ptr();
                        }
                    }
                    (*raw).ref_count.store(1, Relaxed);
                    (*raw).mem_owned_by_tensor = true;
                    (*raw).tensor_op_cv_lock.word.store(0, Relaxed);
                    (*raw).tensor_op_cv.sequence.store(0, Relaxed);
                    (*raw).pending_exec_count_read.store(0, Relaxed);
                    (*raw).pending_exec_count_write.store(0, Relaxed);
                    (*raw).vtpb_idx = vnc as i32;
                    let text = &raw mut (*view.as_ptr()).name;
                    text::put(&mut *text, name);
                    let tensor: *mut nrt_tensor_t = &raw mut (*view.as_ptr()).tensor;
                    (*tensor).name = text.cast();
                    (*tensor).extra = null_mut();
                    (*tensor)._offset.store(0, Relaxed);
                    (*tensor)._size.store(bytes as usize, Relaxed);
                    (*tensor).output_completion_count.store(0, Relaxed);
                    (*tensor).ref_count.store(1, Relaxed);
                    (*tensor).sto.store(raw, Release);
                }
                Ok(view)
            }
            Err(error) => {
                self.arenas.storages.give(storage);
                self.arenas.tensors.give(view);
                Err(error)
            }
        }
    }

    fn tensor_backing(&self, vnc: u32, placement: Placement, bytes: u64, name: &str) -> Result<(Backing, u32)> {
        let no_host = Error::new(Status::FailHostMemAlloc, Cause::HostMemory { size: bytes });
        let location = match placement {
            Placement::Device => Location::Device,
            Placement::Host => Location::Host,
            Placement::Virtual => {
                let size = usize::try_from(bytes).ok().filter(|size| *size <= isize::MAX as usize);
                let memory = size.and_then(|size| self.hooks.host_map(size)).ok_or(no_host)?;
                return Ok((Backing::Plain(memory), NO_CHANNEL));
            }
        };
        let core = self.core(vnc, 0)?;
        let channel = self.settings.arch.default_channel(core.core);
        let request = DmemRequest { size: bytes, align: 0, location, channel, usage: Usage::Tensor, hint: name, group: None };
        // SAFETY: the GLOBAL allocator of an owned core is live.
        let node = unsafe { self.dmem_alloc(self.global_allocator(&core), &request)? };
        Ok((Backing::Dmem(node), channel))
    }

    /// The reference a caller with a live handle works with.
    ///
    /// # Safety
    /// The tensor stays alive while the result is used.
    pub(crate) unsafe fn tensor_ref(&self, slot: NonNull<TensorSlot>) -> TensorRef {
        // SAFETY: live by contract.
        unsafe {
            let tensor = &raw const (*slot.as_ptr()).tensor;
            let storage = (*tensor).sto.load(Relaxed);
            TensorRef { slot, bytes: (*tensor)._size.load(Relaxed) as u64, vnc: (*storage).vtpb_idx }
        }
    }

    /// Name of a live tensor.
    ///
    /// # Safety
    /// The tensor stays alive while the name is used.
    pub(crate) unsafe fn tensor_name<'a>(&self, slot: NonNull<TensorSlot>) -> &'a str {
        // SAFETY: written before publication.
        text::from_nul_terminated(unsafe { &(*slot.as_ptr()).name })
    }

    /// Drops the view; the last view drops the backing (`tensor` §8.2).
    ///
    /// # Safety
    /// The tensor is live and the reference dropped is the caller's.
    pub(crate) unsafe fn tensor_free(&self, slot: NonNull<TensorSlot>) {
        // SAFETY: by contract.
        unsafe {
            let tensor = &raw const (*slot.as_ptr()).tensor;
            if (*tensor).ref_count.fetch_sub(1, AcqRel) != 1 {
                return;
            }
            let storage = (*tensor).sto.swap(null_mut(), AcqRel);
            (*tensor)._size.store(0, Relaxed);
            if let Some(storage) = NonNull::new(storage) {
                self.storage_free(storage);
            }
            self.arenas.tensors.give(slot);
        }
    }

    /// # Safety
    /// The reference dropped is the caller's.
    unsafe fn storage_free(&self, storage: NonNull<nrt_tensor_storage_t>) {
        // SAFETY: by contract; the storage is the first member of its slot.
        unsafe {
            let raw = storage.as_ptr();
            if (*raw).ref_count.fetch_sub(1, AcqRel) != 1 {
                return;
            }
            match self.backing(raw) {
                Some(Backing::Dmem(node)) => {
                    self.dmem_free(node);
                }
                Some(Backing::Plain(memory)) => self.hooks.host_unmap(memory, (*raw).allocated_size),
                None => {}
            }
            (*raw).r#type = nrt_tensor_mem_type_t::INVALID;
            self.arenas.storages.give(storage.cast::<StorageSlot>());
        }
    }

    /// # Safety
    /// `storage` is live.
    unsafe fn backing(&self, storage: *const nrt_tensor_storage_t) -> Option<Backing> {
        // SAFETY: the type says which arm is valid.
        unsafe {
            match (*storage).r#type {
                nrt_tensor_mem_type_t::DMA => NonNull::new((*storage).mem.dmem).map(Backing::Dmem),
                nrt_tensor_mem_type_t::MALLOC => NonNull::new((*storage).mem.vmem).map(Backing::Plain),
                _ => None,
            }
        }
    }

    /// Checks a span of a tensor and gives its storage, what backs it, and the offset in the backing.
    fn tensor_span(&self, tensor: &TensorRef, offset: u64, size: u64) -> Result<(NonNull<nrt_tensor_storage_t>, Backing, u64)> {
        within(offset, size, tensor.bytes)?;
        let stale = Error::new(Status::InvalidHandle, Cause::StaleHandle);
        // SAFETY: a `TensorRef` names a live tensor.
        unsafe {
            let raw = &raw const (*tensor.slot.as_ptr()).tensor;
            let storage = NonNull::new((*raw).sto.load(Relaxed)).ok_or(stale)?;
            let start = (*raw)._offset.load(Relaxed) as u64 + offset;
            within(start, size, (*storage.as_ptr()).allocated_size as u64)?;
            Ok((storage, self.backing(storage.as_ptr()).ok_or(stale)?, start))
        }
    }

    /// Writes to a tensor.
    ///
    /// # Errors
    /// `NRT_INVALID` when the span is empty or does not lie inside it; `NRT_FAILURE` when the driver fails.
    pub(crate) fn tensor_write(&self, tensor: &TensorRef, offset: u64, bytes: &[u8]) -> Result<()> {
        let (storage, backing, start) = self.tensor_span(tensor, offset, bytes.len() as u64)?;
        match backing {
            // SAFETY: the tensor holds a reference to the node.
            Backing::Dmem(node) => unsafe { self.dmem_copy_in(node, start, bytes) },
            Backing::Plain(memory) => {
                self.with_plain(storage, |()| {
                    // SAFETY: the span lies inside the backing, which the lock makes this thread's; `bytes` is the
                    // caller's own.
                    unsafe { memory.add(start as usize).copy_from(NonNull::from(bytes).cast(), bytes.len()) };
                });
                Ok(())
            }
        }
    }

    /// Reads from a tensor.
    ///
    /// # Errors
    /// As [`tensor_write`](Self::tensor_write).
    pub(crate) fn tensor_read(&self, tensor: &TensorRef, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let (storage, backing, start) = self.tensor_span(tensor, offset, bytes.len() as u64)?;
        match backing {
            // SAFETY: the tensor holds a reference to the node.
            Backing::Dmem(node) => unsafe { self.dmem_copy_out(node, start, bytes) },
            Backing::Plain(memory) => {
                self.with_plain(storage, |()| {
                    // SAFETY: as in `tensor_write`.
                    unsafe { memory.add(start as usize).copy_to(NonNull::from(&mut *bytes).cast(), bytes.len()) };
                });
                Ok(())
            }
        }
    }

    /// Copies between two tensors (`tensor` §9.4): device to device on one HBM, or with a plain host side.
    ///
    /// # Errors
    /// `NRT_INVALID` when a span does not fit or two device tensors lie on different HBM channels.
    pub(crate) fn tensor_copy(
        &self,
        src: &TensorRef,
        src_offset: u64,
        dst: &TensorRef,
        dst_offset: u64,
        size: u64,
    ) -> Result<()> {
        let (from_storage, from, from_start) = self.tensor_span(src, src_offset, size)?;
        let (to_storage, to, to_start) = self.tensor_span(dst, dst_offset, size)?;
        match (from, to) {
            (Backing::Dmem(from), Backing::Dmem(to)) => {
                // SAFETY: live storages; the tensors hold references to the nodes.
                unsafe {
                    let (channel, other) = ((*from_storage.as_ptr()).hbm_idx, (*to_storage.as_ptr()).hbm_idx);
                    if channel != other {
                        return Err(Error::invalid(Cause::DifferentHbm { source: channel, target: other }));
                    }
                    self.dmem_copy(from, from_start, to, to_start, size)
                }
            }
            (Backing::Plain(from), Backing::Dmem(to)) => {
                // SAFETY: the span lies inside the backing.
                let from = unsafe { from.add(from_start as usize) };
                // SAFETY: the tensor holds a reference to the node.
                unsafe { self.plain_to_dmem(from_storage, from, to, to_start, size) }
            }
            (Backing::Dmem(from), Backing::Plain(to)) => {
                // SAFETY: as above.
                unsafe { self.dmem_to_plain(from, from_start, to_storage, to.add(to_start as usize), size) }
            }
            (Backing::Plain(from), Backing::Plain(to)) => {
                // Both locks in order of address, one lock when the storage is the same.
                let (first, second) = (from_storage.min(to_storage), from_storage.max(to_storage));
                self.with_plain(first, |()| {
                    // SAFETY: both spans lie inside their backings, which the locks make this thread's; they may overlap.
                    let copy = || unsafe { from.add(from_start as usize).copy_to(to.add(to_start as usize), size as usize) };
                    if first == second { copy() } else { self.with_plain(second, |()| copy()) }
                });
                Ok(())
            }
        }
    }

    /// A copy buffer's lock comes first, the plain tensor's inside it, in both directions: the source of a model's bytes may
    /// read a plain tensor while the model's copy buffer is held. Pinned host memory needs no copy buffer.
    ///
    /// # Safety
    /// `size` bytes at `from` lie in the backing of `storage`; the caller holds a reference to `to`.
    unsafe fn plain_to_dmem(
        &self,
        storage: NonNull<nrt_tensor_storage_t>,
        from: NonNull<u8>,
        to: NonNull<dmem_t>,
        offset: u64,
        size: u64,
    ) -> Result<()> {
        // SAFETY: by contract; the lock makes the bytes this thread's.
        unsafe {
            if in_host_memory(to) {
                return self.with_plain(storage, |()| {
                    let bytes = core::slice::from_raw_parts(from.as_ptr(), size as usize);
                    self.dmem_copy_in(to, offset, bytes)
                });
            }
            self.dmem_copy_in_from(to, offset, size, &mut |chunk, at| {
                self.with_plain(storage, |()| {
                    from.add(at as usize).copy_to(NonNull::from(&mut *chunk).cast(), chunk.len());
                });
                Ok(())
            })
        }
    }

    /// As [`plain_to_dmem`](Self::plain_to_dmem), the other way.
    ///
    /// # Safety
    /// `size` bytes at `to` lie in the backing of `storage`; the caller holds a reference to `from`.
    unsafe fn dmem_to_plain(
        &self,
        from: NonNull<dmem_t>,
        offset: u64,
        storage: NonNull<nrt_tensor_storage_t>,
        to: NonNull<u8>,
        size: u64,
    ) -> Result<()> {
        // SAFETY: by contract; the lock makes the bytes this thread's.
        unsafe {
            if in_host_memory(from) {
                return self.with_plain(storage, |()| {
                    let bytes = core::slice::from_raw_parts_mut(to.as_ptr(), size as usize);
                    self.dmem_copy_out(from, offset, bytes)
                });
            }
            self.dmem_copy_out_to(from, offset, size, &mut |chunk, at| {
                self.with_plain(storage, |()| {
                    to.add(at as usize).copy_from(NonNull::from(chunk).cast(), chunk.len());
                });
            })
        }
    }

    /// Runs `work` while the storage's lock makes its plain bytes this thread's.
    fn with_plain<T>(&self, storage: NonNull<nrt_tensor_storage_t>, work: impl FnOnce(()) -> T) -> T {
        // SAFETY: a live storage; the reference covers the lock alone.
        let _held = sync::lock(unsafe { &(*storage.as_ptr()).tensor_op_cv_lock }, &self.hooks);
        work(())
    }

    /// Counts one more completed output.
    pub(crate) fn tensor_completed(&self, tensor: &TensorRef) {
        // SAFETY: a `TensorRef` names a live tensor.
        unsafe { (*tensor.slot.as_ptr()).tensor.output_completion_count.fetch_add(1, Release) };
    }
}
