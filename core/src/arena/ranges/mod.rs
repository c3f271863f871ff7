//! The range allocator: carves address ranges out of large spans in constant time.
//!
//! It never touches the memory it hands out; what it knows of a run of granules is a record in a static pool. Free runs are
//! kept in two-level bins; neighbours in address know each other, so that a released range grows together with the free runs
//! on both sides. Runs of different spans are never neighbours: a range lies in one span.
//!
//! # Cost
//! No operation depends on the number of ranges or runs. Carving looks at one run, or at [`LOOKS`] at most when no bin
//! promises a fit, and cuts twice; releasing joins twice. A request is certain to be served when some free run has 33/32 of
//! `size + align − 4096` bytes, `size` rounded up and `align` at least 4096; with less it may be.

mod bins;
mod links;
mod run;
#[cfg(test)]
mod tests;

use core::sync::atomic::Ordering::{Relaxed, Release};

use super::SlotPool;
use bins::{Bin, Bins, MAX_GRANULES};
pub(crate) use run::{Run, is_carved_at};

/// Ranges start and end at multiples of this many bytes: the granule of the kernel driver.
pub(crate) const GRANULE: u64 = 4096;

/// Runs looked at when no bin promises a fit.
pub(crate) const LOOKS: u32 = 8;

/// A carved range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carved {
    /// Number of its run.
    pub(crate) run: u32,
    /// Address of the first byte.
    pub(crate) start: u64,
    /// Bytes, whole granules.
    pub(crate) bytes: u64,
}

/// Why a range was not carved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRange {
    /// No free run was found that it fits in.
    Room,
    /// There was a run, but no record left to describe the pieces.
    Records,
}

/// The next multiple of `align`, a power of two; without the division that it takes for any other number.
#[inline]
const fn aligned(start: u64, align: u64) -> Option<u64> {
    match start.checked_add(align - 1) {
        Some(end) => Some(end & !(align - 1)),
        None => None,
    }
}

/// Sums over the ranges of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Bytes of all spans.
    pub(crate) bytes: u64,
    /// Bytes of all carved ranges.
    pub(crate) carved: u64,
    /// Largest value `carved` ever had.
    pub(crate) peak: u64,
    /// Bytes asked for by those ranges.
    pub(crate) asked: u64,
    /// Carved ranges.
    pub(crate) ranges: u32,
    /// Free runs.
    pub(crate) free_runs: u32,
}

/// The free runs of some spans. Not synchronised: its owner has a lock.
pub(crate) struct RangePool {
    bins: Bins,
    /// Records kept back, linked through `next`.
    magazine: u32,
    magazine_len: u32,
    sums: Sums,
    /// Runs looked at, linked, unlinked, cut or joined by the last operation.
    #[cfg(test)]
    steps: u32,
}

impl RangePool {
    /// A pool without spans. All zero, as in a static storage.
    #[cfg(test)]
    pub(crate) const EMPTY: Self = Self {
        bins: Bins::EMPTY,
        magazine: 0,
        magazine_len: 0,
        sums: Sums { bytes: 0, carved: 0, peak: 0, asked: 0, ranges: 0, free_runs: 0 },
        steps: 0,
    };

    /// Sums over all ranges.
    pub(crate) const fn sums(&self) -> &Sums {
        &self.sums
    }

    #[inline]
    fn step(&mut self) {
        #[cfg(test)]
        {
            self.steps += 1;
        }
    }

    #[inline]
    fn begin(&mut self) {
        #[cfg(test)]
        {
            self.steps = 0;
        }
    }

    /// Adds a span; gives the number of its first run, which it keeps as long as the span is here. `None` when there is no
    /// record left or the span is not whole granules, empty, or too large.
    pub(crate) fn add(&mut self, runs: &SlotPool<Run>, span: u32, start: u64, bytes: u64) -> Option<u32> {
        self.begin();
        let whole = start.is_multiple_of(GRANULE) && bytes.is_multiple_of(GRANULE);
        if bytes == 0 || bytes / GRANULE > MAX_GRANULES || !whole || start.checked_add(bytes).is_none() {
            return None;
        }
        let index = self.take_record(runs)?;
        // SAFETY: the record was free, so it is this pool's alone.
        unsafe {
            self.describe(runs, index, span, start, bytes);
            (*runs.pointer(index).as_ptr()).before = 0;
            (*runs.pointer(index).as_ptr()).after = 0;
            self.insert(runs, index);
        }
        self.sums.bytes += bytes;
        Some(index)
    }

