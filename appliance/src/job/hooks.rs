//! The platform services of the job, which count what the runtime does.
#![allow(unsafe_code, reason = "implements the unsafe trait of the core")]

use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use nrt_core::hooks::{Hooks, Level, Wait};
use nrt_core::observer::{Observation, Phase};
use nrt_linux::LinuxHooks;

use crate::report::EVENTS;

/// The services of the system, and a counter for each documented event id.
pub(super) struct JobHooks {
    pub(super) linux: LinuxHooks,
    ended: [AtomicU64; EVENTS],
}

impl JobHooks {
    pub(super) const fn new() -> Self {
        Self { linux: LinuxHooks::new(), ended: [const { AtomicU64::new(0) }; EVENTS] }
    }

    /// Operations that ended so far, by event id.
    pub(super) fn events(&self) -> [u64; EVENTS] {
        self.ended.each_ref().map(|count| count.load(Relaxed))
    }
}

// SAFETY: every service is the system's, whose guarantees hold.
unsafe impl Hooks for JobHooks {
    fn wait(&self, word: *const u32, expected: u32, deadline_ns: Option<u64>) -> Wait {
        self.linux.wait(word, expected, deadline_ns)
    }

    fn wake(&self, word: *const u32, count: u32) {
        self.linux.wake(word, count);
    }

    fn fences_others(&self) -> bool {
        self.linux.fences_others()
    }

    fn fence_others(&self) -> bool {
        self.linux.fence_others()
    }

    fn now_ns(&self) -> u64 {
        self.linux.now_ns()
    }

    fn event_clock(&self) -> Option<u64> {
        self.linux.event_clock()
    }

    fn thread_id(&self) -> u64 {
        self.linux.thread_id()
    }

    fn host_map(&self, bytes: usize) -> Option<NonNull<u8>> {
        self.linux.host_map(bytes)
    }

    unsafe fn host_unmap(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.linux.host_unmap(memory, bytes) };
    }

    const OBSERVED: bool = true;

    fn observe(&self, observation: &Observation<'_>) {
        if let (Phase::End(_), Some(count)) = (observation.phase, self.ended.get(observation.operation.id() as usize)) {
            count.fetch_add(1, Relaxed);
        }
    }

    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        self.linux.log(level, text);
    }
}
