//! The event ring: one segment per core, merged by time when read (fact sheet `dmem` §§2.5, 14).

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{dma_mem_location_t, dma_mem_usage_type_t, dmem_action, dmem_t};
use crate::arena::{CoreSide, RING_TEXT, RingNote};
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

/// Tells the processor that this place will be written soon. A ring is larger than the nearest cache.
#[inline]
fn prefetch(place: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; it reads nothing and cannot fail, whatever the address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
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
    pub(super) unsafe fn ring_push(
        &self,
        side: &CoreSide,
        node: *const dmem_t,
        action: Action,
        hint: Option<&str>,
        held: [u64; 2],
    ) {
        let Some(line) = NonNull::new(side.ring_entry.load(Relaxed)) else { return };
        let (line, note) = (line.as_ptr(), side.ring_note.load(Relaxed));
        // SAFETY: both are of one slot of this core's segment, which only the holder of the core's memory lock touches; `node` is
        // live by contract; device records live for ever.
        unsafe {
            (*note).stamp = self.event_stamp(node);
            (*note).held = held;
            let text = &mut (*note).text;
            match hint {
                // Not out of the node, where it was written a moment ago: the processor would wait for that.
                Some(hint) => text::put_here(text, hint),
                None => {
                    text.copy_from_slice(&(&(*node).spare_44_hint)[..RING_TEXT]);
                    // Cut in front of a character, not inside: these bytes continue one.
                    let mut end = RING_TEXT - 1;
                    while end > 0 && text[end] & 0xC0 == 0x80 {
                        end -= 1;
                    }
                    text[end] = 0;
                }
            }
            (*line).action = dmem_action(action as u32);
            (*line).mem_loc = dma_mem_location_t((*node).mem_type.0);
            (*line).mem_usage = dma_mem_usage_type_t((*node).mem_usage_type.0);
            (*line).tdram_channel = (*node).tdram_channel;
            (*line).hint = (&raw mut (*note).text).cast();
            (*line).nc_idx = (*(*node).pcore).device_tpb_idx;
            (*line).size = (*node).size;
            (*line).pa = (*node)._pa;
            (*line).align_offset = (*node).align_offset;
            (*line).total_mem_used = held[1] as usize;
        }
        match side.ring_left.load(Relaxed) {
            // SAFETY: live by contract.
            1 => self.ring_rewind(unsafe { (*(*node).pcore).device_id }, side),
            left => {
                // SAFETY: the segment has another slot behind this one.
                let (line, note) = unsafe { (line.add(1), note.add(1)) };
                prefetch(line.cast());
                prefetch(note.cast());
                prefetch(note.cast::<u8>().wrapping_add(size_of::<RingNote>() - 1));
                side.ring_entry.store(line, Relaxed);
                side.ring_note.store(note, Relaxed);
                side.ring_left.store(left - 1, Relaxed);
            }
        }
        side.ring_written.store(side.ring_written.load(Relaxed) + 1, Relaxed);
    }

    /// Has the next event go to the first entry of a core's segment, if it has any. Under the memory lock, or in init.
    #[cold]
    pub(crate) fn ring_rewind(&self, device: u32, side: &CoreSide) {
        let (start, len) = (side.ring_start.load(Relaxed) as usize, side.ring_len.load(Relaxed));
        let ring = self.arenas.ring(device);
        // SAFETY: the segment of an owned core lies in its device's ring.
        let first = (len > 0).then(|| unsafe { (ring.entries.add(start).as_ptr(), ring.notes.add(start).as_ptr()) });
        let (entry, note) = first.unwrap_or((null_mut(), null_mut()));
        side.ring_entry.store(entry, Relaxed);
        side.ring_note.store(note, Relaxed);
        side.ring_left.store(len, Relaxed);
    }

    /// The place of an event of `node` among those of its device.
    ///
    /// # Safety
    /// The node is live.
    #[inline]
    unsafe fn event_stamp(&self, node: *const dmem_t) -> u64 {
        self.hooks.event_clock().unwrap_or_else(|| {
            // SAFETY: by contract; its core was written before publication.
            let device = unsafe { (*(*node).pcore).device_id };
            self.shared_number(device).fetch_add(1, Relaxed) + 1
        })
    }

    /// What numbers the events of a device without a clock.
    fn shared_number(&self, device: u32) -> &AtomicU64 {
        // SAFETY: device records live for ever; the counter is an atomic.
        unsafe { &(*self.arenas.devices.add(device as usize).as_ptr()).ring_sequence }
    }

    /// The present on the clock of the event stamps: no event of the device so far has a stamp later by a microsecond.
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
