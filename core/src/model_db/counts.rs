//! The words that count references to a model: the documented one, and more on cache lines of their own.

use core::mem::offset_of;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;

use super::LookUps;
use crate::abi::model_t;
use crate::arena::{COUNT_STRIPES, ModelSlot};
use crate::sync::{Stripe, own_stripe};

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
    pub(super) fn own_word(self) -> CountWord {
        CountWord::of(own_stripe() & (self.words() - 1))
    }
}

/// Words that count the references to a model where they are striped: the documented one is the first of them.
pub(crate) const COUNT_WORDS: usize = 1 + COUNT_STRIPES;

/// One of the words that count the references to a model: bytes from the start of its slot.
#[derive(Clone, Copy)]
pub(super) struct CountWord(usize);

impl CountWord {
    /// The documented one.
    pub(super) const DOCUMENTED: Self = Self::of(0);

    /// Number `index` modulo [`COUNT_WORDS`]; 0 is the documented one.
    #[inline]
    pub(super) const fn of(index: usize) -> Self {
        const { assert!(COUNT_WORDS.is_power_of_two()) };
        match index % COUNT_WORDS {
            0 => Self(offset_of!(ModelSlot, model) + offset_of!(model_t, ref_count)),
            stripe => Self(offset_of!(ModelSlot, stripes) + (stripe - 1) * size_of::<Stripe<AtomicU64>>()),
        }
    }

    /// The word in this slot.
    #[inline]
    pub(super) const fn in_slot(self, slot: NonNull<ModelSlot>) -> &'static AtomicU64 {
        // SAFETY: the offset is that of an atomic in the slot. Slots are type-stable and live for ever, and nobody resets the
        // counts in bulk.
        unsafe { slot.byte_add(self.0).cast().as_ref() }
    }
}

/// A reference to a model, and the word that counts it: the stripe of a thread may be another one when it gives back.
#[derive(Clone, Copy)]
pub(crate) struct ModelRef {
    pub(crate) slot: NonNull<ModelSlot>,
    pub(super) count: &'static AtomicU64,
}

impl ModelRef {
    #[inline]
    pub(super) fn new(slot: NonNull<ModelSlot>, word: CountWord) -> Self {
        Self { slot, count: word.in_slot(slot) }
    }
}

/// The futex word of a reference count: its low 32 bits on a little-endian machine.
pub(super) fn low_half(count: &AtomicU64) -> *const u32 {
    const { assert!(cfg!(target_endian = "little"), "the count sits in the first half of the word") };
    core::ptr::from_ref(count).cast()
}
