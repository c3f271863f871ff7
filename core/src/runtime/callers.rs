//! Threads inside an operation that calls the application back: loads read sources, visitors look at models.
//!
//! Such a thread must not wait for itself: a close that waits for everybody inside, or an unload that waits for a model the
//! thread has pinned, would never end. The frames live on the stacks of their threads and hang on one list; nothing is
//! allocated and no number of threads is too large. (Who executes is known per core already.)

use core::cell::{Cell, UnsafeCell};
use core::ptr::null;

use crate::abi::pthread_mutex_t;
use crate::hooks::Hooks;
use crate::sync;

/// Logical core and id of a model.
pub(super) type Pinned = (u32, u32);

/// One call-back in progress.
struct Frame {
    thread: u64,
    pinned: Option<Pinned>,
    next: Cell<*const Self>,
}

/// The frames of all threads.
pub(super) struct Callers {
    lock: pthread_mutex_t,
    first: UnsafeCell<*const Frame>,
}

// SAFETY: the list is only touched under the lock, and a frame is unlinked before it dies.
unsafe impl Sync for Callers {}
// SAFETY: the pointers on the list are tied to no thread; a runtime that moves has nobody inside, so the list is empty.
unsafe impl Send for Callers {}

/// Unlinks a frame, also when the call-back panics.
struct Leave<'a, H: Hooks> {
    callers: &'a Callers,
    frame: &'a Frame,
    hooks: &'a H,
}

impl Callers {
    pub(super) const fn new() -> Self {
        Self { lock: pthread_mutex_t::unlocked(), first: UnsafeCell::new(null()) }
    }

    /// Does `work`, which calls the application back, and which has `pinned` a model meanwhile.
    pub(super) fn calling<H: Hooks, T>(&self, hooks: &H, pinned: Option<Pinned>, work: impl FnOnce() -> T) -> T {
        let frame = Frame { thread: hooks.thread_id(), pinned, next: Cell::new(null()) };
        {
            let _held = sync::lock(&self.lock, hooks);
            // SAFETY: under the lock.
            unsafe {
                frame.next.set(*self.first.get());
                *self.first.get() = &raw const frame;
            }
        }
        let _leave = Leave { callers: self, frame: &frame, hooks };
        work()
    }

    /// Whether the calling thread is in a call-back that `relevant` accepts.
    fn any<H: Hooks>(&self, hooks: &H, relevant: impl Fn(&Frame) -> bool) -> bool {
        let thread = hooks.thread_id();
        let _held = sync::lock(&self.lock, hooks);
        // SAFETY: under the lock; frames on the list are alive.
        let mut at = unsafe { (*self.first.get()).as_ref() };
        while let Some(frame) = at {
            if frame.thread == thread && relevant(frame) {
                return true;
            }
            // SAFETY: as above.
            at = unsafe { frame.next.get().as_ref() };
        }
        false
    }

    /// Whether the calling thread is in a call-back.
    pub(super) fn calls<H: Hooks>(&self, hooks: &H) -> bool {
        self.any(hooks, |_| true)
    }

    /// Whether the calling thread is in a call-back that has pinned this model.
    pub(super) fn pins<H: Hooks>(&self, hooks: &H, model: Pinned) -> bool {
        self.any(hooks, |frame| frame.pinned == Some(model))
    }
}

impl<H: Hooks> Drop for Leave<'_, H> {
    fn drop(&mut self) {
        let gone: *const Frame = self.frame;
        let _held = sync::lock(&self.callers.lock, self.hooks);
        // SAFETY: under the lock; frames on the list are alive, and this one is on it.
        unsafe {
            let mut before = self.callers.first.get();
            while !core::ptr::eq(*before, gone) {
                before = (**before).next.as_ptr();
            }
            *before = self.frame.next.get();
        }
    }
}
