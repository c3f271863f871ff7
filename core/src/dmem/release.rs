//! Giving memory back (fact sheet `dmem` §8).
//!
//! A release always completes. When the driver refuses to unmap or free a range, its node is *quarantined*: off its
//! allocator's list and off the books, kept with the range it describes, retried when the runtime closes, and reported.

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::abi::dmem_t;
use crate::arena::NodeSlot;
use crate::context::ResolvedCore;
use crate::driver::{Call, Driver, DriverResult, Errno};
use crate::error::{Error, Result};
use crate::hooks::{Hooks, Level};
use crate::ledger::Action;
use crate::observer::{Operation, Subject, observed};
use crate::system::System;
use crate::text;
use crate::usage::Usage;

use super::range_of;

/// Freed nodes a core keeps for itself before it shares.
const MAGAZINE: u32 = 64;

impl<D: Driver, H: Hooks> System<D, H> {
    /// Drops one reference; the last one frees. `false` when there was no reference to drop, which the original does not
    /// notice (its counter wraps).
    ///
    /// # Concurrency
    /// The memory lock of the core, once, when the last reference goes.
    ///
    /// # Safety
    /// `node` is a node of this system, and the reference dropped is the caller's.
    pub(crate) unsafe fn dmem_free(&self, node: NonNull<dmem_t>) -> bool {
        // SAFETY: slots are type-stable, so the counter can be looked at whatever the node's state.
        let count = unsafe { &(*node.as_ptr()).ref_count };
        let mut now = count.load(Acquire);
        loop {
            match now {
                0 => return false,
                // The only reference is the caller's, and who has none cannot take one: nobody else changes the count.
                1 => break,
                _ => match count.compare_exchange(now, now - 1, Release, Acquire) {
                    Ok(_) => return true,
                    Err(other) => now = other,
                },
            }
        }
        count.store(0, Relaxed);
        // SAFETY: the last reference is gone, so this thread alone has the node.
        unsafe { self.dmem_discard(node) };
        true
    }

    /// Frees a node whatever its references.
    ///
    /// # Safety
    /// Nobody uses the node.
    pub(crate) unsafe fn dmem_discard(&self, node: NonNull<dmem_t>) {
        // SAFETY: the node's core was written before it was published.
        let Ok(core) = (unsafe { self.resolve((*node.as_ptr()).pcore) }) else {
            debug_assert!(false, "a live node names a core of the tree");
            return;
        };
        // SAFETY: exclusive by contract; the fields were written before publication.
        let subject = unsafe {
            let raw = node.as_ptr();
            // Only listeners read the name; finding its end and checking it is a third of the release.
            let hint = if H::OBSERVED { text::from_nul_terminated(&(*raw).spare_44_hint) } else { "" };
            Subject::on(&core, (*raw).allocated_size as u64, Usage::from_number((*raw).mem_usage_type.0), hint)
        };
        // What the driver refuses is the core's to remember, not the caller's.
        // SAFETY: exclusive by contract.
        let _ = observed(&self.hooks, Operation::Free, subject, || unsafe { self.discard_on(&core, node) });
    }

    /// # Safety
    /// As [`dmem_discard`](Self::dmem_discard); the node is of `core`.
    unsafe fn discard_on(&self, core: &ResolvedCore, node: NonNull<dmem_t>) -> Result<()> {
        // SAFETY: exclusive by contract.
        let answer = unsafe { self.return_range(core, node) };
        // SAFETY: as above.
        let (size, pa) = unsafe { ((*node.as_ptr()).size as u64, (*node.as_ptr())._pa) };
        trace!("free {} bytes, ND{}:NC{}, at {}", size, core.device, core.core, pa);
        let side = self.arenas.core(core.device, core.core);
        {
            let _held = self.memory_lock(core);
            let index = self.arenas.nodes.index_of(node.cast::<NodeSlot>());
            // SAFETY: list, counters, ring, magazine and quarantine of this core are guarded by the lock held here.
            unsafe {
                let raw = node.as_ptr();
                (*raw).ref_count.store(0, Relaxed);
                self.ledger_add(side, raw, Action::Free, None);
                self.unlink(node);
                self.arenas.nodes.end_life(index);
                side.live_nodes.store(side.live_nodes.load(Relaxed) - 1, Release);
                if answer.is_ok() {
                    self.push_node(core, index);
                } else {
                    (*raw).next.store(side.quarantine.load(Relaxed), Relaxed);
                    side.quarantine.store(raw, Relaxed);
                    side.quarantined.store(side.quarantined.load(Relaxed) + 1, Relaxed);
                    side.quarantined_bytes.fetch_add(self.held_bytes(node), Relaxed);
                }
            }
        }
        if let Err(errno) = answer {
            // SAFETY: the quarantined node keeps its fields.
            let (size, hint) = unsafe { ((*node.as_ptr()).allocated_size as u64, &(*node.as_ptr()).spare_44_hint) };
            self.log_refused_free(core, size, text::from_nul_terminated(hint), errno);
        }
        answer.map_err(|errno| Error::driver(Call::Free, core.device, errno))
    }

