//! Tensors as an application holds them.

use core::ptr::NonNull;

use crate::abi::nrt_tensor_device_allocation_info_t;
use crate::arena::{Handle, TensorSlot};
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::status::Status;
use crate::tensor::{self, Access, Fence, Placement, ReadPiece, TensorRef, WritePiece};

use super::Runtime;
use super::logical_core::live;

/// A tensor: a view of storage that slices share. Dropping it gives the view back, and the storage with its last view.
pub struct Tensor<'r, D: Driver, H: Hooks> {
    pub(super) runtime: &'r Runtime<D, H>,
    pub(super) handle: Handle,
    bytes: u64,
}

impl<'r, D: Driver, H: Hooks> Tensor<'r, D, H> {
    /// The handle of a view whose reference it takes over.
    pub(super) fn new(runtime: &'r Runtime<D, H>, slot: NonNull<TensorSlot>) -> Self {
        // SAFETY: the view is live, and the reference is the handle's from now on.
        let bytes = unsafe { runtime.system.tensor_ref(slot) }.bytes;
        Self { runtime, handle: runtime.system.arenas.tensors.handle(slot), bytes }
    }

    pub(super) fn slot(&self) -> Result<NonNull<TensorSlot>> {
        live(self.runtime.system.arenas.tensors.get(self.handle))
    }

    /// The reference the runtime works with; the tensor must belong to `runtime`.
    pub(super) fn reference(&self, runtime: &Runtime<D, H>) -> Result<TensorRef> {
        if !core::ptr::eq(self.runtime, runtime) {
            return Err(Error::new(Status::InvalidHandle, Cause::StaleHandle));
        }
        let slot = self.slot()?;
        // SAFETY: the handle keeps the view alive; only a call with the handle exclusively borrowed, and no other reference
        // to the view, exchanges its storage.
        Ok(unsafe { self.runtime.system.tensor_ref(slot) })
    }

    fn with<T>(&self, work: impl FnOnce(&TensorRef) -> Result<T>) -> Result<T> {
        let _inside = self.runtime.enter()?;
        work(&self.reference(self.runtime)?)
    }

