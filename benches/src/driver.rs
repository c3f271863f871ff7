//! A driver that costs next to nothing, so that what is measured is the runtime.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nrt_core::Arch;
use nrt_core::driver::{
    AllocRequest, ChunkInfo, CopyBatch, DeviceRange, Driver, DriverResult, Errno, OpenedDevice, Probe, RoutingIds, feature,
};

/// Granule of the real driver, bytes.
const GRANULE: u64 = 4096;

/// Hands out addresses that only rise and never uses one twice; each thread counts in a span of its own, so threads do
/// not meet here. Copies move nothing. Mappings are zeroed memory of this process.
///
/// With `MEMORY` a range is memory of this process at its address, and copies move bytes while they are started.
#[derive(Clone, Copy, Debug)]
pub struct NullDriver<const MEMORY: bool = false> {
    /// Number of devices, all CAYMAN.
    pub devices: u32,
}

static SPANS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Address of a fresh range.
#[inline]
fn next_address(bytes: u64) -> u64 {
    NEXT.with(|next| {
        if next.get() == 0 {
            next.set((SPANS.fetch_add(1, Relaxed) + 1) << 52);
        }
        next.replace(next.get() + bytes)
    })
}

fn layout(range: &DeviceRange) -> DriverResult<Layout> {
    let bytes = usize::try_from(range.size).map_err(|_| Errno::EINVAL)?;
    Layout::from_size_align(bytes.max(1), GRANULE as usize).map_err(|_| Errno::EINVAL)
}

/// Moves bytes between two ranges that are memory of this process; neither end lies outside.
fn move_bytes(src: &DeviceRange, src_offset: u64, dst: &DeviceRange, dst_offset: u64, size: u64) -> DriverResult<()> {
    let outside = |range: &DeviceRange, offset: u64| offset.checked_add(size).is_none_or(|end| end > range.size);
    if outside(src, src_offset) || outside(dst, dst_offset) {
        return Err(Errno::EINVAL);
    }
    let (from, to) = ((src.pa + src_offset) as *const u8, (dst.pa + dst_offset) as *mut u8);
    // SAFETY: both ranges are live allocations at these addresses, of different ranges or the caller's own business if not;
    // both spans lie inside.
    unsafe { std::ptr::copy(from, to, size as usize) };
    Ok(())
}

// SAFETY: without memory, addresses are unique and nothing stands behind them; a mapping is an allocation of `range.size`
// bytes of its own until it is unmapped; copies touch no memory. With memory, a range is an allocation of its own until it is
// freed, a mapping is that same memory, and copies stay inside their ranges.
unsafe impl<const MEMORY: bool> Driver for NullDriver<MEMORY> {
    fn probe(&self) -> DriverResult<Probe> {
        let arch = Arch::Cayman;
        let features = feature::ASYNC_DMA | feature::MEM_ALLOC_TYPE | feature::MEM_ALLOC64;
        Ok(Probe { arch, revision: 0, devices: self.devices, cores_per_device: arch.cores_per_device(), features })
    }

    fn routing_ids(&self) -> DriverResult<RoutingIds> {
        Err(Errno::EINVAL)
    }

    fn open(&self, device: u32) -> DriverResult<OpenedDevice> {
        Ok(OpenedDevice { host_device_id: device, bdf: None })
    }

    fn close(&self, _: u32) -> DriverResult<()> {
        Ok(())
    }

    #[inline]
    fn alloc(&self, _: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()> {
        let bytes = request.size.checked_next_multiple_of(GRANULE).ok_or(Errno::ENOMEM)?;
        range.size = bytes;
        let pa = if MEMORY {
            // SAFETY: the size is not 0 (an empty layout is one byte).
            let memory = NonNull::new(unsafe { alloc_zeroed(layout(range)?) }).ok_or(Errno::ENOMEM)?;
            memory.as_ptr().expose_provenance() as u64
        } else {
            next_address(bytes)
        };
        range.driver_handle = pa / GRANULE;
        range.pa = pa;
        range.mmap_offset = pa;
        range.align = request.align as u32;
        range.mmap_va = null_mut();
        range.host_memory = request.host.into();
        range.nc_id = request.nc_id as i32;
        Ok(())
    }

    #[inline]
    fn free(&self, _: u32, range: &DeviceRange) -> DriverResult<()> {
        if MEMORY {
            // SAFETY: memory of `alloc`, whose size never changes, given back once.
            unsafe { dealloc(range.pa as *mut u8, layout(range)?) };
        }
        Ok(())
    }

    fn map(&self, _: u32, range: &DeviceRange) -> DriverResult<NonNull<u8>> {
        if MEMORY {
            return NonNull::new(range.pa as *mut u8).ok_or(Errno::EINVAL);
        }
        // SAFETY: the size is not 0.
        NonNull::new(unsafe { alloc_zeroed(layout(range)?) }).ok_or(Errno::ENOMEM)
    }

    unsafe fn unmap(&self, _: u32, range: &DeviceRange, address: NonNull<u8>) -> DriverResult<()> {
        if MEMORY {
            return Ok(());
        }
        // SAFETY: the caller promises that the address is the result of `map` of this range, whose size never changes.
        unsafe { dealloc(address.as_ptr(), layout(range)?) };
        Ok(())
    }

    fn copy(
        &self,
        _: u32,
        src: &DeviceRange,
        src_offset: u64,
        dst: &DeviceRange,
        dst_offset: u64,
        size: u64,
    ) -> DriverResult<()> {
        if MEMORY { move_bytes(src, src_offset, dst, dst_offset, size) } else { Ok(()) }
    }

    fn copy_start(
        &self,
        device: u32,
        src: &DeviceRange,
        src_offset: u64,
        dst: &DeviceRange,
        dst_offset: u64,
        size: u64,
        _: u64,
        wait: &mut i32,
    ) -> DriverResult<()> {
        *wait = 0;
        self.copy(device, src, src_offset, dst, dst_offset, size)
    }

    fn copy_wait(&self, _: u32, _: &DeviceRange, _: &DeviceRange, _: i32) -> DriverResult<()> {
        Ok(())
    }

    fn write(&self, _: u32, _: &DeviceRange, _: u64, _: &[u8]) -> DriverResult<()> {
        Ok(())
    }

    fn read(&self, _: u32, _: &DeviceRange, _: u64, _: &mut [u8]) -> DriverResult<()> {
        Ok(())
    }

    fn fill(&self, _: u32, _: &DeviceRange, _: u64, _: u8, _: u64) -> DriverResult<()> {
        Ok(())
    }

    fn zero_copy_write(&self, _: u32, _: &DeviceRange, _: u64, _: &[u8], _: u32) -> DriverResult<()> {
        Err(Errno::ENOTSUPP)
    }

    fn zero_copy_read(&self, _: u32, _: &DeviceRange, _: u64, _: &mut [u8]) -> DriverResult<()> {
        Err(Errno::ENOTSUPP)
    }

    unsafe fn copy_batches(&self, _: u32, _: &[CopyBatch<'_>], _: bool, _: u16) -> DriverResult<()> {
        Err(Errno::ENOTSUPP)
    }

    fn chunks(&self, _: u32, _: u32, _: &mut [ChunkInfo]) -> DriverResult<u32> {
        Err(Errno::EINVAL)
    }
}
