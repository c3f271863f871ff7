//! The lock for critical sections of some dozen instructions: given back by a plain store.
//!
//! The futex word and its values are those of the other [`lock`](super::lock()): 0 free, 1 held, 2 held and marked by who waits.
//! Beside it stands the number of threads that sleep or are about to. Giving back stores 0, then looks at that number; who
//! waits raises the number, then looks at the word. One of the two must see the other, or a thread sleeps for ever, and
//! processors let a load pass an earlier store: each side needs a full fence between the two. That of the side that gives
//! back would cost as much as the exchange it replaces, for every critical section. So the waiting side has it executed, by
//! every other thread of the process ([`Hooks::fence_others`]): it is about to sleep and has the time.
//!
//! Why that is enough: that fence falls between two instructions of the thread that gives back. If it falls in front of the
//! look at the number, the look comes after the number was raised, and the waiter is woken. Else the store of 0 came before
//! the fence: it is visible when the waiter goes on, whose exchange finds the lock free. A thread that gives back later looks
//! later, too. The model checker has the fence on both sides in its place (`tests/tests/loom`).
//!
//! Where the platform has no such service, giving back is the exchange, which needs no number. Both ways may meet on one lock as long
//! as all who wait have others fence. The whole argument: `docs/concurrency.md`.

use core::hint::spin_loop;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::compiler_fence;

use super::lock::{CONTENDED, FREE, HELD, SPINS};
use super::{Word, release};
use crate::abi::pthread_mutex_t;
use crate::hooks::{Hooks, Wait};

/// Longest sleep of a thread that could not have the others fence, in nanoseconds: nothing promises that it is woken.
const UNSURE_NS: u64 = 1_000_000;

/// Takes the lock. `fence_others` is called once before sleeping, `wait` gets the value that the word must still have.
///
/// # Cost
/// One read-modify-write when the lock is free.
#[inline]
pub fn acquire_brief<W: Word<Int = u32>>(word: &W, waiting: &W, spins: u32, fence_others: impl FnOnce(), wait: impl FnMut(u32)) {
    if word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
        acquire_slow(word, waiting, spins, fence_others, wait);
    }
}

#[cold]
fn acquire_slow<W: Word<Int = u32>>(word: &W, waiting: &W, spins: u32, fence_others: impl FnOnce(), mut wait: impl FnMut(u32)) {
    for _ in 0..spins {
        match word.load(Relaxed) {
            FREE if word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok() => return,
            // Also when others wait: the section is shorter than going to sleep, for this thread and for all who are interrupted.
            _ => spin_loop(),
        }
    }
    waiting.fetch_add(1, Relaxed);
    fence_others();
    while word.swap(CONTENDED, Acquire) != FREE {
        wait(CONTENDED);
    }
    waiting.fetch_sub(1, Relaxed);
}

/// Gives the lock back by a store. `true` means that one sleeper has to be woken. Between store and look the compiler moves
/// nothing, and the processor is kept from it by those who wait, see the head of this file.
///
/// # Cost
/// No read-modify-write.
#[inline]
#[must_use]
pub fn release_brief<W: Word<Int = u32>>(word: &W, waiting: &W, fence: impl FnOnce()) -> bool {
    word.store(FREE, Release);
    fence();
    waiting.load(Relaxed) != 0
}

/// Proof that the lock is held; gives it back when dropped.
#[must_use]
pub struct BriefGuard<'a, H: Hooks> {
    lock: &'a pthread_mutex_t,
    hooks: &'a H,
}

impl<H: Hooks> Drop for BriefGuard<'_, H> {
    #[inline]
    fn drop(&mut self) {
        let pthread_mutex_t { word, waiting, .. } = self.lock;
        let wake = if self.hooks.fences_others() {
            release_brief(word, waiting, || compiler_fence(core::sync::atomic::Ordering::SeqCst))
        } else {
            release(word)
        };
        if wake {
            wake_one(self.hooks, word.as_ptr());
        }
    }
}

/// Wakes one who waits for the lock.
#[cold]
fn wake_one<H: Hooks>(hooks: &H, word: *const u32) {
    hooks.wake(word, 1);
}

/// Takes a lock that is only ever taken this way, however long it takes.
///
/// # Cost
/// One read-modify-write for the pair when nobody else wants it, two where the platform cannot fence other threads. A thread
/// that sleeps interrupts the processors on which others of this process run.
#[inline]
pub fn lock_brief<'a, H: Hooks>(lock: &'a pthread_mutex_t, hooks: &'a H) -> BriefGuard<'a, H> {
    if lock.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
        wait_for(lock, hooks);
    }
    BriefGuard { lock, hooks }
}

/// Takes a lock that another thread holds.
#[cold]
fn wait_for<H: Hooks>(lock: &pthread_mutex_t, hooks: &H) {
    let sure = core::cell::Cell::new(true);
    let fence = || sure.set(!hooks.fences_others() || hooks.fence_others());
    acquire_slow(&lock.word, &lock.waiting, SPINS, fence, |expected| {
        let deadline = if sure.get() { None } else { Some(hooks.now_ns().saturating_add(UNSURE_NS)) };
        let (Wait::Woken | Wait::TimedOut) = hooks.wait(lock.word.as_ptr(), expected, deadline);
    });
}
