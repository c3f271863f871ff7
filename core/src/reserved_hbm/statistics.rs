//! What is reserved and what of it is used.

use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::usage::{Location, Usage};

use super::ReservedHbm;

/// The reservations of one core on one HBM channel, exact at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReserveStatistics {
    /// Reservations.
    pub reservations: u32,
    /// Bytes of all reservations: what the driver and system-wide tools see.
    pub reserved_bytes: u64,
    /// Bytes of the live ranges, each rounded up to 4096.
    pub carved_bytes: u64,
    /// Bytes asked for by those ranges; the difference to `carved_bytes` is lost to rounding.
    pub asked_bytes: u64,
    /// Largest value `carved_bytes` ever had.
    pub peak_carved_bytes: u64,
    /// Live ranges.
    pub ranges: u32,
    /// Free runs between them.
    pub free_runs: u32,
    /// Bytes of the largest free run.
    pub largest_free_run: u64,
    /// Requests refused for want of room.
    pub refused: u64,
    /// Requests refused by a limit.
    pub over_limit: u64,
}

impl ReserveStatistics {
    /// Free bytes.
    #[must_use]
    pub const fn free_bytes(&self) -> u64 {
        self.reserved_bytes - self.carved_bytes
    }
}

impl<D: Driver, H: Hooks> ReservedHbm<D, H> {
    /// What is reserved for a core on a channel and how it is used; all zero when nothing is.
    ///
    /// # Errors
    /// `NRT_INVALID` when the storage has no such device, core or channel.
    ///
    /// # Cost
    /// A visit to the free runs of about the largest size, under the lock of the core and channel.
    pub fn statistics(&self, device: u32, core: u32, channel: u32) -> Result<ReserveStatistics> {
        let pool = self.pool(self.place(device, core, channel)?);
        Ok(self.with(pool, |carving| {
            let sums = carving.ranges.sums();
            ReserveStatistics {
                reservations: pool.reservations.load(core::sync::atomic::Ordering::Relaxed),
                reserved_bytes: sums.bytes,
                carved_bytes: sums.carved,
                asked_bytes: sums.asked,
                peak_carved_bytes: sums.peak,
                ranges: sums.ranges,
                free_runs: sums.free_runs,
                largest_free_run: carving.ranges.largest(&self.parts.runs),
                refused: carving.refused,
                over_limit: carving.over_limit,
            }
        }))
    }

    /// Bytes a core holds on a channel for a usage, together with the usages that the driver counts in the same category.
    ///
    /// # Errors
    /// As [`statistics`](Self::statistics).
    pub fn held(&self, device: u32, core: u32, channel: u32, usage: Usage) -> Result<u64> {
        let category = device_category(usage)?;
        Ok(self.with(self.pool(self.place(device, core, channel)?), |carving| carving.held[category]))
    }

    /// Limits what a core may hold on a channel for a usage, or lifts the limit. What is held already stays.
    ///
    /// A request tells its driver category, not its usage: usages of one category share the limit (fact sheet `dmem` §3), as
    /// the instruction usages do. A request beyond the limit is refused with errno 12, like one that finds no room.
    ///
    /// # Errors
    /// As [`statistics`](Self::statistics).
    pub fn limit(&self, device: u32, core: u32, channel: u32, usage: Usage, bytes: Option<u64>) -> Result<()> {
        let category = device_category(usage)?;
        let limit = bytes.map_or(0, |bytes| bytes.saturating_add(1));
        self.with(self.pool(self.place(device, core, channel)?), |carving| carving.limits[category] = limit);
        Ok(())
    }
}

/// Every usage has a category in device memory.
fn device_category(usage: Usage) -> Result<usize> {
    let refused = Cause::UsageNotAllowed { usage, location: Location::Device };
    usage.category(Location::Device).map(usize::from).ok_or(Error::invalid(refused))
}
