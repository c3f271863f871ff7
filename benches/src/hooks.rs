//! The Linux platform with the thread id remembered.

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;

use nrt_core::hooks::{Hooks, Level, Wait};
use nrt_linux::hooks::LinuxHooks;

/// [`LinuxHooks`], except that a thread asks the kernel for its id once. Shows what asking every time costs.
///
/// Only for programs that do not fork: a child would go on with its parent's id.
#[derive(Debug, Default)]
pub struct RememberedThreadId(LinuxHooks);

thread_local! {
    static ID: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all memory comes from the platform underneath; ids are the kernel's, each remembered by its own thread.
unsafe impl Hooks for RememberedThreadId {
    fn wait(&self, word: *const u32, expected: u32, deadline_ns: Option<u64>) -> Wait {
        self.0.wait(word, expected, deadline_ns)
    }
    fn wake(&self, word: *const u32, count: u32) {
        self.0.wake(word, count);
    }
    #[inline]
    fn fences_others(&self) -> bool {
        self.0.fences_others()
    }
    fn fence_others(&self) -> bool {
        self.0.fence_others()
    }
    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }
    #[inline]
    fn event_clock(&self) -> Option<u64> {
        self.0.event_clock()
    }
    #[inline]
    fn thread_id(&self) -> u64 {
        ID.with(|id| {
            if id.get() == 0 {
                id.set(self.0.thread_id());
            }
            id.get()
        })
    }
    fn host_map(&self, bytes: usize) -> Option<NonNull<u8>> {
        self.0.host_map(bytes)
    }
    unsafe fn host_unmap(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.0.host_unmap(memory, bytes) };
    }
    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        self.0.log(level, text);
    }
}
