//! One pool: a watermark for never-used slots, freed ones shared by all threads, a generation per slot.

use core::ptr::NonNull;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::error::{Error, Pool, Result};
use crate::sync::FreeSlots;

/// A slot tells where its free-list link and its generation are.
///
/// # Safety
/// Both words belong to the pool alone, are valid when zeroed, and are never written in bulk together with the slot.
pub(crate) unsafe trait Slot {
    /// Link to the next free slot: index + 1, or 0.
    fn link(&self) -> &AtomicU32;
    /// Odd while the slot is in use; moves on at every take and give.
    fn generation(&self) -> &AtomicU32;
}

/// Shared words of one pool. Zeroed = nothing used yet.
#[repr(C, align(64))]
pub(crate) struct PoolWords {
    /// Freed slots, without the last one.
    head: AtomicU64,
    /// The slot freed last: index + 1, or 0.
    last: AtomicU32,
    /// Slots `..fresh` were handed out at least once.
    fresh: AtomicU32,
    live: AtomicU32,
}

/// Names a slot and the life it had when the handle was made: the generation in the upper half, the index in the lower.
///
/// One word, not two: a handle is often read right after it was written, and a load that spans two stores waits for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Handle(u64);

impl Handle {
    #[inline]
    pub(crate) const fn new(index: u32, generation: u32) -> Self {
        Self((generation as u64) << 32 | index as u64)
    }

    /// Number of the slot.
    #[inline]
    pub(crate) const fn index(self) -> u32 {
        self.0 as u32
    }

    /// The life of the slot that is meant.
    #[inline]
    pub(crate) const fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A pool over slots that live as long as the program and never move.
pub(crate) struct SlotPool<T> {
    base: NonNull<T>,
    len: u32,
    words: &'static PoolWords,
    kind: Pool,
}

// SAFETY: the pool only hands out pointers; the words it changes itself are atomics.
unsafe impl<T> Sync for SlotPool<T> {}
// SAFETY: as above; the slots are 'static and not tied to a thread.
unsafe impl<T> Send for SlotPool<T> {}

impl<T: Slot> SlotPool<T> {
    /// # Safety
    /// `base` points to `len` slots (at most [`FreeSlots::MAX_SLOTS`]) that live for ever, are valid, and are handled by
    /// no other pool than those over `words`.
    pub(crate) unsafe fn new(base: NonNull<T>, len: u32, words: &'static PoolWords, kind: Pool) -> Self {
        Self { base, len: len.min(FreeSlots::<AtomicU64, AtomicU32>::MAX_SLOTS), words, kind }
    }

    /// Makes every slot free again. Generations stay, so that handles of an earlier life remain stale.
    pub(crate) fn reset(&self) {
        self.words.head.store(0, Relaxed);
        self.words.last.store(0, Relaxed);
        self.words.live.store(0, Relaxed);
        for index in (0..self.words.fresh.load(Relaxed)).rev() {
            let slot = self.at(index);
            let generation = slot.generation().load(Relaxed);
            slot.generation().store(generation.wrapping_add(generation & 1), Relaxed);
            self.give_uncounted(index);
        }
    }

    #[inline]
    fn free(&self) -> FreeSlots<'_, AtomicU64, AtomicU32> {
        FreeSlots::new(&self.words.head, &self.words.last)
    }

    #[inline]
    fn at(&self, index: u32) -> &T {
        debug_assert!(index < self.len);
        // SAFETY: indices come from this pool's own words or were checked against `len`; slots are valid for ever, and
        // shared references to them are all this module forms.
        unsafe { self.base.add(index as usize).as_ref() }
    }

    /// Slot `index` as a pointer with the provenance of the whole array.
    #[inline]
    pub(crate) fn pointer(&self, index: u32) -> NonNull<T> {
        debug_assert!(index < self.len);
        // SAFETY: in bounds as above.
        unsafe { self.base.add(index as usize) }
    }

