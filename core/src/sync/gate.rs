//! The gate every public operation passes: is the runtime open, and who is inside?
//!
//! The count of operations inside is striped over cache lines, so that threads on different cores do not meet on one
//! word. Entering adds to a stripe and then looks at the state; closing changes the state and then adds the stripes up.
//!
//! One of the two must see the other, and no total order of all accesses is needed for that: *both* touch the stripe with
//! a read-modify-write, and these stand in one order. If the entry's comes first, the closer reads its count. If the
//! closer's comes first, the entry reads what the closer wrote, has therefore acquired all the closer did before, and
//! finds the gate shut. A closer that merely loaded the stripes could miss an entry that at the same time misses the
//! closing, as both loads may be satisfied before the stores of the other side arrive.
//!
//! While a closer waits, the gate is *closing*: nobody enters to use anything, but what is held can still be given back,
//! because the closer may give up and then nothing may be forgotten. Once nobody is inside the gate is shut for these too,
//! and the closer waits for the last of them.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::{Stripe, Word, own_stripe};
use crate::hooks::{Hooks, Wait};

const STRIPES: usize = 16;

const SHUT: u32 = 0;
const OPEN: u32 = 1;
const CLOSING: u32 = 2;

/// The protocol, with `N` stripes. Words that are all 0 are a shut gate with nobody inside.
pub struct GateWords<S, C, const N: usize> {
    state: S,
    /// Moves on whenever somebody leaves a gate that is not open; the closer sleeps on it.
    left: S,
    stripes: [Stripe<C>; N],
}

impl<S: Word<Int = u32>, C: Word<Int = u64>, const N: usize> GateWords<S, C, N> {
    /// A gate over these words.
    pub fn from_words(state: S, left: S, counts: [C; N]) -> Self {
        Self { state, left, stripes: counts.map(Stripe) }
    }

    /// Opens the gate. Whoever enters sees what was done before.
    pub fn open(&self) {
        self.state.store(OPEN, Release);
    }

    /// Shuts the gate; `true` when it was open.
    pub fn shut(&self) -> bool {
        self.state.swap(SHUT, AcqRel) == OPEN
    }

    /// Starts to close; `true` when the gate was open.
    pub fn begin_close(&self) -> bool {
        self.state.compare_exchange(OPEN, CLOSING, AcqRel, Relaxed).is_ok()
    }

    /// The stripe of number `index`, modulo their count.
    #[inline]
    pub fn stripe(&self, index: usize) -> &C {
        &self.stripes[index % N].0
    }

    /// Enters through a stripe; `false` when the gate is shut. Either way [`leave`](Self::leave) through the same stripe
    /// has to follow.
    ///
    /// # Cost
    /// One read-modify-write.
    #[inline]
    #[must_use]
    pub fn enter(&self, stripe: &C) -> bool {
        stripe.fetch_add(1, Acquire);
        self.state.load(Acquire) == OPEN
    }

    /// As [`enter`](Self::enter), but only a shut gate refuses: for those who give back what they hold.
    ///
    /// # Cost
    /// One read-modify-write.
    #[inline]
    #[must_use]
    pub fn enter_to_release(&self, stripe: &C) -> bool {
        stripe.fetch_add(1, Acquire);
        self.state.load(Acquire) != SHUT
    }

    /// Leaves through the stripe of the entry. `true` means that whoever sleeps on [`left`](Self::left) must be woken.
    ///
    /// # Cost
    /// One read-modify-write while the gate is open.
    #[inline]
    #[must_use]
    pub fn leave(&self, stripe: &C) -> bool {
        // Release: the closer sees all that was done inside. Acquire: if the closer counted this entry, its closing is
        // seen here, and it is woken.
        stripe.fetch_sub(1, AcqRel);
        let shut = self.state.load(Acquire) != OPEN;
        if shut {
            self.left.fetch_add(1, Release);
        }
        shut
    }

