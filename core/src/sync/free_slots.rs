//! Free slots, shared by all threads: the slot freed last in a word of its own, the others on the stack.
//!
//! A slot is most often taken again right after it was given back. Taking it out of the word is one exchange that needs
//! nothing read before, neither the head nor the link of a slot; on the stack each step of that waits for the one before, and
//! even a look at the word before the exchange would be waited for. Who finds no slot in the word goes to the stack.
//!
//! An index is in one place only: an exchange that puts one in takes out what was there, and that is its finder's, who puts it
//! on the stack. So slots are taken in the reverse order of their return, as from the stack alone. On that way the slot is in nobody's
//! reach: see [`FreeSlots::pop`]. Why this is right: `docs/concurrency.md`.

use core::sync::atomic::Ordering::{AcqRel, Relaxed};

use super::{FreeStack, Word};

/// The protocol; the words and links are the caller's.
pub struct FreeSlots<'a, W, L> {
    stack: FreeStack<'a, W>,
    last: &'a L,
}

impl<'a, W: Word<Int = u64>, L: Word<Int = u32>> FreeSlots<'a, W, L> {
    /// Largest number of slots.
    pub const MAX_SLOTS: u32 = FreeStack::<'a, W>::MAX_SLOTS;

    /// A view of the slots on the stack with this `head` and in `last`; both 0 = none is free.
    #[inline]
    pub const fn new(head: &'a W, last: &'a L) -> Self {
        Self { stack: FreeStack::new(head), last }
    }

    /// Takes a free slot, the one freed last if nobody interferes, or `None`. `link(i)` reads the link of slot `i`.
    ///
    /// # Concurrency
    /// `None` says that no slot was free, or that the free ones were in the hands of threads inside [`push`](Self::push), one in each.
    ///
    /// # Cost
    /// One read-modify-write when a slot was given back since the last take, else two.
    #[inline]
    pub fn pop(&self, link: impl Fn(u32) -> u32) -> Option<u32> {
        // Release: who finds the word empty next sees what this thread put on the stack before, and does not miss it there.
        match self.last.swap(0, AcqRel).checked_sub(1) {
            Some(index) => Some(index),
            None => self.stack.pop(link),
        }
    }

    /// Puts a slot back that the caller owns. `set_link(i, next)` stores the link of slot `i`.
    ///
    /// # Cost
    /// One read-modify-write when a slot was taken since the last return, else two.
    #[inline]
    pub fn push(&self, index: u32, set_link: impl Fn(u32, u32)) {
        // The one of before, if it was not taken since, is this thread's now.
        let Some(own) = self.last.swap(index + 1, AcqRel).checked_sub(1) else { return };
        self.stack.push(own, |next| set_link(own, next));
    }

    /// Whether no slot is free at this moment.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.last.load(Relaxed) == 0 && self.stack.is_empty()
    }
}