    /// Index of a slot of this pool.
    #[inline]
    pub(crate) fn index_of(&self, slot: NonNull<T>) -> u32 {
        let index = (slot.addr().get() - self.base.addr().get()) / size_of::<T>();
        debug_assert!(index < self.len as usize);
        index as u32
    }

    /// Takes a freed slot, or a never-used one. Does not count it as live.
    ///
    /// # Cost
    /// One read-modify-write on a shared line when a slot was given back since the last take, else two.
    #[inline]
    pub(crate) fn take_uncounted(&self) -> Option<u32> {
        let index = match self.free().pop(|index| self.at(index).link().load(Relaxed)) {
            Some(index) => index,
            None => self.take_fresh()?,
        };
        Some(index)
    }

    fn take_fresh(&self) -> Option<u32> {
        let mut fresh = self.words.fresh.load(Relaxed);
        loop {
            if fresh >= self.len {
                return None;
            }
            match self.words.fresh.compare_exchange(fresh, fresh + 1, AcqRel, Relaxed) {
                Ok(_) => return Some(fresh),
                Err(now) => fresh = now,
            }
        }
    }

    /// Whether a take would fail at this moment, judged by plain loads.
    #[inline]
    pub(crate) fn looks_empty(&self) -> bool {
        self.free().is_empty() && self.words.fresh.load(Relaxed) >= self.len
    }

    /// Puts a slot back without counting.
    #[inline]
    pub(crate) fn give_uncounted(&self, index: u32) {
        self.free().push(index, |slot, next| self.at(slot).link().store(next, Relaxed));
    }

    /// Marks slot `index` as in use and gives its handle.
    #[inline]
    pub(crate) fn begin_life(&self, index: u32) -> Handle {
        let word = self.at(index).generation();
        let generation = (word.load(Relaxed) | 1).max(1);
        word.store(generation, Release);
        Handle::new(index, generation)
    }

    /// Marks slot `index` as free: every handle to it is stale from now on.
    #[inline]
    pub(crate) fn end_life(&self, index: u32) {
        let word = self.at(index).generation();
        word.store((word.load(Relaxed) | 1).wrapping_add(1), Release);
    }

    /// Takes a slot.
    ///
    /// # Errors
    /// `NRT_RESOURCE` with the name of the pool when every slot is in use.
    pub(crate) fn take(&self) -> Result<NonNull<T>> {
        let index = self.take_uncounted().ok_or(Error::pool_full(self.kind))?;
        self.words.live.fetch_add(1, Relaxed);
        self.begin_life(index);
        Ok(self.pointer(index))
    }

    /// Gives a slot of [`take`](Self::take) back.
    pub(crate) fn give(&self, slot: NonNull<T>) {
        let index = self.index_of(slot);
        self.end_life(index);
        self.words.live.fetch_sub(1, Relaxed);
        self.give_uncounted(index);
    }

    /// The handle of a live slot.
    #[inline]
    pub(crate) fn handle(&self, slot: NonNull<T>) -> Handle {
        let index = self.index_of(slot);
        Handle::new(index, self.at(index).generation().load(Acquire))
    }

    /// The slot a handle names, or `None` when that life is over.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Option<NonNull<T>> {
        if handle.index() >= self.len || handle.generation() & 1 == 0 {
            return None;
        }
        (self.at(handle.index()).generation().load(Acquire) == handle.generation()).then(|| self.pointer(handle.index()))
    }

    /// The slot at `index`, if it is in use now.
    pub(crate) fn live_at(&self, index: u32) -> Option<NonNull<T>> {
        (index < self.len && self.at(index).generation().load(Acquire) & 1 == 1).then(|| self.pointer(index))
    }

    /// Slots taken with [`take`](Self::take) and not given back.
    pub(crate) fn live(&self) -> u32 {
        self.words.live.load(Relaxed)
    }

    /// Slots handed out at least once: an upper bound for walks over live slots.
    pub(crate) fn touched(&self) -> u32 {
        self.words.fresh.load(Acquire)
    }
}
