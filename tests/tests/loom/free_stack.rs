//! The stack of free slots: no slot has two owners, none is lost.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;
use nrt_core::sync::FreeStack;

use crate::words::{AsWritten, Bug, EXCHANGE, LOAD, Relaxing, U64};
use crate::{Bound, RACE, finds, holds};

const SLOTS: usize = 3;

const TWICE: &str = "slots lost or given out twice";

struct Pool<B> {
    head: U64<B>,
    links: [AtomicU32; SLOTS],
    /// How often each slot was taken; written by its owner.
    taken: [UnsafeCell<u32>; SLOTS],
}

impl<B: Bug> Pool<B> {
    /// All slots free, 0 on top.
    fn full() -> Arc<Self> {
        let pool = Self {
            head: U64::new(0),
            links: std::array::from_fn(|_| AtomicU32::new(0)),
            taken: std::array::from_fn(|_| UnsafeCell::new(0)),
        };
        for index in (0..SLOTS as u32).rev() {
            pool.push(index);
        }
        Arc::new(pool)
    }

    fn pop(&self) -> Option<u32> {
        let index = FreeStack::new(&self.head).pop(|index| self.links[index as usize].load(Relaxed))?;
        // SAFETY: the slot was just taken, so it is this thread's; loom fails the model if that is not so.
        self.taken[index as usize].with_mut(|taken| unsafe { *taken += 1 });
        Some(index)
    }

    fn push(&self, index: u32) {
        FreeStack::new(&self.head).push(index, |next| self.links[index as usize].store(next, Relaxed));
    }

    /// After all threads are joined: every slot is free or in `held`, once.
    fn finish(&self, held: impl IntoIterator<Item = u32>) {
        let mut all: Vec<u32> = held.into_iter().collect();
        // One more than there are would be a cycle.
        for _ in 0..=SLOTS {
            all.extend(self.pop());
        }
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..SLOTS as u32), "{TWICE}: {all:?}");
    }
}

/// Each of two threads takes a slot and gives it back, `rounds` times.
fn rounds<B: Bug>(rounds: u32) -> impl Fn() + Send + Sync {
    move || {
        let pool = Pool::<B>::full();
        let work = move |pool: &Pool<B>| {
            for _ in 0..rounds {
                let index = pool.pop().expect("two threads hold at most two of three slots");
                pool.push(index);
            }
        };
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || work(&pool))
        };
        work(&pool);
        other.join().unwrap();
        pool.finish([]);
    }
}

/// One thread takes two slots; the other takes two and gives the first back, so that the top is again what it was, over
/// another second.
fn top_comes_back<B: Bug>() -> impl Fn() + Send + Sync {
    || {
        let pool = Pool::<B>::full();
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let first = pool.pop();
                let second = pool.pop();
                if let Some(first) = first {
                    pool.push(first);
                }
                second
            })
        };
        let held = [pool.pop(), pool.pop()];
        let second = other.join().unwrap();
        pool.finish(held.into_iter().chain([second]).flatten());
    }
}

/// The free list runs empty and is filled again.
fn last_slot() -> impl Fn() + Send + Sync {
    || {
        let pool = Pool::<AsWritten>::full();
        let held = [pool.pop(), pool.pop()];
        let work = |pool: &Pool<AsWritten>| {
            if let Some(index) = pool.pop() {
                pool.push(index);
            }
        };
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || work(&pool))
        };
        work(&pool);
        other.join().unwrap();
        pool.finish(held.into_iter().flatten());
    }
}

#[test]
fn two_threads_take_and_give() {
    holds("free stack, take and give twice", Bound::Preemptions(3), rounds::<AsWritten>(2));
}

#[test]
fn the_top_may_come_back() {
    holds("free stack, the top comes back", Bound::None, top_comes_back::<AsWritten>());
}

#[test]
fn the_last_slot_goes_to_one() {
    holds("free stack, one slot", Bound::None, last_slot());
}

/// The tag never moves: the words of the head lose it.
struct Untagged;
impl Bug for Untagged {
    const EXCHANGED: u64 = (1 << 24) - 1;
}

#[test]
fn finds_a_head_without_tag() {
    finds("free stack: head without a tag (ABA)", TWICE, Bound::None, top_comes_back::<Untagged>());
}

#[test]
fn finds_missing_orders() {
    finds("free stack: pop looks without acquire", TWICE, Bound::None, top_comes_back::<Relaxing<LOAD>>());
    finds("free stack: push does not release", RACE, Bound::None, rounds::<Relaxing<EXCHANGE>>(1));
}