    /// Bytes of the tensor, 0 for one without storage; asks no state, as documented.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Calls `work` with the name.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    pub fn with_name<T>(&self, work: impl FnOnce(&str) -> T) -> Result<T> {
        let _inside = self.runtime.enter()?;
        let slot = self.slot()?;
        // SAFETY: the handle keeps the tensor alive.
        let name = unsafe { self.runtime.system.tensor_name(slot) };
        Ok(self.runtime.calling(None, || work(name)))
    }

    /// Writes `bytes` at `offset`, after executions that use the storage.
    ///
    /// # Errors
    /// `NRT_INVALID` when the span is empty or outside, the tensor has no storage, or an executor would wait for itself;
    /// `NRT_FAILURE` when the driver fails, `NRT_CLOSED` after close.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.with(|tensor| self.runtime.system.tensor_write(tensor, offset, bytes))
    }

    /// Reads from `offset` into `bytes`, after executions that write the storage. A tensor of a size without bytes leaves
    /// the buffer as it is.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.with(|tensor| self.runtime.system.tensor_read(tensor, offset, bytes))
    }

    /// Sets `size` bytes at `offset` to `value`, after executions that use the storage.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn fill(&self, offset: u64, value: u8, size: u64) -> Result<()> {
        self.with(|tensor| self.runtime.system.tensor_fill(tensor, offset, value, size))
    }

    /// Copies from this tensor to another one, after executions that are in the way.
    ///
    /// # Errors
    /// `NRT_INVALID` when a span is empty or does not fit, a tensor has no storage, two device tensors lie on different HBM
    /// channels or devices, one side has no bytes and the other is known to the driver, or an executor would wait for itself;
    /// `NRT_INVALID_HANDLE` for a target of another runtime; `NRT_FAILURE` when the driver fails; `NRT_CLOSED` after close.
    pub fn copy_to(&self, offset: u64, target: &Self, target_offset: u64, bytes: u64) -> Result<()> {
        self.with(|tensor| {
            self.runtime.system.tensor_copy_fenced(tensor, offset, &target.reference(self.runtime)?, target_offset, bytes)
        })
    }

    /// A view of `bytes` bytes from `offset` on. It shares the storage and keeps it when this tensor is dropped.
    ///
    /// # Errors
    /// `NRT_INVALID` when the span is empty or outside, the name is longer than 255 bytes, or there is no storage;
    /// `NRT_RESOURCE` when the pool is full; `NRT_CLOSED` after close.
    pub fn slice(&self, offset: u64, bytes: u64, name: &str) -> Result<Self> {
        self.with(|tensor| {
            let slot = self.runtime.system.tensor_slice(tensor, offset, bytes, name)?;
            Ok(Self::new(self.runtime, slot))
        })
    }

    /// Lets the tensor stand for `memory` of the caller, as a plain host tensor of no logical core. What it had is dropped.
    ///
    /// # Errors
    /// `NRT_INVALID` for a size of 0, or while others hold the view; `NRT_RESOURCE` when the pool is full; `NRT_CLOSED`
    /// after close. The tensor keeps what it had.
    ///
    /// # Safety
    /// `memory` is readable and writable for `bytes` bytes, and nobody else uses it, for as long as this tensor has it or any
    /// slice of it lives.
    pub unsafe fn attach(&mut self, memory: NonNull<u8>, bytes: u64) -> Result<()> {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.exchange(Some(memory), bytes) }
    }

    /// Gives the tensor a size without bytes: reads, writes and fills succeed and move nothing, and there is no address.
    ///
    /// # Errors
    /// As [`attach`](Self::attach).
    pub fn attach_size_only(&mut self, bytes: u64) -> Result<()> {
        // SAFETY: without memory there is nothing to promise.
        unsafe { self.exchange(None, bytes) }
    }

    /// # Safety
    /// As [`attach`](Self::attach), if there is memory.
    unsafe fn exchange(&mut self, memory: Option<NonNull<u8>>, bytes: u64) -> Result<()> {
        let _inside = self.runtime.enter()?;
        // SAFETY: the handle keeps the view alive and is exclusively borrowed; the memory by contract.
        unsafe { self.runtime.system.tensor_attach(self.slot()?, memory, bytes)? };
        self.bytes = bytes;
        Ok(())
    }

    /// Takes the storage away; memory the tensor allocated goes, unless a slice still has it.
    ///
    /// # Errors
    /// `NRT_INVALID` while others hold the view, `NRT_CLOSED` after close.
    pub fn detach(&mut self) -> Result<()> {
        let _inside = self.runtime.enter()?;
        // SAFETY: the handle keeps the view alive and is exclusively borrowed.
        unsafe { self.runtime.system.tensor_detach(self.slot()?)? };
        self.bytes = 0;
        Ok(())
    }

    /// Address of the first byte in this process; device memory is mapped on first use. Valid as long as the storage.
    ///
    /// # Errors
    /// `NRT_INVALID` when there are no bytes, `NRT_FAILURE` when the driver refuses to map, `NRT_CLOSED` after close.
    pub fn map(&self) -> Result<NonNull<u8>> {
        self.with(|tensor| self.runtime.system.tensor_va(tensor))
    }

    /// Device address of the first byte, of device and pinned host memory.
    ///
    /// # Errors
    /// `NRT_INVALID` for other tensors, `NRT_CLOSED` after close.
    pub fn address(&self) -> Result<u64> {
        self.with(|tensor| self.runtime.system.tensor_pa(tensor))
    }

    /// The device allocation behind the tensor: where it starts and how large it is as a whole, on which HBM. A slice has that
    /// of its source.
    ///
    /// # Errors
    /// `NRT_INVALID` when the tensor is not in device memory, `NRT_CLOSED` after close.
    pub fn device_allocation(&self) -> Result<nrt_tensor_device_allocation_info_t> {
        self.with(|tensor| self.runtime.system.tensor_allocation(tensor))
    }

    /// Marks an access of somebody outside the runtime: reads and writes wait for it until the mark is dropped.
    /// A thread that writes to the tensor while it holds a mark itself, or reads it while it holds one for writing, waits for ever.
    ///
    /// # Errors
    /// `NRT_INVALID` for a tensor without storage, `NRT_CLOSED` after close.
    pub fn begin(&self, access: Access) -> Result<Underway<'_, 'r, D, H>> {
        self.with(|tensor| {
            self.runtime.system.tensor_access_begin(tensor, access)?;
            Ok(Underway { tensor: self, access })
        })
    }

    /// Waits until the tensor was completed as an output `expected` times, at most `timeout_us` microseconds; a negative
    /// time is for ever. The count goes on until [`reset_completions`](Self::reset_completions), or until the storage is
    /// exchanged.
    ///
    /// # Errors
    /// `NRT_TIMEOUT`; `NRT_CLOSED` after close, which waits for those who wait here.
    pub fn wait_completed(&self, timeout_us: i64, expected: u64) -> Result<()> {
        self.with(|tensor| self.runtime.system.tensor_completion_wait(tensor, timeout_us, expected))
    }

    /// How often the tensor was completed as an output since the last reset.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    pub fn completions(&self) -> Result<u64> {
        self.with(|tensor| Ok(self.runtime.system.tensor_completions(tensor)))
    }

    /// Counts completions anew.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    pub fn reset_completions(&self) -> Result<()> {
        self.with(|tensor| {
            self.runtime.system.tensor_completion_reset(tensor);
            Ok(())
        })
    }
}

