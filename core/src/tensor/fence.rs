//! Fences: accesses to a storage that are under way, and who waits for them (`tensor` §9.1).
//!
//! An execution counts as a pending read of its inputs and a pending write of its outputs. Reads wait for pending writes,
//! writes for both. The two counters change under the storage's lock; whoever takes one of them to 0 wakes all waiters.

use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::abi::nrt_tensor_storage_t;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::observer::Operation;
use crate::sync;
use crate::system::System;

use super::TensorRef;

/// What somebody does with a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Only looks at its bytes.
    Read,
    /// Changes them.
    Write,
}

/// Whether a batch waits for accesses that are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fence {
    /// It waits, as single reads and writes do.
    Wait,
    /// It does not: the `unsafe` flag of the C interface. Bounds are checked all the same.
    Skip,
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Counts one more access under way.
    ///
    /// # Safety
    /// The storage is live until the matching [`fence_end`](Self::fence_end).
    pub(super) unsafe fn fence_begin(&self, storage: NonNull<nrt_tensor_storage_t>, access: Access) {
        // SAFETY: live by contract; the references cover the lock and the counter alone.
        unsafe {
            let _held = sync::lock(&(*storage.as_ptr()).tensor_op_cv_lock, &self.hooks);
            counter(storage, access).fetch_add(1, Relaxed);
        }
    }

    /// Counts one access less, and wakes those who wait when it was the last of its kind.
    ///
    /// # Safety
    /// Ends a [`fence_begin`](Self::fence_begin) of the same storage and access.
    pub(super) unsafe fn fence_end(&self, storage: NonNull<nrt_tensor_storage_t>, access: Access) {
        // SAFETY: live by contract.
        unsafe {
            let sequence = &(*storage.as_ptr()).tensor_op_cv.sequence;
            let last = {
                let _held = sync::lock(&(*storage.as_ptr()).tensor_op_cv_lock, &self.hooks);
                let last = counter(storage, access).fetch_sub(1, Release) == 1;
                if last {
                    sequence.fetch_add(1, Release);
                }
                last
            };
            if last {
                self.hooks.wake(sequence.as_ptr(), i32::MAX as u32);
            }
        }
    }

    /// Counts one more access to a tensor's storage under way.
    ///
    /// # Errors
    /// `NRT_INVALID` for a tensor without storage.
    pub(crate) fn tensor_access_begin(&self, tensor: &TensorRef, access: Access) -> Result<()> {
        // SAFETY: the tensor keeps its storage until the access ends.
        unsafe { self.fence_begin(tensor.storage()?, access) };
        Ok(())
    }

    /// Ends an access of [`tensor_access_begin`](Self::tensor_access_begin) to the same tensor.
    pub(crate) fn tensor_access_end(&self, tensor: &TensorRef, access: Access) {
        if let Some(storage) = tensor.storage {
            // SAFETY: as in `tensor_access_begin`.
            unsafe { self.fence_end(storage, access) };
        }
    }

    /// Waits until nothing is under way that `access` must not meet. The wait has no bound, as in the original.
    ///
    /// # Errors
    /// `NRT_INVALID` for a tensor without storage, and when it would wait on a thread that executes or copies itself: what it
    /// waits for may wait for it.
    pub(super) fn fence_wait(&self, tensor: &TensorRef, access: Access) -> Result<()> {
        let storage = tensor.storage()?;
        self.tensor_observed(Operation::BlockWhileExecuting, tensor, tensor.bytes, || {
            if free(storage, access) { Ok(()) } else { self.fence_wait_slowly(storage, access) }
        })
    }

    #[cold]
    fn fence_wait_slowly(&self, storage: NonNull<nrt_tensor_storage_t>, access: Access) -> Result<()> {
        let this_thread = self.hooks.thread_id();
        let mut busy = false;
        self.for_each_core(|core| {
            let side = self.arenas.core(core.device, core.core);
            busy |= side.running_thread.load(Relaxed) == this_thread || side.copying_thread.load(Relaxed) == this_thread;
        });
        // SAFETY: the caller's tensor keeps the storage alive; the reference covers the word alone.
        let sequence = unsafe { &(*storage.as_ptr()).tensor_op_cv.sequence };
        loop {
            // Before the look at the counters: who ends the last access changes the counter first.
            let seen = sequence.load(Acquire);
            if free(storage, access) {
                return Ok(());
            }
            if busy {
                return Err(Error::invalid(Cause::Reentered));
            }
            let _ = self.hooks.wait(sequence.as_ptr(), seen, None);
        }
    }
}

/// Whether nothing is under way that `access` must not meet.
fn free(storage: NonNull<nrt_tensor_storage_t>, access: Access) -> bool {
    // SAFETY: a live storage of the caller's tensor; the references cover the counters alone.
    let (reads, writes) = unsafe { (counter(storage, Access::Read), counter(storage, Access::Write)) };
    writes.load(Acquire) == 0 && (access == Access::Read || reads.load(Acquire) == 0)
}

/// # Safety
/// The storage is live.
unsafe fn counter<'a>(storage: NonNull<nrt_tensor_storage_t>, access: Access) -> &'a AtomicU64 {
    // SAFETY: live by contract.
    unsafe {
        match access {
            Access::Read => &(*storage.as_ptr()).pending_exec_count_read,
            Access::Write => &(*storage.as_ptr()).pending_exec_count_write,
        }
    }
}

/// Accesses of an execution that are under way; they end when this is dropped.
pub(crate) struct Pending<'a, D: Driver, H: Hooks> {
    system: &'a System<D, H>,
    tensors: &'a [TensorRef],
    access: Access,
}

impl<'a, D: Driver, H: Hooks> Pending<'a, D, H> {
    /// Begins an access to each tensor that has a storage. The tensors keep their storages while this exists.
    pub(crate) fn begin(system: &'a System<D, H>, tensors: &'a [TensorRef], access: Access) -> Self {
        for storage in tensors.iter().filter_map(|tensor| tensor.storage) {
            // SAFETY: kept by its tensor.
            unsafe { system.fence_begin(storage, access) };
        }
        Self { system, tensors, access }
    }
}

impl<D: Driver, H: Hooks> Drop for Pending<'_, D, H> {
    fn drop(&mut self) {
        for storage in self.tensors.iter().filter_map(|tensor| tensor.storage) {
            // SAFETY: begun in `begin`, kept by its tensor.
            unsafe { self.system.fence_end(storage, self.access) };
        }
    }
}
