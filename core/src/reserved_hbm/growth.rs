//! Chunks come and go.

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::abi::mem_alloc_category_t;
use crate::arena::ranges::GRANULE;
use crate::dmem::EMPTY_RANGE;
use crate::driver::{AllocRequest, Call, DeviceRange, Driver, DriverResult, Errno};
use crate::error::{Cause, Error, OutOfMemory, Pool, Result};
use crate::hooks::{Hooks, Level};
use crate::status::Status;
use crate::sync;
use crate::usage::{Location, Usage};

use super::ReservedHbm;
use super::storage::{FREE, LIVE, REFUSED, Reservation};

/// What the driver counts a reservation as.
const CATEGORY: u8 = mem_alloc_category_t::NEURON_MEMALLOC_TYPE_MISC_DEVICE.0 as u8;

impl<D: Driver, H: Hooks> ReservedHbm<D, H> {
    /// Reserves `bytes` more for a core on a channel, in one piece, rounded up to 4096. The device must be open: after
    /// [`Runtime::init`](crate::Runtime::init). From the first reservation on, the memory of that core on that channel comes
    /// from its reservations only.
    ///
    /// # Errors
    /// `NRT_RESOURCE` when the driver has no piece of that size or the storage no slot; `NRT_INVALID` for a size of 0 or a
    /// device, core or channel the storage does not have; `NRT_FAILURE` when the driver answers anything else. Nothing is
    /// reserved then.
    ///
    /// # Concurrency
    /// The growth lock for the whole of it, and within it that of the core and channel.
    pub fn reserve(&self, device: u32, core: u32, channel: u32, bytes: u64) -> Result<()> {
        let number = self.place(device, core, channel)?;
        if bytes == 0 {
            return Err(Error::invalid(Cause::ZeroSize));
        }
        let _growing = sync::lock(self.parts.growth, &self.hooks);
        let free = (0..).zip(self.parts.reservations).find(|(_, slot)| slot.state.load(Relaxed) == FREE);
        let (span, slot) = free.ok_or(Error::pool_full(Pool::Reservations))?;
        let out_of_memory = Error::new(
            Status::Resource,
            Cause::OutOfMemory(OutOfMemory {
                size: bytes,
                align: 0,
                usage: Usage::Generic,
                location: Location::Device,
                device,
                core,
                channel,
            }),
        );
        let size = bytes.checked_next_multiple_of(GRANULE).ok_or(out_of_memory)?;
        let request = AllocRequest { size, align: 0, host: false, channel, nc_id: core, category: CATEGORY };
        let mut chunk = EMPTY_RANGE;
        self.inner.alloc(device, &request, &mut chunk).map_err(|errno| match errno {
            Errno::ENOMEM => out_of_memory,
            errno => Error::driver(Call::Alloc, device, errno),
        })?;
        slot.device.store(device, Relaxed);
        slot.pool.store(number, Relaxed);
        slot.mappings.store(0, Relaxed);
        slot.base.store(null_mut(), Relaxed);
        // SAFETY: the slot is free and the growth lock held, so nobody else looks at the chunk.
        unsafe { *slot.chunk.get() = chunk };
        let pool = self.pool(number);
        let added = self.with(pool, |carving| {
            let first = carving.ranges.add(&self.parts.runs, span, chunk.pa, size)?;
            slot.first.store(first, Relaxed);
            slot.state.store(LIVE, Release);
            pool.reservations.fetch_add(1, Release);
            Some(())
        });
        if added.is_none() {
            let refused = self.inner.free(device, &chunk).is_err();
            // Remembered until the device is closed.
            slot.state.store(if refused { REFUSED } else { FREE }, Release);
            return Err(Error::pool_full(Pool::Ranges));
        }
        Ok(())
    }

