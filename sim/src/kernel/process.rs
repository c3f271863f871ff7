//! Attached processes (`driver-abi` §3, §14).

use nrt_core::driver::{DriverResult, Errno};

use super::Kernel;
use crate::device::{SLOTS, Slot};
use crate::record::NONE;

/// Totals of an attached process as `DEVICE_GET_ALL_APPS_INFO` tells them (`driver-abi` §9, §11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Process id.
    pub pid: u32,
    /// Bytes of host memory. A free lowers the total of the process that frees, not that of the owner.
    pub host_bytes: u64,
    /// Bytes of HBM, with the same drift.
    pub device_bytes: u64,
}

impl Kernel {
    /// Attaches a process, or counts one more open of an attached one.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for a device that does not exist, [`Errno::EBUSY`] when 16 other processes are attached.
    pub fn open(&self, pid: u32, device: u32) -> DriverResult<()> {
        let mut state = self.device(device)?;
        if let Some(slot) = state.slot_of(pid) {
            let opens = &mut state.slots[slot].opens;
            *opens = opens.checked_add(1).ok_or(Errno::EBUSY)?;
            return Ok(());
        }
        let slot = state.slots.iter_mut().find(|slot| slot.opens == 0).ok_or(Errno::EBUSY)?;
        *slot = Slot { pid, opens: 1, ..Slot::EMPTY };
        Ok(())
    }

    /// Closes one open of a process and tells whether it was the last: then the chunks the process still owns are
    /// freed, newest first, and it is detached. Nothing happens for a process that is not attached.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for a device that does not exist.
    ///
    /// # Cost
    /// A free for every chunk of the process, under the device's lock.
    pub fn close(&self, pid: u32, device: u32) -> DriverResult<bool> {
        let mut guard = self.device(device)?;
        let state = &mut *guard;
        let Some(slot) = state.slot_of(pid) else { return Ok(false) };
        if state.slots[slot].opens > 1 {
            state.slots[slot].opens -= 1;
            return Ok(false);
        }
        while state.slots[slot].newest != NONE {
            let link = state.slots[slot].newest;
            self.free_chunk(state, device, slot, link);
        }
        state.slots[slot] = Slot::EMPTY;
        if state.slots.iter().all(|slot| slot.opens == 0) {
            for context in state.contexts.as_flattened_mut() {
                state.hazards.abandoned_async += u64::from(*context);
                *context = false;
            }
        }
        Ok(true)
    }

    /// What the driver does at the close of any descriptor, also of a copy: a `misc` one, opened write-only, gives up
    /// every core of the process; another one is a [`close`](Self::close). Tells whether the process was detached.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for a device that does not exist.
    pub fn flush(&self, pid: u32, device: u32, misc: bool) -> DriverResult<bool> {
        if misc {
            self.unreserve_all(pid);
            return Ok(false);
        }
        let detached = self.close(pid, device)?;
        if detached {
            self.take_reset(pid, device);
        }
        Ok(detached)
    }

    /// What the kernel does when a process ends, however: every open is closed, and its cores are given up if it has a
    /// `misc` descriptor.
    pub fn end(&self, pid: u32, has_misc: bool) {
        for device in 0..self.config.devices {
            while self.close(pid, device) == Ok(false) && self.is_attached(pid, device) {}
            self.take_reset(pid, device);
        }
        if has_misc {
            self.unreserve_all(pid);
        }
    }

    /// Calls `visit` for each chunk of an attached process, newest first.
    pub fn each_owned(&self, pid: u32, device: u32, mut visit: impl FnMut(&super::Chunk)) {
        let Ok(state) = self.device(device) else { return };
        let Some(slot) = state.slot_of(pid) else { return };
        let mut link = state.slots[slot].newest;
        while link != NONE {
            visit(&self.describe(&state, device, link));
            link = self.tables.records.older(link);
        }
    }

    /// Whether the process is attached.
    #[must_use]
    pub fn is_attached(&self, pid: u32, device: u32) -> bool {
        self.opens(pid, device) != 0
    }

    /// How many opens of the device the process has that were not closed; 0 when it is not attached.
    #[must_use]
    pub fn opens(&self, pid: u32, device: u32) -> u32 {
        self.device(device).ok().and_then(|state| Some(state.slots[state.slot_of(pid)?].opens)).unwrap_or(0)
    }

    /// Totals of the attached processes, in the order of their slots.
    #[must_use]
    pub fn processes(&self, device: u32) -> [Option<ProcessUsage>; SLOTS] {
        let mut all = [None; SLOTS];
        if let Ok(state) = self.device(device) {
            let attached = state.slots.iter().filter(|slot| slot.opens != 0);
            for (entry, slot) in all.iter_mut().zip(attached) {
                *entry = Some(ProcessUsage { pid: slot.pid, host_bytes: slot.host_bytes, device_bytes: slot.device_bytes });
            }
        }
        all
    }
}
