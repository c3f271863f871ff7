//! What can be told without starting a thread: these tests have a libc, so `enable` must not be called. Running threads
//! are exercised by the program `start-check` of the appliance.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::io::Errno;

use super::control::Control;
use super::{MappedStack, ThreadStack, scope, spawn};

#[path = "../../tests/asleep/mod.rs"]
mod asleep;

static STACK: ThreadStack<8192> = ThreadStack::new();

#[test]
fn nothing_starts_in_a_program_with_a_libc() {
    let stack = STACK.stack().unwrap();
    assert_eq!(spawn(stack, |argument| argument, 1).err(), Some(Errno::NOTSUP));

    let ran = AtomicBool::new(false);
    let mapped = MappedStack::new(1).unwrap();
    let refused = scope(|scope| scope.spawn(mapped.stack(), || ran.store(true, Ordering::Relaxed)).err());
    assert_eq!(refused, Some(Errno::NOTSUP));
    assert!(!ran.load(Ordering::Relaxed));
}

#[test]
fn stacks_are_page_aligned_and_as_large_as_asked() {
    let stack = STACK.stack().unwrap();
    assert_eq!((stack.low.addr().get() % 4096, stack.bytes), (0, 8192));
    for (asked, given) in [(0, 8192), (1, 8192), (8193, 12288), (65536, 65536)] {
        let mapped = MappedStack::new(asked).unwrap();
        assert_eq!((mapped.stack().low.addr().get() % 4096, mapped.stack().bytes), (0, given));
    }
    assert_eq!(MappedStack::new(usize::MAX).err(), Some(Errno::NOMEM));
    assert_eq!(MappedStack::new(usize::MAX - 8191).err(), Some(Errno::NOMEM));
}

#[test]
fn the_memory_of_a_stack_is_writable_to_its_ends() {
    let mapped = MappedStack::new(16384).unwrap();
    for stack in [STACK.stack().unwrap(), mapped.stack()] {
        let low = stack.low.as_ptr();
        // SAFETY: nobody has claimed the stack, so its memory is unused.
        unsafe {
            low.write(1);
            low.add(stack.bytes - 1).write(2);
        }
    }
}

#[test]
fn a_page_without_access_lies_below_each_stack() {
    let mapped = MappedStack::new(16384).unwrap();
    for stack in [STACK.stack().unwrap(), mapped.stack()] {
        let low = stack.low.addr().get();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let access_at = |address: usize| {
            maps.lines().find_map(|line| {
                let (range, rest) = line.split_once(' ')?;
                let (from, to) = range.split_once('-')?;
                let parse = |number| usize::from_str_radix(number, 16).unwrap();
                (parse(from)..parse(to)).contains(&address).then(|| &rest[..4])
            })
        };
        assert_eq!((access_at(low - 4096), access_at(low - 1)), (Some("---p"), Some("---p")));
        assert_eq!((access_at(low), access_at(low + stack.bytes - 1)), (Some("rw-p"), Some("rw-p")));
    }
}

/// Plays the kernel and the thread.
fn end(control: &Control) {
    control.finish();
    // SAFETY: the word is that of a live control block.
    unsafe { std::sync::atomic::AtomicU32::from_ptr(control.word()) }.store(0, Ordering::Release);
}

#[test]
fn a_stack_serves_one_thread_at_a_time() {
    let control = Control::new();
    control.claim().unwrap();
    control.prepare();
    assert_eq!(control.claim(), Err(Errno::BUSY));
    assert!(!control.has_ended());
    end(&control);
    assert!(control.has_ended());
    assert_eq!(control.claim(), Err(Errno::BUSY), "somebody will still ask for the result");
    control.wait_for_end();
    control.release();
    control.claim().unwrap();
    control.prepare();
    control.cancel();
    control.claim().unwrap();
}

#[test]
fn an_abandoned_stack_is_free_once_its_thread_has_ended() {
    let control = Control::new();
    control.claim().unwrap();
    control.prepare();
    control.abandon();
    assert_eq!(control.claim(), Err(Errno::BUSY));
    assert_eq!(control.claim(), Err(Errno::BUSY), "a refused claim changes nothing");
    end(&control);
    control.claim().unwrap();
    control.prepare();
    assert_eq!(control.claim(), Err(Errno::BUSY));
}

#[test]
fn every_waiter_learns_of_the_end() {
    let control = Control::new();
    control.claim().unwrap();
    control.prepare();
    let waiters = [const { AtomicU64::new(0) }; 3];
    std::thread::scope(|scope| {
        for waiter in &waiters {
            scope.spawn(|| {
                waiter.store(u64::from(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()), Ordering::Release);
                control.wait_for_end();
            });
        }
        waiters.iter().for_each(asleep::until_asleep);
        end(&control);
        // As the kernel does: one waiter, not private.
        crate::futex::wake(control.word(), 1, crate::futex::Scope::Shared);
    });
}
