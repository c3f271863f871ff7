//! Waiting and waking on a 32-bit word.
//!
//! Both calls take an address and are safe for every address: the kernel itself checks it, reads four bytes and
//! writes nothing. So a wake may follow an unlock even when another thread has freed the lock in between.
#![allow(unsafe_code, reason = "system calls on raw addresses")]

use core::ptr;

use nrt_core::hooks::Wait;
use rustix::io::Errno;

use crate::raw;

const FUTEX_WAKE: usize = 1;
const FUTEX_WAIT_BITSET: usize = 9;
const FUTEX_PRIVATE_FLAG: usize = 128;
/// Without `FUTEX_CLOCK_REALTIME` the deadline of `FUTEX_WAIT_BITSET` is absolute on `CLOCK_MONOTONIC`.
const MATCH_ANY: usize = u32::MAX as usize;

/// Who may wake a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Threads of this process only; the cheaper lookup.
    Private,
    /// Anyone who has the memory mapped, the kernel's own wake at the end of a thread included.
    Shared,
}

impl Scope {
    const fn flag(self) -> usize {
        match self {
            Self::Private => FUTEX_PRIVATE_FLAG,
            Self::Shared => 0,
        }
    }
}

/// The kernel's `struct __kernel_timespec`.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// Sleeps while the word at `word` equals `expected`, at most until `deadline_ns` on [`crate::clock::now_ns`].
///
/// Returns early when woken, interrupted by a signal, or when the word holds another value: the caller looks again.
/// An address that is not mapped or not a multiple of 4 also returns at once.
///
/// # Concurrency
/// The comparison and the falling asleep are one atomic step with respect to [`wake`] on the same address and scope.
pub fn wait(word: *const u32, expected: u32, deadline_ns: Option<u64>, scope: Scope) -> Wait {
    let deadline = deadline_ns.map(|ns| Timespec {
        // Both fit: u64::MAX / 10^9 < 2^35.
        seconds: (ns / 1_000_000_000) as i64,
        nanoseconds: (ns % 1_000_000_000) as i64,
    });
    let deadline = deadline.as_ref().map_or(ptr::null(), ptr::from_ref);
    let arguments = [word as usize, FUTEX_WAIT_BITSET | scope.flag(), expected as usize, deadline as usize, 0, MATCH_ANY];
    // SAFETY: FUTEX_WAIT_BITSET writes no user memory. It reads the word, which the kernel checks itself, and the
    // deadline, which is null or points to a local that outlives the call.
    match unsafe { raw::syscall(raw::FUTEX, arguments) } {
        Err(Errno::TIMEDOUT) => Wait::TimedOut,
        answer => {
            debug_assert!(
                matches!(answer, Ok(_) | Err(Errno::AGAIN | Errno::INTR)),
                "a futex wait on an address that is unmapped or misaligned"
            );
            Wait::Woken
        }
    }
}

/// Wakes up to `count` threads that sleep on `word` in the same scope, and returns how many it woke.
pub fn wake(word: *const u32, count: u32, scope: Scope) -> u32 {
    // The kernel reads the count as a signed int.
    let count = count.min(i32::MAX as u32) as usize;
    // SAFETY: FUTEX_WAKE uses the address as a key and touches no user memory.
    let answer = unsafe { raw::syscall(raw::FUTEX, [word as usize, FUTEX_WAKE | scope.flag(), count, 0, 0, 0]) };
    answer.unwrap_or(0) as u32
}
