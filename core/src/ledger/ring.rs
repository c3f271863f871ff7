//! The event ring: one segment per core, merged by time when read (fact sheet `dmem` §§2.5, 14).

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{dma_mem_location_t, dma_mem_log_entry_t, dma_mem_usage_type_t, dmem_action, dmem_t};
use crate::arena::{RING_TEXT, RingNote};
use crate::context::ResolvedCore;
use crate::driver::Driver;
use crate::hooks::Hooks;
use crate::system::System;
use crate::text;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Action {
    /// Memory was allocated.
    Alloc = 1,
    /// Memory was given back.
    Free = 2,
}

/// One event of a ring, copied out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of the event on its device, counted from 1. Events that the ring has dropped count before all that are left.
    pub sequence: u64,
    /// What happened.
    pub action: u32,
    /// `dma_mem_location_t`.
    pub location: u32,
    /// Usage number.
    pub usage: u32,
    /// HBM channel.
    pub channel: u32,
    /// Core of the device.
    pub core: u32,
    /// Logical size in bytes, not the charged one.
    pub size: u64,
    /// Physical address.
    pub pa: u64,
    /// Bytes from `pa` to the aligned base.
    pub align_offset: u64,
    /// Bytes held on the channel by all cores of the device after the event; 0 for host memory.
    pub total_used: u64,
    pub(super) hint: [u8; RING_TEXT],
}

impl Event {
    /// What the memory was called, cut to 31 bytes.
    #[must_use]
    pub fn hint(&self) -> &str {
        text::from_nul_terminated(&self.hint)
    }
}

/// The documented cursors, summed over the segments.
pub(super) struct Cursors {
    pub(super) count: u64,
    pub(super) next: u64,
    pub(super) dropped: u64,
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// # Safety
    /// As [`System::ledger_add`].
    #[inline]
    pub(super) unsafe fn ring_push(&self, core: &ResolvedCore, node: *const dmem_t, action: Action, held: [u64; 2]) {
        let side = self.arenas.core(core.device, core.core);
        let ring = self.arenas.ring(core.device);
        let (start, len) = (side.ring_start.load(Relaxed), side.ring_len.load(Relaxed));
        if len == 0 {
            return;
        }
        let next = side.ring_next.load(Relaxed);
        debug_assert!(next < len);
        let slot = start as usize + next as usize;
        // SAFETY: `slot` lies in this core's segment, which only the holder of the core's memory lock touches; `node` is
        // live by contract; device records live for ever.
        unsafe {
            let note: *mut RingNote = ring.notes.add(slot).as_ptr();
            (*note).stamp = match self.hooks.event_clock() {
                Some(now) => now,
                None => self.shared_number(core.device).fetch_add(1, Relaxed) + 1,
            };
            (*note).held = held;
            let text = &mut (*note).text;
            text.copy_from_slice(&(&(*node).spare_44_hint)[..RING_TEXT]);
            text[RING_TEXT - 1] = 0;
            let entry: *mut dma_mem_log_entry_t = ring.entries.add(slot).as_ptr();
            (*entry).action = dmem_action(action as u32);
            (*entry).mem_loc = dma_mem_location_t((*node).mem_type.0);
            (*entry).mem_usage = dma_mem_usage_type_t((*node).mem_usage_type.0);
            (*entry).tdram_channel = (*node).tdram_channel;
            (*entry).hint = (&raw mut (*note).text).cast();
            (*entry).nc_idx = core.core;
            (*entry).size = (*node).size;
            (*entry).pa = (*node)._pa;
            (*entry).align_offset = (*node).align_offset;
            (*entry).total_mem_used = held[1] as usize;
        }
        side.ring_next.store(if next + 1 == len { 0 } else { next + 1 }, Relaxed);
        side.ring_written.store(side.ring_written.load(Relaxed) + 1, Relaxed);
    }

    /// What numbers the events of a device without a clock.
    fn shared_number(&self, device: u32) -> &AtomicU64 {
        // SAFETY: device records live for ever; the counter is an atomic.
        unsafe { &(*self.arenas.devices.add(device as usize).as_ptr()).ring_sequence }
    }

    /// The present on the clock of the event stamps: no event of the device so far has a later stamp.
    pub(crate) fn event_time(&self, device: u32) -> u64 {
        self.hooks.event_clock().unwrap_or_else(|| self.shared_number(device).load(Relaxed))
    }

    /// Entries the event ring of a device uses: its owned cores' segments together.
    pub(super) fn ring_capacity(&self, device: u32) -> u32 {
        let owned = self.settings.owned_of(device);
        self.settings.ring_segment(&owned) * owned.len() as u32
    }

    pub(super) fn ring_cursors(&self, device: u32) -> Cursors {
        let mut cursors = Cursors { count: 0, next: 0, dropped: 0 };
        let capacity = u64::from(self.ring_capacity(device));
        for core in self.settings.owned_of(device) {
            let side = self.arenas.core(device, core);
            let (start, len) = (u64::from(side.ring_start.load(Relaxed)), u64::from(side.ring_len.load(Relaxed)));
            let written = side.ring_written.load(Relaxed);
            cursors.count += written.min(len);
            cursors.dropped += written.saturating_sub(len);
            if written > 0 && len > 0 {
                cursors.next = (start + written % len) % capacity;
            }
        }
        cursors
    }
}
