//! Threads for programs that have no libc.
//!
//! A thread is a `clone` on a stack that the program owns: a [`ThreadStack`] in static memory or a [`MappedStack`].
//! Each has a guard page below it, so that an overflow is a fault and not a corruption. Waiting for the end of a thread
//! is a futex wait on the word that the kernel clears when the thread no longer uses its stack.
//!
//! **Not for programs with a libc.** Such a thread has no thread-local storage of its own, but shares that of the thread
//! that made it, which the libc (and std) cannot cope with. So nothing starts until [`enable`] has vouched for the
//! program, and a library that runs under both must use the libc's threads under the libc.
//!
//! Threads are not unwound: a panic in one must end the process, which is what a panic handler without std does.
#![allow(unsafe_code, reason = "starts threads")]

mod control;
mod raw;
mod scope;
mod stack;
#[cfg(test)]
mod tests;

use core::mem;
use core::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use control::Control;
pub use scope::{Scope, ScopedThread, scope};
pub use stack::{MappedStack, Stack, ThreadStack};

/// Room that a thread must have left on its stack beside what it was given, in bytes.
const LEAST_ROOM: usize = 4096;

static ENABLED: AtomicBool = AtomicBool::new(false);

/// Allows threads to be started. The start code of a program without a libc calls this.
///
/// # Safety
/// No code of this process, now or later, uses thread-local storage: there is no libc, no std, and no `fs`-relative
/// access of any other origin.
pub unsafe fn enable() {
    ENABLED.store(true, Ordering::Release);
}

/// A running thread that returns a word.
///
/// Dropping it lets the thread run on; its stack can be used again once the thread has ended.
#[derive(Debug)]
#[must_use = "a dropped thread runs on and its result is lost"]
pub struct Thread {
    control: &'static Control,
}

/// Runs `function(argument)` in a new thread on `stack`.
///
/// # Errors
/// [`Errno::NOTSUP`] when [`enable`] has not been called; [`Errno::BUSY`] while another thread has the stack;
/// [`Errno::AGAIN`] or [`Errno::NOMEM`] when the system has no room for a thread.
///
/// # Concurrency
/// What happened before the call has happened before the thread starts.
pub fn spawn(stack: Stack<'static>, function: fn(usize) -> usize, argument: usize) -> Result<Thread, Errno> {
    let control = stack.control;
    // SAFETY: the stack, and so its control block, lives for ever; the closure owns all it uses.
    unsafe { start(stack, move || control.set_result(function(argument))) }?;
    Ok(Thread { control })
}

impl Thread {
    /// Waits for the end of the thread and returns its result.
    ///
    /// # Concurrency
    /// What the thread did has happened before this returns; its stack is free again.
    #[must_use]
    pub fn join(self) -> usize {
        self.control.wait_for_end();
        let result = self.control.result();
        self.control.release();
        mem::forget(self);
        result
    }

    /// Whether the thread has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.control.has_ended()
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.control.abandon();
    }
}

/// What waits at the top of a stack for its thread.
struct Packet<F> {
    control: *const Control,
    work: F,
}

/// Starts a thread that runs `work`.
///
/// # Safety
/// The stack's control block, its memory and everything `work` refers to stay valid until the control block tells that
/// the thread has ended.
unsafe fn start<F: FnOnce() + Send>(stack: Stack<'_>, work: F) -> Result<(), Errno> {
    if !ENABLED.load(Ordering::Acquire) {
        return Err(Errno::NOTSUP);
    }
    stack.control.claim()?;
    let size = size_of::<Packet<F>>();
    // The packet's place is where the thread's stack pointer starts, and that is a multiple of 16.
    let align = align_of::<Packet<F>>().max(16);
    let top = stack.low.as_ptr().wrapping_add(stack.bytes);
    let slack = (top.addr() - size.min(stack.bytes)) % align;
    if stack.bytes < size + slack + LEAST_ROOM {
        stack.control.release();
        return Err(Errno::NOMEM);
    }
    let packet = top.wrapping_sub(size + slack).cast::<Packet<F>>();
    // SAFETY: by the check above the packet lies within the stack; `top - size - slack` is a multiple of `align`. The
    // claim makes this call the only one that may touch the stack: whoever had it before has ended.
    unsafe { packet.write(Packet { control: stack.control, work }) };
    stack.control.prepare();
    // SAFETY: the stack below the packet is unused memory of at least LEAST_ROOM bytes with a guard page under it, its
    // top is aligned to 16; the word lives as long as the thread (caller). `run::<F>` gets the packet just written, once.
    let started = unsafe { raw::clone_thread(packet.cast(), stack.control.word(), run::<F>, packet.cast()) };
    if let Err(errno) = started {
        // SAFETY: no thread was made, so the packet is still this call's alone, initialised and read only here.
        drop(unsafe { packet.read() });
        stack.control.cancel();
        return Err(errno);
    }
    Ok(())
}

/// First function of a thread.
///
/// # Safety
/// `packet` points to a `Packet<F>` that is this thread's alone, and its control block outlives the thread.
unsafe extern "C" fn run<F: FnOnce()>(packet: *mut u8) {
    // SAFETY: `start` wrote it before the thread existed, and nobody else reads it.
    let Packet { control, work } = unsafe { packet.cast::<Packet<F>>().read() };
    work();
    // SAFETY: the control block is valid until the kernel clears its word, which is after this function.
    unsafe { &*control }.finish();
}
