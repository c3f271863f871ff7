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
