//! Bytes in and out of one tensor, and where it is (`tensor` §§9.2, 9.5).

use core::ptr::NonNull;

use crate::abi::nrt_tensor_device_allocation_info_t;
use crate::dmem::in_host_memory;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::observer::Operation;
use crate::system::System;

use super::{Access, Backing, TensorRef};

impl<D: Driver, H: Hooks> System<D, H> {
    /// Writes to a tensor, after accesses to its storage that are under way.
    ///
    /// # Errors
    /// `NRT_INVALID` when the span is empty or does not lie inside it, or it has no storage; `NRT_FAILURE` when the driver
    /// fails.
    pub(crate) fn tensor_write(&self, tensor: &TensorRef, offset: u64, bytes: &[u8]) -> Result<()> {
        let size = bytes.len() as u64;
        self.tensor_observed(Operation::TensorWrite, tensor, size, || self.tensor_write_now(tensor, offset, bytes))
    }

    fn tensor_write_now(&self, tensor: &TensorRef, offset: u64, bytes: &[u8]) -> Result<()> {
        let span = self.tensor_span(tensor, offset, bytes.len() as u64)?;
        self.fence_wait(tensor, Access::Write)?;
        match span.backing {
            // SAFETY: the tensor holds a reference to the node.
            Backing::Dmem(node) => unsafe { self.dmem_copy_in(node, span.start, bytes) },
            Backing::Plain(memory) => {
                self.with_plain(span.storage, || {
                    // SAFETY: the span lies inside the backing, which the lock makes this thread's; `bytes` is the
                    // caller's own.
                    unsafe { memory.add(span.start as usize).copy_from(NonNull::from(bytes).cast(), bytes.len()) };
                });
                Ok(())
            }
            Backing::Nothing => Ok(()),
        }
    }

    /// Reads from a tensor, after writes to its storage that are under way.
    ///
    /// # Errors
    /// As [`tensor_write`](Self::tensor_write).
    pub(crate) fn tensor_read(&self, tensor: &TensorRef, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let size = bytes.len() as u64;
        self.tensor_observed(Operation::TensorRead, tensor, size, || self.tensor_read_now(tensor, offset, bytes))
    }

    fn tensor_read_now(&self, tensor: &TensorRef, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let span = self.tensor_span(tensor, offset, bytes.len() as u64)?;
        self.fence_wait(tensor, Access::Read)?;
        match span.backing {
            // SAFETY: the tensor holds a reference to the node.
            Backing::Dmem(node) => unsafe { self.dmem_copy_out(node, span.start, bytes) },
            Backing::Plain(memory) => {
                self.with_plain(span.storage, || {
                    // SAFETY: as in `tensor_write`.
                    unsafe { memory.add(span.start as usize).copy_to(NonNull::from(&mut *bytes).cast(), bytes.len()) };
                });
                Ok(())
            }
            Backing::Nothing => Ok(()),
        }
    }

    /// Sets bytes of a tensor to `value`, after accesses to its storage that are under way (errata 25).
    ///
    /// # Errors
    /// As [`tensor_write`](Self::tensor_write).
    pub(crate) fn tensor_fill(&self, tensor: &TensorRef, offset: u64, value: u8, size: u64) -> Result<()> {
        let span = self.tensor_span(tensor, offset, size)?;
        self.fence_wait(tensor, Access::Write)?;
        match span.backing {
            // SAFETY: the tensor holds a reference to the node.
            Backing::Dmem(node) => unsafe { self.dmem_fill(node, span.start, value, size) },
            Backing::Plain(memory) => {
                self.with_plain(span.storage, || {
                    // SAFETY: as in `tensor_write`; the span fits the backing, whose size fits `usize`.
                    unsafe { memory.add(span.start as usize).write_bytes(value, size as usize) };
                });
                Ok(())
            }
            Backing::Nothing => Ok(()),
        }
    }

    /// Address of the tensor's first byte in this process; device memory is mapped on first use.
    ///
    /// # Errors
    /// `NRT_INVALID` when there are no bytes, `NRT_FAILURE` when the driver refuses to map.
    pub(crate) fn tensor_va(&self, tensor: &TensorRef) -> Result<NonNull<u8>> {
        // SAFETY: the tensor keeps storage and node; its offset lies inside the backing.
        unsafe {
            match self.backing(tensor.storage()?).ok_or(Error::invalid(Cause::NoStorage))? {
                Backing::Dmem(node) => Ok(self.dmem_va(node)?.add(tensor.offset as usize)),
                Backing::Plain(memory) => Ok(memory.add(tensor.offset as usize)),
                Backing::Nothing => Err(Error::invalid(Cause::NoBytes)),
            }
        }
    }

    /// Device address of the tensor's first byte.
    ///
    /// # Errors
    /// `NRT_INVALID` when it is not memory the driver knows.
    pub(crate) fn tensor_pa(&self, tensor: &TensorRef) -> Result<u64> {
        // SAFETY: the tensor keeps storage and node.
        unsafe {
            match self.backing(tensor.storage()?) {
                Some(Backing::Dmem(node)) => Ok(self.dmem_address(node, tensor.offset)),
                _ => Err(Error::invalid(Cause::NotDeviceMemory)),
            }
        }
    }

    /// The device allocation behind a tensor: address and size of the whole allocation, of which a slice is a part.
    ///
    /// # Errors
    /// `NRT_INVALID` when it is not in device memory.
    pub(crate) fn tensor_allocation(&self, tensor: &TensorRef) -> Result<nrt_tensor_device_allocation_info_t> {
        let storage = tensor.storage()?;
        // SAFETY: the tensor keeps storage and node.
        unsafe {
            match self.backing(storage) {
                Some(Backing::Dmem(node)) if !in_host_memory(node) => Ok(nrt_tensor_device_allocation_info_t {
                    physical_address: self.dmem_address(node, 0),
                    size: (*storage.as_ptr()).allocated_size,
                    hbm_index: (*node.as_ptr()).tdram_channel as i32,
                    pad_14: [0; 4],
                }),
                _ => Err(Error::invalid(Cause::NotDeviceMemory)),
            }
        }
    }
}
