//! Take and drain: whoever took may look, until the drain is through nobody may write, and the drainer wakes up.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use loom::thread;
use nrt_core::hooks::Wait;
use nrt_core::sync::{Word, begin_drain, cancel_drain, enter, finish_drain, leave, outstanding, wait_drained};

use crate::words::{ADD, AsWritten, Bug, EXCHANGE, Futex, LOAD, OR, Relaxing, STORE, SUB, U64, Until};
use crate::{Bound, DEADLOCK, RACE, finds, holds};

/// A slot of the database.
struct Slot<B = AsWritten> {
    /// 0 = not to be found.
    key: U64<B>,
    refs: U64<B>,
    /// Of the bug that keeps the drainer's flag apart from the count.
    flag: U64,
    futex: Futex,
    /// Ten times the key it is published under; 0 while it is rebuilt.
    payload: UnsafeCell<u64>,
}

impl<B: Bug> Slot<B> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            key: U64::new(0),
            refs: U64::new(0),
            flag: U64::new(0),
            futex: Futex::new(),
            payload: UnsafeCell::new(0),
        })
    }

    fn write(&self, value: u64) {
        // SAFETY: the slot is drained, so nobody else looks at the payload; loom fails the model if that is not so.
        self.payload.with_mut(|payload| unsafe { *payload = value });
    }

    fn publish(&self, key: u64) {
        self.write(key * 10);
        self.key.store(key, Release);
    }

    /// Takes the object with this key, if it is here, looks at it, and gives the reference back.
    fn visit(&self, key: u64, leave: impl Fn(&Self)) -> bool {
        if self.key.load(Acquire) != key {
            return false;
        }
        enter(&self.refs);
        let taken = self.key.load(Acquire) == key;
        if taken {
            // SAFETY: a reference is held, so nobody writes the payload; loom fails the model if that is not so.
            assert_eq!(self.payload.with(|payload| unsafe { *payload }), key * 10, "another object's payload");
        }
        leave(self);
        taken
    }

    fn leave(&self) {
        if leave(&self.refs) {
            self.futex.wake_all();
        }
    }

    /// Sleeps while the low half of the count is `expected`.
    fn sleep(&self, expected: u32) {
        self.futex.wait(Until::Woken, || self.refs.load(Relaxed) as u32 == expected);
    }

    fn drain(&self) {
        self.key.store(0, Release);
        begin_drain(&self.refs);
        let drained = wait_drained(&self.refs, |expected| {
            self.sleep(expected);
            Wait::Woken
        });
        assert!(drained);
    }

    /// After all threads are joined.
    fn finish(&self) {
        assert_eq!(self.refs.load(Relaxed), 0, "references left over");
    }
}

/// One thread publishes object 1, drains it, and rebuilds the slot as object 2; the others visit.
fn drained_and_rebuilt<B: Bug>(
    visits: &'static [&'static [u64]],
    leave: fn(&Slot<B>),
    drain: fn(&Slot<B>),
) -> impl Fn() + Send + Sync {
    move || {
        let slot = Slot::<B>::new();
        let takers: Vec<_> = visits
            .iter()
            .map(|keys| {
                let slot = Arc::clone(&slot);
                thread::spawn(move || {
                    for key in *keys {
                        slot.visit(*key, leave);
                    }
                })
            })
            .collect();
        slot.publish(1);
        drain(&slot);
        slot.write(0);
        slot.publish(2);
        for taker in takers {
            taker.join().unwrap();
        }
        slot.finish();
        assert!(slot.visit(2, leave), "published for good");
    }
}

#[test]
fn drains_one_taker() {
    let program = drained_and_rebuilt::<AsWritten>(&[&[1, 2]], Slot::leave, Slot::drain);
    holds("refs, 1 taker, 2 objects", Bound::None, program);
}

#[test]
fn drains_two_takers() {
    let program = drained_and_rebuilt::<AsWritten>(&[&[1], &[1]], Slot::leave, Slot::drain);
    holds("refs, 2 takers", Bound::Preemptions(3), program);
}

