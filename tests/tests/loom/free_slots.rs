//! Free slots, the one freed last in a word of its own: no slot has two owners, none is lost on the way to the stack.

use std::sync::Arc;

use loom::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use loom::thread;
use nrt_core::sync::{FreeSlots, FreeStack, Word};

use crate::slots::{Free, NONE_FOUND, Pool, TWICE, last_slot, rounds, top_comes_back};
use crate::words::{AsWritten, Bug, InEveryOrder, U32, U64};
use crate::{Bound, RACE, finds, holds};

/// `L` is what the word of the last slot does, `H` what the head of the stack does, which has tests of its own.
struct Slots<L = AsWritten, H = AsWritten> {
    head: U64<H>,
    last: U32<L>,
}

impl<L: Bug, H: Bug> Free for Slots<L, H> {
    fn none() -> Self {
        Self { head: U64::new(0), last: U32::new(0) }
    }

    fn pop(&self, link: impl Fn(u32) -> u32) -> Option<u32> {
        FreeSlots::new(&self.head, &self.last).pop(link)
    }

    fn push(&self, index: u32, set_link: impl Fn(u32, u32)) {
        FreeSlots::new(&self.head, &self.last).push(index, set_link);
    }
}

/// One thread gives a slot back while another one stands in the word, which has to go to the stack, and takes one again. The
/// other takes two meanwhile, of which the first may be either, and gives the first back.
fn displaced<F: Free>() -> impl Fn() + Send + Sync {
    || {
        let pool = Pool::<F>::full();
        let [kept, own] = [pool.pop(), pool.pop()].map(Option::unwrap);
        pool.push(kept);
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let first = pool.pop().expect("three are free or about to be, nobody took one");
                let second = pool.pop();
                pool.push(first);
                second
            })
        };
        pool.push(own);
        let taken = pool.pop();
        let second = other.join().unwrap();
        pool.finish([taken, second].into_iter().flatten());
    }
}

/// Two threads give a slot each, of which one has to go to the stack, while a third takes.
fn given_by_two<F: Free>() -> impl Fn() + Send + Sync {
    || {
        let pool = Pool::<F>::full();
        let [kept, first, second] = [pool.pop(), pool.pop(), pool.pop()].map(Option::unwrap);
        let others = [first, second].map(|own| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.push(own))
        });
        let taken = pool.pop();
        for other in others {
            other.join().unwrap();
        }
        pool.finish([Some(kept), taken].into_iter().flatten());
    }
}

#[test]
fn two_threads_take_and_give() {
    holds("free slots, take and give twice", Bound::Preemptions(3), rounds::<Slots>(2, 0));
}

/// A slot on its way from the word to the stack is in nobody's reach. Who gives it that way has its own back already, so
/// there is one for each thread all the same.
#[test]
fn two_threads_find_two_slots() {
    holds("free slots, a slot for each thread", Bound::Preemptions(3), rounds::<Slots>(2, 1));
    let program = rounds::<Slots<AsWritten, InEveryOrder>>(2, 1);
    holds("free slots, a slot for each thread, every order", Bound::Preemptions(3), program);
}

#[test]
fn the_top_may_come_back() {
    holds("free slots, the top comes back", Bound::None, top_comes_back::<Slots>());
}

#[test]
fn the_last_slot_goes_to_one() {
    holds("free slots, one slot", Bound::None, last_slot::<Slots>());
}

#[test]
fn a_slot_is_displaced_while_others_take() {
    holds("free slots, one displaced", Bound::None, displaced::<Slots>());
    let program = displaced::<Slots<AsWritten, InEveryOrder>>();
    holds("free slots, one displaced, every order", Bound::Preemptions(3), program);
}

#[test]
fn two_give_while_one_takes() {
    holds("free slots, two given while one takes", Bound::None, given_by_two::<Slots>());
    let program = given_by_two::<Slots<AsWritten, InEveryOrder>>();
    holds("free slots, two given while one takes, every order", Bound::None, program);
}

