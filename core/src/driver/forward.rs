//! Drivers that pass requests on: everything they do not change is written once, here.

use core::ptr::NonNull;

use super::{AllocRequest, Call, ChunkInfo, CopyBatch, DeviceRange, Driver, DriverResult, OpenedDevice, Probe, RoutingIds};

/// A [`Driver`] that hands every request to another one.
///
/// It may look at a request, refuse it, and give the device another number; it cannot change what a request does.
///
/// ```
/// use nrt_core::driver::{Call, Driver, DriverResult, ForwardDriver};
/// use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// /// Counts requests.
/// struct Counted<D>(D, AtomicU64);
///
/// // SAFETY: `forward` always gives the same driver.
/// unsafe impl<D: Driver> ForwardDriver for Counted<D> {
///     type Inner = D;
///     fn forward(&self, _: Call) -> DriverResult<&D> {
///         self.1.fetch_add(1, Relaxed);
///         Ok(&self.0)
///     }
/// }
/// ```
///
/// # Safety
/// * All requests go to one and the same driver, or to ones that answer alike.
/// * [`device`](Self::device) gives a number always the same answer, and no two numbers the same one.
pub unsafe trait ForwardDriver: Sync {
    /// The driver behind.
    type Inner: Driver;

    /// Gives the driver behind, for one request; an error is the answer to the request.
    ///
    /// # Errors
    /// Whatever the request is to be answered with; it must be possible that it had no effect.
    fn forward(&self, call: Call) -> DriverResult<&Self::Inner>;

    /// The number the driver behind has for a device.
    ///
    /// # Errors
    /// [`Errno::EINVAL`](super::Errno::EINVAL) when there is no such device.
    #[inline]
    fn device(&self, device: u32) -> DriverResult<u32> {
        Ok(device)
    }

    /// What the machine looks like through this driver.
    #[inline]
    fn machine(&self, probe: Probe) -> Probe {
        probe
    }
}

// SAFETY: every request goes unchanged to one driver behind, whose guarantees hold, under a device number that stands for
// the same device each time; an error of `forward` or `device` means that nothing was done.
unsafe impl<T: ForwardDriver> Driver for T {
    fn probe(&self) -> DriverResult<Probe> {
        Ok(self.machine(self.forward(Call::Probe)?.probe()?))
    }

    fn routing_ids(&self) -> DriverResult<RoutingIds> {
        self.forward(Call::RoutingIds)?.routing_ids()
    }

    fn open(&self, device: u32) -> DriverResult<OpenedDevice> {
        self.forward(Call::Open)?.open(self.device(device)?)
    }

    fn close(&self, device: u32) -> DriverResult<()> {
        self.forward(Call::Close)?.close(self.device(device)?)
    }

    #[inline]
    fn alloc(&self, device: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()> {
        self.forward(Call::Alloc)?.alloc(self.device(device)?, request, range)
    }

    #[inline]
    fn free(&self, device: u32, range: &DeviceRange) -> DriverResult<()> {
        self.forward(Call::Free)?.free(self.device(device)?, range)
    }

    fn map(&self, device: u32, range: &DeviceRange) -> DriverResult<NonNull<u8>> {
        self.forward(Call::Map)?.map(self.device(device)?, range)
    }

    unsafe fn unmap(&self, device: u32, range: &DeviceRange, address: NonNull<u8>) -> DriverResult<()> {
        let (inner, device) = (self.forward(Call::Unmap)?, self.device(device)?);
        // SAFETY: the caller's promise, passed on.
        unsafe { inner.unmap(device, range, address) }
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
        self.forward(Call::Copy)?.copy(self.device(device)?, src, src_offset, dst, dst_offset, size)
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
        let (inner, device) = (self.forward(Call::CopyStart)?, self.device(device)?);
        inner.copy_start(device, src, src_offset, dst, dst_offset, size, prefetch, wait)
    }

    fn copy_wait(&self, device: u32, src: &DeviceRange, dst: &DeviceRange, wait: i32) -> DriverResult<()> {
        self.forward(Call::CopyWait)?.copy_wait(self.device(device)?, src, dst, wait)
    }

    fn write(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &[u8]) -> DriverResult<()> {
        self.forward(Call::Write)?.write(self.device(device)?, range, offset, bytes)
    }

    fn read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        self.forward(Call::Read)?.read(self.device(device)?, range, offset, bytes)
    }

    fn fill(&self, device: u32, range: &DeviceRange, offset: u64, value: u8, size: u64) -> DriverResult<()> {
        self.forward(Call::Fill)?.fill(self.device(device)?, range, offset, value, size)
    }

    fn zero_copy_write(
        &self,
        device: u32,
        range: &DeviceRange,
        offset: u64,
        bytes: &[u8],
        window_bytes: u32,
    ) -> DriverResult<()> {
        self.forward(Call::ZeroCopyWrite)?.zero_copy_write(self.device(device)?, range, offset, bytes, window_bytes)
    }

    fn zero_copy_read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        self.forward(Call::ZeroCopyRead)?.zero_copy_read(self.device(device)?, range, offset, bytes)
    }

    unsafe fn copy_batches(
        &self,
        device: u32,
        batches: &[CopyBatch<'_>],
        to_device: bool,
        window_bytes: u16,
    ) -> DriverResult<()> {
        let (inner, device) = (self.forward(Call::CopyBatches)?, self.device(device)?);
        // SAFETY: the caller's promise, passed on.
        unsafe { inner.copy_batches(device, batches, to_device, window_bytes) }
    }

    fn chunks(&self, device: u32, channel: u32, chunks: &mut [ChunkInfo]) -> DriverResult<u32> {
        self.forward(Call::Chunks)?.chunks(self.device(device)?, channel, chunks)
    }
}

// SAFETY: the driver behind the reference, always.
unsafe impl<T: Driver> ForwardDriver for &T {
    type Inner = T;

    #[inline]
    fn forward(&self, _: Call) -> DriverResult<&T> {
        Ok(self)
    }
}