    /// Takes a span out again; `false` when ranges are carved out of it.
    ///
    /// # Safety
    /// `index` is what [`add`](Self::add) gave for a span that is still here.
    pub(crate) unsafe fn remove(&mut self, runs: &SlotPool<Run>, index: u32) -> bool {
        self.begin();
        let raw = runs.pointer(index).as_ptr();
        // SAFETY: by contract the first run of a span of this pool.
        unsafe {
            if (*raw).after != 0 || (*raw).carved.load(Relaxed) != 0 {
                return false;
            }
            self.sums.bytes -= (*raw).bytes;
            self.unlink(runs, index);
        }
        self.give_record(runs, index);
        true
    }

    /// Carves `asked` bytes out at a multiple of `align`, a power of two.
    ///
    /// # Errors
    /// [`NoRange`]; nothing is changed then.
    #[inline]
    pub(crate) fn carve(&mut self, runs: &SlotPool<Run>, asked: u64, align: u64) -> Result<Carved, NoRange> {
        self.begin();
        debug_assert!(align.is_power_of_two());
        let align = align.max(GRANULE);
        let bytes = asked.checked_next_multiple_of(GRANULE).filter(|bytes| *bytes != 0).ok_or(NoRange::Room)?;
        let granules = bytes / GRANULE;
        if granules > MAX_GRANULES {
            return Err(NoRange::Room);
        }
        let (index, bin) = match self.certain(granules.saturating_add(align / GRANULE - 1)) {
            Some(found) => found,
            None => self.near(runs, bytes, align).ok_or(NoRange::Room)?,
        };
        self.step();
        // SAFETY: a free run of this pool in its bin, which `certain` or `near` found to be large enough.
        unsafe { self.cut(runs, (index, bin), bytes, align, asked) }
    }

    /// A run of the lowest bin all of whose runs have at least so many granules, and that bin.
    #[inline]
    fn certain(&self, granules: u64) -> Option<(u32, Bin)> {
        if granules > MAX_GRANULES {
            return None;
        }
        self.bins.occupied_from(Bin::above(granules)).map(|bin| (self.bins.head(bin) - 1, bin))
    }

    /// The first of a few runs that happens to be large enough, beginning with the smallest ones that can be, and its bin.
    fn near(&mut self, runs: &SlotPool<Run>, bytes: u64, align: u64) -> Option<(u32, Bin)> {
        let mut bin = self.bins.occupied_from(Bin::of(bytes / GRANULE))?;
        let mut index = self.bins.head(bin);
        for _ in 0..LOOKS {
            self.step();
            // SAFETY: runs in bins are free runs of this pool.
            let run = unsafe { runs.pointer(index - 1).as_ref() };
            let end = aligned(run.start, align).and_then(|start| start.checked_add(bytes));
            if end.is_some_and(|end| end <= run.start + run.bytes) {
                return Some((index - 1, bin));
            }
            index = run.next;
            if index == 0 {
                bin = self.bins.occupied_from(bin.next())?;
                index = self.bins.head(bin);
            }
        }
        None
    }

    /// Cuts a range out of a free run; what is left in front and behind stays free.
    ///
    /// # Safety
    /// A free run of this pool in which the aligned range fits, and the bin it is in.
    #[inline]
    unsafe fn cut(
        &mut self,
        runs: &SlotPool<Run>,
        (index, bin): (u32, Bin),
        bytes: u64,
        align: u64,
        asked: u64,
    ) -> Result<Carved, NoRange> {
        // SAFETY: by contract; records just taken are this pool's alone; neighbours in address are runs of this pool.
        unsafe {
            let raw = runs.pointer(index).as_ptr();
            // It was found to fit, so there is such a start.
            let start = aligned((*raw).start, align).ok_or(NoRange::Room)?;
            let front = start - (*raw).start;
            let back = (*raw).bytes - front - bytes;
            let for_range = if front == 0 { index } else { self.take_record(runs).ok_or(NoRange::Records)? };
            let for_back = if back == 0 {
                None
            } else if let Some(record) = self.take_record(runs) {
                Some(record)
            } else {
                if front != 0 {
                    self.give_record(runs, for_range);
                }
                return Err(NoRange::Records);
            };
            let span = (*raw).span.load(Relaxed);
            self.step();
            self.bins.unlink_from(runs, index, || bin);
            // One free run less, and what is left of it.
            self.sums.free_runs = self.sums.free_runs - 1 + u32::from(front != 0) + u32::from(back != 0);
            if front != 0 {
                (*raw).bytes = front;
                self.step();
                self.bins.insert(runs, index);
                self.describe(runs, for_range, span, start, bytes);
                self.join_behind(runs, index, for_range);
            }
            if let Some(back_run) = for_back {
                self.describe(runs, back_run, span, start + bytes, back);
                self.join_behind(runs, for_range, back_run);
                self.step();
                self.bins.insert(runs, back_run);
            }
            let carved = runs.pointer(for_range).as_ptr();
            (*carved).bytes = bytes;
            (*carved).asked = asked;
            (*carved).carved.store(start | 1, Release);
            self.sums.carved += bytes;
            self.sums.peak = self.sums.peak.max(self.sums.carved);
            self.sums.asked += asked;
            self.sums.ranges += 1;
            Ok(Carved { run: for_range, start, bytes })
        }
    }

