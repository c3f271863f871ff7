//! Copies between two tensors (`tensor` §9.4).

use core::ptr::NonNull;

use crate::abi::{dmem_t, nrt_tensor_storage_t};
use crate::dmem::in_host_memory;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::system::System;

use super::{Access, Backing, Span, TensorRef};

impl<D: Driver, H: Hooks> System<D, H> {
    /// [`tensor_copy`](Self::tensor_copy) after writes to the source and accesses to the target that are under way.
    ///
    /// # Errors
    /// As [`tensor_copy`](Self::tensor_copy); `NRT_INVALID` when an executor would wait for itself.
    pub(crate) fn tensor_copy_fenced(
        &self,
        src: &TensorRef,
        src_offset: u64,
        dst: &TensorRef,
        dst_offset: u64,
        size: u64,
    ) -> Result<()> {
        let (from, to) = (self.tensor_span(src, src_offset, size)?, self.tensor_span(dst, dst_offset, size)?);
        self.fence_wait(src, Access::Read)?;
        self.fence_wait(dst, Access::Write)?;
        self.copy_spans(&from, &to, size)
    }

    /// Copies between two tensors: device to device on one HBM, or with a plain host side. A side without bytes takes and
    /// gives nothing to a plain one, and cannot be the partner of device memory.
    ///
    /// # Errors
    /// `NRT_INVALID` when a span is empty or does not fit, a tensor has no storage, two device tensors lie on different HBM
    /// channels or devices (errata 34), or one side has no bytes and the other is device memory; `NRT_FAILURE` when the driver
    /// fails.
    pub(crate) fn tensor_copy(
        &self,
        src: &TensorRef,
        src_offset: u64,
        dst: &TensorRef,
        dst_offset: u64,
        size: u64,
    ) -> Result<()> {
        let (from, to) = (self.tensor_span(src, src_offset, size)?, self.tensor_span(dst, dst_offset, size)?);
        self.copy_spans(&from, &to, size)
    }

    fn copy_spans(&self, src: &Span, dst: &Span, size: u64) -> Result<()> {
        match (src.backing, dst.backing) {
            (Backing::Dmem(from), Backing::Dmem(to)) => {
                // SAFETY: live storages; the tensors hold references to the nodes.
                unsafe {
                    let (channel, other) = ((*src.storage.as_ptr()).hbm_idx, (*dst.storage.as_ptr()).hbm_idx);
                    if channel != other {
                        return Err(Error::invalid(Cause::DifferentHbm { source: channel, target: other }));
                    }
                    self.dmem_copy(from, src.start, to, dst.start, size)
                }
            }
            (Backing::Plain(from), Backing::Dmem(to)) => {
                // SAFETY: the span lies inside the backing.
                let from = unsafe { from.add(src.start as usize) };
                // SAFETY: the tensor holds a reference to the node.
                unsafe { self.plain_to_dmem(src.storage, from, to, dst.start, size) }
            }
            (Backing::Dmem(from), Backing::Plain(to)) => {
                // SAFETY: as above.
                unsafe { self.dmem_to_plain(from, src.start, dst.storage, to.add(dst.start as usize), size) }
            }
            (Backing::Plain(from), Backing::Plain(to)) => {
                // Both locks in order of address, one lock when the storage is the same.
                let (first, second) = (src.storage.min(dst.storage), src.storage.max(dst.storage));
                self.with_plain(first, || {
                    // SAFETY: both spans lie inside their backings, which the locks make this thread's; they may overlap.
                    let copy = || unsafe { from.add(src.start as usize).copy_to(to.add(dst.start as usize), size as usize) };
                    if first == second { copy() } else { self.with_plain(second, copy) }
                });
                Ok(())
            }
            (Backing::Nothing, Backing::Plain(_)) | (Backing::Plain(_), Backing::Nothing) => Ok(()),
            (Backing::Nothing, _) | (_, Backing::Nothing) => Err(Error::invalid(Cause::NoBytes)),
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
                return self.with_plain(storage, || {
                    let bytes = core::slice::from_raw_parts(from.as_ptr(), size as usize);
                    self.dmem_copy_in(to, offset, bytes)
                });
            }
            self.dmem_copy_in_from(to, offset, size, &mut |chunk, at| {
                self.with_plain(storage, || {
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
                return self.with_plain(storage, || {
                    let bytes = core::slice::from_raw_parts_mut(to.as_ptr(), size as usize);
                    self.dmem_copy_out(from, offset, bytes)
                });
            }
            self.dmem_copy_out_to(from, offset, size, &mut |chunk, at| {
                self.with_plain(storage, || {
                    to.add(at as usize).copy_from(NonNull::from(chunk).cast(), chunk.len());
                });
            })
        }
    }
}
