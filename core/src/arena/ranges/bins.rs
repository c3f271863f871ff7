//! Free runs by size: two levels of bins, found by two bit scans.
//!
//! The first level is the power of two, the second cuts it into 32 equal parts, so that the sizes of one bin differ by less
//! than 1/32. Runs of fewer than 32 granules have a bin for each size.

use super::Run;
use crate::arena::SlotPool;

/// log2 of the parts of a power of two.
const PARTS_LOG: u32 = 5;
/// Parts of a power of two.
pub(super) const PARTS: usize = 1 << PARTS_LOG;
/// Powers of two, the small sizes counted as the first.
const POWERS: usize = 32;
/// Largest run in granules: 256 TiB.
pub(super) const MAX_GRANULES: u64 = (1 << (POWERS as u32 + PARTS_LOG - 1)) - 1;

/// A bin: power and part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Bin {
    power: u32,
    part: u32,
}

impl Bin {
    /// The bin that runs of this size are kept in. `granules` is 1 to [`MAX_GRANULES`].
    pub(super) const fn of(granules: u64) -> Self {
        if granules < PARTS as u64 {
            return Self { power: 0, part: granules as u32 };
        }
        let log = granules.ilog2();
        Self { power: log - PARTS_LOG + 1, part: (granules >> (log - PARTS_LOG)) as u32 & (PARTS as u32 - 1) }
    }

    /// The lowest bin of which every run has at least this size; it may lie above the last one.
    pub(super) const fn above(granules: u64) -> Self {
        if granules < PARTS as u64 {
            return Self::of(granules);
        }
        Self::of(granules + (1 << (granules.ilog2() - PARTS_LOG)) - 1)
    }

    /// The bin after this one; it may lie above the last one.
    pub(super) const fn next(self) -> Self {
        if self.part + 1 == PARTS as u32 {
            Self { power: self.power + 1, part: 0 }
        } else {
            Self { power: self.power, part: self.part + 1 }
        }
    }
}

/// Heads of the bins and which of them have one. Zeroed = all empty.
pub(super) struct Bins {
    /// Powers with a run.
    powers: u32,
    /// Parts with a run, by power.
    parts: [u32; POWERS],
    /// Number of the first run of each bin plus 1, or 0.
    heads: [[u32; PARTS]; POWERS],
}

impl Bins {
    #[cfg(test)]
    pub(super) const EMPTY: Self = Self { powers: 0, parts: [0; POWERS], heads: [[0; PARTS]; POWERS] };

    /// The lowest bin from `bin` upwards that has a run.
    ///
    /// # Cost
    /// Two bit scans.
    #[inline]
    pub(super) fn occupied_from(&self, bin: Bin) -> Option<Bin> {
        let parts = self.parts.get(bin.power as usize)? & (u32::MAX << bin.part);
        if parts != 0 {
            return Some(Bin { power: bin.power, part: parts.trailing_zeros() });
        }
        let powers = self.powers & u32::MAX.checked_shl(bin.power + 1).unwrap_or(0);
        if powers == 0 {
            return None;
        }
        let power = powers.trailing_zeros();
        Some(Bin { power, part: self.parts[power as usize].trailing_zeros() })
    }

    /// The highest bin that has a run: the largest runs are in it.
    pub(super) fn highest(&self) -> Option<Bin> {
        let power = self.powers.checked_ilog2()?;
        Some(Bin { power, part: self.parts[power as usize].ilog2() })
    }

    /// Number of the first run of a bin plus 1, or 0.
    #[inline]
    pub(super) fn head(&self, bin: Bin) -> u32 {
        self.heads[bin.power as usize][bin.part as usize]
    }

    /// Puts a free run in front of its bin.
    ///
    /// # Safety
    /// The run is the caller's and in no bin.
    #[inline]
    pub(super) unsafe fn insert(&mut self, runs: &SlotPool<Run>, index: u32) {
        let raw = runs.pointer(index).as_ptr();
        // SAFETY: the run is the caller's, and so is the one in front of which it goes.
        unsafe {
            let bin = Bin::of((*raw).granules());
            let head = self.heads[bin.power as usize][bin.part as usize];
            (*raw).previous = 0;
            (*raw).next = head;
            if head != 0 {
                (*runs.pointer(head - 1).as_ptr()).previous = index + 1;
            }
            self.heads[bin.power as usize][bin.part as usize] = index + 1;
            self.parts[bin.power as usize] |= 1 << bin.part;
            self.powers |= 1 << bin.power;
        }
    }

    /// Takes a free run out of its bin.
    ///
    /// # Safety
    /// The run is the caller's and in its bin, with the size it was put in with.
    #[inline]
    pub(super) unsafe fn unlink(&mut self, runs: &SlotPool<Run>, index: u32) {
        // SAFETY: by contract.
        unsafe { self.unlink_from(runs, index, || Bin::of((*runs.pointer(index).as_ptr()).granules())) }
    }

    /// As [`unlink`](Self::unlink); `bin` gives its bin, and is asked only if the run is the first there.
    ///
    /// # Safety
    /// As [`unlink`](Self::unlink).
    #[inline]
    pub(super) unsafe fn unlink_from(&mut self, runs: &SlotPool<Run>, index: u32, bin: impl FnOnce() -> Bin) {
        let raw = runs.pointer(index).as_ptr();
        // SAFETY: as in `insert`; neighbours in the bin are free runs of the same owner.
        unsafe {
            let (previous, next) = ((*raw).previous, (*raw).next);
            if next != 0 {
                (*runs.pointer(next - 1).as_ptr()).previous = previous;
            }
            if previous != 0 {
                (*runs.pointer(previous - 1).as_ptr()).next = next;
                return;
            }
            let bin = bin();
            self.heads[bin.power as usize][bin.part as usize] = next;
            if next == 0 {
                self.parts[bin.power as usize] &= !(1 << bin.part);
                if self.parts[bin.power as usize] == 0 {
                    self.powers &= !(1 << bin.power);
                }
            }
        }
    }
}
