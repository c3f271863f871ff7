//! The reservations as a driver.

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::abi::mem_alloc_category_t;
use crate::arena::ranges::{GRANULE, is_carved_at};
use crate::driver::{
    AllocRequest, ChunkInfo, CopyBatch, DeviceRange, Driver, DriverResult, Errno, OpenedDevice, Probe, RoutingIds,
};
use crate::hooks::Hooks;
use crate::sync;

use super::growth::chunk_of;
use super::storage::{CATEGORIES, Carving, LIVE, Reservation};
use super::{ReservedHbm, start_in};

/// The contiguous scratchpad, which the driver keeps in a place of its own.
const CONTIGUOUS: u8 = mem_alloc_category_t::NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE.0 as u8;
/// Ranges that go to the driver in one batch request.
const BATCHES: usize = 32;
/// The largest alignment the driver takes, in bytes.
const ALIGN_LIMIT: u64 = (1 << 31) - 1;

impl<D: Driver, H: Hooks> ReservedHbm<D, H> {
    /// The reservation a carved range lies in; `None` for one that came from the driver itself.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] when the range is not live.
    #[inline]
    fn reservation(&self, device: u32, range: &DeviceRange) -> DriverResult<Option<&Reservation>> {
        let Some(run) = range.pad_2c.checked_sub(1) else { return Ok(None) };
        if run >= self.parts.records {
            return Err(Errno::EINVAL);
        }
        let live = is_carved_at(&self.parts.runs, run, range.pa);
        // SAFETY: a record of the array; the reference covers the atomic alone.
        let span = unsafe { &(*self.parts.runs.pointer(run).as_ptr()).span }.load(Relaxed);
        let slot = self.parts.reservations.get(span as usize).ok_or(Errno::EINVAL)?;
        let here = live && slot.state.load(Acquire) == LIVE && slot.device.load(Relaxed) == device;
        if here { Ok(Some(slot)) } else { Err(Errno::EINVAL) }
    }

    /// The chunk an access goes to, and its offset there.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] when the access does not lie inside the range, or the range is not live.
    #[inline]
    fn access<'a>(&'a self, device: u32, range: &'a DeviceRange, offset: u64, size: u64) -> DriverResult<(&'a DeviceRange, u64)> {
        let Some(slot) = self.reservation(device, range)? else { return Ok((range, offset)) };
        if offset.checked_add(size).is_none_or(|end| end > range.size) {
            return Err(Errno::EINVAL);
        }
        let chunk = chunk_of(slot);
        Ok((chunk, start_in(chunk, range) + offset))
    }

    /// A batch in terms of the chunk it goes to.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] when a piece does not lie inside the range, or the range is not live.
    fn batch<'a>(&'a self, device: u32, batch: &CopyBatch<'a>) -> DriverResult<CopyBatch<'a>> {
        for operation in batch.operations {
            let offset = batch.offset.checked_add(operation.offset).ok_or(Errno::EINVAL)?;
            self.access(device, batch.range, offset, operation.size)?;
        }
        let (range, start) = self.access(device, batch.range, 0, 0)?;
        let offset = start.checked_add(batch.offset).ok_or(Errno::EINVAL)?;
        Ok(CopyBatch { range, offset, operations: batch.operations })
    }

    /// Carves a range and describes it.
    #[inline]
    fn carve(&self, number: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()> {
        let align = request.align.max(1);
        let category = usize::from(request.category);
        if !align.is_power_of_two() || align > ALIGN_LIMIT || category >= CATEGORIES {
            return Err(Errno::EINVAL);
        }
        let carved = self.with(self.pool(number), |carving| {
            let Carving { ranges, held, limits, refused, over_limit } = carving;
            let rounded = request.size.saturating_add(GRANULE - 1) & !(GRANULE - 1);
            if limits[category] != 0 && held[category].saturating_add(rounded) >= limits[category] {
                *over_limit += 1;
                return None;
            }
            let Ok(carved) = ranges.carve(&self.parts.runs, request.size, align) else {
                *refused += 1;
                return None;
            };
            held[category] += carved.bytes;
            // SAFETY: the range was just carved out of this pool.
            unsafe { (*self.parts.runs.pointer(carved.run).as_ptr()).category = request.category.into() };
            Some(carved)
        });
        let carved = carved.ok_or(Errno::ENOMEM)?;
        // SAFETY: as above; nobody else knows the range yet.
        let span = unsafe { (*self.parts.runs.pointer(carved.run).as_ptr()).span.load(Relaxed) };
        let chunk = chunk_of(&self.parts.reservations[span as usize]);
        *range = DeviceRange {
            device: range.device,
            driver_handle: chunk.driver_handle,
            pa: carved.start,
            mmap_offset: chunk.mmap_offset,
            size: carved.bytes,
            align: request.align as u32,
            pad_2c: carved.run + 1,
            mmap_va: null_mut(),
            host_memory: 0,
            nc_id: request.nc_id as i32,
        };
        Ok(())
    }
}

