//! Static memory of the reservations: a pool for each core and channel, the reservations, the records of their ranges.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

use crate::abi::pthread_mutex_t;
use crate::arena::ranges::{RangePool, Run};
use crate::arena::{PoolWords, SlotPool};
use crate::driver::DeviceRange;
use crate::error::{Cause, Error, Pool, Result};
use crate::status::Status;

/// Cores of a device.
pub(super) const CORES: u32 = 8;
/// HBM channels of a device.
pub(super) const CHANNELS: u32 = 4;
/// Pools of a device.
pub(super) const POOLS: usize = (CORES * CHANNELS) as usize;
/// Driver categories of device memory are below this.
pub(super) const CATEGORIES: usize = 20;

/// What is carved for one core on one HBM channel. Under the pool's lock.
pub(super) struct Carving {
    pub(super) ranges: RangePool,
    /// Bytes of the live ranges by driver category.
    pub(super) held: [u64; CATEGORIES],
    /// Most bytes of a category plus 1; 0 = no limit.
    pub(super) limits: [u64; CATEGORIES],
    /// Requests refused for want of room or records.
    pub(super) refused: u64,
    /// Requests refused by a limit.
    pub(super) over_limit: u64,
}

/// The ranges of one core on one HBM channel, and their lock.
#[repr(C, align(64))]
pub(super) struct CorePool {
    pub(super) lock: pthread_mutex_t,
    /// Reservations of the pool. Without any, requests go to the driver.
    pub(super) reservations: AtomicU32,
    pub(super) carving: UnsafeCell<Carving>,
}

// SAFETY: what is in the cell is only touched by the holder of the lock.
unsafe impl Sync for CorePool {}

/// Nobody has the slot.
pub(super) const FREE: u32 = 0;
/// Ranges are carved out of the reservation.
pub(super) const LIVE: u32 = 1;
/// The driver refused to take the chunk back; nothing is carved out of it any more.
pub(super) const REFUSED: u32 = 2;

/// One chunk of the driver's. Everything but the mapping is written before `state` becomes [`LIVE`] and only read while it
/// is.
#[repr(C, align(64))]
pub(super) struct Reservation {
    pub(super) state: AtomicU32,
    pub(super) device: AtomicU32,
    /// Number of the pool.
    pub(super) pool: AtomicU32,
    /// Number of the first run.
    pub(super) first: AtomicU32,
    pub(super) chunk: UnsafeCell<DeviceRange>,
    /// Guards the two below.
    pub(super) map_lock: pthread_mutex_t,
    /// Mapped ranges of the chunk, which is mapped itself as long as there are any.
    pub(super) mappings: AtomicU32,
    pub(super) base: AtomicPtr<u8>,
}

// SAFETY: the chunk is written by whoever makes or gives up the reservation, under the growth lock, while it is not LIVE;
// the pointers in it are never followed.
unsafe impl Sync for Reservation {}

/// Static memory of a [`ReservedHbm`](super::ReservedHbm).
///
/// `DEVICES` are those it can reserve on, `RESERVATIONS` the chunks it can hold, `RUNS` the records of carved ranges and of
/// the free runs between them: with twice the live allocations, one for each reservation, and 64 for each core and
/// channel, they cannot run out.
///
/// Zeroed memory is a valid storage, so a `static` costs .bss and only touched pages become resident: 64 bytes a record, and
/// 4.6 KiB for each core and channel that something is reserved on.
#[repr(C, align(64))]
pub struct ReserveStorage<const DEVICES: usize, const RESERVATIONS: usize, const RUNS: usize> {
    claimed: AtomicU32,
    growth: pthread_mutex_t,
    words: PoolWords,
    pools: [[CorePool; POOLS]; DEVICES],
    reservations: [Reservation; RESERVATIONS],
    runs: UnsafeCell<[Run; RUNS]>,
}

// SAFETY: the records belong to the pools, each of which has a lock; the rest is atomics and what guards itself.
unsafe impl<const DEVICES: usize, const RESERVATIONS: usize, const RUNS: usize> Sync
    for ReserveStorage<DEVICES, RESERVATIONS, RUNS>
{
}

impl<const DEVICES: usize, const RESERVATIONS: usize, const RUNS: usize> Default for ReserveStorage<DEVICES, RESERVATIONS, RUNS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const DEVICES: usize, const RESERVATIONS: usize, const RUNS: usize> ReserveStorage<DEVICES, RESERVATIONS, RUNS> {
    /// An unclaimed storage, for a `static`.
    #[must_use]
    pub const fn new() -> Self {
        assert!(RUNS >= 1 && RUNS < 1 << 24, "runs: 1 to 2^24 - 1");
        // SAFETY: every member is an integer, an atomic, a raw pointer, or a cell or an array of such; zero is a value of each.
        unsafe { core::mem::zeroed() }
    }

    /// Claims the storage and erases its capacities.
    pub(super) fn claim(&'static self) -> Result<Parts> {
        if self.claimed.compare_exchange(0, 1, AcqRel, Acquire).is_err() {
            return Err(Error::new(Status::Failure, Cause::StorageInUse));
        }
        // SAFETY: `UnsafeCell::get` is never null; the records live for ever and belong to this pool alone.
        let runs = unsafe {
            let base = NonNull::new_unchecked(self.runs.get().cast());
            SlotPool::new(base, RUNS as u32, &self.words, Pool::Ranges)
        };
        Ok(Parts {
            claimed: &self.claimed,
            growth: &self.growth,
            pools: self.pools.as_flattened(),
            reservations: &self.reservations,
            runs,
            records: RUNS as u32,
        })
    }
}

/// A claimed storage without its capacities.
pub(super) struct Parts {
    claimed: &'static AtomicU32,
    pub(super) growth: &'static pthread_mutex_t,
    pub(super) pools: &'static [CorePool],
    pub(super) reservations: &'static [Reservation],
    pub(super) runs: SlotPool<Run>,
    pub(super) records: u32,
}

impl Parts {
    /// Number of the pool of a core and channel; `None` when the storage has no such.
    #[inline]
    pub(super) fn pool_number(&self, device: u32, core: u32, channel: u32) -> Option<u32> {
        let number = (device as usize).checked_mul(POOLS)? + (core.min(CORES) * CHANNELS + channel.min(CHANNELS)) as usize;
        (core < CORES && channel < CHANNELS && number < self.pools.len()).then_some(number as u32)
    }

    /// Gives the storage back. Nothing may be reserved in it.
    pub(super) fn release(&self) {
        for pool in self.pools {
            debug_assert_eq!(pool.reservations.load(Acquire), 0);
            // SAFETY: this is the end of the only user.
            let carving = unsafe { &mut *pool.carving.get() };
            // Pages that were never touched stay untouched.
            if carving.ranges.sums().peak != 0 || carving.refused != 0 || carving.limits != [0; CATEGORIES] {
                carving.ranges.forget_peak();
                (carving.limits, carving.refused, carving.over_limit) = ([0; CATEGORIES], 0, 0);
            }
        }
        self.claimed.store(0, Release);
    }
}
