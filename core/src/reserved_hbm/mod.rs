//! Large reservations of device memory, carved up in this process: allocation without a system call.
//!
//! [`ReservedHbm`] stands in front of any [`Driver`]. For a core and HBM channel on which something is reserved, it serves
//! allocations from there, in constant time; elsewhere, for pinned host memory, and for the contiguous scratchpad, which has
//! its own place in the HBM, requests go to the driver as they are.
//!
//! ```
//! # use core::ptr::NonNull;
//! # use nrt_core::{Allocation, Arch, Config, Location, Runtime, SmallStorage, Usage};
//! # use nrt_core::reserved_hbm::{ReserveStorage, ReservedHbm};
//! # use nrt_linux::LinuxHooks;
//! # use nrt_sim::{Backing, Region, Sim, SimConfig, SimStorage};
//! # struct Memory;
//! # // SAFETY: each call maps a new zeroed, page-aligned, shared region that is never unmapped.
//! # unsafe impl Backing for Memory {
//! #     fn region(&self, _: Region, bytes: u64) -> Option<NonNull<u8>> {
//! #         let region = nrt_linux::memory::SharedRegion::new(c"memory", bytes as usize).ok()?;
//! #         let base = region.base();
//! #         core::mem::forget(region);
//! #         Some(base)
//! #     }
//! # }
//! static STORAGE: SmallStorage = SmallStorage::new();
//! // One device, up to 32 reservations, up to 4,096 ranges and free runs.
//! static RESERVE: ReserveStorage<1, 32, 4096> = ReserveStorage::new();
//! # static MODELLED: SimStorage<4096, 1> = SimStorage::new();
//! # let driver = Sim::new(&MODELLED, SimConfig::new(Arch::Cayman), &Memory).unwrap();
//!
//! let driver = ReservedHbm::new(driver, LinuxHooks::new(), &RESERVE)?;
//! let runtime = Runtime::init(&STORAGE, driver, Config::new(LinuxHooks::new()))?;
//! // Six GiB on HBM 0 for core 0 of device 0; from now on its memory comes from there.
//! runtime.driver().reserve(0, 0, 0, 6 << 30)?;
//! runtime.driver().limit(0, 0, 0, Usage::Tensor, Some(1 << 30))?;
//!
//! let tensor = Allocation { bytes: 5000, align: 0, location: Location::Device, channel: None, usage: Usage::Tensor, hint: "x" };
//! let memory = runtime.core(0)?.allocate(0, &tensor)?;
//! let now = runtime.driver().statistics(0, 0, 0)?;
//! assert_eq!((now.ranges, now.carved_bytes, now.asked_bytes), (1, 8192, 5000));
//! assert_eq!(now.largest_free_run, (6 << 30) - 8192);
//! drop(memory);
//! assert!(runtime.close(None)?.is_clean());
//! # Ok::<(), nrt_core::Error>(())
//! ```
//!
//! # What a range is
//! A [`DeviceRange`] whose `driver_handle` and `mmap_offset` are those of the chunk it is cut out of, and whose `pa` is its
//! own address: its place in the chunk is the difference, added to the offset of every copy and fill. The number of its
//! record is kept in the padding at 44. The driver checks accesses against the chunk, in which the neighbours lie; so every
//! offset is checked against the range here, and a range that is not live is refused. A chunk is mapped once, as long as a
//! range of it is.
//!
//! # Growth
//! Is explicit: [`reserve`](ReservedHbm::reserve) adds a chunk, [`give_back`](ReservedHbm::give_back) returns those that
//! nothing is carved out of, closing the device returns all. When no free run fits, an allocation is refused with errno 12,
//! also if the driver had room. A range never spans two chunks, also if they adjoin.
//!
//! # What it costs
//! | operation | lock rounds | work |
//! | --- | --- | --- |
//! | allocate | 1, of the core and channel | two bit scans for a run that fits, at most [`LOOKS`] runs looked at when none is sure to, two cuts |
//! | free | 1 | two joins |
//! | copy, fill | 0 | bounds; then the driver |
//! | map, unmap | 1, of the chunk | the driver only for the first and the last range of the chunk |
//!
//! The steps of an operation have a constant maximum, whatever is live and whatever came before; the test of the range
//! allocator shows it over ten million random operations.
//!
//! Waste: sizes are rounded up to 4096 bytes, as the driver does. A request is certain to be served when a free run has
//! 33/32 of `size + align − 4096` bytes or more, `size` rounded up and `align` at least 4096; with less it may be.
//!
//! # What others no longer see
//! The driver counts a reservation as one piece of memory in its category `MISC_DEVICE`, allocated from the start: tools that
//! ask the driver (`neuron-ls`, `neuron-top`, the counters in sysfs, other processes' out-of-memory reports) do not see how
//! much of it is used, nor for what; they see that this process holds it. The ledger of this runtime is as exact as ever.

mod driver;
mod growth;
mod statistics;
mod storage;

pub use statistics::ReserveStatistics;
pub use storage::ReserveStorage;

use crate::driver::{DeviceRange, Driver};
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::sync;

use storage::{CHANNELS, CORES, Carving, CorePool, POOLS, Parts};

/// Runs that an allocation looks at when no bin promises a fit.
pub const LOOKS: u32 = crate::arena::ranges::LOOKS;

/// Carves device memory out of large reservations, around any driver. See the [module](self).
///
/// # Concurrency
/// A lock for each core and channel, held for some dozen instructions; two cores share nothing but, rarely, the stack of
/// spare records. Growing and giving back are serialised, and may run beside everything else.
pub struct ReservedHbm<D: Driver, H: Hooks> {
    inner: D,
    hooks: H,
    parts: Parts,
}

impl<D: Driver, H: Hooks> ReservedHbm<D, H> {
    /// Passes everything through until something is reserved.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the storage is in use.
    pub fn new<const DEVICES: usize, const RESERVATIONS: usize, const RUNS: usize>(
        inner: D,
        hooks: H,
        storage: &'static ReserveStorage<DEVICES, RESERVATIONS, RUNS>,
    ) -> Result<Self> {
        Ok(Self { inner, hooks, parts: storage.claim()? })
    }

    /// The driver inside.
    pub const fn inner(&self) -> &D {
        &self.inner
    }

    fn pool(&self, number: u32) -> &CorePool {
        &self.parts.pools[number as usize]
    }

    /// Number of the pool of a core and channel.
    fn place(&self, device: u32, core: u32, channel: u32) -> Result<u32> {
        let cause = if device as usize >= self.parts.pools.len() / POOLS {
            Cause::DeviceOutOfRange(device)
        } else if core >= CORES {
            Cause::CoreOutOfRange(core)
        } else {
            Cause::ChannelOutOfRange { channel, channels: CHANNELS }
        };
        self.parts.pool_number(device, core, channel).ok_or(Error::invalid(cause))
    }

    /// Works on what is carved for a core and channel, under its lock.
    #[inline]
    fn with<T>(&self, pool: &CorePool, work: impl FnOnce(&mut Carving) -> T) -> T {
        let _held = sync::lock_brief(&pool.lock, &self.hooks);
        // SAFETY: the lock is held, and nobody touches the cell without it.
        work(unsafe { &mut *pool.carving.get() })
    }
}

/// Bytes that range `range` begins after its chunk.
const fn start_in(chunk: &DeviceRange, range: &DeviceRange) -> u64 {
    range.pa - chunk.pa
}
