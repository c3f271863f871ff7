//! The usage ledger of each device: counters in their documented places, and the event ring (fact sheet `dmem` §§14, 17).
//!
//! Counters of a core are plain additions under that core's memory lock. What the original keeps per device (totals per
//! HBM channel, the ring's cursors, the total in each ring entry) is kept per core here, and summed and written back to its
//! documented place when somebody reads it: shared counters would put every core of a device on one cache line.

mod merge;
mod ring;

pub use ring::{Action, Event};

use core::ptr::null_mut;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{dma_mem_log_t, dmem_t};
use crate::arena::CoreSide;
use crate::context::ResolvedCore;
use crate::driver::Driver;
use crate::error::Result;
use crate::hooks::Hooks;
use crate::system::System;
use crate::usage::{Location, Usage};

/// Column of the per-core total.
pub const TOTAL: usize = Usage::COUNT;

/// Device memory of a logical core (`nrt_vnc_memory_stats_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryStats {
    /// Bytes its physical cores hold.
    pub bytes_used: u64,
    /// Bytes of one HBM channel, whatever the logical core size is.
    pub bytes_limit: u64,
}

impl<D: Driver, H: Hooks> System<D, H> {
    #[inline]
    fn ledger(&self, core: &ResolvedCore) -> *mut dma_mem_log_t {
        // SAFETY: a place inside the device's live record.
        unsafe { &raw mut (*core.mla.as_ptr()).dmem_logger }
    }

    /// Books an allocation or a release of `node`, which is called `hint`; `None` = by the name in it.
    ///
    /// # Safety
    /// `side` is of a core whose memory lock the caller holds, and `node` is a live node of that core with all fields written.
    #[inline]
    pub(crate) unsafe fn ledger_add(&self, side: &CoreSide, node: *const dmem_t, action: Action, hint: Option<&str>) {
        // SAFETY: by contract; the counters are atomics inside the device's record, and a core that has nodes is initialised.
        unsafe {
            let mut held = [0; 2];
            if (*node).mem_type.0 == Location::Device as u32 {
                let channel = (*node).tdram_channel as usize;
                debug_assert!(!side.usage_row.load(Relaxed).is_null());
                let row = &*side.usage_row.load(Relaxed);
                let usage = (*node).mem_usage_type.0 as usize;
                debug_assert!(channel < 4 && usage < TOTAL);
                let on_channel = &side.channel_bytes[channel];
                // A release is the addition of the two's complement: one path, no branch on the action.
                let bytes = match action {
                    Action::Alloc => (*node).allocated_size,
                    Action::Free => (*node).allocated_size.wrapping_neg(),
                };
                row[usage].store(row[usage].load(Relaxed).wrapping_add(bytes), Relaxed);
                row[TOTAL].store(row[TOTAL].load(Relaxed).wrapping_add(bytes), Relaxed);
                let before = on_channel.load(Relaxed);
                held = [before, before.wrapping_add(bytes as u64)];
                on_channel.store(held[1], Relaxed);
            }
            self.ring_push(side, node, action, hint, held);
        }
    }

    /// Bytes all cores of a device hold on an HBM channel.
    pub(crate) fn channel_bytes(&self, device: u32, channel: usize) -> u64 {
        (0..self.settings.cores_per_device).map(|core| self.arenas.core(device, core).channel_bytes[channel].load(Relaxed)).sum()
    }

    /// Bytes of a core by usage; index 22 is the total.
    pub(crate) fn usage_of(&self, core: &ResolvedCore) -> [u64; Usage::COUNT + 1] {
        // SAFETY: atomics inside the device's live record.
        let row = unsafe { &(*self.ledger(core)).memory_usage_nc[core.core as usize] };
        core::array::from_fn(|usage| row[usage].load(Relaxed) as u64)
    }

    /// Writes the sums to their documented places: `memory_usage`, `entry_count`, `next_entry_idx`, `entries_dropped`.
    pub(crate) fn ledger_refresh(&self, device: u32) -> Result<()> {
        let mla = self.tree.mla(device)?;
        // SAFETY: atomics inside the device's record.
        let ledger = unsafe { &raw mut (*mla.as_ptr()).dmem_logger };
        for channel in 0..4 {
            let bytes = self.channel_bytes(device, channel) as usize;
            // SAFETY: as above.
            unsafe { (&(*ledger).memory_usage)[channel].store(bytes, Relaxed) };
        }
        let cursors = self.ring_cursors(device);
        // SAFETY: as above.
        unsafe {
            store(&(*ledger).entry_count, cursors.count);
            store(&(*ledger).next_entry_idx, cursors.next);
            store(&(*ledger).entries_dropped, cursors.dropped);
        }
        Ok(())
    }

    /// Statistics of a logical core, which the caller has checked to exist.
    pub(crate) fn memory_stats(&self, vnc: u32) -> Result<MemoryStats> {
        let mut bytes_used = 0;
        for relative in 0..self.settings.logical_core_size {
            bytes_used += self.usage_of(&self.core(vnc, relative)?)[TOTAL];
        }
        Ok(MemoryStats { bytes_used, bytes_limit: self.settings.arch.hbm_bytes() })
    }

    /// Writes the ledger of a device (`dml_init`).
    ///
    /// # Safety
    /// Nobody uses the device yet.
    pub(crate) unsafe fn ledger_initialise(&self, device: u32) -> Result<()> {
        let mla = self.tree.mla(device)?;
        let ring = self.arenas.ring(device);
        // SAFETY: exclusive by contract; the lock word and the counters are atomics, the rest plain fields.
        unsafe {
            let ledger = &raw mut (*mla.as_ptr()).dmem_logger;
            (*ledger).lock.word.store(0, Relaxed);
            (*ledger).mla_idx = device;
            (*ledger).max_entries = self.ring_capacity(device) as usize;
            (*ledger).entries = if self.settings.ring_entries == 0 { null_mut() } else { ring.entries.as_ptr() };
            (*ledger).verbose_log_dev_mem = self.settings.verbose_memory_table;
            for row in &(*ledger).memory_usage_nc {
                row.iter().for_each(|counter| counter.store(0, Relaxed));
            }
        }
        self.ledger_refresh(device)
    }
}

fn store(place: &AtomicUsize, value: u64) {
    place.store(value as usize, Relaxed);
}
