//! A reference to a driver is a driver, so that several parts of a program can look at one.

use core::ptr::NonNull;

use super::{AllocRequest, DeviceRange, Driver, DriverResult, OpenedDevice, Probe, RoutingIds};

// SAFETY: every request goes to the driver behind the reference unchanged, whose guarantees hold.
unsafe impl<T: Driver> Driver for &T {
    fn probe(&self) -> DriverResult<Probe> {
        (**self).probe()
    }
    fn routing_ids(&self) -> DriverResult<RoutingIds> {
        (**self).routing_ids()
    }
    fn open(&self, device: u32) -> DriverResult<OpenedDevice> {
        (**self).open(device)
    }
    fn close(&self, device: u32) -> DriverResult<()> {
        (**self).close(device)
    }
    fn alloc(&self, device: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()> {
        (**self).alloc(device, request, range)
    }
    fn free(&self, device: u32, range: &DeviceRange) -> DriverResult<()> {
        (**self).free(device, range)
    }
    fn map(&self, device: u32, range: &DeviceRange) -> DriverResult<NonNull<u8>> {
        (**self).map(device, range)
    }
    unsafe fn unmap(&self, device: u32, range: &DeviceRange, address: NonNull<u8>) -> DriverResult<()> {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).unmap(device, range, address) }
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
        (**self).copy(device, src, src_offset, dst, dst_offset, size)
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
        (**self).copy_start(device, src, src_offset, dst, dst_offset, size, prefetch, wait)
    }
    fn copy_wait(&self, device: u32, src: &DeviceRange, dst: &DeviceRange, wait: i32) -> DriverResult<()> {
        (**self).copy_wait(device, src, dst, wait)
    }
    fn write(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &[u8]) -> DriverResult<()> {
        (**self).write(device, range, offset, bytes)
    }
    fn read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        (**self).read(device, range, offset, bytes)
    }
    fn fill(&self, device: u32, range: &DeviceRange, offset: u64, value: u8, size: u64) -> DriverResult<()> {
        (**self).fill(device, range, offset, value, size)
    }
}
