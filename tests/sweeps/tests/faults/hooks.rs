//! Platform services that fail on request and keep quiet.

use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use nrt_core::hooks::{Hooks, Level, Wait};
use nrt_linux::hooks::LinuxHooks;

/// Counts mappings of host memory, fails a chosen one, counts log records instead of printing them.
pub(crate) struct FaultyHooks {
    inner: LinuxHooks,
    maps: AtomicU64,
    fail_map_at: AtomicU64,
    live_bytes: AtomicU64,
    errors: AtomicU64,
    reservations: AtomicU64,
}

const NEVER: u64 = u64::MAX;

impl FaultyHooks {
    pub(crate) fn new() -> Self {
        Self {
            inner: LinuxHooks::new(),
            maps: AtomicU64::new(0),
            fail_map_at: AtomicU64::new(NEVER),
            live_bytes: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            reservations: AtomicU64::new(0),
        }
    }

    /// Starts counting anew and fails nothing.
    pub(crate) fn reset(&self) {
        self.fail_map_at.store(NEVER, SeqCst);
        self.maps.store(0, SeqCst);
    }

    /// Fails the `n`-th mapping from now on.
    pub(crate) fn fail_map(&self, n: u64) {
        self.reset();
        self.fail_map_at.store(n, SeqCst);
    }

    /// Mappings asked for since the last reset.
    pub(crate) fn maps(&self) -> u64 {
        self.maps.load(SeqCst)
    }

    /// Host bytes mapped now.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.live_bytes.load(SeqCst)
    }

    /// Refused releases ever logged, those of reservations left out. (What is told when memory runs out has its own tests.)
    pub(crate) fn errors(&self) -> u64 {
        self.errors.load(SeqCst)
    }

    /// Error records ever logged of reservations that the driver did not take back.
    pub(crate) fn reservations_refused(&self) -> u64 {
        self.reservations.load(SeqCst)
    }
}

// SAFETY: host memory comes from the platform's own hooks, one call for one; a failed request maps nothing. Thread ids
// are the platform's.
unsafe impl Hooks for FaultyHooks {
    fn wait(&self, word: *const u32, expected: u32, deadline_ns: Option<u64>) -> Wait {
        self.inner.wait(word, expected, deadline_ns)
    }

    fn wake(&self, word: *const u32, count: u32) {
        self.inner.wake(word, count);
    }

    fn now_ns(&self) -> u64 {
        self.inner.now_ns()
    }

    fn thread_id(&self) -> u64 {
        self.inner.thread_id()
    }

    fn host_map(&self, bytes: usize) -> Option<NonNull<u8>> {
        if self.maps.fetch_add(1, SeqCst) + 1 == self.fail_map_at.load(SeqCst) {
            return None;
        }
        self.live_bytes.fetch_add(bytes as u64, SeqCst);
        self.inner.host_map(bytes)
    }

    unsafe fn host_unmap(&self, memory: NonNull<u8>, bytes: usize) {
        self.live_bytes.fetch_sub(bytes as u64, SeqCst);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.host_unmap(memory, bytes) };
    }

    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        let text = text.to_string();
        if level == Level::Error && text.starts_with("the driver refused to take back") {
            let of_reservation = text.starts_with("the driver refused to take back a reservation");
            if of_reservation { &self.reservations } else { &self.errors }.fetch_add(1, SeqCst);
        }
    }
}