// SAFETY:
// * Carved ranges do not overlap: they are runs of a partition of chunks that the driver inside vouches for, and are cut and
//   joined under the lock of their pool. Others are the driver's own.
// * The address of a carved range is that of its chunk's mapping plus its place in the chunk; it lies inside with all its
//   bytes, and the chunk stays mapped while one of its ranges is counted as mapped.
// * Buffers go to the driver inside as they are.
unsafe impl<D: Driver, H: Hooks> Driver for ReservedHbm<D, H> {
    fn probe(&self) -> DriverResult<Probe> {
        self.inner.probe()
    }

    fn routing_ids(&self) -> DriverResult<RoutingIds> {
        self.inner.routing_ids()
    }

    fn open(&self, device: u32) -> DriverResult<OpenedDevice> {
        let opened = self.inner.open(device)?;
        // A close that was refused may have left some; a device that could be opened was closed since.
        self.forget_refused(device);
        Ok(opened)
    }

    /// Gives up the reservations of the device, then closes it.
    fn close(&self, device: u32) -> DriverResult<()> {
        self.return_all(device);
        self.inner.close(device)?;
        self.forget_refused(device);
        Ok(())
    }

    fn alloc(&self, device: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()> {
        let carvable = !request.host && request.category != CONTIGUOUS;
        if let Some(number) = self.parts.pool_number(device, request.nc_id, request.channel)
            && carvable
            && self.pool(number).reservations.load(Acquire) != 0
        {
            return self.carve(number, request, range);
        }
        self.inner.alloc(device, request, range)?;
        range.pad_2c = 0;
        Ok(())
    }

    fn free(&self, device: u32, range: &DeviceRange) -> DriverResult<()> {
        let Some(slot) = self.reservation(device, range)? else { return self.inner.free(device, range) };
        let run = range.pad_2c - 1;
        self.with(self.pool(slot.pool.load(Relaxed)), |carving| {
            let record = self.parts.runs.pointer(run).as_ptr();
            // SAFETY: the lock is held: if the range is live in this chunk now, the run is in this pool and stays.
            unsafe {
                let here = core::ptr::eq(&raw const self.parts.reservations[(*record).span.load(Relaxed) as usize], slot);
                if !here || !carving.ranges.is(&self.parts.runs, run, range.pa, range.size) {
                    return Err(Errno::EINVAL);
                }
                carving.held[(*record).category as usize] -= range.size;
                carving.ranges.release(&self.parts.runs, run);
            }
            Ok(())
        })
    }

    fn map(&self, device: u32, range: &DeviceRange) -> DriverResult<NonNull<u8>> {
        let Some(slot) = self.reservation(device, range)? else { return self.inner.map(device, range) };
        let chunk = chunk_of(slot);
        let _held = sync::lock(&slot.map_lock, &self.hooks);
        let base = match NonNull::new(slot.base.load(Relaxed)) {
            Some(base) => base,
            None => self.inner.map(device, chunk)?,
        };
        slot.base.store(base.as_ptr(), Relaxed);
        slot.mappings.store(slot.mappings.load(Relaxed) + 1, Relaxed);
        // SAFETY: the range lies in the chunk, all of which is mapped at `base`.
        Ok(unsafe { base.add(start_in(chunk, range) as usize) })
    }

    unsafe fn unmap(&self, device: u32, range: &DeviceRange, address: NonNull<u8>) -> DriverResult<()> {
        let Some(slot) = self.reservation(device, range)? else {
            // SAFETY: the caller's promise, passed on.
            return unsafe { self.inner.unmap(device, range, address) };
        };
        let chunk = chunk_of(slot);
        let _held = sync::lock(&slot.map_lock, &self.hooks);
        let base = NonNull::new(slot.base.load(Relaxed)).ok_or(Errno::EINVAL)?;
        if base.addr().get() + start_in(chunk, range) as usize != address.addr().get() {
            return Err(Errno::EINVAL);
        }
        let mappings = slot.mappings.load(Relaxed);
        if mappings == 1 {
            // SAFETY: the base is the result of the one `map` of the chunk, and the last range that used it is being unmapped.
            unsafe { self.inner.unmap(device, chunk, base)? };
            slot.base.store(null_mut(), Relaxed);
        }
        slot.mappings.store(mappings - 1, Relaxed);
        Ok(())
    }

    fn copy(
        &self,
        device: u32,
        src: &DeviceRange,
        src_offset: u64,
        dst: &DeviceRange,
        dst_offset: u64,
        size: u64,
    ) -> DriverResult<()> {
        let (src, src_offset) = self.access(device, src, src_offset, size)?;
        let (dst, dst_offset) = self.access(device, dst, dst_offset, size)?;
        self.inner.copy(device, src, src_offset, dst, dst_offset, size)
    }

    fn copy_start(
        &self,
        device: u32,
        src: &DeviceRange,
        src_offset: u64,
        dst: &DeviceRange,
        dst_offset: u64,
        size: u64,
        prefetch: u64,
        wait: &mut i32,
    ) -> DriverResult<()> {
        let (src, src_offset) = self.access(device, src, src_offset, size)?;
        let (dst, dst_offset) = self.access(device, dst, dst_offset, size)?;
        self.inner.copy_start(device, src, src_offset, dst, dst_offset, size, prefetch, wait)
    }

    fn copy_wait(&self, device: u32, src: &DeviceRange, dst: &DeviceRange, wait: i32) -> DriverResult<()> {
        let (src, _) = self.access(device, src, 0, 0)?;
        let (dst, _) = self.access(device, dst, 0, 0)?;
        self.inner.copy_wait(device, src, dst, wait)
    }

    fn write(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &[u8]) -> DriverResult<()> {
        let (chunk, offset) = self.access(device, range, offset, bytes.len() as u64)?;
        self.inner.write(device, chunk, offset, bytes)
    }

    fn read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        let (chunk, offset) = self.access(device, range, offset, bytes.len() as u64)?;
        self.inner.read(device, chunk, offset, bytes)
    }

