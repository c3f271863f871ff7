//! The protocols under real threads: what the model checker cannot do is run them a million times on real hardware.

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Condvar, Mutex};
use std::time::Duration;
use std::{thread, vec, vec::Vec};

use super::stripe::stripe_of;
use super::{FreeStack, GateWords, acquire, all_outstanding, begin_drain_all, enter, leave, release, wait_all_drained};
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

/// Threads whose stacks lie side by side, wherever the first one lies and however far each thread is down its stack.
#[test]
fn neighbours_have_different_stripes() {
    for stripes in [8, 16] {
        for step in [256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20].map(|bytes: usize| bytes + 4096) {
            let (mut alone, mut places) = (0, 0);
            for base in (0x7f00_0000_0000..).step_by(0x123_4560).take(2000) {
                let used = |thread: usize| (base - thread * step - thread * 1712 % 8192) & !15;
                let stripe: [usize; 4] = core::array::from_fn(|thread| stripe_of(used(thread)) % stripes);
                places += 1;
                let mut different = stripe;
                different.sort_unstable();
                alone += usize::from(different.windows(2).all(|pair| pair[0] != pair[1]));
                // Four in a row are never on fewer than three.
                let on = 1 + different.windows(2).filter(|pair| pair[0] != pair[1]).count();
                assert!(on >= 3, "stacks {step:#x} apart from {base:#x}: stripes {stripe:?} of {stripes}");
            }
            assert!(
                alone * 3 > places,
                "stacks {step:#x} apart: {alone} of {places} times four threads on four of {stripes} stripes"
            );
        }
    }
}

#[test]
fn free_slots_have_one_owner() {
    const SLOTS: u32 = 3;
    let head = AtomicU64::new(0);
    let links = [const { AtomicU32::new(0) }; SLOTS as usize];
    let owned = [const { AtomicBool::new(false) }; SLOTS as usize];
    let pop = || FreeStack::new(&head).pop(|index| links[index as usize].load(Relaxed));
    let push = |index: u32| FreeStack::new(&head).push(index, |next| links[index as usize].store(next, Relaxed));
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
