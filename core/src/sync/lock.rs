//! The 40-byte lock: a futex word at offset 0 of the documented `pthread_mutex_t` span.
//!
//! 0 = free, 1 = held, 2 = held with waiters: the values glibc uses, so a debugger reads them and zeroed memory is an
//! unlocked lock. Lock order of the whole crate: `docs/architecture.md`.

use core::hint::spin_loop;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::Word;
use crate::abi::pthread_mutex_t;
use crate::hooks::{Hooks, Wait};

pub(super) const FREE: u32 = 0;
pub(super) const HELD: u32 = 1;
pub(super) const CONTENDED: u32 = 2;

/// Rounds of looking before sleeping. A critical section of the core is some dozens of instructions.
pub(super) const SPINS: u32 = 64;

/// Takes the lock in `word`, sleeping through `wait` when it is held. `wait` gets the value the word must still have for
/// the caller to sleep. Gives `false` when `wait` reported that the deadline passed.
///
/// A caller that gives up leaves the lock marked as contended, at the price of one needless wake-up. It owes nobody one,
/// as long as `wait` reports a passed deadline only to those who were not woken, as the kernel does.
///
/// # Cost
/// One read-modify-write when the lock is free.
#[inline]
pub fn acquire<W: Word<Int = u32>>(word: &W, wait: impl FnMut(u32) -> Wait) -> bool {
    acquire_after(word, SPINS, wait)
}

/// [`acquire`] with another number of looks before sleeping; a model checker wants few.
#[inline]
pub fn acquire_after<W: Word<Int = u32>>(word: &W, spins: u32, wait: impl FnMut(u32) -> Wait) -> bool {
    if word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok() { true } else { acquire_slow(word, spins, wait) }
}

#[cold]
fn acquire_slow<W: Word<Int = u32>>(word: &W, spins: u32, mut wait: impl FnMut(u32) -> Wait) -> bool {
    for _ in 0..spins {
        match word.load(Relaxed) {
            FREE if word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok() => return true,
            CONTENDED => break,
            _ => spin_loop(),
        }
    }
    // From here on this thread marks the lock as contended: whoever releases it wakes one sleeper, who marks it again.
    while word.swap(CONTENDED, Acquire) != FREE {
        if wait(CONTENDED) == Wait::TimedOut {
            return false;
        }
    }
    true
}

/// Gives the lock back. `true` means that one sleeper has to be woken.
#[inline]
#[must_use]
pub fn release<W: Word<Int = u32>>(word: &W) -> bool {
    word.swap(FREE, Release) == CONTENDED
}

/// Proof that the lock is held; releases it when dropped.
#[must_use]
pub struct Guard<'a, H: Hooks> {
    lock: &'a pthread_mutex_t,
    hooks: &'a H,
}

impl<H: Hooks> Drop for Guard<'_, H> {
    #[inline]
    fn drop(&mut self) {
        if release(&self.lock.word) {
            self.hooks.wake(self.lock.word.as_ptr(), 1);
        }
    }
}

/// Takes the lock, however long it takes.
///
/// # Cost
/// Two read-modify-writes for the pair when nobody else wants it.
#[inline]
pub fn lock<'a, H: Hooks>(lock: &'a pthread_mutex_t, hooks: &'a H) -> Guard<'a, H> {
    if lock.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
        wait_for(lock, hooks);
    }
    Guard { lock, hooks }
}

/// Takes a lock that another thread holds.
#[cold]
fn wait_for<H: Hooks>(lock: &pthread_mutex_t, hooks: &H) {
    let held = acquire_slow(&lock.word, SPINS, |expected| {
        let _ = hooks.wait(lock.word.as_ptr(), expected, None);
        Wait::Woken
    });
    debug_assert!(held);
}

/// Takes the lock unless `deadline_ns` passes first.
pub fn lock_until<'a, H: Hooks>(lock: &'a pthread_mutex_t, hooks: &'a H, deadline_ns: Option<u64>) -> Option<Guard<'a, H>> {
    // Lazily: a guard made too early and thrown away would release the lock of whoever holds it.
    acquire(&lock.word, |expected| hooks.wait(lock.word.as_ptr(), expected, deadline_ns)).then(|| Guard { lock, hooks })
}

/// Takes the lock if it is free right now.
pub fn try_lock<'a, H: Hooks>(lock: &'a pthread_mutex_t, hooks: &'a H) -> Option<Guard<'a, H>> {
    lock.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok().then(|| Guard { lock, hooks })
}
