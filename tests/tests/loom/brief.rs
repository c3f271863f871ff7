//! The lock given back by a store: one at a time, and nobody sleeps for ever.
//!
//! The fence that the waiting side has the others execute falls between two instructions of theirs, wherever they are. In the
//! model each side fences for itself, the one that gives back between its store and its look: that is what an asymmetric pair of
//! fences guarantees wherever one of the two is the heavy one. It is more than that between two that give back, and the
//! protocol has no use for it: `docs/concurrency.md`.
//!
//! Loom does not know that nothing comes between what an exchange reads and what it writes: a thread that found the lock held
//! and marked it may, woken by the one who has freed it since, find its own mark again, and sleeps for ever. So the store
//! is an exchange here that acquires nothing and whose answer is lost. What makes the store dangerous, that the look behind it
//! is made with what was known before, is in the look.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::fence;
use loom::thread;
use nrt_core::hooks::Wait;
use nrt_core::sync::{Word, acquire_brief, release, release_brief};

use crate::words::{Bug, EXCHANGE, Futex, Relaxing, STORE, SWAP, U32, Until};
use crate::{Bound, DEADLOCK, RACE, finds, holds};

/// Words on which stores and exchanges meet; all operations of one kind are relaxed.
struct Meeting<const RELAXED: u8, const EVERY_ORDER: bool = false>;
impl<const RELAXED: u8, const EVERY_ORDER: bool> Bug for Meeting<RELAXED, EVERY_ORDER> {
    const STORING_EXCHANGES: bool = true;
    const LOADING_ADDS: bool = EVERY_ORDER;
    fn order(operation: u8, asked: Ordering) -> Ordering {
        Relaxing::<RELAXED>::order(operation, asked)
    }
}

/// No operation has this number.
const NONE: u8 = u8::MAX;
type AsWritten = Meeting<NONE>;
type InEveryOrder = Meeting<NONE, true>;

struct Locked<B = AsWritten> {
    word: U32<B>,
    waiting: U32<B>,
    futex: Futex,
    /// Entries so far.
    entries: UnsafeCell<u32>,
}

impl<B: Bug> Locked<B> {
    fn sleep(&self) {
        assert!(self.futex.wait(Until::Woken, || self.word.load(Relaxed) == CONTENDED) == Wait::Woken);
    }

    fn take_after(&self, fence_others: impl FnOnce()) {
        acquire_brief(&self.word, &self.waiting, 0, fence_others, |expected| {
            assert_eq!(expected, CONTENDED);
            self.sleep();
        });
    }

    fn count(&self) {
        // SAFETY: this thread holds the lock, so nobody else is in here; loom fails the model if that is not so.
        self.entries.with_mut(|entries| unsafe { *entries += 1 });
    }
}

const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// What a thread does: takes the lock; gives it back and tells whether to wake.
type Manner<B = AsWritten> = (fn(&Locked<B>), fn(&Locked<B>) -> bool);

fn take<B: Bug>(shared: &Locked<B>) {
    shared.take_after(|| fence(SeqCst));
}

/// As where the platform cannot have others fence.
fn take_unfenced<B: Bug>(shared: &Locked<B>) {
    shared.take_after(|| {});
}

fn give<B: Bug>(shared: &Locked<B>) -> bool {
    release_brief(&shared.word, &shared.waiting, || fence(SeqCst))
}

fn give_unfenced<B: Bug>(shared: &Locked<B>) -> bool {
    release_brief(&shared.word, &shared.waiting, || {})
}

fn give_by_exchange<B: Bug>(shared: &Locked<B>) -> bool {
    release(&shared.word)
}

/// Each thread enters as often as it says, in its manner.
fn contend<B: Bug>(threads: &'static [(u32, Manner<B>)]) -> impl Fn() + Send + Sync {
    move || {
        let shared =
            Arc::new(Locked::<B> { word: U32::new(0), waiting: U32::new(0), futex: Futex::new(), entries: UnsafeCell::new(0) });
        let enter = |shared: &Locked<B>, (times, (take, give)): (u32, Manner<B>)| {
            for _ in 0..times {
                take(shared);
                shared.count();
                if give(shared) {
                    shared.futex.wake_one();
                }
            }
        };
        let others: Vec<_> = threads[1..]
            .iter()
            .map(|&thread| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || enter(&shared, thread))
            })
            .collect();
        enter(&shared, threads[0]);
        for other in others {
            other.join().unwrap();
        }
        // SAFETY: the other threads are joined.
        let counted = shared.entries.with(|counted| unsafe { *counted });
        assert_eq!(counted, threads.iter().map(|&(times, _)| times).sum::<u32>(), "entries lost");
        assert_eq!(shared.word.load(Relaxed), 0, "the lock is not free");
        assert_eq!(shared.waiting.load(Relaxed), 0, "somebody still counts as waiting");
    }
}

#[test]
fn two_threads_exclude_each_other() {
    holds("brief lock, 2 threads", Bound::None, contend::<AsWritten>(&[(1, (take, give)), (1, (take, give))]));
}

#[test]
fn one_enters_twice() {
    let program = contend::<AsWritten>(&[(2, (take, give)), (1, (take, give))]);
    holds("brief lock, 2 threads, 3 entries", Bound::Preemptions(4), program);
}

