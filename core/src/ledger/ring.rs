//! The event ring: one segment per core, merged by sequence number when read (fact sheet `dmem` §§2.5, 14).

use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{dma_mem_location_t, dma_mem_log_entry_t, dma_mem_usage_type_t, dmem_action, dmem_t};
use crate::arena::{MAX_CORES_PER_DEVICE, RING_TEXT, RingNote};
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
    /// Number of the event on its device, counted from 1.
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
    /// Bytes held on the channel after the event; 0 for host memory.
    pub total_used: u64,
    hint: [u8; RING_TEXT],
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
    pub(super) unsafe fn ring_push(&self, core: &ResolvedCore, node: *const dmem_t, action: Action, total: u64) {
        let side = self.arenas.core(core.device, core.core);
        let ring = self.arenas.ring(core.device);
        let (start, len) = (side.ring_start.load(Relaxed), side.ring_len.load(Relaxed));
        if len == 0 {
            return;
        }
        let written = side.ring_written.load(Relaxed);
        let slot = start as usize + (written % u64::from(len)) as usize;
        // SAFETY: `slot` lies in this core's segment, which only the holder of the core's memory lock touches; `node` is
        // live by contract; device records live for ever.
        unsafe {
            let device = self.arenas.devices.add(core.device as usize).as_ptr();
            let sequence = (*device).ring_sequence.fetch_add(1, Relaxed) + 1;
            let note: *mut RingNote = ring.notes.add(slot).as_ptr();
            (*note).sequence = sequence;
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
            (*entry).total_mem_used = total as usize;
        }
        side.ring_written.store(written + 1, Relaxed);
    }

    /// Number of the newest event of a device; 0 when there was none.
    pub(crate) fn last_event(&self, device: u32) -> u64 {
        // SAFETY: device records live for ever; the counter is an atomic.
        unsafe { (*self.arenas.devices.add(device as usize).as_ptr()).ring_sequence.load(Relaxed) }
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

    /// Calls `visit` for the events of a device that are still in the ring, oldest first. Events that are overwritten
    /// while the walk goes on are passed over. `visit` runs without a lock.
    ///
    /// # Cost
    /// One lock round per event.
    pub(crate) fn for_each_event(&self, device: u32, mut visit: impl FnMut(&Event)) {
        let mut position = [0_u64; MAX_CORES_PER_DEVICE];
        let mut ahead: [Option<Event>; MAX_CORES_PER_DEVICE] = [None; MAX_CORES_PER_DEVICE];
        for core in self.settings.owned_of(device) {
            ahead[core as usize] = self.event_at(device, core, &mut position[core as usize]);
        }
        while let Some((core, event)) =
            (0..).zip(ahead).filter_map(|(core, event)| event.map(|event| (core, event))).min_by_key(|(_, event)| event.sequence)
        {
            visit(&event);
            ahead[core as usize] = self.event_at(device, core, &mut position[core as usize]);
        }
    }

    /// The event at `position` of a core's segment, or the oldest one that is left; moves the position on.
    fn event_at(&self, device: u32, core: u32, position: &mut u64) -> Option<Event> {
        let core = self.tree.resolve(device, core).ok()?;
        let side = self.arenas.core(device, core.core);
        let (start, len) = (u64::from(side.ring_start.load(Relaxed)), u64::from(side.ring_len.load(Relaxed)));
        let ring = self.arenas.ring(device);
        let _held = self.memory_lock(&core);
        let written = side.ring_written.load(Relaxed);
        let at = (*position).max(written.saturating_sub(len));
        if at >= written {
            return None;
        }
        *position = at + 1;
        let slot = start + at % len;
        // SAFETY: a written entry of the segment, read under the lock that guards it.
        unsafe {
            let entry = ring.entries.add(slot as usize).as_ref();
            let note = ring.notes.add(slot as usize).as_ref();
            Some(Event {
                sequence: note.sequence,
                action: entry.action.0,
                location: entry.mem_loc.0,
                usage: entry.mem_usage.0,
                channel: entry.tdram_channel,
                core: entry.nc_idx,
                size: entry.size as u64,
                pa: entry.pa,
                align_offset: entry.align_offset as u64,
                total_used: entry.total_mem_used as u64,
                hint: note.text,
            })
        }
    }
}
