//! Free slots, shared by all threads: the slot freed last in a word of its own, the others on the stack.
//!
//! A slot is most often taken again right after it was given back. Taking it out of the word is one exchange that needs
//! nothing read before, neither the head nor the link of a slot; on the stack each step of that waits for the one before.
//! Whoever finds the word taken, or loses it to another thread, goes to the stack.
//!
//! An index is in one place only: an exchange that puts one in takes out what was there, and that is its finder's to keep.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

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
    /// # Cost
    /// One read-modify-write; two when another thread takes the slot freed last at the same time.
    #[inline]
    pub fn pop(&self, link: impl Fn(u32) -> u32) -> Option<u32> {
        // Looked at first: an exchange that finds nothing would cost as much as one that does.
        if self.last.load(Relaxed) != 0
            && let Some(index) = self.last.swap(0, Acquire).checked_sub(1)
        {
            return Some(index);
        }
        self.stack.pop(link)
    }

    /// Puts a slot back that the caller owns. `set_link(i, next)` stores the link of slot `i`.
    ///
    /// # Cost
    /// As [`pop`](Self::pop).
    #[inline]
    pub fn push(&self, index: u32, set_link: impl Fn(u32, u32)) {
        let mut own = index;
        if self.last.load(Relaxed) == 0 {
            match self.last.swap(own + 1, AcqRel).checked_sub(1) {
                // Another thread was faster. What it left is this thread's now.
                Some(other) => own = other,
                None => return,
            }
        }
        self.stack.push(own, |next| set_link(own, next));
    }

    /// Whether no slot is free at this moment.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.last.load(Relaxed) == 0 && self.stack.is_empty()
    }
}
