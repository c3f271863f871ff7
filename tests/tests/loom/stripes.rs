//! Take and drain of an object with several counts: a taker uses one of them, the drainer goes over all.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::thread;
use nrt_core::hooks::Wait;
use nrt_core::sync::{
    Word, all_outstanding, begin_drain, begin_drain_all, cancel_drain_all, enter, leave, outstanding, wait_all_drained,
    wait_drained,
};

use crate::words::{AsWritten, Bug, Futex, OR, Relaxing, SUB, U64, Until};
use crate::{Bound, DEADLOCK, RACE, finds, holds};

/// What loom says of a loop that never ends.
const ENDLESS: &str = "exceeded maximum number of branches";

/// A count, and where those sleep who wait for it.
struct Count<B> {
    refs: U64<B>,
    futex: Futex,
}

/// A slot of the database with two counts.
struct Slot<B = AsWritten> {
    /// 0 = not to be found.
    key: U64<B>,
    counts: [Count<B>; 2],
    /// Ten times the key it is published under; 0 while it is rebuilt.
    payload: UnsafeCell<u64>,
}

impl<B: Bug> Slot<B> {
    fn published() -> Arc<Self> {
        let count = || Count { refs: U64::new(0), futex: Futex::new() };
        let slot = Self { key: U64::new(0), counts: [count(), count()], payload: UnsafeCell::new(0) };
        slot.publish(1);
        Arc::new(slot)
    }

    fn words(&self) -> impl Iterator<Item = &U64<B>> {
        self.counts.iter().map(|count| &count.refs)
    }

    fn write(&self, value: u64) {
        // SAFETY: the slot is drained, so nobody else looks at the payload; loom fails the model if that is not so.
        self.payload.with_mut(|payload| unsafe { *payload = value });
    }

    fn publish(&self, key: u64) {
        self.write(key * 10);
        self.key.store(key, Release);
    }

    /// Takes the object with this key through a count, if it is here, looks at it, and gives the reference back through another.
    fn visit_crosswise(&self, key: u64, taken_on: usize, given_back_on: usize) -> bool {
        if self.key.load(Acquire) != key {
            return false;
        }
        enter(&self.counts[taken_on].refs);
        let taken = self.key.load(Acquire) == key;
        if taken {
            // SAFETY: a reference is held, so nobody writes the payload; loom fails the model if that is not so.
            assert_eq!(self.payload.with(|payload| unsafe { *payload }), key * 10, "another object's payload");
        }
        let Count { refs, futex } = &self.counts[given_back_on];
        if leave(refs) {
            futex.wake_all();
        }
        taken
    }

    fn visit(&self, key: u64, count: usize) -> bool {
        self.visit_crosswise(key, count, count)
    }

    /// Sleeps where somebody who leaves through `refs` wakes.
    fn sleep(&self, refs: &U64<B>, expected: u32) -> Wait {
        let count = self.counts.iter().find(|count| std::ptr::eq(&raw const count.refs, refs)).unwrap();
        count.futex.wait(Until::Woken, || refs.load(Relaxed) as u32 == expected)
    }

    fn drain(&self) {
        self.key.store(0, Release);
        begin_drain_all(self.words());
        self.wait();
    }

    fn wait(&self) {
        assert!(wait_all_drained(self.words(), |refs, expected| self.sleep(refs, expected)));
    }

    /// After all threads are joined.
    fn finish(&self) {
        self.words().for_each(|refs| assert_eq!(refs.load(Relaxed), 0, "references left over"));
        assert_eq!(all_outstanding(self.words()), 0);
    }
}

/// A thread each takes the object through these counts, one after the other.
fn takers<B: Bug>(slot: &Arc<Slot<B>>, counts: &[&'static [usize]]) -> Vec<thread::JoinHandle<()>> {
    let taker = |counts: &&'static [usize]| {
        let (slot, counts) = (Arc::clone(slot), *counts);
        thread::spawn(move || {
            counts.iter().for_each(|count| {
                slot.visit(1, *count);
            });
        })
    };
    counts.iter().map(taker).collect()
}

/// Threads visit the object while it is drained, rebuilt and published again.
fn drained_and_rebuilt<B: Bug>(counts: &'static [&'static [usize]], drain: fn(&Slot<B>)) -> impl Fn() + Send + Sync {
    move || {
        let slot = Slot::<B>::published();
        let takers = takers(&slot, counts);
        drain(&slot);
        slot.write(0);
        slot.publish(2);
        for taker in takers {
            taker.join().unwrap();
        }
        slot.finish();
        assert!(slot.visit(2, 0) && slot.visit(2, 1), "published for good");
    }
}

#[test]
fn drains_a_taker_of_either_count() {
    let program = drained_and_rebuilt::<AsWritten>(&[&[1, 0]], Slot::drain);
    holds("stripes, 1 taker through both counts", Bound::None, program);
}

#[test]
fn drains_a_taker_of_each_count() {
    let program = drained_and_rebuilt::<AsWritten>(&[&[0], &[1]], Slot::drain);
    holds("stripes, 2 takers", Bound::Preemptions(3), program);
}

