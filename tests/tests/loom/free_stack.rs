//! The stack of free slots: no slot has two owners, none is lost.

use nrt_core::sync::FreeStack;

use crate::slots::{Free, TWICE, last_slot, rounds, top_comes_back};
use crate::words::{AsWritten, Bug, EXCHANGE, LOAD, Relaxing, U64};
use crate::{Bound, RACE, finds, holds};

struct Stack<B = AsWritten>(U64<B>);

impl<B: Bug> Free for Stack<B> {
    fn none() -> Self {
        Self(U64::new(0))
    }

    fn pop(&self, link: impl Fn(u32) -> u32) -> Option<u32> {
        FreeStack::new(&self.0).pop(link)
    }

    fn push(&self, index: u32, set_link: impl Fn(u32, u32)) {
        FreeStack::new(&self.0).push(index, |next| set_link(index, next));
    }
}

#[test]
fn two_threads_take_and_give() {
    holds("free stack, take and give twice", Bound::Preemptions(3), rounds::<Stack>(2, 0));
}

#[test]
fn the_top_may_come_back() {
    holds("free stack, the top comes back", Bound::None, top_comes_back::<Stack>());
}

#[test]
fn the_last_slot_goes_to_one() {
    holds("free stack, one slot", Bound::None, last_slot::<Stack>());
}

/// The tag never moves: the words of the head lose it.
struct Untagged;
impl Bug for Untagged {
    const EXCHANGED: u64 = (1 << 24) - 1;
}

#[test]
fn finds_a_head_without_tag() {
    finds("free stack: head without a tag (ABA)", TWICE, Bound::None, top_comes_back::<Stack<Untagged>>());
}

#[test]
fn finds_missing_orders() {
    finds("free stack: pop looks without acquire", TWICE, Bound::None, top_comes_back::<Stack<Relaxing<LOAD>>>());
    finds("free stack: push does not release", RACE, Bound::None, rounds::<Stack<Relaxing<EXCHANGE>>>(1, 0));
}
