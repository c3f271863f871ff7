//! Static memory of a model.

use core::sync::atomic::{AtomicU32, Ordering};

use spin::Mutex;

use crate::config::{SimConfig, SimError};
use crate::device::Device;
use crate::kernel::RESERVABLE;
use crate::record::{Record, Records, Unused};
use crate::zeroed::Zeroed;

/// Storage is free.
const FREE: u32 = 0;
/// Storage belongs to a model.
const IN_USE: u32 = 1;

/// Memory for a model of up to `DEVICES` devices that share `CHUNKS` chunk records.
///
/// A live chunk takes one record, and so does every free run between chunks; one record is never used. A `static` of
/// this type is all zero bits, so it only costs `.bss`, and records and handle entries that were never needed are never
/// touched.
///
/// # Cost
/// `CHUNKS × (40 + 4 × DEVICES)` bytes of address space, and about 8 KiB for each device.
pub struct SimStorage<const CHUNKS: usize, const DEVICES: usize = 32> {
    records: Zeroed<[Record; CHUNKS]>,
    handles: Zeroed<[[AtomicU32; CHUNKS]; DEVICES]>,
    devices: [Mutex<Device>; DEVICES],
    unused: Mutex<Unused>,
    owners: Mutex<[u32; RESERVABLE]>,
    state: AtomicU32,
}

impl<const CHUNKS: usize, const DEVICES: usize> SimStorage<CHUNKS, DEVICES> {
    /// Storage that belongs to nobody.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(CHUNKS < i32::MAX as usize, "too many chunk records") };
        Self {
            records: Zeroed::new(),
            handles: Zeroed::new(),
            devices: [const { Mutex::new(Device::new()) }; DEVICES],
            unused: Mutex::new(Unused::new()),
            owners: Mutex::new([0; RESERVABLE]),
            state: AtomicU32::new(FREE),
        }
    }

    /// Claims the storage and brings its devices to the state after loading.
    pub(crate) fn claim(&'static self, config: &SimConfig) -> Result<Tables, SimError> {
        let needed = Device::records_when_empty(config.arch) * u64::from(config.devices) + 1;
        if needed > CHUNKS as u64 {
            return Err(SimError::TooFewRecords { needed, have: CHUNKS as u64 });
        }
        if config.devices as usize > DEVICES {
            return Err(SimError::TooFewDevices { needed: config.devices, have: DEVICES as u64 });
        }
        self.state.compare_exchange(FREE, IN_USE, Ordering::Acquire, Ordering::Relaxed).map_err(|_| SimError::StorageInUse)?;
        let tables = Tables {
            records: Records::new(self.records.get(), &self.unused),
            handles: self.handles.get().as_flattened(),
            chunks: CHUNKS,
            devices: &self.devices[..config.devices as usize],
            owners: &self.owners,
            state: &self.state,
        };
        *tables.owners.lock() = [0; RESERVABLE];
        for (index, device) in (0..config.devices).zip(tables.devices) {
            if device.lock().load(&tables.records, config, index).is_none() {
                tables.release();
                return Err(SimError::TooFewRecords { needed, have: CHUNKS as u64 });
            }
        }
        Ok(tables)
    }
}

impl<const CHUNKS: usize, const DEVICES: usize> Default for SimStorage<CHUNKS, DEVICES> {
    fn default() -> Self {
        Self::new()
    }
}

/// A claimed storage, its capacities erased.
pub(crate) struct Tables {
    pub(crate) records: Records,
    handles: &'static [AtomicU32],
    chunks: usize,
    pub(crate) devices: &'static [Mutex<Device>],
    /// Process that holds each core, 0 for none.
    pub(crate) owners: &'static Mutex<[u32; RESERVABLE]>,
    state: &'static AtomicU32,
}

/// Marks a handle entry as free; the other bits then name the handle freed before it.
const FREED: u32 = 1 << 31;

/// Most live handles of a device (`driver-abi` §10).
const MAX_HANDLES: u32 = 4_194_302;

impl Tables {
    /// Gives the storage back.
    pub(crate) fn release(&self) {
        self.state.store(FREE, Ordering::Release);
    }

    /// Entry of a handle. The device's lock guards it.
    fn entry(&self, device: u32, handle: u32) -> Option<&'static AtomicU32> {
        let place = (handle as usize).checked_sub(1).filter(|&place| place < self.chunks)?;
        self.handles.get(device as usize * self.chunks + place)
    }

    /// Gives `link` a handle: the one freed last, else the next number. `None`: the table is full.
    pub(crate) fn issue_handle(&self, state: &mut Device, device: u32, link: u32) -> Option<u32> {
        let reused = state.freed_handle;
        let handle = if reused == 0 { state.handles + 1 } else { reused };
        let entry = self.entry(device, handle).filter(|_| handle <= MAX_HANDLES)?;
        if reused == 0 {
            state.handles = handle;
        } else {
            state.freed_handle = entry.load(Ordering::Relaxed) & !FREED;
        }
        entry.store(link, Ordering::Relaxed);
        Some(handle)
    }

    /// Takes a live handle back.
    pub(crate) fn retire_handle(&self, state: &mut Device, device: u32, handle: u32) {
        if let Some(entry) = self.entry(device, handle) {
            entry.store(FREED | state.freed_handle, Ordering::Relaxed);
            state.freed_handle = handle;
        }
    }

    /// The record a handle names.
    pub(crate) fn record_of(&self, state: &Device, device: u32, handle: u64) -> Option<u32> {
        let handle = u32::try_from(handle).ok().filter(|&handle| handle != 0 && handle <= state.handles)?;
        let link = self.entry(device, handle)?.load(Ordering::Relaxed);
        (link & FREED == 0).then_some(link)
    }
}
