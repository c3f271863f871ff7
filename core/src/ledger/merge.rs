//! Reading the event ring: the segments of all cores, merged, with the totals that no event stores.
//!
//! An event carries its time and what its *own* core held on the channel before and after it. The walk takes the segments'
//! oldest events by rising time and keeps for every core what it held last; the sum is the documented total. Within a core
//! the order is that of the segment, whatever the clock says.

use core::sync::atomic::Ordering::Relaxed;

use crate::arena::MAX_CORES_PER_DEVICE;
use crate::driver::Driver;
use crate::hooks::Hooks;
use crate::ledger::Event;
use crate::system::System;
use crate::usage::Location;

/// An event of one core, as its segment has it.
#[derive(Clone, Copy)]
struct Own {
    event: Event,
    stamp: u64,
    held: [u64; 2],
    /// Events of the core before this one.
    at: u64,
}

impl Own {
    /// HBM channel, for device memory.
    fn channel(&self) -> Option<usize> {
        (self.event.location == Location::Device as u32).then_some(self.event.channel as usize)
    }
}

/// Where the walk stands in one core's segment.
#[derive(Clone, Copy)]
struct Cursor {
    ahead: Option<Own>,
    /// Events of the core that are behind the walk, dropped ones included.
    behind: u64,
    /// Bytes the core held on each channel at this point of the walk.
    held: [u64; 4],
}

/// The events of a device that are still in its ring, oldest first.
struct Merge<'a, D: Driver, H: Hooks> {
    system: &'a System<D, H>,
    device: u32,
    cursors: [Cursor; MAX_CORES_PER_DEVICE],
}

impl<'a, D: Driver, H: Hooks> Merge<'a, D, H> {
    fn new(system: &'a System<D, H>, device: u32) -> Self {
        let mut cursors = [Cursor { ahead: None, behind: 0, held: [0; 4] }; MAX_CORES_PER_DEVICE];
        for core in system.settings.owned_of(device) {
            let cursor = &mut cursors[core as usize];
            let mut held = [None; 4];
            let mut position = 0;
            let now = loop {
                match system.event_at(device, core, position) {
                    Ok(own) => {
                        cursor.ahead.get_or_insert(own);
                        position = own.at + 1;
                        if let Some(channel) = own.channel() {
                            held[channel].get_or_insert(own.held[0]);
                        }
                    }
                    Err(now) => break now,
                }
            };
            cursor.behind = cursor.ahead.map_or(position, |own| own.at);
            // What no event in the ring has changed is what it is now.
            cursor.held = core::array::from_fn(|channel| held[channel].unwrap_or(now[channel]));
        }
        Self { system, device, cursors }
    }

    /// The next event with its number and total, its core, and its position there.
    fn next(&mut self) -> Option<(Own, u32)> {
        let ahead = (0..).zip(&self.cursors).filter_map(|(core, cursor)| Some((core, cursor.ahead?)));
        let (core, mut own) = ahead.min_by_key(|(_, own): &(u32, Own)| own.stamp)?;
        let cursor = &mut self.cursors[core as usize];
        cursor.behind = own.at + 1;
        if let Some(channel) = own.channel() {
            cursor.held[channel] = own.held[1];
            own.event.total_used = self.cursors.iter().map(|cursor| cursor.held[channel]).sum();
        }
        own.event.sequence = self.cursors.iter().map(|cursor| cursor.behind).sum();
        let cursor = &mut self.cursors[core as usize];
        cursor.ahead = self.system.event_at(self.device, core, own.at + 1).ok();
        if let Some(next) = cursor.ahead {
            cursor.behind = next.at;
        }
        Some((own, core))
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Calls `visit` for the events of a device that are still in the ring and not later than `until`, oldest first. Events
    /// that are overwritten while the walk goes on are passed over, and missing in the totals of other cores' events until
    /// the next one of their core. `visit` runs without a lock.
    ///
    /// # Cost
    /// Two lock rounds per event.
    pub(crate) fn for_each_event(&self, device: u32, until: u64, mut visit: impl FnMut(&Event)) {
        let mut merge = Merge::new(self, device);
        while let Some((own, _)) = merge.next() {
            if own.stamp <= until {
                visit(&own.event);
            }
        }
    }

    /// Writes the documented totals into the entries of a device's ring, which have those of their own core until then.
    ///
    /// # Cost
    /// Three lock rounds per event.
    pub(crate) fn ring_write_totals(&self, device: u32) {
        let mut merge = Merge::new(self, device);
        while let Some((own, core)) = merge.next() {
            let Ok(core) = self.tree.resolve(device, core) else { continue };
            let side = self.arenas.core(device, core.core);
            let (start, len) = (u64::from(side.ring_start.load(Relaxed)), u64::from(side.ring_len.load(Relaxed)));
            let _held = self.memory_lock(&core);
            if side.ring_written.load(Relaxed) - own.at <= len {
                // SAFETY: the entry still belongs to this event, and only holders of the lock touch the segment.
                unsafe {
                    let entry = self.arenas.ring(device).entries.add((start + own.at % len) as usize).as_ptr();
                    (*entry).total_mem_used = own.event.total_used as usize;
                }
            }
        }
    }

    /// The event at `position` of a core's segment, or the oldest one that is left behind it; when there is none, the bytes the
    /// core holds per channel. Its number and total are not known yet.
    fn event_at(&self, device: u32, core: u32, position: u64) -> Result<Own, [u64; 4]> {
        let core = self.tree.resolve(device, core).map_err(|_| [0; 4])?;
        let side = self.arenas.core(device, core.core);
        let (start, len) = (u64::from(side.ring_start.load(Relaxed)), u64::from(side.ring_len.load(Relaxed)));
        let ring = self.arenas.ring(device);
        let _held = self.memory_lock(&core);
        let written = side.ring_written.load(Relaxed);
        let at = position.max(written.saturating_sub(len));
        if at >= written {
            return Err(core::array::from_fn(|channel| side.channel_bytes[channel].load(Relaxed)));
        }
        let slot = start + at % len;
        // SAFETY: a written entry of the segment, read under the lock that guards it.
        unsafe {
            let entry = ring.entries.add(slot as usize).as_ref();
            let note = ring.notes.add(slot as usize).as_ref();
            let event = Event {
                sequence: 0,
                action: entry.action.0,
                location: entry.mem_loc.0,
                usage: entry.mem_usage.0,
                channel: entry.tdram_channel,
                core: entry.nc_idx,
                size: entry.size as u64,
                pa: entry.pa,
                align_offset: entry.align_offset as u64,
                total_used: 0,
                hint: note.text,
            };
            Ok(Own { event, stamp: note.stamp, held: note.held, at })
        }
    }
}
