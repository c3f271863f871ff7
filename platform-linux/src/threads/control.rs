//! The few words that go with a stack: who has it, and how its thread is doing.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use rustix::io::Errno;

use crate::futex::{self, Scope};

/// Nobody has the stack.
const FREE: u32 = 0;
/// A thread has it, and somebody will wait for the thread.
const TAKEN: u32 = 1;
/// A thread has it, and nobody will wait: whoever wants the stack next looks whether the thread has ended.
const ABANDONED: u32 = 2;

/// In the kernel's word from before the thread exists until the kernel stores its id.
const STARTING: u32 = u32::MAX;

/// State of one stack. All zero is a free stack.
#[derive(Debug)]
pub(super) struct Control {
    owner: AtomicU32,
    /// Thread id while the thread may still use the stack; cleared by the kernel.
    thread: AtomicU32,
    /// 1 once the thread's work is done. Orders the thread's writes before the waiter's reads in the language's terms;
    /// the kernel's store to `thread` orders them in the machine's.
    finished: AtomicU32,
    result: AtomicUsize,
    /// Next in the list of the scope that started the thread.
    pub(super) next: AtomicPtr<Control>,
}

impl Control {
    pub(super) const fn new() -> Self {
        Self {
            owner: AtomicU32::new(FREE),
            thread: AtomicU32::new(0),
            finished: AtomicU32::new(0),
            result: AtomicUsize::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The word the kernel writes.
    pub(super) const fn word(&self) -> *mut u32 {
        self.thread.as_ptr()
    }

    /// Takes the stack for a thread to be.
    pub(super) fn claim(&self) -> Result<(), Errno> {
        // Acquire: what the last holder did with the stack has happened before.
        let take = |from| self.owner.compare_exchange(from, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if take(FREE) {
            return Ok(());
        }
        if take(ABANDONED) {
            // Looked at only now: before the exchange another taker could start and abandon a new thread in between.
            if self.has_ended() {
                return Ok(());
            }
            self.abandon();
        }
        Err(Errno::BUSY)
    }

    /// Gives back a claimed stack whose thread has ended or was never made.
    pub(super) fn release(&self) {
        self.owner.store(FREE, Ordering::Release);
    }

    /// Leaves the stack to its thread.
    pub(super) fn abandon(&self) {
        self.owner.store(ABANDONED, Ordering::Release);
    }

    /// Makes a claimed stack ready for its thread.
    pub(super) fn prepare(&self) {
        self.finished.store(0, Ordering::Relaxed);
        self.thread.store(STARTING, Ordering::Relaxed);
    }

    /// Takes `prepare` back: the thread was not made.
    pub(super) fn cancel(&self) {
        self.thread.store(0, Ordering::Relaxed);
        self.release();
    }

    /// The thread's last act.
    pub(super) fn finish(&self) {
        self.finished.store(1, Ordering::Release);
    }

    pub(super) fn set_result(&self, result: usize) {
        self.result.store(result, Ordering::Relaxed);
    }

    pub(super) fn result(&self) -> usize {
        self.result.load(Ordering::Relaxed)
    }

    /// Whether the thread is gone, with its work done.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.load(Ordering::Acquire) == 0 && self.finished.load(Ordering::Acquire) == 1
    }

    /// Waits until the thread no longer uses its stack. Several threads may wait for the same one.
    pub(super) fn wait_for_end(&self) {
        let mut slept = false;
        loop {
            let thread = self.thread.load(Ordering::Acquire);
            if thread == 0 {
                break;
            }
            // The kernel's wake at the end of a thread is not private.
            let _ = futex::wait(self.word(), thread, None, Scope::Shared);
            slept = true;
        }
        if slept {
            // The kernel wakes one waiter only; that one wakes the others.
            futex::wake(self.word(), u32::MAX, Scope::Shared);
        }
        let finished = self.finished.load(Ordering::Acquire);
        debug_assert_eq!(finished, 1, "a thread ended without finishing its work");
    }
}
