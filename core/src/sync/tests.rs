//! The protocols under real threads: what the model checker cannot do is run them a million times on real hardware.

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};
use std::sync::{Condvar, Mutex};
use std::time::Duration;
use std::{thread, vec, vec::Vec};

use super::{
    FreeSlots, FreeStack, GateWords, acquire, acquire_brief, all_outstanding, begin_drain_all, enter, leave, release,
    release_brief, wait_all_drained,
};
use crate::hooks::Wait;

/// Operations of each thread.
const OPERATIONS: u64 = 1_000_000;

/// Data that a protocol protects.
struct Guarded<T>(UnsafeCell<T>);
// SAFETY: every access below is under the protocol under test, whose failure is what the tests look for.
unsafe impl<T: Send> Sync for Guarded<T> {}

/// What the kernel does for one word.
struct Futex(Mutex<()>, Condvar);

impl Futex {
    const fn new() -> Self {
        Self(Mutex::new(()), Condvar::new())
    }

    /// Sleeps if the word is unchanged. A wake-up that does not come for a minute is lost.
    fn wait(&self, unchanged: impl FnOnce() -> bool) -> Wait {
        let guard = self.0.lock().unwrap();
        if unchanged() {
            let (_guard, late) = self.1.wait_timeout(guard, Duration::from_mins(1)).unwrap();
            assert!(!late.timed_out(), "a wake-up was lost");
        }
        Wait::Woken
    }

    fn wake_one(&self) {
        let _guard = self.0.lock().unwrap();
        self.1.notify_one();
    }

    fn wake_all(&self) {
        let _guard = self.0.lock().unwrap();
        self.1.notify_all();
    }
}

