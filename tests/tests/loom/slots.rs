//! A pool of slots for the protocols that hand free ones out, and what threads do with it.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;

pub(crate) const SLOTS: usize = 3;

pub(crate) const NONE_FOUND: &str = "one slot for each thread is free or in its hands";
pub(crate) const TWICE: &str = "slots lost or given out twice";

/// The words of a protocol under test.
pub(crate) trait Free: Send + Sync + 'static {
    /// No slot is free.
    fn none() -> Self;
    fn pop(&self, link: impl Fn(u32) -> u32) -> Option<u32>;
    fn push(&self, index: u32, set_link: impl Fn(u32, u32));
}

pub(crate) struct Pool<F> {
    free: F,
    links: [AtomicU32; SLOTS],
    /// How often each slot was taken and given; written by its owner.
    used: [UnsafeCell<u32>; SLOTS],
}

impl<F: Free> Pool<F> {
    /// All slots free, 0 is the next.
    pub(crate) fn full() -> Arc<Self> {
        let pool = Self {
            free: F::none(),
            links: std::array::from_fn(|_| AtomicU32::new(0)),
            used: std::array::from_fn(|_| UnsafeCell::new(0)),
        };
        for index in (0..SLOTS as u32).rev() {
            pool.push(index);
        }
        Arc::new(pool)
    }

    pub(crate) fn pop(&self) -> Option<u32> {
        let index = self.free.pop(|index| self.links[index as usize].load(Relaxed))?;
        self.use_own(index);
        Some(index)
    }

    fn use_own(&self, index: u32) {
        // SAFETY: the slot is this thread's; loom fails the model if that is not so.
        self.used[index as usize].with_mut(|used| unsafe { *used += 1 });
    }

    pub(crate) fn push(&self, index: u32) {
        self.use_own(index);
        self.free.push(index, |slot, next| self.links[slot as usize].store(next, Relaxed));
    }

    /// After all threads are joined: every slot is free or in `held`, once.
    pub(crate) fn finish(&self, held: impl IntoIterator<Item = u32>) {
        let mut all: Vec<u32> = held.into_iter().collect();
        // One more than there are would be a cycle.
        for _ in 0..=SLOTS {
            all.extend(self.pop());
        }
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..SLOTS as u32), "{TWICE}: {all:?}");
    }
}

/// Each of two threads takes a slot and gives it back, `rounds` times, while `held` others are out: as many as leave each thread
/// one, or fewer.
pub(crate) fn rounds<F: Free>(rounds: u32, held: usize) -> impl Fn() + Send + Sync {
    assert!(held + 2 <= SLOTS);
    move || {
        let pool = Pool::<F>::full();
        let held: Vec<u32> = (0..held).map(|_| pool.pop().unwrap()).collect();
        let work = move |pool: &Pool<F>| {
            for _ in 0..rounds {
                let index = pool.pop().expect(NONE_FOUND);
                pool.push(index);
            }
        };
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || work(&pool))
        };
        work(&pool);
        other.join().unwrap();
        pool.finish(held);
    }
}

/// One thread takes two slots; the other takes two and gives the first back, so that the top is again what it was, over
/// another second.
pub(crate) fn top_comes_back<F: Free>() -> impl Fn() + Send + Sync {
    || {
        let pool = Pool::<F>::full();
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
pub(crate) fn last_slot<F: Free>() -> impl Fn() + Send + Sync {
    || {
        let pool = Pool::<F>::full();
        let held = [pool.pop(), pool.pop()];
        let work = |pool: &Pool<F>| {
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
