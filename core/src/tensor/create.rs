//! How views and storages come and go (`tensor` §§7, 8).

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::abi::{nrt_tensor_mem_type_t, nrt_tensor_storage_t, nrt_tensor_t};
use crate::arch::Arch;
use crate::arena::{Handle, StorageSlot, TENSOR_NAME, TensorSlot};
use crate::dmem::DmemRequest;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::observer::{Operation, Subject, observed};
use crate::status::Status;
use crate::system::System;
use crate::text;
use crate::usage::{Location, Usage};

use super::{Backing, NO_CHANNEL, NO_CORE, Placement, TensorRef, UNNAMED};

/// Added to the reference count of a view whose storage is being exchanged: nobody may take a reference meanwhile.
const EXCHANGING: u64 = 1 << 63;

impl<D: Driver, H: Hooks> System<D, H> {
    /// Allocates a tensor on logical core `vnc`, which the caller has checked to exist; plain host memory may belong to
    /// none. All or nothing.
    ///
    /// # Errors
    /// `NRT_RESOURCE` for pinned host memory on CAYMAN, a full pool or no device memory; `NRT_FAIL_HOST_MEM_ALLOC` when
    /// there is no host memory; `NRT_INVALID` for a size of 0, a name over 255 bytes, or no core where one is needed.
    pub(crate) fn tensor_allocate(
        &self,
        vnc: Option<u32>,
        placement: Placement,
        bytes: u64,
        name: &str,
    ) -> Result<NonNull<TensorSlot>> {
        // Plain host memory is on no device, whichever logical core it belongs to.
        let core = vnc.filter(|_| H::OBSERVED && placement != Placement::Virtual).and_then(|vnc| self.core(vnc, 0).ok());
        let plain = Subject::plain(bytes, Some(Usage::Tensor), name);
        let subject = core.map_or(plain, |core| Subject::on(&core, bytes, Some(Usage::Tensor), name));
        observed(&self.hooks, Operation::TensorAllocate, subject, || self.tensor_allocate_now(vnc, placement, bytes, name))
    }

    fn tensor_allocate_now(&self, vnc: Option<u32>, placement: Placement, bytes: u64, name: &str) -> Result<NonNull<TensorSlot>> {
        if placement == Placement::Host && self.settings.arch == Arch::Cayman {
            return Err(Error::new(Status::Resource, Cause::HostTensor));
        }
        check_name(name)?;
        if bytes == 0 {
            return Err(Error::invalid(Cause::ZeroSize));
        }
        let view = self.tensor_empty(name)?;
        let attached = self.arenas.storages.take().and_then(|storage| {
            match self.tensor_backing(vnc, placement, bytes, name) {
                Ok((backing, channel)) => {
                    let vnc = vnc.map_or(NO_CORE, |vnc| vnc as i32);
                    // SAFETY: the slot was free, and so was the view; both are this thread's.
                    unsafe { self.view_attach(view, storage_write(storage, backing, bytes, channel, true, vnc), 0, bytes) };
                    Ok(())
                }
                Err(error) => {
                    self.arenas.storages.give(storage);
                    Err(error)
                }
            }
        });
        match attached {
            Ok(()) => Ok(view),
            Err(error) => {
                self.arenas.tensors.give(view);
                Err(error)
            }
        }
    }

    /// A view without storage (`tensor` §7.2).
    ///
    /// # Errors
    /// `NRT_RESOURCE` when the pool is full, `NRT_INVALID` for a name over 255 bytes.
    pub(crate) fn tensor_empty(&self, name: &str) -> Result<NonNull<TensorSlot>> {
        check_name(name)?;
        let view = self.arenas.tensors.take()?;
        // SAFETY: the slot was free and is this thread's.
        unsafe {
            let text = &raw mut (*view.as_ptr()).name;
            text::put(&mut *text, if name.is_empty() { UNNAMED } else { name });
            let tensor: *mut nrt_tensor_t = &raw mut (*view.as_ptr()).tensor;
            (*tensor).name = text.cast();
            (*tensor).extra = null_mut();
            self.view_detach(view);
            (*tensor).ref_count.store(1, Release);
        }
        Ok(view)
    }

    fn tensor_backing(&self, vnc: Option<u32>, placement: Placement, bytes: u64, name: &str) -> Result<(Backing, u32)> {
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
        let count = self.settings.vcores;
        let core = self.core(vnc.ok_or(Error::invalid(Cause::VncOutOfRange { vnc: u32::MAX, count }))?, 0)?;
        let channel = self.settings.arch.default_channel(core.core);
        let request = DmemRequest { size: bytes, align: 0, location, channel, usage: Usage::Tensor, hint: name, group: None };
        // SAFETY: the GLOBAL allocator of an owned core is live.
        let node = unsafe { self.dmem_alloc(self.global_allocator(&core), &request)? };
        Ok((Backing::Dmem(node), channel))
    }

