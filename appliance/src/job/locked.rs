//! A value behind the core's lock: waiting threads sleep, and nothing is allocated.
#![allow(unsafe_code, reason = "shares a static between the threads behind a lock")]

use core::cell::UnsafeCell;

use nrt_core::abi::pthread_mutex_t;
use nrt_core::sync;

use super::statics::HOOKS;

/// A value that one thread at a time works with.
pub(super) struct Locked<T> {
    lock: pthread_mutex_t,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through `with`, which holds the lock meanwhile, so one thread at a time has it; and it may
// move from thread to thread. The lock is an atomic.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub(super) const fn new(value: T) -> Self {
        let lock = pthread_mutex_t::unlocked();
        Self { lock, value: UnsafeCell::new(value) }
    }

    /// Runs `work` with the value, alone. `work` must not come back to the same value: it would wait for itself.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let _held = sync::lock(&self.lock, &HOOKS);
        // SAFETY: the lock is held until the end of this function, and every access to the value takes it; a second
        // reference by the same thread would need the lock a second time, which it never gets.
        work(unsafe { &mut *self.value.get() })
    }

    /// The value, from its last owner.
    pub(super) fn into_inner(self) -> T {
        self.value.into_inner()
    }
}
