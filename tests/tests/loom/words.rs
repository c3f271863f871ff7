//! Words that loom watches, with a place to seed bugs in, and a futex.

use std::collections::VecDeque;
use std::marker::PhantomData;

use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::sync::{Condvar, Mutex};
use nrt_core::hooks::Wait;
use nrt_core::sync::Word;

/// What a word does differently from what the protocol asks for.
pub(crate) trait Bug: Send + Sync + 'static {
    /// The order used for an operation instead of the one asked for.
    fn order(_operation: u8, asked: Ordering) -> Ordering {
        asked
    }
    /// As [`order`](Self::order), for an exchange that writes `value`.
    fn order_of_swap(_value: u64, asked: Ordering) -> Ordering {
        Self::order(SWAP, asked)
    }
    /// The bits that are kept of what is compared with and written by an exchange.
    const EXCHANGED: u64 = u64::MAX;
    /// Whether adding 0, which the protocol does for the order it brings, is a load.
    const ADDING_NOTHING_LOADS: bool = false;
    /// Whether a load adds 0, so that loom tries every order of it and the other accesses. Of a load it keeps in mind only the last
    /// one: a change that follows another load of the same word is not tried in front of the earlier ones. What is loaded is
    /// never old then, so this is beside, not in place of, the word as it is.
    const LOADING_ADDS: bool = false;
    /// Whether a store is an exchange whose answer nobody gets, which is no bug: see `brief.rs`.
    const STORING_EXCHANGES: bool = false;
}

/// The protocol as it is.
pub(crate) struct AsWritten;
impl Bug for AsWritten {}

/// The protocol as it is, in every order of loads and changes.
pub(crate) struct InEveryOrder;
impl Bug for InEveryOrder {
    const LOADING_ADDS: bool = true;
}

pub(crate) const LOAD: u8 = 0;
pub(crate) const STORE: u8 = 1;
pub(crate) const SWAP: u8 = 2;
pub(crate) const EXCHANGE: u8 = 3;
pub(crate) const ADD: u8 = 4;
pub(crate) const SUB: u8 = 5;
pub(crate) const OR: u8 = 6;
pub(crate) const AND: u8 = 7;

/// All operations of one kind are relaxed.
pub(crate) struct Relaxing<const OPERATION: u8>;
impl<const OPERATION: u8> Bug for Relaxing<OPERATION> {
    fn order(operation: u8, asked: Ordering) -> Ordering {
        if operation == OPERATION { Ordering::Relaxed } else { asked }
    }
}

macro_rules! word {
    ($name:ident, $atomic:ty, $int:ty) => {
        /// A word of a protocol, watched by loom.
        pub(crate) struct $name<B = AsWritten>($atomic, PhantomData<B>);

        impl<B: Bug> $name<B> {
            pub(crate) fn new(value: $int) -> Self {
                Self(<$atomic>::new(value), PhantomData)
            }
        }

        impl<B: Bug> Word for $name<B> {
            type Int = $int;

            fn load(&self, order: Ordering) -> $int {
                if B::LOADING_ADDS { self.0.fetch_add(0, B::order(LOAD, order)) } else { self.0.load(B::order(LOAD, order)) }
            }
            fn store(&self, value: $int, order: Ordering) {
                if B::STORING_EXCHANGES {
                    self.0.swap(value, B::order(STORE, order));
                } else {
                    self.0.store(value, B::order(STORE, order));
                }
            }
            fn swap(&self, value: $int, order: Ordering) -> $int {
                self.0.swap(value, B::order_of_swap(u64::from(value), order))
            }
            fn compare_exchange(&self, current: $int, new: $int, success: Ordering, failure: Ordering) -> Result<$int, $int> {
                let kept = B::EXCHANGED as $int;
                self.0.compare_exchange(current & kept, new & kept, B::order(EXCHANGE, success), B::order(EXCHANGE, failure))
            }
            fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                if B::ADDING_NOTHING_LOADS && value == 0 {
                    return self.0.load(Ordering::Acquire);
                }
                self.0.fetch_add(value, B::order(ADD, order))
            }
            fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                self.0.fetch_sub(value, B::order(SUB, order))
            }
            fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                self.0.fetch_or(value, B::order(OR, order))
            }
            fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                self.0.fetch_and(value, B::order(AND, order))
            }
            fn fence(order: Ordering) {
                loom::sync::atomic::fence(order);
            }
        }
    };
}

word!(U32, AtomicU32, u32);
word!(U64, AtomicU64, u64);

/// What the kernel does for one word. Sleepers are woken in the order in which they came, never without a wake-up: one
/// that is lost leaves the model in a deadlock, which loom reports.
///
/// Looking at the word and going to sleep are one step under a lock that whoever wakes takes too. A thread that changes
/// the word and wakes nobody is not ordered by it, as with the real one.
pub(crate) struct Futex {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// Number of the next sleeper.
    next: usize,
    /// Numbers of those asleep, and whether they have a deadline.
    asleep: VecDeque<(usize, bool)>,
    /// Whether the deadline passed.
    late: bool,
}

/// How long to sleep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    Woken,
    /// Until [`Futex::expire`], unless woken before.
    Deadline,
    /// As `Deadline`, but wrong: whoever finds the deadline passed when he runs again says so, although he was woken.
    DeadlineAlthoughWoken,
}

impl Futex {
    pub(crate) fn new() -> Self {
        Self { queue: Mutex::new(Queue::default()), changed: Condvar::new() }
    }

    /// Sleeps if `unchanged` says that the word still has the expected value.
    pub(crate) fn wait(&self, until: Until, unchanged: impl FnOnce() -> bool) -> Wait {
        let mut queue = self.queue.lock().unwrap();
        if !unchanged() {
            return Wait::Woken;
        }
        let timed = until != Until::Woken;
        if timed && queue.late {
            return Wait::TimedOut;
        }
        let own = queue.next;
        queue.next += 1;
        queue.asleep.push_back((own, timed));
        loop {
            queue = self.changed.wait(queue).unwrap();
            match queue.asleep.iter().position(|&(number, _)| number == own) {
                None if until == Until::DeadlineAlthoughWoken && queue.late => return Wait::TimedOut,
                None => return Wait::Woken,
                Some(place) if timed && queue.late => {
                    queue.asleep.remove(place);
                    return Wait::TimedOut;
                }
                Some(_) => {}
            }
        }
    }

    /// Wakes the one who sleeps longest.
    pub(crate) fn wake_one(&self) {
        let mut queue = self.queue.lock().unwrap();
        queue.asleep.pop_front();
        self.changed.notify_all();
    }

    /// Wakes all who sleep.
    pub(crate) fn wake_all(&self) {
        let mut queue = self.queue.lock().unwrap();
        queue.asleep.clear();
        self.changed.notify_all();
    }

    /// The deadline passes.
    pub(crate) fn expire(&self) {
        let mut queue = self.queue.lock().unwrap();
        queue.late = true;
        self.changed.notify_all();
    }
}
