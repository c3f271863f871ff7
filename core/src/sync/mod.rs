//! Locks and protocols.
//!
//! Each protocol is written once, over the [`Word`] trait: the runtime instantiates it with core atomics, the model
//! checker with its own. Nothing here knows what the words belong to.

mod brief;
mod free_slots;
mod free_stack;
mod gate;
mod lock;
mod refs;
mod stripe;
mod take;
mod word;

#[cfg(test)]
mod tests;

pub use brief::{BriefGuard, acquire_brief, lock_brief, release_brief};
pub use free_slots::FreeSlots;
pub use free_stack::FreeStack;
pub use gate::{Gate, GateWords, InFlight};
pub use lock::{Guard, acquire, acquire_after, lock, lock_until, release, try_lock};
pub use refs::{
    DRAINING, all_outstanding, begin_drain, begin_drain_all, cancel_drain, cancel_drain_all, enter, finish_drain, leave,
    outstanding, wait_all_drained, wait_drained,
};
pub use stripe::{Stripe, own_stripe};
pub use take::{Chains, Taken, WALKS, change, take};
pub use word::Word;
