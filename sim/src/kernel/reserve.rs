//! Reservation of cores (`driver-abi` §8): one table for all devices, advisory, by which runtimes get disjoint cores.

use nrt_core::driver::{DriverResult, Errno};

use super::Kernel;

/// Cores the table has room for.
pub(crate) const RESERVABLE: usize = 512;

/// Cores as bits, counted from core 0 of the device a request was made on.
pub type CoreMap = [u64; RESERVABLE / 64];

/// Cores that were reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// Which ones.
    pub map: CoreMap,
    /// Longest run that was too short and that the search came across before, which the driver tells all the same.
    pub longest: u32,
}

/// Why no cores were reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCores {
    /// `EINVAL`: a device that does not exist, or a range that is empty or ends beyond the table.
    Range,
    /// `EBUSY`: the search found no run that is long enough.
    Busy {
        /// Longest run that the search came across, which need not be the longest there is.
        longest: u32,
    },
}

impl Kernel {
    /// Reserves the first `count` consecutive free cores between `first` and `last` for a process, both counted from
    /// core 0 of `device`. The search goes on two cores behind the place where a short run ended, as the driver's does,
    /// so it can miss a run; `count` 0 succeeds with an empty map.
    ///
    /// # Errors
    /// [`NoCores`]. Cores the process itself holds count as busy too.
    pub fn reserve(&self, pid: u32, device: u32, count: u32, first: u32, last: u32) -> Result<Reserved, NoCores> {
        let base = self.first_core(device).map_err(|_| NoCores::Range)?;
        let (first, last) = (first.wrapping_add(base), last.wrapping_add(base));
        if first > last || last as usize >= RESERVABLE {
            return Err(NoCores::Range);
        }
        let mut owners = self.tables.owners.lock();
        let (mut start, mut longest) = (first, 0);
        while start <= last {
            if owners[start as usize] != 0 {
                start += 1;
                continue;
            }
            let (mut length, mut at) = (1, start);
            while at <= last && at < start.wrapping_add(count) && owners[at as usize] == 0 {
                length = at - start + 1;
                at += 1;
            }
            if length >= count {
                let mut map = CoreMap::default();
                for core in start..start + count {
                    owners[core as usize] = pid;
                    let bit = (core - base) as usize;
                    map[bit / 64] |= 1 << (bit % 64);
                }
                return Ok(Reserved { map, longest });
            }
            longest = longest.max(length);
            start = at + 2;
        }
        Err(NoCores::Busy { longest })
    }

    /// Gives up those cores of `map` that the process holds; others are left alone.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for a device that does not exist.
    pub fn unreserve(&self, pid: u32, device: u32, map: &CoreMap) -> DriverResult<()> {
        let base = self.first_core(device)? as usize;
        let mut owners = self.tables.owners.lock();
        for (bit, owner) in owners[base..].iter_mut().enumerate() {
            if *owner == pid && map[bit / 64] >> (bit % 64) & 1 != 0 {
                *owner = 0;
            }
        }
        Ok(())
    }

    /// Gives up every core of a process on every device, as the close of any write-only descriptor does. Tells how many.
    pub fn unreserve_all(&self, pid: u32) -> u32 {
        let mut owners = self.tables.owners.lock();
        let mut count = 0;
        for owner in owners.iter_mut().filter(|owner| **owner == pid) {
            *owner = 0;
            count += 1;
        }
        count
    }

    /// The process that holds a core of a device. No request of the driver tells this.
    #[must_use]
    pub fn core_owner(&self, device: u32, core: u32) -> Option<u32> {
        let index = self.first_core(device).ok()?.checked_add(core)?;
        self.tables.owners.lock().get(index as usize).copied().filter(|&owner| owner != 0)
    }

    /// Place of core 0 of a device in the table.
    fn first_core(&self, device: u32) -> DriverResult<u32> {
        if device >= self.config.devices {
            return Err(Errno::EINVAL);
        }
        Ok(device * self.config.arch.cores_per_device())
    }
}
