//! Slices: views of a part of another view's storage (`tensor` §7.6).

use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

use crate::arena::TensorSlot;
use crate::dmem::within;
use crate::driver::Driver;
use crate::error::Result;
use crate::hooks::Hooks;
use crate::system::System;

use super::TensorRef;

impl<D: Driver, H: Hooks> System<D, H> {
    /// A view of `bytes` bytes of `source` from `offset` on. It shares the storage, its fences included, and keeps it when
    /// the source is freed. Bounds are those of the source's view; slices of slices compose.
    ///
    /// The original drops what the slice had before it takes the new reference; here there is nothing to drop.
    ///
    /// # Errors
    /// `NRT_INVALID` when the span is empty or not inside the source, or the source has no storage; `NRT_RESOURCE` when the
    /// pool is full.
    pub(crate) fn tensor_slice(&self, source: &TensorRef, offset: u64, bytes: u64, name: &str) -> Result<NonNull<TensorSlot>> {
        let storage = source.storage()?;
        within(offset, bytes, source.bytes)?;
        let view = self.tensor_empty(name)?;
        // SAFETY: the source keeps the storage alive; the view is this thread's.
        unsafe {
            (*storage.as_ptr()).ref_count.fetch_add(1, Relaxed);
            self.view_attach(view, storage, source.offset + offset, bytes);
        }
        Ok(view)
    }
}