#[test]
fn a_cancelled_drain_disturbs_nobody() {
    holds("refs, drain cancelled", Bound::Preemptions(2), || {
        let slot = Slot::<AsWritten>::new();
        slot.publish(1);
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let slot = Arc::clone(&slot);
                thread::spawn(move || slot.visit(1, Slot::leave))
            })
            .collect();
        slot.key.store(0, Release);
        begin_drain(&slot.refs);
        if finish_drain(&slot.refs) {
            slot.write(0);
            slot.publish(1);
        } else {
            cancel_drain(&slot.refs);
            slot.key.store(1, Release);
        }
        assert!(slot.visit(1, Slot::leave), "findable again");
        slot.drain();
        slot.write(0);
        for taker in takers {
            taker.join().unwrap();
        }
        slot.finish();
    });
}

#[test]
fn a_drain_out_of_time_is_tried_again() {
    holds("refs, drain out of time", Bound::None, || {
        let slot = Slot::<AsWritten>::new();
        slot.publish(1);
        let taker = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || slot.visit(1, Slot::leave))
        };
        slot.key.store(0, Release);
        begin_drain(&slot.refs);
        if !wait_drained(&slot.refs, |_| Wait::TimedOut) {
            slot.drain();
        }
        slot.write(0);
        taker.join().unwrap();
        slot.finish();
    });
}

/// Makes the object unfindable and then merely loads the count.
fn drain_by_loading<B: Bug>(slot: &Slot<B>) {
    slot.key.store(0, Release);
    while outstanding(&slot.refs) != 0 {
        thread::yield_now();
    }
}

#[test]
fn finds_a_drain_that_only_loads() {
    let program = drained_and_rebuilt::<AsWritten>(&[&[1]], Slot::leave, drain_by_loading);
    finds("refs: the key cleared, then the count loaded", RACE, Bound::None, program);
}

/// Waits as it should, but ends the drain by storing 0.
fn drain_in_bulk<B: Bug>(slot: &Slot<B>) {
    slot.key.store(0, Release);
    begin_drain(&slot.refs);
    loop {
        let now = outstanding(&slot.refs);
        if now == 0 {
            break;
        }
        slot.sleep(now as u32);
    }
    slot.refs.store(0, Release);
}

#[test]
fn finds_a_count_zeroed_in_bulk() {
    let program = drained_and_rebuilt::<AsWritten>(&[&[1]], Slot::leave, drain_in_bulk);
    finds("refs: the count zeroed under a late taker", "references left over", Bound::None, program);
}

/// Leaves, then looks for the drainer's flag in another word.
fn leave_two_words<B: Bug>(slot: &Slot<B>) {
    if slot.refs.fetch_sub(1, AcqRel) == 1 && slot.flag.load(Acquire) != 0 {
        slot.futex.wake_all();
    }
}

/// Sets the flag in a word of its own before going to sleep.
fn drain_two_words<B: Bug>(slot: &Slot<B>) {
    slot.key.store(0, Release);
    loop {
        let now = slot.refs.fetch_or(0, AcqRel);
        if now == 0 {
            break;
        }
        slot.flag.store(1, Release);
        slot.sleep(now as u32);
    }
    slot.flag.store(0, Release);
}

#[test]
fn finds_a_lost_wake_up_of_flag_and_count_in_two_words() {
    let program = drained_and_rebuilt::<AsWritten>(&[&[1]], leave_two_words, drain_two_words);
    finds("refs: flag and count in two words", DEADLOCK, Bound::None, program);
}

#[test]
fn finds_a_missing_second_look() {
    finds("refs: no second look at the key", RACE, Bound::None, || {
        let slot = Slot::<AsWritten>::new();
        slot.publish(1);
        let taker = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || {
                if slot.key.load(Acquire) == 1 {
                    enter(&slot.refs);
                    // SAFETY: not sound, which is what loom has to find before it happens.
                    slot.payload.with(|payload| unsafe { *payload });
                    slot.leave();
                }
            })
        };
        slot.drain();
        slot.write(0);
        taker.join().unwrap();
    });
}

#[test]
fn finds_missing_orders() {
    fn found<const OPERATION: u8>(bug: &str) {
        let program = drained_and_rebuilt::<Relaxing<OPERATION>>(&[&[1, 2]], Slot::leave, Slot::drain);
        finds(bug, RACE, Bound::None, program);
    }
    found::<LOAD>("refs: key loaded without acquire");
    found::<STORE>("refs: key stored without release");
    found::<ADD>("refs: enter does not acquire");
    found::<SUB>("refs: leave does not release");
    found::<OR>("refs: the announcement does not release");
    found::<EXCHANGE>("refs: the end of the drain does not acquire");
}
