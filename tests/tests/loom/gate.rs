//! The gate: once it is shut and counted empty, nobody is inside and nobody gets in.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use loom::thread;
use nrt_core::hooks::Wait;
use nrt_core::sync::{GateWords, Word};

use crate::words::{ADD, AsWritten, Bug, Futex, LOAD, Relaxing, STORE, SUB, U32, U64, Until};
use crate::{Bound, DEADLOCK, RACE, finds, holds};

struct Gated<B: Bug> {
    gate: GateWords<U32<B>, U64<B>, 2>,
    futex: Futex,
    /// What the operations use; 0 once it is taken down.
    payload: UnsafeCell<u32>,
}

const UP: u32 = 7;

impl<B: Bug> Gated<B> {
    fn shut() -> Arc<Self> {
        let gate = GateWords::from_words(U32::new(0), U32::new(0), [U64::new(0), U64::new(0)]);
        Arc::new(Self { gate, futex: Futex::new(), payload: UnsafeCell::new(0) })
    }

    fn open() -> Arc<Self> {
        let shared = Self::shut();
        shared.bring_up();
        shared.gate.open();
        shared
    }

    /// One operation of the thread with this stripe; `false` when it was refused.
    fn operate(&self, stripe: usize) -> bool {
        let stripe = self.gate.stripe(stripe);
        let entered = self.gate.enter(stripe);
        if entered {
            self.use_payload();
        }
        self.leave(stripe);
        entered
    }

    /// One release, which only a shut gate refuses.
    fn release(&self, stripe: usize) -> bool {
        let stripe = self.gate.stripe(stripe);
        let entered = self.gate.enter_to_release(stripe);
        if entered {
            self.use_payload();
        }
        self.leave(stripe);
        entered
    }

    /// Operates through stripe 0, releases through stripe 1.
    fn operate_or_release(&self, stripe: usize) -> bool {
        if stripe == 0 { self.operate(stripe) } else { self.release(stripe) }
    }

    fn use_payload(&self) {
        // SAFETY: inside the gate nothing is taken down; loom fails the model if that is not so.
        assert_eq!(self.payload.with(|payload| unsafe { *payload }), UP, "inside, but taken down");
    }

    fn leave(&self, stripe: &U64<B>) {
        if self.gate.leave(stripe) {
            self.futex.wake_all();
        }
    }

    fn sleep(&self, seen: u32) -> Wait {
        self.futex.wait(Until::Woken, || self.gate.left().load(Relaxed) == seen)
    }

    fn close(&self) {
        assert!(self.gate.shut());
        assert_eq!(self.gate.wait_empty(|seen| self.sleep(seen)), 0);
    }

    /// First without operations, then without releases.
    fn close_after_releases(&self) {
        assert!(self.gate.begin_close());
        assert_eq!(self.gate.wait_empty(|seen| self.sleep(seen)), 0);
        self.close_rest();
    }

    fn close_rest(&self) {
        assert!(!self.gate.shut(), "closing");
        assert_eq!(self.gate.wait_empty(|seen| self.sleep(seen)), 0);
    }

    fn bring_up(&self) {
        // SAFETY: the gate is shut and empty; loom fails the model if somebody is inside all the same.
        self.payload.with_mut(|payload| unsafe { *payload = UP });
    }

    fn take_down(&self) {
        // SAFETY: as for `bring_up`.
        self.payload.with_mut(|payload| unsafe { *payload = 0 });
    }
}

/// Each thread operates as often as it says, through its stripe, while the gate is closed.
fn closed_under<B: Bug>(
    threads: &'static [(usize, u32)],
    operate: fn(&Gated<B>, usize) -> bool,
    close: fn(&Gated<B>),
) -> impl Fn() + Send + Sync {
    move || {
        let shared = Gated::<B>::open();
        let users: Vec<_> = threads
            .iter()
            .map(|&(stripe, times)| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let mut refused = false;
                    for _ in 0..times {
                        let entered = operate(&shared, stripe);
                        assert!(!(refused && entered), "entered after having been refused");
                        refused = !entered;
                    }
                })
            })
            .collect();
        close(&shared);
        shared.take_down();
        assert!(!operate(&shared, 0), "entered a shut gate");
        for user in users {
            user.join().unwrap();
        }
        assert_eq!(shared.gate.inside(), 0, "counts left over");
    }
}

/// Somebody tries to operate while the gate is opened for the first time.
fn opened_under<B: Bug>() -> impl Fn() + Send + Sync {
    || {
        let shared = Gated::<B>::shut();
        let user = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.operate(0))
        };
        shared.bring_up();
        shared.gate.open();
        assert!(shared.operate(1), "open");
        user.join().unwrap();
        assert_eq!(shared.gate.inside(), 0, "counts left over");
    }
}

#[test]
fn who_enters_sees_what_was_brought_up() {
    holds("gate, opened", Bound::None, opened_under::<AsWritten>());
}

#[test]
fn one_operates_twice_while_it_closes() {
    let program = closed_under::<AsWritten>(&[(1, 2)], Gated::operate, Gated::close);
    holds("gate, 1 thread, 2 operations", Bound::Preemptions(4), program);
}

