//! The record of a run.

use core::sync::atomic::Ordering::Acquire;
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::GRANULE;
use crate::arena::{Slot, SlotPool};

/// What is known of a run of granules, free or carved. 64 bytes.
///
/// The plain fields belong to whoever holds the lock of the pool the run is in. The atomics are also read without it.
#[repr(C, align(64))]
pub(crate) struct Run {
    /// Address of the carved range with bit 0 set; 0 while there is none.
    pub(super) carved: AtomicU64,
    /// Number of the span, for its owner.
    pub(crate) span: AtomicU32,
    link: AtomicU32,
    generation: AtomicU32,
    /// For its owner: what the range is counted as.
    pub(crate) category: u32,
    pub(super) start: u64,
    pub(super) bytes: u64,
    /// Bytes asked for.
    pub(super) asked: u64,
    /// Neighbours in address, number plus 1; 0 at the ends of the span.
    pub(super) before: u32,
    pub(super) after: u32,
    /// Neighbours in the bin, number plus 1.
    pub(super) previous: u32,
    pub(super) next: u32,
}

const _: () = assert!(size_of::<Run>() == 64);

// SAFETY: both words are used by the pool alone, and runs are written field by field.
unsafe impl Slot for Run {
    #[inline]
    fn link(&self) -> &AtomicU32 {
        &self.link
    }
    #[inline]
    fn generation(&self) -> &AtomicU32 {
        &self.generation
    }
}

impl Run {
    pub(super) const fn granules(&self) -> u64 {
        self.bytes / GRANULE
    }
}

/// Whether the range at `start` is carved out of run `index` right now. Needs no lock; `index` is one of the pool's.
#[inline]
pub(crate) fn is_carved_at(runs: &SlotPool<Run>, index: u32, start: u64) -> bool {
    // SAFETY: records live for ever; the reference covers the atomic alone.
    unsafe { &(*runs.pointer(index).as_ptr()).carved }.load(Acquire) == start | 1
}
