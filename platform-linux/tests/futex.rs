//! Futexes, the clock and thread ids, across threads of std.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use nrt_core::hooks::{Hooks, Wait};
use nrt_linux::futex::{self, Scope};
use nrt_linux::{LinuxHooks, clock};

static HOOKS: LinuxHooks = LinuxHooks::new();

mod asleep;

use asleep::until_asleep;

#[test]
fn a_waiter_sleeps_until_it_is_woken() {
    for scope in [Scope::Private, Scope::Shared] {
        let (word, waiter) = (AtomicU32::new(0), AtomicU64::new(0));
        thread::scope(|threads| {
            threads.spawn(|| {
                waiter.store(HOOKS.thread_id(), Ordering::Release);
                while word.load(Ordering::Acquire) == 0 {
                    assert_eq!(futex::wait(word.as_ptr(), 0, None, scope), Wait::Woken);
                }
            });
            until_asleep(&waiter);
            word.store(1, Ordering::Release);
            assert_eq!(futex::wake(word.as_ptr(), 1, scope), 1);
        });
    }
}

#[test]
fn wake_counts_and_limits_the_woken() {
    let word = AtomicU32::new(7);
    assert_eq!(futex::wake(word.as_ptr(), u32::MAX, Scope::Private), 0);
    thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                while word.load(Ordering::Acquire) == 7 {
                    HOOKS.wait(word.as_ptr(), 7, None);
                }
            });
        }
        // Waiters go back to sleep while the word stays, so single wakes succeed for as long as one likes.
        let mut woken = 0;
        while woken < 5 {
            woken += futex::wake(word.as_ptr(), 1, Scope::Private);
            thread::yield_now();
        }
        word.store(0, Ordering::Release);
        HOOKS.wake(word.as_ptr(), u32::MAX);
    });
}

#[test]
fn a_changed_word_does_not_sleep() {
    let word = AtomicU32::new(1);
    assert_eq!(HOOKS.wait(word.as_ptr(), 0, None), Wait::Woken);
}

#[test]
fn a_deadline_is_absolute_on_the_clock_of_the_hooks() {
    let word = AtomicU32::new(0);
    let begin = HOOKS.now_ns();
    let deadline = begin + 40_000_000;
    while HOOKS.wait(word.as_ptr(), 0, Some(deadline)) != Wait::TimedOut {}
    let end = HOOKS.now_ns();
    assert!(end >= deadline, "returned {} ns early", deadline - end);
    assert!(end < begin + 20_000_000_000);
    // Past and zero deadlines do not sleep, a far one can still be woken or interrupted.
    assert_eq!(HOOKS.wait(word.as_ptr(), 0, Some(begin)), Wait::TimedOut);
    assert_eq!(HOOKS.wait(word.as_ptr(), 0, Some(0)), Wait::TimedOut);
    assert_eq!(HOOKS.wait(word.as_ptr(), 1, Some(u64::MAX)), Wait::Woken);
}

#[test]
fn the_far_deadline_is_accepted() {
    let (word, waiter) = (AtomicU32::new(0), AtomicU64::new(0));
    thread::scope(|threads| {
        threads.spawn(|| {
            waiter.store(HOOKS.thread_id(), Ordering::Release);
            while word.load(Ordering::Acquire) == 0 {
                assert_eq!(HOOKS.wait(word.as_ptr(), 0, Some(u64::MAX)), Wait::Woken);
            }
        });
        until_asleep(&waiter);
        word.store(1, Ordering::Release);
        HOOKS.wake(word.as_ptr(), 1);
    });
}

#[test]
fn waking_an_address_that_is_gone_is_harmless() {
    let word = Box::new(AtomicU32::new(0));
    let address = word.as_ptr();
    drop(word);
    assert_eq!(futex::wake(address, 1, Scope::Private), 0);
    assert_eq!(futex::wake(std::ptr::null(), 1, Scope::Shared), 0);
}

#[test]
fn the_clock_does_not_go_back() {
    let mut last = clock::now_ns();
    assert!(last > 0);
    for _ in 0..10_000 {
        let now = clock::now_ns();
        assert!(now >= last);
        last = now;
    }
}

#[test]
fn thread_ids_differ_and_are_not_zero() {
    let ids = Mutex::new(HashSet::from([HOOKS.thread_id()]));
    let barrier = std::sync::Barrier::new(8);
    thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                assert!(ids.lock().unwrap().insert(HOOKS.thread_id()));
                barrier.wait();
            });
        }
    });
    let ids = ids.into_inner().unwrap();
    assert_eq!(ids.len(), 9);
    assert!(!ids.contains(&0));
}
