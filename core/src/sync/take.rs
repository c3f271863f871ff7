//! Finding an object in a chained table and taking a reference to it, without a lock.
//!
//! Writers link and unlink under a lock; readers walk beside them. A reader must be right in both answers:
//!
//! * *Found*: a key that matches is not enough, the object may be on its way out. The reader counts itself, then looks at the
//!   key again (see [`enter`](super::enter)): if it still matches, whoever drains the object waits for this reader.
//! * *Absent*: the chain may have been led elsewhere under the reader, by an object that was unlinked and linked again in
//!   another place. A miss counts only if the sequence word, which is odd while a writer changes chains, was even before the
//!   walk and is the same after it.
//!
//! Every object ever linked stays readable for ever, and its key, link and count are atomics that nobody resets in bulk: a
//! reader that went astray reads stale words, never foreign memory, and may add and take back one at any time.

use core::hint::spin_loop;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::{Word, enter, leave};

/// Walks before the reader is told to take the lock.
pub const WALKS: u32 = 4;

/// A chained table as a reader sees it.
pub trait Chains {
    /// The words of the table.
    type Word: Word<Int = u64>;
    /// Names an object; always valid.
    type Node: Copy;

    /// Odd while a writer changes chains.
    fn sequence(&self) -> &Self::Word;
    /// The first object of the chain for a key, loaded with Acquire.
    fn first(&self, key: u64) -> Option<Self::Node>;
    /// The object behind another one, loaded with Acquire.
    fn next(&self, node: Self::Node) -> Option<Self::Node>;
    /// Key of an object; 0 = not to be found.
    fn key(&self, node: Self::Node) -> &Self::Word;
    /// The word on which this reader's reference to an object is counted.
    fn count(&self, node: Self::Node) -> &Self::Word;
}

/// What a reader found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken<N> {
    /// The object, with a reference that must be given back with [`leave`], on the word it was counted on.
    Found(N),
    /// At some moment of the call there was none.
    Absent,
    /// Writers kept changing the chains.
    Unsettled,
}

/// Finds the object with this key, not 0, and takes a reference, in `walks` walks at most ([`WALKS`] are plenty). Looks at no
/// more than `longest` objects in a walk; there are no more. `wake` is called for an object whose drainer has to be woken.
///
/// # Cost
/// One read-modify-write when the object is there, none when it is not.
#[inline]
pub fn take<C: Chains>(chains: &C, key: u64, longest: u32, walks: u32, wake: impl Fn(C::Node)) -> Taken<C::Node> {
    for _ in 0..walks {
        let before = chains.sequence().load(Acquire);
        let mut at = chains.first(key);
        for _ in 0..longest {
            let Some(node) = at else { break };
            if chains.key(node).load(Acquire) == key {
                enter(chains.count(node));
                if chains.key(node).load(Acquire) == key {
                    return Taken::Found(node);
                }
                if leave(chains.count(node)) {
                    wake(node);
                }
            }
            at = chains.next(node);
        }
        // What was read above was read before the sequence is read again.
        C::Word::fence(Acquire);
        if at.is_none() && before & 1 == 0 && chains.sequence().load(Relaxed) == before {
            return Taken::Absent;
        }
        spin_loop();
    }
    Taken::Unsettled
}

/// Marks the chains as changing, then as settled, around `change`. The caller holds the writers' lock, and `change` stores
/// links and keys with Release: a reader that sees one of them sees the mark.
#[inline]
pub fn change<W: Word<Int = u64>, T>(sequence: &W, change: impl FnOnce() -> T) -> T {
    let before = sequence.load(Relaxed);
    sequence.store(before.wrapping_add(1), Relaxed);
    let outcome = change();
    sequence.store(before.wrapping_add(2), Release);
    outcome
}