/// One count after the other is announced, waited for and ended.
fn drain_in_turn<B: Bug>(slot: &Slot<B>) {
    slot.key.store(0, Release);
    for Count { refs, .. } in &slot.counts {
        begin_drain(refs);
        assert!(wait_drained(refs, |expected| slot.sleep(refs, expected)));
    }
}

/// That the announcement is on all counts before the first drain is ended is not needed.
#[test]
fn counts_may_be_drained_in_turn() {
    let program = drained_and_rebuilt::<AsWritten>(&[&[0], &[1]], drain_in_turn);
    holds("stripes, one count after the other", Bound::Preemptions(3), program);
}

/// The deadline has passed as soon as somebody is inside; some counts are drained by then.
fn out_of_time(go_on: fn(&Slot)) -> impl Fn() + Send + Sync {
    move || {
        let slot = Slot::published();
        let takers = takers(&slot, &[&[1]]);
        slot.key.store(0, Release);
        begin_drain_all(slot.words());
        if !wait_all_drained(slot.words(), |_, _| Wait::TimedOut) {
            go_on(&slot);
        }
        slot.write(0);
        for taker in takers {
            taker.join().unwrap();
        }
        slot.finish();
    }
}

#[test]
fn a_drain_out_of_time_is_tried_again() {
    holds("stripes, drain out of time", Bound::None, out_of_time(Slot::wait));
}

#[test]
fn finds_a_drained_count_that_is_waited_for_again() {
    let program = out_of_time(|slot| {
        slot.words().for_each(|refs| assert!(wait_drained(refs, |expected| slot.sleep(refs, expected))));
    });
    finds("stripes: a drained count waited for again", ENDLESS, Bound::None, program);
}

#[test]
fn a_cancelled_drain_disturbs_nobody() {
    holds("stripes, drain cancelled", Bound::Preemptions(2), || {
        let slot = Slot::<AsWritten>::published();
        let takers = takers(&slot, &[&[0], &[1]]);
        slot.key.store(0, Release);
        begin_drain_all(slot.words());
        if wait_all_drained(slot.words(), |_, _| Wait::TimedOut) {
            slot.write(0);
            slot.publish(1);
        } else {
            cancel_drain_all(slot.words());
            slot.key.store(1, Release);
        }
        assert!(slot.visit(1, 0) && slot.visit(1, 1), "findable again");
        slot.drain();
        slot.write(0);
        for taker in takers {
            taker.join().unwrap();
        }
        slot.finish();
    });
}

/// Announces on the first count, and believes of the others what it loads.
fn drain_first_only<B: Bug>(slot: &Slot<B>) {
    slot.key.store(0, Release);
    let [Count { refs: first, .. }, Count { refs: second, .. }] = &slot.counts;
    begin_drain(first);
    assert!(wait_drained(first, |expected| slot.sleep(first, expected)));
    while outstanding(second) != 0 {
        thread::yield_now();
    }
}

#[test]
fn finds_a_drain_announced_on_one_count_only() {
    let program = drained_and_rebuilt::<AsWritten>(&[&[1]], drain_first_only);
    finds("stripes: announced on one count only", RACE, Bound::None, program);
}

/// Sleeps until the first count is 0, then ends the drain of all.
fn drain_waiting_for_first<B: Bug>(slot: &Slot<B>) {
    slot.key.store(0, Release);
    begin_drain_all(slot.words());
    let first = &slot.counts[0].refs;
    assert!(wait_drained(first, |expected| slot.sleep(first, expected)));
    cancel_drain_all(slot.words());
}

#[test]
fn finds_a_count_that_is_not_waited_for() {
    let program = drained_and_rebuilt::<AsWritten>(&[&[1]], drain_waiting_for_first);
    finds("stripes: one count waited for", RACE, Bound::None, program);
}

/// All sleep on the futex of the first count.
fn drain_sleeping_on_first<B: Bug>(slot: &Slot<B>) {
    slot.key.store(0, Release);
    begin_drain_all(slot.words());
    let futex = &slot.counts[0].futex;
    assert!(wait_all_drained(slot.words(), |refs, expected| {
        futex.wait(Until::Woken, || refs.load(Relaxed) as u32 == expected)
    }));
}

#[test]
fn finds_a_sleep_beside_the_count() {
    let program = drained_and_rebuilt::<AsWritten>(&[&[1]], drain_sleeping_on_first);
    finds("stripes: asleep where those of another count wake", DEADLOCK, Bound::None, program);
}

/// As after a move of the thread's stripe between take and release: the count it was taken on never becomes 0 again.
#[test]
fn finds_a_reference_given_back_on_another_count() {
    finds("stripes: given back on another count", DEADLOCK, Bound::None, || {
        let slot = Slot::<AsWritten>::published();
        let taker = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || slot.visit_crosswise(1, 0, 1))
        };
        slot.drain();
        taker.join().unwrap();
    });
}

#[test]
fn finds_missing_orders() {
    fn found<const OPERATION: u8>(bug: &str) {
        let program = drained_and_rebuilt::<Relaxing<OPERATION>>(&[&[1]], Slot::drain);
        finds(bug, RACE, Bound::None, program);
    }
    found::<SUB>("stripes: leave does not release");
    found::<OR>("stripes: the announcement does not release");
}
