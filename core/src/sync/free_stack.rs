//! A stack of free slots, shared by all threads, without a lock.
//!
//! The head is one word: 24 bits of index + 1 (0 = empty) and 40 bits of tag. Every change moves the tag on, so a thread
//! that read the head, was delayed while others popped and pushed, and comes back to the same index fails its exchange
//! (the ABA case) unless exactly 2^40 changes lie in between. Links are atomics in the slots themselves; the slots never
//! leave the arena, so a stale link is only ever a wrong number, never a wild access.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::Word;

const INDEX_BITS: u32 = 24;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;

/// The protocol; the words and links are the caller's.
pub struct FreeStack<'a, W> {
    head: &'a W,
}

impl<'a, W: Word<Int = u64>> FreeStack<'a, W> {
    /// Largest number of slots a stack can index.
    pub const MAX_SLOTS: u32 = INDEX_MASK as u32 - 1;

    /// A view of the stack whose head is `head`; 0 is the empty stack.
    #[inline]
    pub const fn new(head: &'a W) -> Self {
        Self { head }
    }

    /// Takes the slot freed last, or `None`. `link(i)` reads the link of slot `i`.
    ///
    /// # Cost
    /// One read-modify-write when nobody interferes.
    #[inline]
    pub fn pop(&self, link: impl Fn(u32) -> u32) -> Option<u32> {
        let mut head = self.head.load(Acquire);
        loop {
            let top = (head & INDEX_MASK) as u32;
            if top == 0 {
                return None;
            }
            let next = link(top - 1);
            match self.head.compare_exchange(head, moved_on(head, next), AcqRel, Acquire) {
                Ok(_) => return Some(top - 1),
                Err(now) => head = now,
            }
        }
    }

    /// Puts slot `index` on top. `set_link(next)` writes its link.
    ///
    /// # Cost
    /// One read-modify-write when nobody interferes.
    #[inline]
    pub fn push(&self, index: u32, set_link: impl Fn(u32)) {
        let mut head = self.head.load(Relaxed);
        loop {
            set_link((head & INDEX_MASK) as u32);
            match self.head.compare_exchange(head, moved_on(head, index + 1), Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Whether the stack looks empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.load(Relaxed) & INDEX_MASK == 0
    }
}

/// The head with the next tag and `top` (an index + 1, or 0).
const fn moved_on(head: u64, top: u32) -> u64 {
    ((head >> INDEX_BITS).wrapping_add(1) << INDEX_BITS) | top as u64
}
