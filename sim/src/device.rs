//! State of one device: pools, handles, attached processes, counters.

use nrt_core::arch::Arch;

use crate::backing::Region;
use crate::config::SimConfig;
use crate::counters::Counters;
use crate::pool::{PAGE_SHIFT, Pool};
use crate::record::{Link, NONE, Records};

/// Processes that can be attached to one device at a time (`driver-abi` §3).
pub(crate) const SLOTS: usize = 16;
/// Most channels of a device.
pub(crate) const CHANNELS: usize = 4;
/// Pools of a device: main and small for each channel, then host memory.
pub(crate) const POOLS: usize = 2 * CHANNELS + 1;
/// The pool of pinned host memory.
pub(crate) const HOST_POOL: u8 = 2 * CHANNELS as u8;
/// Categories the driver counts (`driver-abi` §16).
pub(crate) const CATEGORIES: usize = 20;
/// Copy queues of a device.
pub(crate) const QUEUES: usize = 8;

/// Bytes at the start of each HBM that belong to firmware (`driver-abi` §9).
pub(crate) const CARVE_OUT_BYTES: u64 = 16 << 20;
/// Bytes at the top of each HBM that serve small requests first.
pub(crate) const SMALL_POOL_BYTES: u64 = 1 << 30;

/// Category of the firmware carve-out.
pub(crate) const CATEGORY_DRIVER: u32 = 13;

/// Bytes of one category on one device (`driver-abi` §2, §16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CategoryUsage {
    /// In use now.
    pub bytes: u64,
    /// Size of the last allocation or free.
    pub last_change: u64,
    /// Highest `bytes` ever.
    pub peak: u64,
}

/// What is allocated on one device, firmware carve-outs excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Chunks.
    pub chunks: u64,
    /// Bytes of HBM.
    pub device_bytes: u64,
    /// Bytes of pinned host memory.
    pub host_bytes: u64,
    /// Mappings of live chunks.
    pub mappings: u64,
}

/// How often clients did what damages or misleads the real driver (`driver-abi` §21), and how often a limit of the
/// model was hit. All zero for a correct client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hazards {
    /// Allocation by a process that is not attached.
    pub unattached_alloc: u64,
    /// Copy or fill of length 0.
    pub zero_length: u64,
    /// Chunk freed, or taken back at close, while mapped.
    pub freed_while_mapped: u64,
    /// Offset plus size beyond 2^64.
    pub wrapped_range: u64,
    /// Category 19 asked for in host memory.
    pub contiguous_host: u64,
    /// Category 19 freed in another order than newest first.
    pub contiguous_order: u64,
    /// Asynchronous copy above the limit of one request.
    pub oversize_async: u64,
    /// Asynchronous start without a wait while one was outstanding on that queue.
    pub overlapping_async: u64,
    /// Asynchronous copies nobody waited for when the last process left.
    pub abandoned_async: u64,
    /// A range whose handle by now names another chunk.
    pub stale_range: u64,
    /// Request refused because the storage of the model had no chunk record left: a limit of the model, not of the
    /// driver.
    pub out_of_records: u64,
}

impl Hazards {
    const NONE: Self = Self {
        unattached_alloc: 0,
        zero_length: 0,
        freed_while_mapped: 0,
        wrapped_range: 0,
        contiguous_host: 0,
        contiguous_order: 0,
        oversize_async: 0,
        overlapping_async: 0,
        abandoned_async: 0,
        stale_range: 0,
        out_of_records: 0,
    };
}

/// One attached process.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    /// Process id; meaningful while `opens` is not 0.
    pub(crate) pid: u32,
    /// Open descriptors.
    pub(crate) opens: u32,
    /// Newest live chunk of the process.
    pub(crate) newest: Link,
    /// Bytes of host memory by the driver's books, which drift when others free.
    pub(crate) host_bytes: u64,
    /// Bytes of HBM by the same books.
    pub(crate) device_bytes: u64,
}

impl Slot {
    pub(crate) const EMPTY: Self = Self { pid: 0, opens: 0, newest: NONE, host_bytes: 0, device_bytes: 0 };
}

