//! Counted references that can be drained: the take/drain protocol of the model database.
//!
//! One 64-bit word holds the count in its low bits and, in its top bit, that somebody waits for it to become zero. Both
//! in one word is what makes the wake-up impossible to lose: the release that takes the last reference *sees* the flag,
//! or the drainer sees the count without it.
//!
//! 1. *Take* — [`enter`], then look at the key again; if it is not the one wanted, [`leave`] and go on.
//! 2. *Drain* — make the object unfindable (key to 0), then [`begin_drain`], wait until [`outstanding`] is 0, then
//!    [`finish_drain`].
//!
//! Clearing the key and then merely *loading* the count is not enough: on every machine with store buffers the load may
//! be satisfied before the store is visible, and the taker's second look at the key before its own addition is. Both
//! sides need a read-modify-write in between; the model checker finds the counter-example at once (`tests/tests/loom`).
//!
//! Acquire and release are enough then. The two read-modify-writes stand in the one order of the word. If the addition
//! comes first, the drainer counts it. If the announcement comes first, the addition reads it or a later
//! read-modify-write, all of which carry on its release: the taker has acquired the cleared key, and its second look
//! finds 0 or what was published since. Nothing but read-modify-writes may ever touch the word, or that chain breaks.
//!
//! An object may have several such words, each on a cache line of its own. A taker uses one of them and leaves through the same;
//! the drainer makes the object unfindable once, then announces on *every* word and ends the drain of each
//! ([`begin_drain_all`], [`wait_all_drained`]). What is said above holds for each word by itself.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::Word;
use crate::hooks::Wait;

/// Top bit of the word: a drainer waits.
pub const DRAINING: u64 = 1 << 63;

/// Adds one reference.
///
/// # Cost
/// One read-modify-write.
#[inline]
pub fn enter<W: Word<Int = u64>>(word: &W) {
    word.fetch_add(1, Acquire);
}

/// Takes one reference away. `true` means that it was the last and that a drainer must be woken.
///
/// # Cost
/// One read-modify-write.
#[inline]
#[must_use]
pub fn leave<W: Word<Int = u64>>(word: &W) -> bool {
    word.fetch_sub(1, Release) == DRAINING | 1
}

/// Announces the drainer and gives the references outstanding at that moment.
#[inline]
pub fn begin_drain<W: Word<Int = u64>>(word: &W) -> u64 {
    word.fetch_or(DRAINING, AcqRel) & !DRAINING
}

/// References outstanding now.
#[inline]
pub fn outstanding<W: Word<Int = u64>>(word: &W) -> u64 {
    word.load(Acquire) & !DRAINING
}

/// Ends a drain: `true` when no reference was left and the word is 0 again.
#[inline]
#[must_use]
pub fn finish_drain<W: Word<Int = u64>>(word: &W) -> bool {
    word.compare_exchange(DRAINING, 0, Acquire, Relaxed).is_ok()
}

/// After [`begin_drain`]: waits until no reference is left and the word is 0 again. `false` when `wait` reported that the
/// deadline passed first; the announcement then stands.
///
/// `wait` gets the value that the low 32 bits of the word must still have for the caller to sleep. A release in between
/// changes them, so that the wait returns at once.
pub fn wait_drained<W: Word<Int = u64>>(word: &W, mut wait: impl FnMut(u32) -> Wait) -> bool {
    loop {
        if finish_drain(word) {
            return true;
        }
        let now = outstanding(word) as u32;
        if now != 0 && wait(now) == Wait::TimedOut {
            return finish_drain(word);
        }
    }
}

/// Withdraws the announcement; the references stay.
#[inline]
pub fn cancel_drain<W: Word<Int = u64>>(word: &W) {
    word.fetch_and(!DRAINING, AcqRel);
}

/// [`begin_drain`] on every word of an object.
#[inline]
pub fn begin_drain_all<'w, W: Word<Int = u64> + 'w>(words: impl Iterator<Item = &'w W>) {
    words.for_each(|word| {
        begin_drain(word);
    });
}

/// After [`begin_drain_all`] on the same words: [`wait_drained`] on one after the other. `false` when the deadline passed first;
/// the drain of some words may be ended by then, the announcement stands on the others, and the caller may wait again.
///
/// A word whose drain was ended stays without references until the object can be found again: whoever adds to it later has
/// acquired the cleared key. So it does not matter that it is ended before the others.
#[must_use]
pub fn wait_all_drained<'w, W: Word<Int = u64> + 'w>(
    mut words: impl Iterator<Item = &'w W>,
    mut wait: impl FnMut(&'w W, u32) -> Wait,
) -> bool {
    // Only the drainer sets and clears the flag: without it, an earlier wait ended this word's drain.
    words.all(|word| word.load(Relaxed) & DRAINING == 0 || wait_drained(word, |now| wait(word, now)))
}

/// [`cancel_drain`] on every word of an object, of which some may be drained.
#[inline]
pub fn cancel_drain_all<'w, W: Word<Int = u64> + 'w>(words: impl Iterator<Item = &'w W>) {
    words.for_each(cancel_drain);
}

/// References outstanding on all words of an object, counted one word after the other.
#[inline]
pub fn all_outstanding<'w, W: Word<Int = u64> + 'w>(words: impl Iterator<Item = &'w W>) -> u64 {
    words.map(outstanding).sum()
}
