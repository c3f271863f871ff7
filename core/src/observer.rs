//! What a profiler can follow: begin and end of single operations, under their documented event ids (fact sheets `dmem` §1,
//! `tensor` §6).
//!
//! Observations go to [`Hooks::observe`] when [`Hooks::OBSERVED`] says that somebody listens. The constant is decided per
//! platform at compile time: without a listener not an instruction is left. Every begin has its end, on every path out; the
//! original leaves an allocation open when it is refused early.

use crate::context::ResolvedCore;
use crate::error::Result;
use crate::hooks::Hooks;
use crate::status::Status;
use crate::usage::Usage;

/// An operation; the discriminant is the id of its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum Operation {
    /// Reading a tensor.
    TensorRead = 9,
    /// Writing a tensor.
    TensorWrite = 10,
    /// Reading batches of tensors.
    TensorReadBatch = 11,
    /// Writing batches of tensors.
    TensorWriteBatch = 12,
    /// Allocating a tensor.
    TensorAllocate = 27,
    /// Freeing a tensor.
    TensorFree = 28,
    /// Waiting for executions that use a tensor.
    BlockWhileExecuting = 29,
    /// Copying into device or pinned memory.
    CopyIn = 30,
    /// Copying out of device or pinned memory.
    CopyOut = 31,
    /// Copying a batch in.
    BatchCopyIn = 32,
    /// Copying a batch out.
    BatchCopyOut = 33,
    /// Allocating device or pinned memory.
    Allocate = 34,
    /// Freeing device or pinned memory.
    Free = 35,
}

impl Operation {
    /// Id of the event.
    #[must_use]
    pub const fn id(self) -> u32 {
        self as u32
    }
}

/// Which end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It begins.
    Begin,
    /// It ended, with this status.
    End(Status),
}

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject<'a> {
    /// Device index; `u32::MAX` for plain host memory and for batches, which may be of several devices.
    pub device: u32,
    /// Core of the device; `u32::MAX` where there is no device.
    pub core: u32,
    /// Bytes of the operation.
    pub bytes: u64,
    /// What the memory is for, where that is known.
    pub usage: Option<Usage>,
    /// What the memory is called; "" where it has no name.
    pub name: &'a str,
}

/// One end of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation<'a> {
    /// Which operation.
    pub operation: Operation,
    /// Which end.
    pub phase: Phase,
    /// What it is about.
    pub subject: Subject<'a>,
}

impl<'a> Subject<'a> {
    /// `bytes` of plain host memory, or of nothing yet.
    pub(crate) const fn plain(bytes: u64, usage: Option<Usage>, name: &'a str) -> Self {
        Self { device: u32::MAX, core: u32::MAX, bytes, usage, name }
    }

    /// `bytes` on a core.
    pub(crate) const fn on(core: &ResolvedCore, bytes: u64, usage: Option<Usage>, name: &'a str) -> Self {
        Self { device: core.device, core: core.core, bytes, usage, name }
    }
}

/// Does `work` between a begin and an end, if anybody listens.
#[inline(always)]
pub(crate) fn observed<H: Hooks, T>(
    hooks: &H,
    operation: Operation,
    subject: Subject<'_>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if !H::OBSERVED {
        return work();
    }
    hooks.observe(&Observation { operation, phase: Phase::Begin, subject });
    let result = work();
    let status = result.as_ref().err().map_or(Status::Success, |error| error.status);
    hooks.observe(&Observation { operation, phase: Phase::End(status), subject });
    result
}
