//! A reservation as a driver of its own: a process's slice of the machine.
#![allow(unsafe_code)]

use core::ops::Range;
use core::ptr::NonNull;

use nrt_core::driver::{AllocRequest, DeviceRange, Driver, DriverResult, Errno, OpenedDevice, Probe, RoutingIds};

use super::cores::Reservation;
use super::system::System;

impl<S: System> Reservation<'_, S> {
    /// The devices that hold the cores, as numbers of the connection.
    #[must_use]
    pub fn devices(&self) -> Range<u32> {
        let per_device = self.driver.machine.cores_per_device;
        let first = self.cores.iter().next().unwrap_or(0);
        let first_node = self.driver.machine.first_node();
        // Cores count by nodes, devices by those that are there; all nodes of the reservation are there.
        let rank = |node: u32| (self.driver.machine.nodes & ((1 << node) - 1)).count_ones();
        let start = rank(first_node + first / per_device);
        let last = first + self.cores.len().max(1) - 1;
        start..start + last / per_device - first / per_device + 1
    }

    /// The logical cores of a runtime on this slice that are this process's: the runtime numbers from the first core of
    /// the first device of the slice. The other cores of these devices belong to others; a runtime must leave them alone.
    #[must_use]
    pub fn runtime_cores(&self) -> Range<u32> {
        let first = self.cores.iter().next().unwrap_or(0) % self.driver.machine.cores_per_device;
        let first = first / self.logical_core_size;
        first..first + self.cores.len() / self.logical_core_size
    }

    /// The connection's number of a device of the slice.
    fn device(&self, device: u32) -> DriverResult<u32> {
        let devices = self.devices();
        let number = devices.start.checked_add(device).filter(|number| devices.contains(number));
        number.ok_or(Errno::EINVAL)
    }
}

// SAFETY: every request goes to the connection, whose guarantees hold, with another number for the device.
unsafe impl<S: System> Driver for Reservation<'_, S> {
    fn probe(&self) -> DriverResult<Probe> {
        Ok(Probe { devices: self.devices().len() as u32, ..self.driver.probe()? })
    }
    fn routing_ids(&self) -> DriverResult<RoutingIds> {
        self.driver.routing_ids()
    }
    fn open(&self, device: u32) -> DriverResult<OpenedDevice> {
        self.driver.open(self.device(device)?)
    }
    fn close(&self, device: u32) -> DriverResult<()> {
        self.driver.close(self.device(device)?)
    }
    fn alloc(&self, device: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()> {
        self.driver.alloc(self.device(device)?, request, range)
    }
    fn free(&self, device: u32, range: &DeviceRange) -> DriverResult<()> {
        self.driver.free(self.device(device)?, range)
    }
    fn map(&self, device: u32, range: &DeviceRange) -> DriverResult<NonNull<u8>> {
        self.driver.map(self.device(device)?, range)
    }
    unsafe fn unmap(&self, device: u32, range: &DeviceRange, address: NonNull<u8>) -> DriverResult<()> {
        let device = self.device(device)?;
        // SAFETY: the caller's promise, passed on.
        unsafe { self.driver.unmap(device, range, address) }
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
        self.driver.copy(self.device(device)?, src, src_offset, dst, dst_offset, size)
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
        self.driver.copy_start(self.device(device)?, src, src_offset, dst, dst_offset, size, prefetch, wait)
    }
    fn copy_wait(&self, device: u32, src: &DeviceRange, dst: &DeviceRange, wait: i32) -> DriverResult<()> {
        self.driver.copy_wait(self.device(device)?, src, dst, wait)
    }
    fn write(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &[u8]) -> DriverResult<()> {
        self.driver.write(self.device(device)?, range, offset, bytes)
    }
    fn read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        self.driver.read(self.device(device)?, range, offset, bytes)
    }
    fn fill(&self, device: u32, range: &DeviceRange, offset: u64, value: u8, size: u64) -> DriverResult<()> {
        self.driver.fill(self.device(device)?, range, offset, value, size)
    }
}