impl<D: Driver, H: Hooks> Drop for Tensor<'_, D, H> {
    fn drop(&mut self) {
        let Ok(_inside) = self.runtime.enter_to_release() else { return };
        if let Ok(slot) = self.slot() {
            // SAFETY: the view's reference is this handle's.
            unsafe { self.runtime.system.tensor_free(slot) };
        }
    }
}

/// An access under way, see [`Tensor::begin`]. It ends when this is dropped.
#[must_use]
pub struct Underway<'t, 'r, D: Driver, H: Hooks> {
    tensor: &'t Tensor<'r, D, H>,
    access: Access,
}

impl<D: Driver, H: Hooks> Drop for Underway<'_, '_, D, H> {
    fn drop(&mut self) {
        let runtime = self.tensor.runtime;
        let Ok(_inside) = runtime.enter_to_release() else { return };
        if let Ok(reference) = self.tensor.reference(runtime) {
            // The tensor is borrowed, so it has the storage it had at the beginning.
            runtime.system.tensor_access_end(&reference, self.access);
        }
    }
}

impl<D: Driver, H: Hooks> Runtime<D, H> {
    /// A tensor without storage: something to attach a buffer to.
    ///
    /// # Errors
    /// `NRT_RESOURCE` when the pool is full, `NRT_INVALID` for a name over 255 bytes, `NRT_CLOSED` after close.
    pub fn empty_tensor(&self, name: &str) -> Result<Tensor<'_, D, H>> {
        let _inside = self.enter()?;
        Ok(Tensor::new(self, self.system.tensor_empty(name)?))
    }

    /// A tensor in plain host memory that belongs to no logical core.
    ///
    /// # Errors
    /// `NRT_RESOURCE` when the pool is full, `NRT_FAIL_HOST_MEM_ALLOC` when there is no memory, `NRT_INVALID` for a size of
    /// 0 or a name over 255 bytes, `NRT_CLOSED` after close.
    pub fn host_tensor(&self, bytes: u64, name: &str) -> Result<Tensor<'_, D, H>> {
        let _inside = self.enter()?;
        Ok(Tensor::new(self, self.system.tensor_allocate(None, Placement::Virtual, bytes, name)?))
    }

    /// Writes pieces of many device or pinned host tensors, in order and in one request of the driver where it has batches.
    /// Everything is checked before the first piece moves; it is not atomic beyond that.
    ///
    /// # Errors
    /// `NRT_INVALID` when there is no tensor or piece, a span is empty or outside, a tensor has no storage or is plain host
    /// memory, or an executor would wait for itself; `NRT_INVALID_HANDLE` for a tensor of another runtime; `NRT_FAILURE` when the
    /// driver fails, some pieces may have moved then; `NRT_CLOSED` after close.
    pub fn write_batch(&self, batches: &[(&Tensor<'_, D, H>, &[WritePiece<'_>])], fence: Fence) -> Result<()> {
        let _inside = self.enter()?;
        let mut item = |index: usize| {
            let (tensor, pieces): (&Tensor<'_, D, H>, &[WritePiece<'_>]) = batches[index];
            Ok((tensor.reference(self)?, tensor::written(pieces)))
        };
        // SAFETY: the pieces borrow their bytes for reading.
        unsafe { self.system.tensor_batch(batches.len(), &mut item, Access::Write, fence) }
    }

    /// Reads pieces of many tensors, as [`write_batch`](Self::write_batch) writes them.
    ///
    /// # Errors
    /// As [`write_batch`](Self::write_batch).
    pub fn read_batch(&self, batches: &mut [(&Tensor<'_, D, H>, &mut [ReadPiece<'_>])], fence: Fence) -> Result<()> {
        let _inside = self.enter()?;
        let batches = &*batches;
        let mut item = |index: usize| {
            let (tensor, pieces) = &batches[index];
            Ok((tensor.reference(self)?, tensor::read(pieces)))
        };
        // SAFETY: the pieces borrow their buffers exclusively, and the caller lent them exclusively.
        unsafe { self.system.tensor_batch(batches.len(), &mut item, Access::Read, fence) }
    }
}