    /// The word the closer sleeps on.
    #[inline]
    pub fn left(&self) -> &S {
        &self.left
    }

    /// Operations inside, for reports. Only [`wait_empty`](Self::wait_empty) can tell that there are none.
    pub fn inside(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.0.load(Acquire)).sum()
    }

    /// Operations inside, counted so that whoever is not counted finds the gate as the caller left it.
    fn settle(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.0.fetch_add(0, AcqRel)).sum()
    }

    /// Waits until nobody is inside a closing or shut gate, or `wait` reports that the deadline passed; gives the number
    /// still inside. `wait` gets the value that [`left`](Self::left) must still have for the caller to sleep.
    ///
    /// After 0, nobody is inside until the gate is opened again, apart from those who enter a closing one to release, and all
    /// that was done inside happened before. Those who are refused may still be counted for a moment.
    pub fn wait_empty(&self, mut wait: impl FnMut(u32) -> Wait) -> u64 {
        loop {
            // Before counting: whoever is counted moves the word on after this load.
            let seen = self.left.load(Relaxed);
            let inside = self.settle();
            if inside == 0 || wait(seen) == Wait::TimedOut {
                return if inside == 0 { 0 } else { self.settle() };
            }
        }
    }
}

/// State word and in-flight counts. Zeroed memory is a shut gate with nobody inside.
pub struct Gate {
    words: GateWords<AtomicU32, AtomicU64, STRIPES>,
}

impl Gate {
    /// A shut gate.
    pub const SHUT: u32 = SHUT;
    /// An open gate.
    pub const OPEN: u32 = OPEN;
    /// A gate that somebody wants to shut.
    pub const CLOSING: u32 = CLOSING;

    /// A shut gate with nobody inside.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            words: GateWords {
                state: AtomicU32::new(SHUT),
                left: AtomicU32::new(0),
                stripes: [const { Stripe(AtomicU64::new(0)) }; STRIPES],
            },
        }
    }

    /// Opens the gate.
    pub fn open(&self) {
        self.words.open();
    }

    /// Shuts the gate; `true` when it was open.
    pub fn shut(&self) -> bool {
        self.words.shut()
    }

    /// Starts to close; `true` when the gate was open.
    pub fn begin_close(&self) -> bool {
        self.words.begin_close()
    }

    /// Enters, or `None` when the gate is not open.
    ///
    /// # Cost
    /// One read-modify-write to enter and one to leave, on a line that threads rarely share.
    #[inline]
    pub fn enter<'a, H: Hooks>(&'a self, hooks: &'a H) -> Option<InFlight<'a, H>> {
        let stripe = self.words.stripe(own_stripe());
        let open = self.words.enter(stripe);
        let inside = InFlight { gate: self, stripe, hooks };
        // Dropping the pass takes the count back.
        if open { Some(inside) } else { None }
    }

    /// Enters to give something back, or `None` when the gate is shut.
    ///
    /// # Cost
    /// As [`enter`](Self::enter).
    #[inline]
    pub fn enter_to_release<'a, H: Hooks>(&'a self, hooks: &'a H) -> Option<InFlight<'a, H>> {
        let stripe = self.words.stripe(own_stripe());
        let admitted = self.words.enter_to_release(stripe);
        let inside = InFlight { gate: self, stripe, hooks };
        if admitted { Some(inside) } else { None }
    }

    /// Operations inside.
    #[must_use]
    pub fn inside(&self) -> u64 {
        self.words.inside()
    }

    /// Waits until nobody is inside a closing or shut gate, or the deadline passed; gives the number still inside.
    pub fn wait_empty<H: Hooks>(&self, hooks: &H, deadline_ns: Option<u64>) -> u64 {
        self.words.wait_empty(|seen| hooks.wait(self.words.left.as_ptr(), seen, deadline_ns))
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
        if self.gate.words.leave(self.stripe) {
            self.hooks.wake(self.gate.words.left.as_ptr(), i32::MAX as u32);
        }
    }
}
