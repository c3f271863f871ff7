//! The platform services of the core on Linux.
#![allow(unsafe_code, reason = "implements the unsafe trait of the core")]

use core::fmt;
use core::ptr::NonNull;

use nrt_core::hooks::{Hooks, Level, Wait};
use rustix::thread::gettid;

use crate::event_clock::EventClock;
use crate::futex::{self, Scope};
use crate::log::Log;
use crate::memory::Mapping;
use crate::process_fence::ProcessFence;
use crate::{clock, memory};

/// [`Hooks`] by system calls; the only state is the log's level, whether the processor has a clock for events, and whether the
/// kernel has threads fence.
///
/// Works in programs with and without a libc: nothing is cached per thread, so a thread id is right after `fork` and
/// in threads of any origin.
#[derive(Debug)]
pub struct LinuxHooks {
    log: Log<'static>,
    clock: EventClock,
    fence: ProcessFence,
}

impl LinuxHooks {
    /// Hooks that log errors and warnings to standard error.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_log(Log::to_stderr())
    }

    /// Hooks with another log.
    #[must_use]
    pub const fn with_log(log: Log<'static>) -> Self {
        Self { log, clock: EventClock::new(), fence: ProcessFence::new() }
    }

    /// The log, to set its level.
    #[must_use]
    pub const fn log_settings(&self) -> &Log<'static> {
        &self.log
    }
}

impl Default for LinuxHooks {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: `host_map` hands out a fresh private anonymous mapping: readable, writable, zeroed by the kernel, aligned to
// a page of 4096 bytes, disjoint from every other mapping, and nobody else unmaps it because the owner is given up
// with `into_raw`. `thread_id` is the kernel's thread id, which is unique among living threads and positive.
unsafe impl Hooks for LinuxHooks {
    fn wait(&self, word: *const u32, expected: u32, deadline_ns: Option<u64>) -> Wait {
        futex::wait(word, expected, deadline_ns, Scope::Private)
    }

    fn wake(&self, word: *const u32, count: u32) {
        futex::wake(word, count, Scope::Private);
    }

    #[inline]
    fn fences_others(&self) -> bool {
        self.fence.available()
    }

    fn fence_others(&self) -> bool {
        ProcessFence::execute()
    }

    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    #[inline]
    fn event_clock(&self) -> Option<u64> {
        self.clock.now()
    }

    fn thread_id(&self) -> u64 {
        u64::from(gettid().as_raw_nonzero().get().unsigned_abs())
    }

    fn host_map(&self, bytes: usize) -> Option<NonNull<u8>> {
        Mapping::anonymous(bytes).ok().map(|mapping| mapping.into_raw().0)
    }

    unsafe fn host_unmap(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller promises that both come from one `host_map`, which made them by `into_raw` with the same
        // length, and that nothing refers to the memory.
        let result = unsafe { memory::unmap(memory, bytes) };
        if let Err(errno) = result {
            // Splitting a merged mapping can exceed the kernel's limit on their number.
            self.log.record(Level::Error, format_args!("{bytes} bytes of host memory stay mapped: {errno}"));
        }
    }

    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        self.log.record(level, text);
    }
}