#[test]
fn lock_excludes() {
    let word = AtomicU32::new(0);
    let futex = Futex::new();
    let counter = Guarded(UnsafeCell::new(0_u64));
    let counter = &counter;
    let count = || {
        for _ in 0..OPERATIONS {
            assert!(acquire(&word, |expected| futex.wait(|| word.load(Relaxed) == expected)));
            // SAFETY: the lock is held.
            unsafe { *counter.0.get() += 1 };
            if release(&word) {
                futex.wake_one();
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(count);
        scope.spawn(count);
    });
    assert_eq!(word.load(Relaxed), 0);
    // SAFETY: the threads are joined.
    assert_eq!(unsafe { *counter.0.get() }, 2 * OPERATIONS);
}

#[test]
fn lock_survives_those_who_give_up() {
    let word = AtomicU32::new(0);
    let futex = Futex::new();
    let counter = Guarded(UnsafeCell::new(0_u64));
    let counter = &counter;
    let count = |wait: &dyn Fn(u32) -> Wait| {
        let mut taken = 0;
        for _ in 0..OPERATIONS {
            if acquire(&word, wait) {
                // SAFETY: the lock is held.
                unsafe { *counter.0.get() += 1 };
                taken += 1;
                if release(&word) {
                    futex.wake_one();
                }
            }
        }
        taken
    };
    let (patient, hasty) = thread::scope(|scope| {
        let patient = scope.spawn(|| count(&|expected| futex.wait(|| word.load(Relaxed) == expected)));
        let hasty = scope.spawn(|| count(&|_| Wait::TimedOut));
        (patient.join().unwrap(), hasty.join().unwrap())
    });
    assert_eq!(patient, OPERATIONS);
    assert_eq!(word.load(Relaxed), 0);
    // SAFETY: the threads are joined.
    assert_eq!(unsafe { *counter.0.get() }, patient + hasty);
}

/// Two threads over a lock for brief critical sections; `fence` stands on both sides, `give` gets the number of the entry.
fn brief_lock_excludes(fence: fn(), give: impl Fn(u64, &AtomicU32, &AtomicU32) -> bool + Sync) {
    let word = AtomicU32::new(0);
    let waiting = AtomicU32::new(0);
    let futex = Futex::new();
    let counter = Guarded(UnsafeCell::new(0_u64));
    let counter = &counter;
    let count = || {
        for entry in 0..OPERATIONS {
            // Few looks, so that there are sleepers.
            acquire_brief(&word, &waiting, 1, fence, |expected| {
                futex.wait(|| word.load(Relaxed) == expected);
            });
            // SAFETY: the lock is held.
            unsafe { *counter.0.get() += 1 };
            if give(entry, &word, &waiting) {
                futex.wake_one();
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(count);
        scope.spawn(count);
    });
    assert_eq!(word.load(Relaxed), 0, "the lock is not free");
    assert_eq!(waiting.load(Relaxed), 0, "somebody still counts as waiting");
    // SAFETY: the threads are joined.
    assert_eq!(unsafe { *counter.0.get() }, 2 * OPERATIONS);
}

#[test]
fn brief_lock_excludes_when_given_back_by_store() {
    let fence = || fence(SeqCst);
    brief_lock_excludes(fence, |_, word, waiting| release_brief(word, waiting, fence));
}

#[test]
fn brief_lock_excludes_when_given_back_by_exchange() {
    brief_lock_excludes(|| (), |_, word, _| release(word));
}

#[test]
fn brief_lock_excludes_when_given_back_both_ways() {
    let fence = || fence(SeqCst);
    let give = |entry, word: &_, waiting: &_| {
        if entry % 3 == 0 { release(word) } else { release_brief(word, waiting, fence) }
    };
    brief_lock_excludes(fence, give);
}

/// The taker uses the words of the object in turn.
fn drained_objects_are_not_in_use<const WORDS: usize>() {
    let key = AtomicU64::new(0);
    let words = [const { AtomicU64::new(0) }; WORDS];
    let futex = Futex::new();
    let payload = Guarded(UnsafeCell::new(0_u64));
    let payload = &payload;
    let done = AtomicBool::new(false);
    let met = AtomicU64::new(0);
    let taken = thread::scope(|scope| {
        let taker = scope.spawn(|| {
            let mut taken = 0_u64;
            let mut attempts = 0_u64;
            while attempts < OPERATIONS || !done.load(Relaxed) {
                attempts += 1;
                let wanted = key.load(Acquire);
                if wanted == 0 {
                    continue;
                }
                let refs = &words[attempts as usize % WORDS];
                enter(refs);
                if key.load(Acquire) == wanted {
                    // SAFETY: a reference is held.
                    assert_eq!(unsafe { payload.0.get().read_volatile() }, wanted);
                    taken += 1;
                    met.store(taken, Relaxed);
                }
                if leave(refs) {
                    futex.wake_all();
                }
            }
            taken
        });
        scope.spawn(|| {
            for id in 1..=OPERATIONS {
                // SAFETY: drained, or not published yet.
                unsafe { payload.0.get().write_volatile(id) };
                let before = met.load(Relaxed);
                key.store(id, Release);
                // Now and then the object stays until the other thread has used it, however the two are scheduled.
                while id % 10_000 == 0 && met.load(Relaxed) == before {
                    thread::yield_now();
                }
                key.store(0, Release);
                begin_drain_all(words.iter());
                let wait = |refs: &AtomicU64, expected| futex.wait(|| refs.load(Relaxed) as u32 == expected);
                assert!(wait_all_drained(words.iter(), wait));
                // SAFETY: drained.
                unsafe { payload.0.get().write_volatile(0) };
            }
            done.store(true, Relaxed);
        });
        taker.join().unwrap()
    });
    assert_eq!(all_outstanding(words.iter()), 0);
    words.iter().for_each(|refs| assert_eq!(refs.load(Relaxed), 0));
    assert!(taken > 0, "the two threads never met");
}

#[test]
fn drained_objects_with_one_count_are_not_in_use() {
    drained_objects_are_not_in_use::<1>();
}

#[test]
fn drained_objects_with_striped_counts_are_not_in_use() {
    drained_objects_are_not_in_use::<3>();
}

const SLOTS: u32 = 3;

#[test]
fn slots_of_the_stack_have_one_owner() {
    let head = AtomicU64::new(0);
    let links = [const { AtomicU32::new(0) }; SLOTS as usize];
    let stack = FreeStack::new(&head);
    slots_have_one_owner(
        || stack.pop(|index| links[index as usize].load(Relaxed)),
        |index| stack.push(index, |next| links[index as usize].store(next, Relaxed)),
    );
}

#[test]
fn slots_with_the_last_one_in_a_word_have_one_owner() {
    let head = AtomicU64::new(0);
    let last = AtomicU32::new(0);
    let links = [const { AtomicU32::new(0) }; SLOTS as usize];
    let slots = FreeSlots::new(&head, &last);
    slots_have_one_owner(
        || slots.pop(|index| links[index as usize].load(Relaxed)),
        |index| slots.push(index, |slot, next| links[slot as usize].store(next, Relaxed)),
    );
    assert!(slots.is_empty());
}

/// Two threads take and give; at the end all slots are there, once, and taken.
fn slots_have_one_owner(pop: impl Fn() -> Option<u32> + Sync, push: impl Fn(u32) + Sync) {
    let owned = [const { AtomicBool::new(false) }; SLOTS as usize];
    for index in 0..SLOTS {
        push(index);
    }
    let work = || {
        let mut held = Vec::new();
        for round in 0..OPERATIONS {
            // One or two slots at a time, given back in the order in which they came: the top comes back often.
            if held.len() < 1 + (round % 2) as usize
                && let Some(index) = pop()
            {
                assert!(!owned[index as usize].swap(true, Relaxed), "slot {index} has two owners");
                held.push(index);
            } else if !held.is_empty() {
                let index = held.remove(0);
                assert!(owned[index as usize].swap(false, Relaxed));
                push(index);
            }
        }
        held
    };
    let mut all = thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.map(|thread| thread.join().unwrap()).concat()
    });
    while let Some(index) = pop() {
        all.push(index);
    }
    all.sort_unstable();
    assert_eq!(all, vec![0, 1, 2]);
}

