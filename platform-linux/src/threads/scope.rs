//! Threads that may borrow, because a scope waits for them.
#![allow(unsafe_code, reason = "lends borrowed data to threads that are joined in time")]

use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use rustix::io::Errno;

use super::control::Control;
use super::stack::Stack;
use super::start;

/// Where threads are started that end before the scope does; see [`scope`].
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    /// Control blocks of every thread started and not yet waited for, linked through `next`.
    threads: AtomicPtr<Control>,
    /// Invariant, so that neither lifetime can be shortened to smuggle a borrow in.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// A thread of a scope.
#[derive(Debug)]
pub struct ScopedThread<'scope> {
    control: &'scope Control,
}

/// Runs `body`, then waits for every thread that was started in the scope, and only then returns.
///
/// The shape of `std::thread::scope`: threads may borrow from outside the scope, and start further ones. A stack serves
/// one thread of a scope and is free again when the scope has ended.
pub fn scope<'env, T>(body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    let scope = Scope { threads: AtomicPtr::new(ptr::null_mut()), scope: PhantomData, env: PhantomData };
    // A guard, so that a body that unwinds cannot leave threads behind that borrow from its frame.
    let _wait = WaitForAll(&scope.threads);
    body(&scope)
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Runs `work` in a new thread on `stack`.
    ///
    /// # Errors
    /// [`Errno::NOTSUP`] when [`super::enable`] has not been called; [`Errno::BUSY`] while another thread has the stack
    /// or the scope has used it before; [`Errno::NOMEM`] when what `work` captures does not fit the stack;
    /// [`Errno::AGAIN`] or [`Errno::NOMEM`] when the system has no room for a thread. `work` is dropped then.
    pub fn spawn<F>(&'scope self, stack: Stack<'env>, work: F) -> Result<ScopedThread<'scope>, Errno>
    where
        F: FnOnce() + Send + 'scope,
    {
        // SAFETY: the thread is put on the list below, and `scope` does not return before it has waited for every
        // thread on the list. Until then `'env`, which contains `'scope`, has not ended: stack, control block and all
        // that `work` borrows are alive. Should this very call run in a thread of the scope, that thread is on the list
        // (or about to be put there by one that is, or by the body), so the list is looked at again after its end.
        unsafe { start(stack, work) }?;
        let control = stack.control;
        let mut first = self.threads.load(Ordering::Relaxed);
        loop {
            control.next.store(first, Ordering::Relaxed);
            let link = ptr::from_ref(control).cast_mut();
            // Release: whoever takes the list sees `next`.
            match self.threads.compare_exchange_weak(first, link, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Ok(ScopedThread { control }),
                Err(now) => first = now,
            }
        }
    }
}

impl ScopedThread<'_> {
    /// Waits for the end of the thread.
    ///
    /// # Concurrency
    /// What the thread did has happened before this returns.
    pub fn join(self) {
        self.control.wait_for_end();
    }

    /// Whether the thread has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.control.has_ended()
    }
}

struct WaitForAll<'a>(&'a AtomicPtr<Control>);

impl Drop for WaitForAll<'_> {
    fn drop(&mut self) {
        // A thread may have started others before it ended: look until there are none.
        loop {
            // Acquire pairs with the Release of the push, and with those before it through the chain of exchanges.
            let mut thread = self.0.swap(ptr::null_mut(), Ordering::Acquire);
            if thread.is_null() {
                return;
            }
            // SAFETY: the list holds control blocks of stacks that live for `'env`, which outlives the scope.
            while let Some(control) = unsafe { thread.as_ref() } {
                control.wait_for_end();
                // Once released, the block may join another scope's list: read the link first.
                thread = control.next.load(Ordering::Relaxed);
                control.release();
            }
        }
    }
}