    /// Unmaps, then frees: never the other way round, or the mapping would show memory that is given to others.
    ///
    /// # Safety
    /// Nobody uses the node's memory.
    unsafe fn return_range(&self, core: &ResolvedCore, node: NonNull<dmem_t>) -> DriverResult<()> {
        // SAFETY: by contract.
        unsafe {
            let raw = node.as_ptr();
            if let Some(address) = NonNull::new((*raw)._va.load(Acquire)) {
                self.driver.unmap(core.device, range_of(node), address.cast())?;
                (*raw)._va.store(null_mut(), Release);
            }
            self.driver.free(core.device, range_of(node))
        }
    }

    /// Takes a node off its allocator's list, if its allocator still exists.
    ///
    /// # Safety
    /// The caller holds the memory lock of the node's core.
    unsafe fn unlink(&self, node: NonNull<dmem_t>) {
        // SAFETY: by contract; neighbours are live nodes or sentinels.
        unsafe {
            let raw = node.as_ptr();
            if !(*raw).allocator.load(Acquire).is_null() {
                (*raw).allocator.store(null_mut(), Release);
                let (prev, next) = ((*raw).prev.load(Relaxed), (*raw).next.load(Relaxed));
                debug_assert!(!prev.is_null() && !next.is_null());
                (*prev).next.store(next, Release);
                (*next).prev.store(prev, Relaxed);
            }
            (*raw).next.store(null_mut(), Relaxed);
            (*raw).prev.store(null_mut(), Relaxed);
        }
    }

    /// Keeps a freed node for this core, or shares it when the core has enough. Under the memory lock.
    fn push_node(&self, core: &ResolvedCore, index: u32) {
        let side = self.arenas.core(core.device, core.core);
        let len = side.magazine_len.load(Relaxed);
        if len >= MAGAZINE {
            self.arenas.nodes.give_uncounted(index);
            return;
        }
        // SAFETY: the slot is free and this thread's.
        let link = unsafe { &(*self.arenas.nodes.pointer(index).as_ptr()).dmem.spare_b0_link };
        link.store(side.magazine.load(Relaxed), Relaxed);
        side.magazine.store(index + 1, Relaxed);
        side.magazine_len.store(len + 1, Release);
    }

    /// Takes a node out of a core's magazine. Under the memory lock of that core.
    pub(super) fn pop_magazine(&self, device: u32, core: u32) -> Option<u32> {
        let side = self.arenas.core(device, core);
        let index = side.magazine.load(Relaxed).checked_sub(1)?;
        // SAFETY: the slot is free and in this magazine.
        let link = unsafe { &(*self.arenas.nodes.pointer(index).as_ptr()).dmem.spare_b0_link };
        side.magazine.store(link.load(Relaxed), Relaxed);
        side.magazine_len.store(side.magazine_len.load(Relaxed) - 1, Relaxed);
        Some(index)
    }

    /// Tries once more to give the quarantined ranges of a core back. Gives (allocations, bytes) the driver has not taken
    /// back, those included that no node was left for.
    pub(crate) fn retry_quarantine(&self, core: &ResolvedCore) -> (u32, u64) {
        let side = self.arenas.core(core.device, core.core);
        let mut list = {
            let _held = self.memory_lock(core);
            side.quarantine.swap(null_mut(), Relaxed)
        };
        while let Some(node) = NonNull::new(list) {
            // SAFETY: quarantined nodes belong to nobody but this list, which was detached above.
            unsafe {
                list = (*node.as_ptr()).next.load(Relaxed);
                let size = self.held_bytes(node);
                let answer = self.return_range(core, node);
                let _held = self.memory_lock(core);
                if answer.is_ok() {
                    side.quarantined.store(side.quarantined.load(Relaxed) - 1, Relaxed);
                    side.quarantined_bytes.fetch_sub(size, Relaxed);
                    self.push_node(core, self.arenas.nodes.index_of(node.cast::<NodeSlot>()));
                } else {
                    (*node.as_ptr()).next.store(side.quarantine.load(Relaxed), Relaxed);
                    side.quarantine.store(node.as_ptr(), Relaxed);
                }
            }
        }
        (side.quarantined.load(Relaxed), side.quarantined_bytes.load(Relaxed))
    }

    /// Tells of a mapping the driver refused to remove and that nobody needs.
    pub(super) fn log_lost_mapping(&self, core: &ResolvedCore, size: u64, errno: Errno) {
        self.hooks.log(
            Level::Warn,
            format_args!(
                "the driver refused to unmap {size} bytes that two threads mapped at once on ND{}:NC{}: {errno}; one mapping is lost",
                core.device, core.core
            ),
        );
    }

    pub(super) fn log_refused_free(&self, core: &ResolvedCore, size: u64, hint: &str, errno: Errno) {
        self.hooks.log(
            Level::Error,
            format_args!(
                "the driver refused to take back {size} bytes (\"{hint}\") on ND{}:NC{}: {errno}; retried at close",
                core.device, core.core
            ),
        );
    }
}
