//! The gate every public operation passes: is the runtime open, and who is inside?
//!
//! The count of operations inside is striped over cache lines, so that threads on different cores do not meet on one
//! word. Entering adds to a stripe and then looks at the state; closing changes the state and then adds the stripes up.
//! Both are sequentially consistent, so one of the two sees the other.

use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::Word;
use crate::hooks::{Hooks, Wait};

const STRIPES: usize = 16;

#[repr(C, align(64))]
struct Stripe(AtomicU64);

/// State word and in-flight counts. Zeroed memory is a shut gate with nobody inside.
pub struct Gate {
    state: AtomicU32,
    /// Moves on whenever somebody leaves a shut gate; the closer sleeps on it.
    left: AtomicU32,
    stripes: [Stripe; STRIPES],
}

impl Gate {
    /// A shut gate.
    pub const SHUT: u32 = 0;
    /// An open gate.
    pub const OPEN: u32 = 1;

    /// A shut gate with nobody inside.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: AtomicU32::new(Self::SHUT),
            left: AtomicU32::new(0),
            stripes: [const { Stripe(AtomicU64::new(0)) }; STRIPES],
        }
    }

    /// Opens the gate.
    pub fn open(&self) {
        Word::store(&self.state, Self::OPEN, SeqCst);
    }

    /// Shuts the gate; `true` when it was open.
    pub fn shut(&self) -> bool {
        Word::swap(&self.state, Self::SHUT, SeqCst) == Self::OPEN
    }

    /// Enters, or `None` when the gate is shut.
    ///
    /// # Cost
    /// One read-modify-write to enter and one to leave, on a line that threads rarely share.
    #[inline]
    pub fn enter<'a, H: Hooks>(&'a self, hooks: &'a H) -> Option<InFlight<'a, H>> {
        let stripe = &self.stripes[own_stripe()].0;
        stripe.fetch_add(1, SeqCst);
        let inside = InFlight { gate: self, stripe, hooks };
        // Dropping the pass takes the count back.
        if self.state.load(SeqCst) == Self::OPEN { Some(inside) } else { None }
    }

    /// Operations inside.
    #[must_use]
    pub fn inside(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.0.load(SeqCst)).sum()
    }

    /// Waits until nobody is inside a shut gate, or the deadline passed; gives the number still inside.
    pub fn wait_empty<H: Hooks>(&self, hooks: &H, deadline_ns: Option<u64>) -> u64 {
        loop {
            let seen = self.left.load(SeqCst);
            let inside = self.inside();
            if inside == 0 || hooks.wait(self.left.as_ptr(), seen, deadline_ns) == Wait::TimedOut {
                return if inside == 0 { 0 } else { self.inside() };
            }
        }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// Pass of one operation that is inside.
#[must_use]
pub struct InFlight<'a, H: Hooks> {
    gate: &'a Gate,
    stripe: &'a AtomicU64,
    hooks: &'a H,
}

impl<H: Hooks> Drop for InFlight<'_, H> {
    #[inline]
    fn drop(&mut self) {
        self.stripe.fetch_sub(1, SeqCst);
        if self.gate.state.load(SeqCst) != Gate::OPEN {
            self.gate.left.fetch_add(1, SeqCst);
            self.hooks.wake(self.gate.left.as_ptr(), i32::MAX as u32);
        }
    }
}

/// Stripe of the calling thread: its stack is its own, so the page of a local variable tells threads apart well enough.
#[inline]
fn own_stripe() -> usize {
    let here = 0_u8;
    let page = (&raw const here).addr() >> 14;
    (page ^ (page >> 4) ^ (page >> 9)) % STRIPES
}
