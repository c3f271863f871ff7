//! The kernel driver, without any memory behind it.
//!
//! Everything a request reads or changes is here: who is attached, which chunks exist, what a copy may touch. Process
//! ids are arguments, so one model serves many processes; the bytes are somebody else's business, which is why a copy
//! request only answers with the [`Span`]s it concerns. Requests that the real driver does not survive, or answers by
//! corrupting memory, are refused here and counted in [`Hazards`].

mod alloc;
mod copy;
mod process;
mod query;
mod reserve;
mod show;

pub(crate) use alloc::CATEGORY_CONTIGUOUS;
pub use alloc::MemAlloc;
pub use copy::{ASYNC_COPY_LIMIT, AsyncCopy, ResetRequest, Span};
pub use process::ProcessUsage;
pub use query::{Chunk, ChunkEntry, TooSmall};
pub(crate) use reserve::RESERVABLE;
pub use reserve::{CoreMap, NoCores, Reserved};
pub use show::{Mapping, Shown};

use nrt_core::driver::{DriverResult, Errno};
use spin::MutexGuard;

use crate::config::{SimConfig, SimError};
use crate::device::{CategoryUsage, Device, Hazards, Live};
use crate::storage::{SimStorage, Tables};

/// The model of the driver and all its devices.
///
/// # Concurrency
/// Any method from any thread. One lock per device, and below it one for unused chunk records; both are held for the
/// metadata of one request only.
pub struct Kernel {
    tables: Tables,
    config: SimConfig,
}

impl Kernel {
    /// Loads the driver: claims `storage` and carves the firmware areas out of every HBM (`driver-abi` §9).
    ///
    /// # Errors
    /// Those of [`SimConfig::check`], [`SimError::StorageInUse`], [`SimError::TooFewRecords`],
    /// [`SimError::TooFewDevices`].
    pub fn new<const CHUNKS: usize, const DEVICES: usize>(
        storage: &'static SimStorage<CHUNKS, DEVICES>,
        config: SimConfig,
    ) -> Result<Self, SimError> {
        config.check()?;
        Ok(Self { tables: storage.claim(&config)?, config })
    }

    /// Unloads the driver: the storage may be claimed again.
    pub fn unload(self) {
        self.tables.release();
    }

    /// What is simulated.
    #[must_use]
    pub const fn config(&self) -> &SimConfig {
        &self.config
    }

    /// What clients did that they should not, on one device; all zero for a device that does not exist.
    #[must_use]
    pub fn hazards(&self, device: u32) -> Hazards {
        self.device(device).map(|state| state.hazards).unwrap_or_default()
    }

    /// What is allocated on one device, by every process; nothing for a device that does not exist.
    #[must_use]
    pub fn live(&self, device: u32) -> Live {
        self.device(device).map(|state| state.live).unwrap_or_default()
    }

    /// Usage of one counted category (`driver-abi` §2, §16): 19 is counted as 11, the firmware carve-out not at all.
    #[must_use]
    pub fn category_usage(&self, device: u32, category: u32) -> CategoryUsage {
        let usage = |state: MutexGuard<'_, Device>| state.categories.get(category as usize).copied();
        self.device(device).ok().and_then(usage).unwrap_or_default()
    }

    /// Chunk records a storage of this size can hand out.
    #[must_use]
    pub fn record_capacity(&self) -> u64 {
        self.tables.records.capacity()
    }

    /// Counts a range whose handle by now names another chunk.
    pub(crate) fn count_stale_range(&self, device: u32) {
        if let Ok(mut state) = self.device(device) {
            state.hazards.stale_range += 1;
        }
    }

    /// Locks one device.
    pub(crate) fn device(&self, device: u32) -> DriverResult<MutexGuard<'static, Device>> {
        self.tables.devices.get(device as usize).map(|state| state.lock()).ok_or(Errno::EINVAL)
    }
}
