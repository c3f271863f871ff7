//! How often an output was completed, and waiting for it (`tensor` §11).
//!
//! One plane for all tensors, apart from the fences: every completion moves one sequence word on which all waiters sleep, and
//! each looks at its own tensor's counter.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::{Hooks, Level};
use crate::status::Status;
use crate::system::System;

use super::TensorRef;

/// A waiter reports that it still waits each time this long, in nanoseconds: 30 s.
const REPORT_NS: u64 = 30_000_000_000;

/// What all waiters sleep on.
pub(crate) struct CompletionPlane {
    sequence: AtomicU32,
    waiters: AtomicU32,
}

impl CompletionPlane {
    pub(crate) const fn new() -> Self {
        Self { sequence: AtomicU32::new(0), waiters: AtomicU32::new(0) }
    }
}

/// Counts a waiter for as long as it exists.
struct Waiter<'a>(&'a AtomicU32);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Counts one more completion of an output and wakes those who wait for any.
    pub(crate) fn tensor_completed(&self, tensor: &TensorRef) {
        // SAFETY: a `TensorRef` names a live tensor.
        unsafe { (*tensor.slot.as_ptr()).tensor.output_completion_count.fetch_add(1, Release) };
        let plane = &self.completions;
        // Whoever counted itself as a waiter later than this look sees the new sequence, and behind it the count.
        plane.sequence.fetch_add(1, SeqCst);
        if plane.waiters.load(SeqCst) != 0 {
            self.hooks.wake(plane.sequence.as_ptr(), i32::MAX as u32);
        }
    }

    /// Waits until the tensor was completed `expected` times, at most `timeout_us` microseconds; for ever if that is
    /// negative. The count goes on until it is reset.
    ///
    /// # Errors
    /// `NRT_TIMEOUT`.
    pub(crate) fn tensor_completion_wait(&self, tensor: &TensorRef, timeout_us: i64, expected: u64) -> Result<()> {
        // SAFETY: a `TensorRef` names a live tensor; the reference covers the counter alone.
        let count = unsafe { &(*tensor.slot.as_ptr()).tensor.output_completion_count };
        if count.load(Acquire) >= expected {
            return Ok(());
        }
        let plane = &self.completions;
        plane.waiters.fetch_add(1, SeqCst);
        let _counted = Waiter(&plane.waiters);
        let start = self.hooks.now_ns();
        let deadline = u64::try_from(timeout_us).ok().map(|us| start.saturating_add(us.saturating_mul(1000)));
        let mut report = start.saturating_add(REPORT_NS);
        loop {
            let seen = plane.sequence.load(SeqCst);
            if count.load(Acquire) >= expected {
                return Ok(());
            }
            let now = self.hooks.now_ns();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Err(Error::new(Status::Timeout, Cause::TimedOut("the outputs to be completed")));
            }
            if now >= report {
                report = now.saturating_add(REPORT_NS);
                let (done, seconds) = (count.load(Relaxed), (now - start) / 1_000_000_000);
                self.hooks.log(
                    Level::Warn,
                    format_args!("a tensor was completed {done} of {expected} times; waiting for {seconds} seconds"),
                );
            }
            let until = deadline.map_or(report, |deadline| deadline.min(report));
            let _ = self.hooks.wait(plane.sequence.as_ptr(), seen, Some(until));
        }
    }

    /// Begins to count anew.
    pub(crate) fn tensor_completion_reset(&self, tensor: &TensorRef) {
        // SAFETY: a `TensorRef` names a live tensor.
        unsafe { (*tensor.slot.as_ptr()).tensor.output_completion_count.store(0, Release) };
    }

    /// Completions since the last reset.
    pub(crate) fn tensor_completions(&self, tensor: &TensorRef) -> u64 {
        // SAFETY: a `TensorRef` names a live tensor.
        unsafe { (*tensor.slot.as_ptr()).tensor.output_completion_count.load(Acquire) }
    }
}