    /// Gives a range back.
    ///
    /// # Safety
    /// The run was carved out of this pool and not released since.
    #[inline]
    pub(crate) unsafe fn release(&mut self, runs: &SlotPool<Run>, index: u32) {
        self.begin();
        // SAFETY: by contract; neighbours in address are runs of this pool.
        unsafe {
            let raw = runs.pointer(index).as_ptr();
            (*raw).carved.store(0, Relaxed);
            self.sums.carved -= (*raw).bytes;
            self.sums.asked -= (*raw).asked;
            self.sums.ranges -= 1;
            let after = (*raw).after;
            if after != 0 && (*runs.pointer(after - 1).as_ptr()).carved.load(Relaxed) == 0 {
                self.unlink(runs, after - 1);
                self.swallow(runs, index, after - 1);
            }
            let before = (*raw).before;
            if before != 0 && (*runs.pointer(before - 1).as_ptr()).carved.load(Relaxed) == 0 {
                self.unlink(runs, before - 1);
                self.swallow(runs, before - 1, index);
                self.insert(runs, before - 1);
            } else {
                self.insert(runs, index);
            }
        }
    }

    /// Bytes of the largest free run.
    ///
    /// # Cost
    /// A visit to the runs of the highest bin.
    pub(crate) fn largest(&self, runs: &SlotPool<Run>) -> u64 {
        let mut largest = 0;
        let mut index = self.bins.highest().map_or(0, |bin| self.bins.head(bin));
        while index != 0 {
            // SAFETY: runs in bins are free runs of this pool.
            let run = unsafe { runs.pointer(index - 1).as_ref() };
            largest = largest.max(run.bytes);
            index = run.next;
        }
        largest
    }

    /// Whether a range of `bytes` bytes starts at `start` in this run.
    ///
    /// # Safety
    /// If there is one, the run is in this pool.
    pub(crate) unsafe fn is(&self, runs: &SlotPool<Run>, index: u32, start: u64, bytes: u64) -> bool {
        // SAFETY: by contract; the plain field is read only when the run is this pool's.
        unsafe { is_carved_at(runs, index, start) && (*runs.pointer(index).as_ptr()).bytes == bytes }
    }

    /// Takes a span out with all ranges carved out of it; `carved` gets category and bytes of each.
    ///
    /// # Safety
    /// As [`remove`](Self::remove), and nobody uses the ranges any more.
    ///
    /// # Cost
    /// A visit to every run of the span.
    pub(crate) unsafe fn abandon(&mut self, runs: &SlotPool<Run>, first: u32, mut carved: impl FnMut(u32, u64)) {
        let mut next = first + 1;
        while next != 0 {
            let index = next - 1;
            let raw = runs.pointer(index).as_ptr();
            // SAFETY: by contract, runs of this pool.
            unsafe {
                next = (*raw).after;
                if (*raw).carved.swap(0, Relaxed) == 0 {
                    self.unlink(runs, index);
                } else {
                    self.sums.carved -= (*raw).bytes;
                    self.sums.asked -= (*raw).asked;
                    self.sums.ranges -= 1;
                    carved((*raw).category, (*raw).bytes);
                }
                self.sums.bytes -= (*raw).bytes;
            }
            self.give_record(runs, index);
        }
    }

    /// Starts the peak anew.
    pub(crate) fn forget_peak(&mut self) {
        self.sums.peak = self.sums.carved;
    }
}