    /// Gives a view another storage: `memory` of the caller, or a size without bytes (`tensor` §§7.3, 7.5). The storage it
    /// had is dropped once the new one is there.
    ///
    /// # Errors
    /// `NRT_INVALID` for a size of 0 or while others hold the view; `NRT_RESOURCE` when the pool is full. The view keeps
    /// what it had.
    ///
    /// # Safety
    /// The view is live and the caller's reference its own; `memory` is readable and writable for `bytes` bytes, by nobody
    /// else, for as long as any view of the storage lives.
    pub(crate) unsafe fn tensor_attach(&self, slot: NonNull<TensorSlot>, memory: Option<NonNull<u8>>, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Err(Error::invalid(Cause::ZeroSize));
        }
        let storage = self.arenas.storages.take()?;
        let backing = memory.map_or(Backing::Nothing, Backing::Plain);
        // SAFETY: the slot was free and is this thread's; the view by contract.
        unsafe {
            self.exchange(slot, |view| {
                self.view_attach(view, storage_write(storage, backing, bytes, NO_CHANNEL, false, NO_CORE), 0, bytes);
            })
        }
        .inspect_err(|_| self.arenas.storages.give(storage))
    }

    /// Takes the storage of a view away (`tensor` §8.2).
    ///
    /// # Errors
    /// `NRT_INVALID` while others hold the view.
    ///
    /// # Safety
    /// The view is live and the caller's reference its own.
    pub(crate) unsafe fn tensor_detach(&self, slot: NonNull<TensorSlot>) -> Result<()> {
        // SAFETY: by contract.
        unsafe { self.exchange(slot, |view| self.view_detach(view)) }
    }

    /// Changes the storage of a view that nobody else holds, and drops the one it had.
    ///
    /// # Safety
    /// As [`tensor_detach`](Self::tensor_detach).
    unsafe fn exchange(&self, slot: NonNull<TensorSlot>, change: impl FnOnce(NonNull<TensorSlot>)) -> Result<()> {
        // SAFETY: live by contract; while the count is marked, nobody takes a reference.
        unsafe {
            let tensor = &raw const (*slot.as_ptr()).tensor;
            let count = &(*tensor).ref_count;
            if count.compare_exchange(1, EXCHANGING | 1, Acquire, Relaxed).is_err() {
                return Err(Error::invalid(Cause::TensorInUse));
            }
            let before = NonNull::new((*tensor).sto.load(Relaxed));
            change(slot);
            count.store(1, Release);
            if let Some(before) = before {
                self.storage_free(before);
            }
        }
        Ok(())
    }

    /// Hangs a storage into a view, whose reference to it the view takes over.
    ///
    /// # Safety
    /// Nobody else uses the view.
    pub(super) unsafe fn view_attach(
        &self,
        view: NonNull<TensorSlot>,
        storage: NonNull<nrt_tensor_storage_t>,
        offset: u64,
        bytes: u64,
    ) {
        // SAFETY: by contract.
        unsafe {
            let tensor = &raw const (*view.as_ptr()).tensor;
            (*tensor)._offset.store(offset as usize, Relaxed);
            (*tensor)._size.store(bytes as usize, Relaxed);
            (*tensor).output_completion_count.store(0, Relaxed);
            (*tensor).sto.store(storage.as_ptr(), Release);
        }
    }

    /// Leaves a view without storage.
    ///
    /// # Safety
    /// Nobody else uses the view.
    unsafe fn view_detach(&self, view: NonNull<TensorSlot>) {
        // SAFETY: by contract.
        unsafe {
            let tensor = &raw const (*view.as_ptr()).tensor;
            (*tensor).sto.store(null_mut(), Release);
            (*tensor)._offset.store(0, Relaxed);
            (*tensor)._size.store(0, Relaxed);
            (*tensor).output_completion_count.store(0, Relaxed);
        }
    }

    /// Takes a reference to the view a handle names, however long ago that handle was copied.
    ///
    /// # Errors
    /// `NRT_INVALID_HANDLE` when that life is over; `NRT_INVALID` while its storage is being exchanged.
    pub(crate) fn tensor_acquire(&self, handle: Handle) -> Result<NonNull<TensorSlot>> {
        let stale = Error::new(Status::InvalidHandle, Cause::StaleHandle);
        let slot = self.arenas.tensors.get(handle).ok_or(stale)?;
        // SAFETY: slots are type-stable, so the counter can be looked at whatever the view's state.
        let count = unsafe { &(*slot.as_ptr()).tensor.ref_count };
        let mut now = count.load(Relaxed);
        loop {
            match now {
                0 => return Err(stale),
                _ if now & EXCHANGING != 0 => return Err(Error::invalid(Cause::TensorInUse)),
                _ => {}
            }
            match count.compare_exchange(now, now + 1, Acquire, Relaxed) {
                Ok(_) => break,
                Err(other) => now = other,
            }
        }
        // The slot may have begun another life before the reference was taken; then it is given back.
        if self.arenas.tensors.get(handle).is_none() {
            // SAFETY: the reference taken above.
            unsafe { self.tensor_put(slot) };
            return Err(stale);
        }
        Ok(slot)
    }

    /// Drops a reference to the view; the last one drops the storage (`tensor` §8.2).
    ///
    /// # Safety
    /// The tensor is live and the reference dropped is the caller's.
    pub(crate) unsafe fn tensor_free(&self, slot: NonNull<TensorSlot>) {
        if !H::OBSERVED {
            // SAFETY: by contract.
            return unsafe { self.tensor_put(slot) };
        }
        // The name goes with the view, and what is observed must outlive it.
        let mut name = heapless::String::<TENSOR_NAME>::new();
        // SAFETY: live by contract.
        let tensor = unsafe {
            let _ = name.push_str(self.tensor_name(slot));
            self.tensor_ref(slot)
        };
        let subject = Subject { name: &name, ..self.tensor_subject(&tensor, tensor.bytes) };
        let _ = observed(&self.hooks, Operation::TensorFree, subject, || {
            // SAFETY: by contract.
            unsafe { self.tensor_put(slot) };
            Ok(())
        });
    }

    /// [`tensor_free`](Self::tensor_free) that nobody is told of.
    ///
    /// # Safety
    /// As [`tensor_free`](Self::tensor_free).
    unsafe fn tensor_put(&self, slot: NonNull<TensorSlot>) {
        // SAFETY: by contract.
        unsafe {
            let tensor = &raw const (*slot.as_ptr()).tensor;
            if (*tensor).ref_count.fetch_sub(1, AcqRel) != 1 {
                return;
            }
            let storage = NonNull::new((*tensor).sto.load(Acquire));
            self.view_detach(slot);
            if let Some(storage) = storage {
                self.storage_free(storage);
            }
            self.arenas.tensors.give(slot);
        }
    }

    /// Drops a reference of [`tensor_acquire`](Self::tensor_acquire). Nobody is told: no user gave a tensor up.
    ///
    /// # Safety
    /// The reference is the caller's, and `tensor` names its view.
    pub(crate) unsafe fn tensor_release(&self, tensor: &TensorRef) {
        // SAFETY: by contract.
        unsafe { self.tensor_put(tensor.slot) };
    }

    /// Drops a view whatever its references.
    ///
    /// # Safety
    /// Nobody uses the view.
    pub(crate) unsafe fn tensor_discard(&self, slot: NonNull<TensorSlot>) {
        // SAFETY: by contract.
        unsafe {
            (*slot.as_ptr()).tensor.ref_count.store(1, Relaxed);
            self.tensor_free(slot);
        }
    }

    /// Drops a reference to a storage; the last one releases the memory, if the storage owns it. A buffer of the caller is
    /// left alone; the slot is given back either way (errata 34).
    ///
    /// # Safety
    /// The reference dropped is the caller's.
    pub(super) unsafe fn storage_free(&self, storage: NonNull<nrt_tensor_storage_t>) {
        // SAFETY: by contract; the storage is the first member of its slot.
        unsafe {
            let raw = storage.as_ptr();
            if (*raw).ref_count.fetch_sub(1, AcqRel) != 1 {
                return;
            }
            match self.backing(storage) {
                Some(Backing::Dmem(node)) if (*raw).mem_owned_by_tensor => {
                    self.dmem_free(node);
                }
                Some(Backing::Plain(memory)) if (*raw).mem_owned_by_tensor => {
                    self.hooks.host_unmap(memory, (*raw).allocated_size);
                }
                _ => {}
            }
            (*raw).r#type = nrt_tensor_mem_type_t::INVALID;
            self.arenas.storages.give(storage.cast::<StorageSlot>());
        }
    }
}