/// Everything about one device.
pub(crate) struct Device {
    pub(crate) pools: [Pool; POOLS],
    /// Per channel: page of the main pool that the next category-19 chunk ends at.
    pub(crate) contiguous_end: [u32; CHANNELS],
    pub(crate) slots: [Slot; SLOTS],
    /// Handle numbers ever given out: `1..=handles`.
    pub(crate) handles: u32,
    /// Most recently freed handle, 0 for none.
    pub(crate) freed_handle: u32,
    pub(crate) live: Live,
    pub(crate) categories: [CategoryUsage; CATEGORIES],
    /// The counters of sysfs.
    pub(crate) counters: Counters,
    /// Processes with a core reset that nobody waited for, 0 for none.
    pub(crate) resets: [u32; SLOTS],
    /// Outstanding asynchronous copies: contexts 1 and 2 of each queue.
    pub(crate) contexts: [[bool; 2]; QUEUES],
    /// Oversize asynchronous requests of each queue whose ring entries were never taken back.
    pub(crate) lost: [u8; QUEUES],
    /// Low byte of the value of the latest fill.
    pub(crate) staged: u8,
    pub(crate) hazards: Hazards,
}

impl Device {
    /// The state before initialisation: all zero.
    pub(crate) const fn new() -> Self {
        const NO_USE: CategoryUsage = CategoryUsage { bytes: 0, last_change: 0, peak: 0 };
        Self {
            pools: [Pool::none(); POOLS],
            contiguous_end: [0; CHANNELS],
            slots: [Slot::EMPTY; SLOTS],
            handles: 0,
            freed_handle: 0,
            live: Live { chunks: 0, device_bytes: 0, host_bytes: 0, mappings: 0 },
            categories: [NO_USE; CATEGORIES],
            counters: Counters::new(),
            resets: [0; SLOTS],
            contexts: [[false; 2]; QUEUES],
            lost: [0; QUEUES],
            staged: 0,
            hazards: Hazards::NONE,
        }
    }

    /// Chunk records an empty device takes: three for each channel, one for the host window.
    pub(crate) const fn records_when_empty(arch: Arch) -> u64 {
        3 * arch.channels_per_device() as u64 + 1
    }

    /// Brings the device to the state after the driver has loaded. `None`: out of records.
    pub(crate) fn load(&mut self, records: &Records, config: &SimConfig, index: u32) -> Option<()> {
        *self = Self::new();
        self.counters.load();
        let arch = config.arch;
        let main_bytes = config.hbm_bytes - SMALL_POOL_BYTES;
        for channel in 0..arch.channels_per_device() {
            let base = arch.hbm_base(channel)?;
            let [main, small] = hbm_pools(channel);
            let mut pool = Pool::new(records, main, base, pages(main_bytes))?;
            let firmware = pool.take(records, u64::from(pages(CARVE_OUT_BYTES)), 0).ok()?;
            records.set_category(firmware, CATEGORY_DRIVER);
            self.pools[usize::from(main)] = pool;
            self.pools[usize::from(small)] = Pool::new(records, small, base + main_bytes, pages(SMALL_POOL_BYTES))?;
            self.contiguous_end[channel as usize] = pages(main_bytes);
        }
        let window = config.region_base(Region::Host { device: index })?;
        self.pools[usize::from(HOST_POOL)] = Pool::new(records, HOST_POOL, window, pages(config.host_bytes))?;
        Some(())
    }

    /// The slot of an attached process.
    pub(crate) fn slot_of(&self, pid: u32) -> Option<usize> {
        self.slots.iter().position(|slot| slot.opens != 0 && slot.pid == pid)
    }

    /// Counts an allocation.
    pub(crate) fn count_alloc(&mut self, category: u32, host: bool, core: u32, bytes: u64) {
        self.categories[counted_category(category, host)].add(bytes);
        self.counters.count(category, host, core, |usage| usage.add(bytes));
        self.live.chunks += 1;
        if host {
            self.live.host_bytes += bytes;
        } else {
            self.live.device_bytes += bytes;
        }
    }

    /// Counts a free.
    pub(crate) fn count_free(&mut self, category: u32, host: bool, core: u32, bytes: u64) {
        self.categories[counted_category(category, host)].remove(bytes);
        self.counters.count(category, host, core, |usage| usage.remove(bytes));
        self.live.chunks -= 1;
        if host {
            self.live.host_bytes -= bytes;
        } else {
            self.live.device_bytes -= bytes;
        }
    }
}

/// Main and small pool of a channel.
pub(crate) fn hbm_pools(channel: u32) -> [u8; 2] {
    // Channels are checked against the architecture before, so they are below CHANNELS.
    let main = (channel as usize % CHANNELS) as u8 * 2;
    [main, main + 1]
}

/// Whole pages in `bytes`, a multiple of the page size below 16 TiB.
fn pages(bytes: u64) -> u32 {
    (bytes >> PAGE_SHIFT) as u32
}

/// The counter of a category: out of range counts as unknown, the contiguous scratchpad as scratchpad.
pub(crate) fn counted_category(category: u32, host: bool) -> usize {
    match category {
        19 => 11,
        0..19 => category as usize,
        _ if host => 0,
        _ => 7,
    }
}
