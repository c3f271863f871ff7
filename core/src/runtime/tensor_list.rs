//! Tensor lists as an application holds them (`nrt_tensor_list_t`, fact sheets `tensor` §5, `nrt-api` §3).

use core::ptr::null_mut;

use heapless::Vec;

use crate::abi::{nrt_tensor_list_t, nrt_tensor_t};
use crate::driver::Driver;
use crate::error::{Cause, Error, Pool, Result};
use crate::hooks::Hooks;
use crate::status::Status;

use super::{Runtime, Tensor};

/// Up to `N` tensors in order: the caller's own memory, as in the C interface, which has no function that makes a list. It borrows
/// its tensors, so none of them can go while it is there; nothing has to be given back. A tensor may occur more than once.
pub struct TensorList<'t, 'r, D: Driver, H: Hooks, const N: usize> {
    runtime: &'r Runtime<D, H>,
    tensors: Vec<&'t Tensor<'r, D, H>, N>,
    pointers: [*mut nrt_tensor_t; N],
}

impl<'t, 'r, D: Driver, H: Hooks, const N: usize> TensorList<'t, 'r, D, H, N> {
    /// Puts a tensor behind the others.
    ///
    /// # Errors
    /// `NRT_RESOURCE` when the list has `N` tensors; `NRT_INVALID_HANDLE` for a tensor of another runtime; `NRT_CLOSED` after
    /// close. The list stays as it was.
    pub fn add(&mut self, tensor: &'t Tensor<'r, D, H>) -> Result<()> {
        let _inside = self.runtime.enter()?;
        if !core::ptr::eq(self.runtime, tensor.runtime) {
            return Err(Error::new(Status::InvalidHandle, Cause::StaleHandle));
        }
        let slot = tensor.slot()?;
        let at = self.tensors.len();
        self.tensors.push(tensor).map_err(|_| Error::pool_full(Pool::TensorList))?;
        // SAFETY: a place inside the slot of a live view.
        self.pointers[at] = unsafe { &raw mut (*slot.as_ptr()).tensor };
        Ok(())
    }

    /// The tensor at `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&'t Tensor<'r, D, H>> {
        self.tensors.get(index).copied()
    }

    /// All tensors, in the order they were added: what [`LogicalCore::run`](super::LogicalCore::run) and
    /// [`Model::run`](super::Model::run) take.
    #[must_use]
    pub fn tensors(&self) -> &[&'t Tensor<'r, D, H>] {
        &self.tensors
    }

    /// Calls `work` with the list as the C interface has it. The struct and what it points to are valid during the call.
    pub fn with_raw<T>(&mut self, work: impl FnOnce(&nrt_tensor_list_t) -> T) -> T {
        work(&nrt_tensor_list_t { tensors: self.pointers.as_mut_ptr(), num_tensors: self.tensors.len() })
    }
}

impl<D: Driver, H: Hooks> Runtime<D, H> {
    /// An empty list of at most `N` tensors of this runtime.
    #[must_use]
    pub const fn tensor_list<'t, 'r, const N: usize>(&'r self) -> TensorList<'t, 'r, D, H, N> {
        TensorList { runtime: self, tensors: Vec::new(), pointers: [null_mut(); N] }
    }
}
