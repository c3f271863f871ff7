//! How runs hang together: neighbours in address, bins, and the records they are described by.

use core::sync::atomic::Ordering::Relaxed;

use super::{RangePool, Run};
use crate::arena::SlotPool;

/// Released records a pool keeps for itself before it shares them.
const MAGAZINE: u32 = 64;

impl RangePool {
    /// # Safety
    /// The record is this pool's and describes no run.
    #[inline]
    pub(super) unsafe fn describe(&mut self, runs: &SlotPool<Run>, index: u32, span: u32, start: u64, bytes: u64) {
        let raw = runs.pointer(index).as_ptr();
        // SAFETY: by contract.
        unsafe {
            (*raw).span.store(span, Relaxed);
            (*raw).start = start;
            (*raw).bytes = bytes;
        }
    }

    /// Makes `new` the neighbour behind `index`.
    ///
    /// # Safety
    /// Both are runs of this pool, `new` without neighbours.
    #[inline]
    pub(super) unsafe fn join_behind(&mut self, runs: &SlotPool<Run>, index: u32, new: u32) {
        self.step();
        let (raw, added) = (runs.pointer(index).as_ptr(), runs.pointer(new).as_ptr());
        // SAFETY: by contract.
        unsafe {
            let after = (*raw).after;
            (*added).before = index + 1;
            (*added).after = after;
            (*raw).after = new + 1;
            if after != 0 {
                (*runs.pointer(after - 1).as_ptr()).before = new + 1;
            }
        }
    }

    /// Adds the run `behind`, which is in no bin, to the one in front of it, and drops its record.
    ///
    /// # Safety
    /// Neighbours in address, runs of this pool.
    #[inline]
    pub(super) unsafe fn swallow(&mut self, runs: &SlotPool<Run>, index: u32, behind: u32) {
        self.step();
        let (raw, gone) = (runs.pointer(index).as_ptr(), runs.pointer(behind).as_ptr());
        // SAFETY: by contract.
        unsafe {
            (*raw).bytes += (*gone).bytes;
            let after = (*gone).after;
            (*raw).after = after;
            if after != 0 {
                (*runs.pointer(after - 1).as_ptr()).before = index + 1;
            }
        }
        self.give_record(runs, behind);
    }

    /// # Safety
    /// As [`Bins::insert`].
    #[inline]
    pub(super) unsafe fn insert(&mut self, runs: &SlotPool<Run>, index: u32) {
        self.step();
        self.sums.free_runs += 1;
        // SAFETY: by contract.
        unsafe { self.bins.insert(runs, index) };
    }

    /// # Safety
    /// As [`Bins::unlink`].
    #[inline]
    pub(super) unsafe fn unlink(&mut self, runs: &SlotPool<Run>, index: u32) {
        self.step();
        self.sums.free_runs -= 1;
        // SAFETY: by contract.
        unsafe { self.bins.unlink(runs, index) };
    }

    #[inline]
    pub(super) fn take_record(&mut self, runs: &SlotPool<Run>) -> Option<u32> {
        let Some(index) = self.magazine.checked_sub(1) else { return runs.take_uncounted() };
        // SAFETY: records in the magazine describe no run and are this pool's.
        self.magazine = unsafe { (*runs.pointer(index).as_ptr()).next };
        self.magazine_len -= 1;
        Some(index)
    }

    #[inline]
    pub(super) fn give_record(&mut self, runs: &SlotPool<Run>, index: u32) {
        if self.magazine_len == MAGAZINE {
            runs.give_uncounted(index);
            return;
        }
        // SAFETY: the record describes no run any more and is this pool's.
        unsafe { (*runs.pointer(index).as_ptr()).next = self.magazine };
        self.magazine = index + 1;
        self.magazine_len += 1;
    }
}