    fn fill(&self, device: u32, range: &DeviceRange, offset: u64, value: u8, size: u64) -> DriverResult<()> {
        let (chunk, offset) = self.access(device, range, offset, size)?;
        self.inner.fill(device, chunk, offset, value, size)
    }

    fn zero_copy_write(
        &self,
        device: u32,
        range: &DeviceRange,
        offset: u64,
        bytes: &[u8],
        window_bytes: u32,
    ) -> DriverResult<()> {
        let (chunk, offset) = self.access(device, range, offset, bytes.len() as u64)?;
        self.inner.zero_copy_write(device, chunk, offset, bytes, window_bytes)
    }

    fn zero_copy_read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        let (chunk, offset) = self.access(device, range, offset, bytes.len() as u64)?;
        self.inner.zero_copy_read(device, chunk, offset, bytes)
    }

    /// All pieces are checked first, then 32 ranges at a time go to the driver.
    unsafe fn copy_batches(
        &self,
        device: u32,
        batches: &[CopyBatch<'_>],
        to_device: bool,
        window_bytes: u16,
    ) -> DriverResult<()> {
        let Some(first) = batches.first() else { return Err(Errno::EINVAL) };
        for batch in batches {
            self.batch(device, batch)?;
        }
        let mut moved = [CopyBatch { range: first.range, offset: 0, operations: &[] }; BATCHES];
        for group in batches.chunks(BATCHES) {
            for (moved, batch) in moved.iter_mut().zip(group) {
                *moved = self.batch(device, batch)?;
            }
            // SAFETY: the caller's promise, passed on: the operations are his.
            unsafe { self.inner.copy_batches(device, &moved[..group.len()], to_device, window_bytes)? };
        }
        Ok(())
    }

    fn chunks(&self, device: u32, channel: u32, chunks: &mut [ChunkInfo]) -> DriverResult<u32> {
        self.inner.chunks(device, channel, chunks)
    }
}