/// The exchange that takes has the order `TAKE`, that which gives `GIVE`.
struct Exchanging<const TAKE: u8, const GIVE: u8>;
const ORDERS: [Ordering; 3] = [Acquire, Release, AcqRel];
const ACQUIRES: u8 = 0;
const RELEASES: u8 = 1;
const BOTH: u8 = 2;
impl<const TAKE: u8, const GIVE: u8> Bug for Exchanging<TAKE, GIVE> {
    fn order_of_swap(value: u64, asked: Ordering) -> Ordering {
        assert_eq!(asked, AcqRel);
        ORDERS[usize::from(if value == 0 { TAKE } else { GIVE })]
    }
}

#[test]
fn finds_missing_orders() {
    type TakesUnacquired = Slots<Exchanging<RELEASES, BOTH>>;
    type GivesUnreleased = Slots<Exchanging<BOTH, ACQUIRES>>;
    type GivesUnacquired = Slots<Exchanging<BOTH, RELEASES>, InEveryOrder>;
    finds("free slots: taking does not acquire", RACE, Bound::None, rounds::<TakesUnacquired>(1, 0));
    finds("free slots: giving does not release", RACE, Bound::None, rounds::<GivesUnreleased>(1, 0));
    finds("free slots: what is displaced is not acquired", RACE, Bound::None, given_by_two::<GivesUnacquired>());
}

/// Who finds the word empty must see what the one who emptied it had put on the stack before.
#[test]
fn finds_a_slot_overlooked_on_the_stack() {
    type TakesUnreleased = Slots<Exchanging<ACQUIRES, BOTH>>;
    finds("free slots: taking does not release", NONE_FOUND, Bound::Preemptions(3), rounds::<TakesUnreleased>(2, 1));
}

/// The slots with another way to give or take.
struct Otherwise<const BUG: u8>(Slots);

/// Giving leaves what was in the word to nobody.
const FORGETS: u8 = 0;
/// Giving looks at the word, then stores.
const STORES: u8 = 1;
/// Taking looks at the word, then stores 0.
const TAKES_BY_STORE: u8 = 2;
/// Giving puts its own slot on the stack and what was in the word back into it.
const PUTS_BACK: u8 = 3;

impl<const BUG: u8> Free for Otherwise<BUG> {
    fn none() -> Self {
        Self(Slots::none())
    }

    fn pop(&self, link: impl Fn(u32) -> u32) -> Option<u32> {
        if BUG != TAKES_BY_STORE {
            return self.0.pop(link);
        }
        let found = self.0.last.load(Acquire).checked_sub(1);
        if found.is_none() {
            return FreeStack::new(&self.0.head).pop(link);
        }
        self.0.last.store(0, Relaxed);
        found
    }

    fn push(&self, index: u32, set_link: impl Fn(u32, u32)) {
        let Slots { head, last } = &self.0;
        let to_stack = |own: u32| FreeStack::new(head).push(own, |next| set_link(own, next));
        match BUG {
            FORGETS => {
                last.swap(index + 1, AcqRel);
            }
            STORES => match last.load(Acquire) {
                0 => last.store(index + 1, Release),
                _ => to_stack(index),
            },
            PUTS_BACK => {
                let before = last.swap(index + 1, AcqRel);
                if before != 0 {
                    to_stack(index);
                    last.store(before, Release);
                }
            }
            _ => self.0.push(index, set_link),
        }
    }
}

#[test]
fn finds_a_displaced_slot_forgotten() {
    finds("free slots: what is displaced is forgotten", TWICE, Bound::None, rounds::<Otherwise<FORGETS>>(1, 0));
}

#[test]
fn finds_the_word_not_exchanged() {
    finds("free slots: giving looks, then stores", TWICE, Bound::Preemptions(3), given_by_two::<Otherwise<STORES>>());
    finds("free slots: taking looks, then stores", RACE, Bound::Preemptions(3), rounds::<Otherwise<TAKES_BY_STORE>>(1, 0));
    finds("free slots: giving puts back what it found", TWICE, Bound::Preemptions(3), displaced::<Otherwise<PUTS_BACK>>());
}
