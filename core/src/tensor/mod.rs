//! Tensors: views and their backing (fact sheet `tensor`).
//!
//! Device and pinned host tensors come from the GLOBAL heap of the first core of their logical core, on its default HBM
//! channel, and so outlive models. Plain host tensors are host memory of the platform, or a buffer of the caller. A view has
//! its own reference count, its storage another one that all views of it share.
//!
//! | room | holds |
//! | --- | --- |
//! | `create`, `slice` | how views and storages come and go |
//! | `access`, `copy`, `batch` | bytes in and out |
//! | `fence` | accesses that are under way, and who waits for them |
//! | `set` | tensors by name |
//! | `completion` | how often an output was completed |

mod access;
mod batch;
mod completion;
mod copy;
mod create;
mod fence;
mod set;
mod slice;

pub use batch::{ReadPiece, WritePiece};
pub use fence::{Access, Fence};

pub(crate) use batch::{read, written};
pub(crate) use completion::CompletionPlane;
pub(crate) use fence::Pending;

use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::abi::{dmem_t, nrt_tensor_mem_type_t, nrt_tensor_storage_t};
use crate::arena::TensorSlot;
use crate::dmem::within;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::observer::{Operation, Subject, observed};
use crate::sync;
use crate::system::System;
use crate::text;
use crate::usage::Usage;

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
/// Logical core of a storage that belongs to none.
pub(crate) const NO_CORE: i32 = -1;
const UNNAMED: &str = "unnamed";

/// A live tensor of a caller who keeps it alive and its storage in place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorRef {
    slot: NonNull<TensorSlot>,
    storage: Option<NonNull<nrt_tensor_storage_t>>,
    /// Start in the storage.
    offset: u64,
    pub(crate) bytes: u64,
    /// Logical core of the storage, or [`NO_CORE`].
    pub(crate) vnc: i32,
}

/// What backs a tensor.
#[derive(Clone, Copy)]
enum Backing {
    /// Device or pinned host memory.
    Dmem(NonNull<dmem_t>),
    /// Host memory.
    Plain(NonNull<u8>),
    /// A size without bytes: reads and writes succeed and move nothing.
    Nothing,
}

/// A span of a tensor, in terms of its backing.
struct Span {
    storage: NonNull<nrt_tensor_storage_t>,
    backing: Backing,
    start: u64,
}

impl TensorRef {
    /// The storage.
    ///
    /// # Errors
    /// `NRT_INVALID` for a tensor that has none.
    fn storage(&self) -> Result<NonNull<nrt_tensor_storage_t>> {
        self.storage.ok_or(Error::invalid(Cause::NoStorage))
    }

    /// Whether it is plain host memory or has no bytes at all: not memory the driver knows.
    pub(crate) fn is_plain(&self) -> bool {
        // SAFETY: a `TensorRef` keeps its storage; the type is written before the storage is attached.
        self.storage.is_some_and(|storage| unsafe { (*storage.as_ptr()).r#type != nrt_tensor_mem_type_t::DMA })
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// The reference a caller with a live handle works with.
    ///
    /// # Safety
    /// The tensor stays alive and keeps its storage while the result is used.
    pub(crate) unsafe fn tensor_ref(&self, slot: NonNull<TensorSlot>) -> TensorRef {
        // SAFETY: live by contract.
        unsafe {
            let tensor = &raw const (*slot.as_ptr()).tensor;
            let storage = NonNull::new((*tensor).sto.load(Acquire));
            TensorRef {
                slot,
                storage,
                offset: (*tensor)._offset.load(Relaxed) as u64,
                bytes: (*tensor)._size.load(Relaxed) as u64,
                vnc: storage.map_or(NO_CORE, |storage| (*storage.as_ptr()).vtpb_idx),
            }
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

    /// # Safety
    /// `storage` is live.
    unsafe fn backing(&self, storage: NonNull<nrt_tensor_storage_t>) -> Option<Backing> {
        // SAFETY: the type says which arm is valid.
        unsafe {
            let raw = storage.as_ptr();
            match (*raw).r#type {
                nrt_tensor_mem_type_t::DMA => NonNull::new((*raw).mem.dmem).map(Backing::Dmem),
                nrt_tensor_mem_type_t::MALLOC => NonNull::new((*raw).mem.vmem).map(Backing::Plain),
                nrt_tensor_mem_type_t::FAKE => Some(Backing::Nothing),
                _ => None,
            }
        }
    }

    /// Checks a span of a tensor: not empty, inside the view, and the view inside the storage (`tensor` §9.2, steps 1–3).
    fn tensor_span(&self, tensor: &TensorRef, offset: u64, size: u64) -> Result<Span> {
        let storage = tensor.storage()?;
        within(offset, size, tensor.bytes)?;
        // The view lies inside its storage, so the sum does not wrap.
        let start = tensor.offset + offset;
        // SAFETY: a `TensorRef` keeps its storage.
        unsafe {
            within(start, size, (*storage.as_ptr()).allocated_size as u64)?;
            let backing = self.backing(storage).ok_or(Error::invalid(Cause::NoStorage))?;
            Ok(Span { storage, backing, start })
        }
    }

    /// What an observer is told about a tensor.
    fn tensor_subject<'a>(&self, tensor: &'a TensorRef, bytes: u64) -> Subject<'a> {
        // SAFETY: a `TensorRef` keeps its view and storage.
        let (name, backing) =
            unsafe { (self.tensor_name(tensor.slot), tensor.storage.and_then(|storage| self.backing(storage))) };
        let core = match backing {
            // SAFETY: the storage holds a reference to the node, whose core is one of this system.
            Some(Backing::Dmem(node)) => unsafe { self.resolve((*node.as_ptr()).pcore).ok() },
            _ => None,
        };
        let plain = Subject::plain(bytes, Some(Usage::Tensor), name);
        core.map_or(plain, |core| Subject::on(&core, bytes, Some(Usage::Tensor), name))
    }

    /// Does `work` on a tensor between a begin and an end, if anybody listens.
    #[inline(always)]
    fn tensor_observed<T>(
        &self,
        operation: Operation,
        tensor: &TensorRef,
        bytes: u64,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if !H::OBSERVED {
            return work();
        }
        observed(&self.hooks, operation, self.tensor_subject(tensor, bytes), work)
    }

    /// Runs `work` while the storage's lock makes its plain bytes this thread's.
    fn with_plain<T>(&self, storage: NonNull<nrt_tensor_storage_t>, work: impl FnOnce() -> T) -> T {
        // SAFETY: a live storage; the reference covers the lock alone.
        let _held = sync::lock(unsafe { &(*storage.as_ptr()).tensor_op_cv_lock }, &self.hooks);
        work()
    }
}