#[test]
fn two_operate_through_two_stripes() {
    let program = closed_under::<AsWritten>(&[(0, 1), (1, 1)], Gated::operate, Gated::close);
    holds("gate, 2 threads, 2 stripes", Bound::Preemptions(2), program);
}

#[test]
fn two_operate_through_one_stripe() {
    let program = closed_under::<AsWritten>(&[(1, 1), (1, 1)], Gated::operate, Gated::close);
    holds("gate, 2 threads, 1 stripe", Bound::Preemptions(2), program);
}

#[test]
fn a_close_out_of_time_opens_again() {
    holds("gate, close out of time", Bound::None, || {
        let shared = Gated::<AsWritten>::open();
        let user = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.operate(0))
        };
        assert!(shared.gate.shut());
        if shared.gate.wait_empty(|_| Wait::TimedOut) == 0 {
            shared.take_down();
            shared.bring_up();
        }
        shared.gate.open();
        assert!(shared.operate(1), "open again");
        user.join().unwrap();
        shared.close();
        shared.take_down();
    });
}

#[test]
fn one_releases_twice_while_it_closes() {
    let program = closed_under::<AsWritten>(&[(1, 2)], Gated::release, Gated::close_after_releases);
    holds("gate, 1 thread, 2 releases", Bound::Preemptions(3), program);
}

#[test]
fn one_operates_and_one_releases() {
    let program = closed_under::<AsWritten>(&[(0, 1), (1, 1)], Gated::operate_or_release, Gated::close_after_releases);
    holds("gate, 1 operation and 1 release", Bound::Preemptions(2), program);
}

#[test]
fn a_close_that_gives_up_refuses_no_release() {
    holds("gate, release while a close gives up", Bound::None, || {
        let shared = Gated::<AsWritten>::open();
        let user = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || assert!(shared.release(0), "refused, although nothing was shut"))
        };
        assert!(shared.gate.begin_close());
        assert!(!shared.gate.begin_close(), "one closer");
        assert!(!shared.operate(1), "closing");
        let _ = shared.gate.wait_empty(|_| Wait::TimedOut);
        shared.gate.open();
        user.join().unwrap();
        shared.close_after_releases();
        shared.take_down();
    });
}

/// Shuts the gate and does not wait for those who came in to release.
fn close_once(shared: &Gated<AsWritten>) {
    assert!(shared.gate.begin_close());
    assert_eq!(shared.gate.wait_empty(|seen| shared.sleep(seen)), 0);
    shared.gate.shut();
}

#[test]
fn finds_a_close_that_forgets_the_releases() {
    let program = closed_under::<AsWritten>(&[(1, 1)], Gated::release, close_once);
    finds("gate: the closer does not wait for releases", RACE, Bound::None, program);
}

/// The closer loads the counts instead of adding 0 to them.
struct CountsLoaded;
impl Bug for CountsLoaded {
    const ADDING_NOTHING_LOADS: bool = true;
}

#[test]
fn finds_counts_that_are_only_loaded() {
    let program = closed_under::<CountsLoaded>(&[(1, 1)], Gated::operate, Gated::close);
    finds("gate: the closer loads the counts", RACE, Bound::None, program);
}

#[test]
fn finds_missing_orders() {
    fn found<const OPERATION: u8>(bug: &str) {
        finds(bug, RACE, Bound::None, closed_under::<Relaxing<OPERATION>>(&[(1, 1)], Gated::operate, Gated::close));
    }
    found::<ADD>("gate: entering and counting relaxed");
    found::<SUB>("gate: leaving relaxed");
    finds("gate: opening relaxed", RACE, Bound::None, opened_under::<Relaxing<STORE>>());
    finds("gate: entering looks without acquire", RACE, Bound::None, opened_under::<Relaxing<LOAD>>());
}

/// Looks whether the gate is open, then counts itself in.
fn look_first(shared: &Gated<AsWritten>, index: usize) -> bool {
    let stripe = shared.gate.stripe(index);
    // Entering and leaving another stripe tells whether the gate is open.
    let other = shared.gate.stripe(index + 1);
    let open = shared.gate.enter(other);
    shared.leave(other);
    if open {
        stripe.fetch_add(1, AcqRel);
        shared.use_payload();
        shared.leave(stripe);
    }
    open
}

#[test]
fn finds_a_state_looked_at_before_counting() {
    let program = closed_under::<AsWritten>(&[(1, 1)], look_first, Gated::close);
    finds("gate: the state looked at before counting", "inside, but taken down", Bound::Preemptions(3), program);
}

/// Reads the word to sleep on after counting.
fn close_late(shared: &Gated<AsWritten>) {
    assert!(shared.gate.shut());
    loop {
        let inside: u64 = (0..2).map(|index| shared.gate.stripe(index).fetch_add(0, AcqRel)).sum();
        if inside == 0 {
            break;
        }
        shared.sleep(shared.gate.left().load(Acquire));
    }
}

#[test]
fn finds_a_wake_up_between_counting_and_sleeping() {
    let program = closed_under::<AsWritten>(&[(1, 1)], Gated::operate, close_late);
    finds("gate: the closer reads the word to sleep on after counting", DEADLOCK, Bound::None, program);
}