fn check_name(name: &str) -> Result<()> {
    if name.len() >= TENSOR_NAME {
        return Err(Error::invalid(Cause::NameTooLong { length: name.len(), limit: TENSOR_NAME - 1 }));
    }
    Ok(())
}

/// Writes a storage with one reference.
///
/// # Safety
/// The slot is this thread's alone.
unsafe fn storage_write(
    slot: NonNull<StorageSlot>,
    backing: Backing,
    bytes: u64,
    channel: u32,
    owned: bool,
    vnc: i32,
) -> NonNull<nrt_tensor_storage_t> {
    // SAFETY: exclusive by contract.
    unsafe {
        let raw: *mut nrt_tensor_storage_t = &raw mut (*slot.as_ptr()).storage;
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
            Backing::Nothing => {
                (*raw).r#type = nrt_tensor_mem_type_t::FAKE;
                (*raw).mem.vmem = null_mut();
            }
        }
        (*raw).ref_count.store(1, Relaxed);
        (*raw).mem_owned_by_tensor = owned;
        (*raw).tensor_op_cv_lock.word.store(0, Relaxed);
        (*raw).tensor_op_cv.sequence.store(0, Relaxed);
        (*raw).pending_exec_count_read.store(0, Relaxed);
        (*raw).pending_exec_count_write.store(0, Relaxed);
        (*raw).vtpb_idx = vnc;
        slot.cast()
    }
}
