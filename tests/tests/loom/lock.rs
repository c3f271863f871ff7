//! The lock: one at a time, nobody sleeps for ever, giving up does no harm.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::{Acquire, Relaxed};
use loom::thread;
use nrt_core::hooks::Wait;
use nrt_core::sync::{Word, acquire_after, release};

use crate::words::{AsWritten, Bug, EXCHANGE, Futex, Relaxing, SWAP, U32, Until};
use crate::{Bound, DEADLOCK, RACE, finds, holds};

/// Looks before sleeping: one takes every branch of the slow path.
const SPINS: u32 = 1;

struct Locked<B> {
    word: U32<B>,
    futex: Futex,
    /// Entries so far.
    entries: UnsafeCell<u32>,
}

impl<B: Bug> Locked<B> {
    fn new() -> Arc<Self> {
        Arc::new(Self { word: U32::new(0), futex: Futex::new(), entries: UnsafeCell::new(0) })
    }

    fn wait(&self, until: Until, expected: u32) -> Wait {
        self.futex.wait(until, || self.word.load(Relaxed) == expected)
    }

    /// Takes the lock, counts, gives it back. `false` when the deadline passed.
    fn enter(&self, spins: u32, until: Until) -> bool {
        let held = acquire_after(&self.word, spins, |expected| self.wait(until, expected));
        if held {
            self.count();
            self.give();
        }
        held
    }

    fn count(&self) {
        // SAFETY: this thread holds the lock, so nobody else is in here; loom fails the model if that is not so.
        self.entries.with_mut(|entries| unsafe { *entries += 1 });
    }

    fn give(&self) {
        if release(&self.word) {
            self.futex.wake_one();
        }
    }

    /// After all threads are joined.
    fn finish(&self, entries: u32) {
        // SAFETY: the other threads are joined.
        let counted = self.entries.with(|counted| unsafe { *counted });
        assert_eq!(counted, entries, "entries lost");
        assert_eq!(self.word.load(Relaxed), 0, "the lock is not free");
    }
}

/// `threads` threads enter once each.
fn contend<B: Bug>(threads: u32, spins: u32) -> impl Fn() + Send + Sync {
    move || {
        let shared = Locked::<B>::new();
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || assert!(shared.enter(spins, Until::Woken)))
            })
            .collect();
        assert!(shared.enter(spins, Until::Woken));
        for other in others {
            other.join().unwrap();
        }
        shared.finish(threads);
    }
}

#[test]
fn two_threads_exclude_each_other() {
    holds("lock, 2 threads", Bound::None, contend::<AsWritten>(2, SPINS));
}

#[test]
fn three_threads_exclude_each_other_and_none_sleeps_for_ever() {
    holds("lock, 3 threads", Bound::Preemptions(3), contend::<AsWritten>(3, 0));
}

/// One enters twice, one sleeps as long as it takes, one gives up at a deadline that passes at any time.
fn with_deadline(until: Until) -> impl Fn() + Send + Sync {
    move || {
        let shared = Locked::<AsWritten>::new();
        let spawn = |until| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.enter(0, until))
        };
        let hasty = spawn(until);
        let patient = spawn(Until::Woken);
        let clock = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.futex.expire())
        };
        assert!(shared.enter(0, Until::Woken));
        assert!(shared.enter(0, Until::Woken));
        clock.join().unwrap();
        assert!(patient.join().unwrap());
        let third = u32::from(hasty.join().unwrap());
        shared.finish(3 + third);
        assert!(shared.enter(0, Until::Woken), "the lock is usable");
    }
}

#[test]
fn giving_up_does_no_harm() {
    holds("lock, one gives up", Bound::Preemptions(2), with_deadline(Until::Deadline));
}

#[test]
fn finds_a_wake_up_spent_on_one_who_gives_up() {
    finds(
        "lock: a woken thread reports that its deadline passed",
        DEADLOCK,
        Bound::Preemptions(2),
        with_deadline(Until::DeadlineAlthoughWoken),
    );
}

#[test]
fn finds_missing_orders() {
    finds("lock: fast path does not acquire", RACE, Bound::None, contend::<Relaxing<EXCHANGE>>(2, SPINS));
    finds("lock: release does not release", RACE, Bound::None, contend::<Relaxing<SWAP>>(2, SPINS));
}

/// The slow path as it is often written first: whoever was woken takes the lock as if nobody else slept.
fn enter_and_forget_the_others(shared: &Locked<AsWritten>) {
    while shared.word.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
        if shared.word.compare_exchange(1, 2, Relaxed, Relaxed) != Err(0) {
            shared.wait(Until::Woken, 2);
        }
    }
    shared.count();
    shared.give();
}

#[test]
fn finds_forgotten_sleepers() {
    finds("lock: a woken thread forgets that others sleep", DEADLOCK, Bound::Preemptions(2), || {
        let shared = Locked::<AsWritten>::new();
        let others: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || enter_and_forget_the_others(&shared))
            })
            .collect();
        enter_and_forget_the_others(&shared);
        for other in others {
            other.join().unwrap();
        }
    });
}
