//! A driver that notes what is asked of it: which request, on which device, for which core.

use std::ptr::NonNull;
use std::sync::Mutex;

use nrt_core::driver::{
    AllocRequest, Call, ChunkInfo, CopyBatch, DeviceRange, Driver, DriverResult, OpenedDevice, Probe, RoutingIds,
};
use nrt_tests::TestDriver;

/// A request: kind, device, core. Requests of a device as a whole have no core.
pub(crate) type Note = (Call, u32, Option<u32>);

/// Notes requests, also those that fail, and hands them on.
pub(crate) struct Noted {
    inner: TestDriver,
    notes: Mutex<Vec<Note>>,
}

impl Noted {
    pub(crate) fn leak(inner: TestDriver) -> &'static Self {
        Box::leak(Box::new(Self { inner, notes: Mutex::default() }))
    }

    /// The driver behind.
    pub(crate) fn inner(&self) -> TestDriver {
        self.inner
    }

    /// What was asked since the last time.
    pub(crate) fn take(&self) -> Vec<Note> {
        std::mem::take(&mut self.notes.lock().unwrap())
    }

    fn whole(&self, call: Call, device: u32) -> TestDriver {
        self.notes.lock().unwrap().push((call, device, None));
        self.inner
    }

    fn of(&self, call: Call, device: u32, range: &DeviceRange) -> TestDriver {
        self.core(call, device, range.nc_id as u32)
    }

    fn core(&self, call: Call, device: u32, core: u32) -> TestDriver {
        self.notes.lock().unwrap().push((call, device, Some(core)));
        self.inner
    }
}

// SAFETY: every request goes unchanged to the driver behind, whose guarantees hold.
unsafe impl Driver for Noted {
    fn probe(&self) -> DriverResult<Probe> {
        self.whole(Call::Probe, 0).probe()
    }

    fn routing_ids(&self) -> DriverResult<RoutingIds> {
        self.whole(Call::RoutingIds, 0).routing_ids()
    }

    fn open(&self, device: u32) -> DriverResult<OpenedDevice> {
        self.whole(Call::Open, device).open(device)
    }

    fn close(&self, device: u32) -> DriverResult<()> {
        self.whole(Call::Close, device).close(device)
    }

    fn alloc(&self, device: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()> {
        self.core(Call::Alloc, device, request.nc_id).alloc(device, request, range)
    }

    fn free(&self, device: u32, range: &DeviceRange) -> DriverResult<()> {
        self.of(Call::Free, device, range).free(device, range)
    }

    fn map(&self, device: u32, range: &DeviceRange) -> DriverResult<NonNull<u8>> {
        self.of(Call::Map, device, range).map(device, range)
    }

    unsafe fn unmap(&self, device: u32, range: &DeviceRange, address: NonNull<u8>) -> DriverResult<()> {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.of(Call::Unmap, device, range).unmap(device, range, address) }
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
        self.of(Call::Copy, device, dst).copy(device, src, src_offset, dst, dst_offset, size)
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
        let inner = self.of(Call::CopyStart, device, dst);
        inner.copy_start(device, src, src_offset, dst, dst_offset, size, prefetch, wait)
    }

    fn copy_wait(&self, device: u32, src: &DeviceRange, dst: &DeviceRange, wait: i32) -> DriverResult<()> {
        self.of(Call::CopyWait, device, dst).copy_wait(device, src, dst, wait)
    }

    fn write(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &[u8]) -> DriverResult<()> {
        self.of(Call::Write, device, range).write(device, range, offset, bytes)
    }

    fn read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        self.of(Call::Read, device, range).read(device, range, offset, bytes)
    }

    fn fill(&self, device: u32, range: &DeviceRange, offset: u64, value: u8, size: u64) -> DriverResult<()> {
        self.of(Call::Fill, device, range).fill(device, range, offset, value, size)
    }

    fn zero_copy_write(
        &self,
        device: u32,
        range: &DeviceRange,
        offset: u64,
        bytes: &[u8],
        window_bytes: u32,
    ) -> DriverResult<()> {
        self.of(Call::ZeroCopyWrite, device, range).zero_copy_write(device, range, offset, bytes, window_bytes)
    }

    fn zero_copy_read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        self.of(Call::ZeroCopyRead, device, range).zero_copy_read(device, range, offset, bytes)
    }

    unsafe fn copy_batches(
        &self,
        device: u32,
        batches: &[CopyBatch<'_>],
        to_device: bool,
        window_bytes: u16,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.whole(Call::CopyBatches, device).copy_batches(device, batches, to_device, window_bytes) }
    }

    fn chunks(&self, device: u32, channel: u32, chunks: &mut [ChunkInfo]) -> DriverResult<u32> {
        self.whole(Call::Chunks, device).chunks(device, channel, chunks)
    }
}
