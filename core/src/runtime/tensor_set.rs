//! Tensor sets as an application holds them.

use core::ptr::NonNull;

use crate::arena::{Handle, SetSlot};
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::status::Status;

use super::logical_core::live;
use super::{Runtime, Tensor};

/// Tensors by name, for [`LogicalCore::run_sets`](super::LogicalCore::run_sets).
///
/// A set does not keep its tensors: one that was dropped is an invalid handle from then on, and its name can be given to
/// another.
pub struct TensorSet<'r, D: Driver, H: Hooks> {
    runtime: &'r Runtime<D, H>,
    handle: Handle,
}

impl<'r, D: Driver, H: Hooks> TensorSet<'r, D, H> {
    /// The set as `runtime` knows it; it must belong to it.
    pub(super) fn slot(&self, runtime: &Runtime<D, H>) -> Result<NonNull<SetSlot>> {
        if !core::ptr::eq(self.runtime, runtime) {
            return Err(Error::new(Status::InvalidHandle, Cause::StaleHandle));
        }
        live(self.runtime.system.arenas.sets.get(self.handle))
    }

    /// Puts a tensor into the set, in place of the one that has the name.
    ///
    /// # Errors
    /// `NRT_INVALID` for a name over 255 bytes or with a NUL in it; `NRT_RESOURCE` when the pool of entries is full;
    /// `NRT_INVALID_HANDLE` for a tensor of another runtime; `NRT_CLOSED` after close.
    pub fn add(&self, name: &str, tensor: &Tensor<'_, D, H>) -> Result<()> {
        let _inside = self.runtime.enter()?;
        tensor.reference(self.runtime)?;
        // SAFETY: the handle keeps the set alive.
        unsafe { self.runtime.system.set_add(self.slot(self.runtime)?, name, tensor.handle) }
    }

    /// The tensor of this name: a second handle to the same view, which keeps it alive.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the set has no such name, `NRT_INVALID_HANDLE` when its tensor is gone, `NRT_INVALID` while another
    /// thread exchanges the storage of the tensor, `NRT_CLOSED` after close.
    pub fn get(&self, name: &str) -> Result<Tensor<'r, D, H>> {
        let _inside = self.runtime.enter()?;
        // SAFETY: the handle keeps the set alive; the new handle takes over the reference.
        let slot = unsafe { self.runtime.system.set_acquire(self.slot(self.runtime)?, name.as_bytes())? };
        Ok(Tensor::new(self.runtime, slot))
    }

    /// Number of names.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    pub fn count(&self) -> Result<u64> {
        let _inside = self.runtime.enter()?;
        // SAFETY: the handle keeps the set alive.
        Ok(unsafe { self.runtime.system.set_len(self.slot(self.runtime)?) })
    }
}

impl<D: Driver, H: Hooks> Drop for TensorSet<'_, D, H> {
    fn drop(&mut self) {
        let Ok(_inside) = self.runtime.enter_to_release() else { return };
        if let Ok(slot) = self.slot(self.runtime) {
            // SAFETY: the set is this handle's.
            unsafe { self.runtime.system.set_free(slot) };
        }
    }
}

impl<D: Driver, H: Hooks> Runtime<D, H> {
    /// An empty tensor set.
    ///
    /// # Errors
    /// `NRT_RESOURCE` when the pool is full, `NRT_CLOSED` after close.
    ///
    /// # Cost
    /// Writes 48 KiB of buckets: make one per thread and use it again rather than one per run.
    pub fn tensor_set(&self) -> Result<TensorSet<'_, D, H>> {
        let _inside = self.enter()?;
        let slot = self.system.set_allocate()?;
        Ok(TensorSet { runtime: self, handle: self.system.arenas.sets.handle(slot) })
    }
}