#[test]
fn three_threads_exclude_each_other_and_none_sleeps_for_ever() {
    let program = contend::<AsWritten>(&[(1, (take, give)), (1, (take, give)), (1, (take, give))]);
    holds("brief lock, 3 threads", Bound::Preemptions(3), program);
    let program = contend::<InEveryOrder>(&[(1, (take, give)), (1, (take, give)), (1, (take, give))]);
    holds("brief lock, 3 threads, every order", Bound::Preemptions(3), program);
}

#[test]
fn both_ways_of_giving_back_meet_on_one_lock() {
    let program = contend::<AsWritten>(&[(2, (take, give)), (2, (take, give_by_exchange))]);
    holds("brief lock, 2 threads, one gives back by exchange", Bound::Preemptions(4), program);
    let program = contend::<AsWritten>(&[(1, (take, give)), (1, (take, give_by_exchange)), (1, (take, give))]);
    holds("brief lock, 3 threads, one gives back by exchange", Bound::Preemptions(3), program);
}

#[test]
fn without_the_service_nobody_fences() {
    const MANNER: Manner = (take_unfenced, give_by_exchange);
    holds("brief lock by exchange, 2 threads", Bound::None, contend(&[(1, MANNER), (1, MANNER)]));
    holds("brief lock by exchange, 3 threads", Bound::Preemptions(3), contend(&[(1, MANNER), (1, MANNER), (1, MANNER)]));
}

#[test]
fn finds_missing_orders() {
    fn found<const OPERATION: u8>(bug: &str) {
        finds(bug, RACE, Bound::None, contend::<Meeting<OPERATION>>(&[(1, (take, give)), (1, (take, give))]));
    }
    found::<EXCHANGE>("brief lock: fast path does not acquire");
    found::<SWAP>("brief lock: slow path does not acquire");
    found::<STORE>("brief lock: the store does not release");
}

#[test]
fn finds_a_fence_on_one_side_only() {
    fn found(bug: &str, manner: Manner) {
        let threads = Vec::leak(vec![(1, manner), (1, manner)]);
        finds(bug, DEADLOCK, Bound::None, contend(threads));
    }
    found("brief lock: nobody fences between store and look", (take, give_unfenced));
    found("brief lock: who waits has nobody fence", (take_unfenced, give));
}

/// One thread was told that others cannot be made to fence, the other that they can.
#[test]
fn finds_threads_that_disagree_about_the_service() {
    let program = contend::<AsWritten>(&[(1, (take, give)), (1, (take_unfenced, give_by_exchange))]);
    finds("brief lock: one thread knows the service, one does not", DEADLOCK, Bound::None, program);
}

#[test]
fn finds_a_fence_in_front_of_the_announcement() {
    fn late(shared: &Locked) {
        if shared.word.compare_exchange(0, HELD, Acquire, Relaxed).is_err() {
            fence(SeqCst);
            shared.waiting.fetch_add(1, Relaxed);
            while shared.word.swap(CONTENDED, Acquire) != 0 {
                shared.sleep();
            }
            shared.waiting.fetch_sub(1, Relaxed);
        }
    }
    let program = contend::<AsWritten>(&[(1, (late, give)), (1, (late, give))]);
    finds("brief lock: the fence in front of the announcement", DEADLOCK, Bound::None, program);
}

/// Looks at the word and sleeps on what it saw; announces itself too late for whoever gives back meanwhile.
#[test]
fn finds_a_sleeper_that_announces_itself_after_looking() {
    fn late(shared: &Locked) {
        while shared.word.compare_exchange(0, HELD, Acquire, Relaxed).is_err() && shared.word.swap(CONTENDED, Acquire) != 0 {
            let asleep = || {
                let same = shared.word.load(Relaxed) == CONTENDED;
                shared.waiting.fetch_add(1, Relaxed);
                fence(SeqCst);
                same
            };
            assert!(shared.futex.wait(Until::Woken, asleep) == Wait::Woken);
            shared.waiting.fetch_sub(1, Relaxed);
        }
    }
    let program = contend::<AsWritten>(&[(1, (late, give)), (1, (late, give))]);
    finds("brief lock: the word looked at before the announcement", DEADLOCK, Bound::None, program);
}

#[test]
fn finds_one_woken_who_no_longer_counts() {
    fn once(shared: &Locked) {
        if shared.word.compare_exchange(0, HELD, Acquire, Relaxed).is_err() {
            shared.waiting.fetch_add(1, Relaxed);
            fence(SeqCst);
            let mut counts = true;
            while shared.word.swap(CONTENDED, Acquire) != 0 {
                shared.sleep();
                if std::mem::take(&mut counts) {
                    shared.waiting.fetch_sub(1, Relaxed);
                }
            }
            if counts {
                shared.waiting.fetch_sub(1, Relaxed);
            }
        }
    }
    let program = contend::<AsWritten>(&[(1, (once, give)), (2, (once, give))]);
    finds("brief lock: who is woken no longer counts as waiting", DEADLOCK, Bound::None, program);
}

/// Decides by the word whether to wake, as the exchange does, but in two steps.
#[test]
fn finds_a_look_at_the_word_in_place_of_the_number() {
    fn give_by_word(shared: &Locked) -> bool {
        let contended = shared.word.load(Relaxed) == CONTENDED;
        shared.word.store(0, Release);
        contended
    }
    let program = contend::<AsWritten>(&[(1, (take, give_by_word)), (1, (take, give_by_word))]);
    finds("brief lock: who gives back looks at the word, then stores", DEADLOCK, Bound::None, program);
}