#[test]
fn nobody_is_behind_a_shut_gate() {
    let gate = GateWords::<AtomicU32, AtomicU64, 2>::from_words(
        AtomicU32::new(0),
        AtomicU32::new(0),
        [AtomicU64::new(0), AtomicU64::new(0)],
    );
    let futex = Futex::new();
    let up = Guarded(UnsafeCell::new(false));
    let up = &up;
    let done = AtomicBool::new(false);
    let met = AtomicU64::new(0);
    let entered = thread::scope(|scope| {
        let user = scope.spawn(|| {
            let mut entered = 0_u64;
            let mut attempts = 0_u64;
            while attempts < OPERATIONS || !done.load(Relaxed) {
                let stripe = gate.stripe(attempts as usize);
                attempts += 1;
                if gate.enter(stripe) {
                    // SAFETY: inside.
                    assert!(unsafe { up.0.get().read_volatile() }, "inside, but taken down");
                    entered += 1;
                    met.store(entered, Relaxed);
                }
                if gate.leave(stripe) {
                    futex.wake_all();
                }
            }
            entered
        });
        scope.spawn(|| {
            for round in 1..=OPERATIONS {
                let before = met.load(Relaxed);
                // SAFETY: shut and empty, or not opened yet.
                unsafe { up.0.get().write_volatile(true) };
                gate.open();
                // As above: now and then it stays open until the other thread was inside.
                while round % 10_000 == 0 && met.load(Relaxed) == before {
                    thread::yield_now();
                }
                assert!(gate.shut());
                assert_eq!(gate.wait_empty(|seen| futex.wait(|| gate.left().load(Relaxed) == seen)), 0);
                // SAFETY: shut and empty.
                unsafe { up.0.get().write_volatile(false) };
            }
            done.store(true, Relaxed);
        });
        user.join().unwrap()
    });
    assert_eq!(gate.inside(), 0);
    assert!(entered > 0, "the two threads never met");
}
