//! The words that count references to a model: the documented one, and more on cache lines of their own.

use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;

use super::LookUps;
use crate::arena::{COUNT_STRIPES, ModelSlot};
use crate::sync::own_stripe;

/// What [`Config`](crate::Config) says of look-ups, in one word: a single comparison tells the usual form from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taking {
    /// Without a lock, counted on one word.
    Usual,
    /// Without a lock, counted on striped words.
    Striped,
    Locked,
    LockedStriped,
}

impl Taking {
    pub(crate) const fn new(look_ups: LookUps, striped: bool) -> Self {
        match (look_ups, striped) {
            (LookUps::LockFree, false) => Self::Usual,
            (LookUps::LockFree, true) => Self::Striped,
            (LookUps::Locked, false) => Self::Locked,
            (LookUps::Locked, true) => Self::LockedStriped,
        }
    }

    pub(super) const fn locked(self) -> bool {
        matches!(self, Self::Locked | Self::LockedStriped)
    }

    /// Words that count the references to a model: a power of two.
    pub(super) const fn words(self) -> usize {
        if matches!(self, Self::Striped | Self::LockedStriped) { COUNT_WORDS } else { 1 }
    }

    /// The word on which the calling thread counts.
    #[inline]
    pub(super) fn own_word(self) -> usize {
        const { assert!(COUNT_WORDS.is_power_of_two()) };
        own_stripe() & (self.words() - 1)
    }
}

/// Words that count the references to a model where they are striped: the documented one is the first of them.
pub(crate) const COUNT_WORDS: usize = 1 + COUNT_STRIPES;

/// A reference to a model, and the word that counts it: the stripe of a thread may be another one when it gives back.
#[derive(Clone, Copy)]
pub(crate) struct ModelRef {
    pub(crate) slot: NonNull<ModelSlot>,
    pub(super) count: &'static AtomicU64,
}

impl ModelRef {
    #[inline]
    pub(super) fn new(slot: NonNull<ModelSlot>, word: usize) -> Self {
        Self { slot, count: count(slot, word) }
    }
}

/// Word `index` of those that count the references to a model, below [`COUNT_WORDS`].
#[inline]
pub(super) fn count(slot: NonNull<ModelSlot>, index: usize) -> &'static AtomicU64 {
    // SAFETY: slots are type-stable and live for ever; the words are atomics that nobody resets in bulk, and the references cover
    // nothing but such words.
    unsafe {
        match index.checked_sub(1) {
            None => &(*slot.as_ptr()).model.ref_count,
            Some(stripe) => &(&(*slot.as_ptr()).stripes)[stripe].0,
        }
    }
}

/// The futex word of a reference count: its low 32 bits on a little-endian machine.
pub(super) fn low_half(count: &AtomicU64) -> *const u32 {
    const { assert!(cfg!(target_endian = "little"), "the count sits in the first half of the word") };
    core::ptr::from_ref(count).cast()
}
