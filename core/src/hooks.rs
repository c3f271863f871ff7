//! What the core needs from the platform besides the kernel driver: sleeping, time, identity, host memory, a log.

use core::fmt;
use core::ptr::NonNull;

use crate::observer::Observation;

/// Outcome of [`Hooks::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Woken, interrupted, or the word no longer held the expected value. The caller looks again.
    Woken,
    /// The deadline passed.
    TimedOut,
}

/// Severity of a log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed.
    Error,
    /// Something is off but handled.
    Warn,
    /// Bring-up, load, unload.
    Info,
    /// One line per operation.
    Trace,
}

/// Platform services, statically dispatched.
///
/// # Safety
/// [`host_map`](Hooks::host_map) must return memory that is readable, writable, zeroed, aligned to 4096 bytes, not
/// otherwise referenced, and valid until the matching [`host_unmap`](Hooks::host_unmap). [`thread_id`](Hooks::thread_id)
/// must differ between any two threads that exist at the same time.
pub unsafe trait Hooks: Sync {
    /// Sleeps while the 32-bit word at `word` equals `expected`, at most until `deadline_ns` on the clock of
    /// [`now_ns`](Hooks::now_ns); `None` waits for ever. May return early at any time (the semantics of a futex wait),
    /// but reports [`Wait::TimedOut`] only to a caller whom no [`wake`](Hooks::wake) has chosen: otherwise that wake-up is lost.
    fn wait(&self, word: *const u32, expected: u32, deadline_ns: Option<u64>) -> Wait;

    /// Wakes up to `count` threads that sleep on `word`.
    fn wake(&self, word: *const u32, count: u32);

    /// Whether [`fence_others`](Hooks::fence_others) is to be had: the same answer to all threads, at all times. A thread told yes
    /// gives locks back so that it may overlook a sleeper who was told no and had nobody fence.
    #[inline]
    fn fences_others(&self) -> bool {
        false
    }

    /// Between call and return every other running thread of the process executes a full memory fence, between two of its
    /// instructions, and so does the caller. `false` when it could not be done this time. Called only after
    /// [`fences_others`](Hooks::fences_others) said yes; the default, like that, is no.
    fn fence_others(&self) -> bool {
        false
    }

    /// Monotonic clock in nanoseconds.
    fn now_ns(&self) -> u64;

    /// A clock that orders the events of all cores, on whatever processor: an event that happened a microsecond or more before
    /// another has the smaller time. Always a time or always `None`: without such a clock, the default, the cores of a device count
    /// their events with one word they share.
    #[inline]
    fn event_clock(&self) -> Option<u64> {
        None
    }

    /// Identity of the calling thread; never 0.
    fn thread_id(&self) -> u64;

    /// Maps `bytes` of ordinary host memory, or `None` when there is none. `bytes` is never 0.
    fn host_map(&self, bytes: usize) -> Option<NonNull<u8>>;

    /// Gives memory of [`host_map`](Hooks::host_map) back.
    ///
    /// # Safety
    /// `memory` and `bytes` are those of one earlier `host_map` call, and nothing refers to the memory any more.
    unsafe fn host_unmap(&self, memory: NonNull<u8>, bytes: usize);

    /// Whether [`observe`](Hooks::observe) wants to be called. Without it no observation is even put together.
    const OBSERVED: bool = false;

    /// Takes one end of one operation, on the thread of the operation. It must not call back into the runtime: a lock of the
    /// core may be held.
    fn observe(&self, observation: &Observation<'_>) {
        let _ = observation;
    }

    /// Takes one log record. It must not call back into the runtime: a lock of the core may be held.
    fn log(&self, level: Level, text: fmt::Arguments<'_>);
}

// SAFETY: every request goes to the platform behind the reference unchanged, whose guarantees hold.
unsafe impl<T: Hooks> Hooks for &T {
    fn wait(&self, word: *const u32, expected: u32, deadline_ns: Option<u64>) -> Wait {
        (**self).wait(word, expected, deadline_ns)
    }
    fn wake(&self, word: *const u32, count: u32) {
        (**self).wake(word, count);
    }
    #[inline]
    fn fences_others(&self) -> bool {
        (**self).fences_others()
    }
    fn fence_others(&self) -> bool {
        (**self).fence_others()
    }
    fn now_ns(&self) -> u64 {
        (**self).now_ns()
    }
    #[inline]
    fn event_clock(&self) -> Option<u64> {
        (**self).event_clock()
    }
    fn thread_id(&self) -> u64 {
        (**self).thread_id()
    }
    fn host_map(&self, bytes: usize) -> Option<NonNull<u8>> {
        (**self).host_map(bytes)
    }
    unsafe fn host_unmap(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).host_unmap(memory, bytes) };
    }
    const OBSERVED: bool = T::OBSERVED;
    fn observe(&self, observation: &Observation<'_>) {
        (**self).observe(observation);
    }
    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        (**self).log(level, text);
    }
}