    /// Gives back the reservations of a core on a channel that nothing is carved out of, and tells how many bytes that were.
    /// When the last one goes, the memory of the core on that channel comes from the driver again.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the driver refuses one: that one is used no more, and given back when the device is closed.
    /// `NRT_INVALID` for a device, core or channel the storage does not have.
    ///
    /// # Cost
    /// A visit to every reservation.
    pub fn give_back(&self, device: u32, core: u32, channel: u32) -> Result<u64> {
        let number = self.place(device, core, channel)?;
        let _growing = sync::lock(self.parts.growth, &self.hooks);
        let mut bytes = 0;
        let live = self.parts.reservations.iter().filter(|slot| slot.state.load(Relaxed) == LIVE);
        for slot in live.filter(|slot| slot.pool.load(Relaxed) == number) {
            let pool = self.pool(number);
            let empty = self.with(pool, |carving| {
                // SAFETY: the first run of a live reservation of this pool.
                let empty = unsafe { carving.ranges.remove(&self.parts.runs, slot.first.load(Relaxed)) };
                if empty {
                    slot.state.store(REFUSED, Release);
                    pool.reservations.fetch_sub(1, Release);
                }
                empty
            });
            if empty {
                bytes += chunk_of(slot).size;
                self.return_chunk(slot).map_err(|errno| Error::driver(Call::Free, device, errno))?;
            }
        }
        Ok(bytes)
    }

    /// Unmaps and frees the chunk of a reservation that is [`REFUSED`]; the slot is free afterwards. Under the growth lock.
    fn return_chunk(&self, slot: &Reservation) -> DriverResult<()> {
        let (device, chunk) = (slot.device.load(Relaxed), chunk_of(slot));
        if let Some(base) = NonNull::new(slot.base.load(Acquire)) {
            // SAFETY: the base is the result of the one `map` of this chunk; no range of it is left that could use it.
            unsafe { self.inner.unmap(device, chunk, base)? };
            slot.base.store(null_mut(), Relaxed);
        }
        self.inner.free(device, chunk)?;
        slot.state.store(FREE, Release);
        Ok(())
    }

    /// Gives up every reservation of a device, whatever is carved out of it. What the driver does not take back stays
    /// [`REFUSED`].
    pub(super) fn return_all(&self, device: u32) {
        let _growing = sync::lock(self.parts.growth, &self.hooks);
        for slot in self.on_device(device) {
            if slot.state.load(Relaxed) == LIVE {
                let pool = self.pool(slot.pool.load(Relaxed));
                self.with(pool, |carving| {
                    let held = &mut carving.held;
                    // SAFETY: the first run of a live reservation of this pool, whose ranges nobody uses any more.
                    unsafe {
                        carving.ranges.abandon(&self.parts.runs, slot.first.load(Relaxed), |category, bytes| {
                            held[category as usize] -= bytes;
                        });
                    }
                    slot.state.store(REFUSED, Release);
                    pool.reservations.fetch_sub(1, Release);
                });
            }
            // The close that follows takes what is refused here.
            if let Err(errno) = self.return_chunk(slot) {
                let bytes = chunk_of(slot).size;
                self.hooks.log(
                    Level::Error,
                    format_args!("the driver refused to take back a reservation of {bytes} bytes on ND {device}: {errno}"),
                );
            }
        }
    }

    /// The device is closed or newly opened, so the driver has taken everything back.
    pub(super) fn forget_refused(&self, device: u32) {
        let _growing = sync::lock(self.parts.growth, &self.hooks);
        self.on_device(device).for_each(|slot| slot.state.store(FREE, Release));
    }

    /// Slots in use for a device. Under the growth lock.
    fn on_device(&self, device: u32) -> impl Iterator<Item = &Reservation> {
        let used = self.parts.reservations.iter().filter(|slot| slot.state.load(Relaxed) != FREE);
        used.filter(move |slot| slot.device.load(Relaxed) == device)
    }
}

impl<D: Driver, H: Hooks> Drop for ReservedHbm<D, H> {
    fn drop(&mut self) {
        for device in 0..(self.parts.pools.len() / super::POOLS) as u32 {
            self.return_all(device);
            self.forget_refused(device);
        }
        self.parts.release();
    }
}

/// The chunk of a reservation that is not free.
#[inline]
pub(super) fn chunk_of(slot: &Reservation) -> &DeviceRange {
    // SAFETY: written before the slot was taken, not while it is.
    unsafe { &*slot.chunk.get() }
}
