//! The driver of the job: the model of it in this process, or the kernel's, through the cores this process reserved.
#![allow(unsafe_code, reason = "implements the unsafe trait of the core")]

use core::ptr::NonNull;

use nrt_core::driver::{
    AllocRequest, ChunkInfo, CopyBatch, DeviceRange, Driver, DriverResult, Errno, OpenedDevice, Probe, RoutingIds,
};
use nrt_core::environment::CoreSelection;

use super::device::Slice;
use super::findings::Findings;
use super::model::Modelled;

/// What a driver counts for this process on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Bytes of HBM, in whole granules of the driver.
    pub(super) device_bytes: u64,
    /// Bytes of pinned host memory.
    pub(super) host_bytes: u64,
    /// Allocations, where the driver tells; the kernel's does not.
    pub(super) allocations: Option<u64>,
}

/// A driver, and what the job asks beside its requests.
pub(super) trait Machine {
    /// Answers the requests.
    type Driver: Driver;

    /// The driver.
    fn driver(&self) -> &Self::Driver;

    /// Opens a device.
    ///
    /// # Errors
    /// What the driver answered.
    fn open_device(&self, device: u32) -> DriverResult<OpenedDevice> {
        self.driver().open(device)
    }

    /// Closes a device.
    ///
    /// # Errors
    /// What the driver answered.
    fn close_device(&self, device: u32) -> DriverResult<()> {
        self.driver().close(device)
    }

    /// Number of devices.
    fn devices(&self) -> u32;

    /// The logical cores of the driver's devices that are this process's; in the runtime they count from 0. `wanted` is what
    /// the environment asks for, and was reserved on real devices.
    fn cores(&self, wanted: CoreSelection) -> CoreSelection;

    /// What the driver counts for this process on an open device.
    ///
    /// # Errors
    /// What the driver answered.
    fn held(&self, device: u32) -> Result<Held, Errno>;

    /// Checks that the driver has nothing left after close, and, where it tells, that it saw nothing that would harm a real
    /// device.
    fn check_closed(&self, findings: &Findings);
}

/// One of the two. One type for both, so that the runtime is in the program once. In a program that is built with one of
/// them the other is [`Absent`](super::absent::Absent), and the compiler knows which one it is.
pub(super) enum Door<'a> {
    /// The model.
    Modelled(Modelled<'a>),
    /// The kernel's driver.
    Kernel(Slice<'a>),
}

/// The same request to either driver.
macro_rules! either {
    ($door:expr, $machine:ident => $request:expr) => {
        match $door {
            Door::Modelled($machine) => $request,
            Door::Kernel($machine) => $request,
        }
    };
}

impl Door<'_> {
    /// See [`Machine::devices`].
    pub(super) fn devices(&self) -> u32 {
        either!(self, machine => machine.devices())
    }

    /// See [`Machine::cores`].
    pub(super) fn cores(&self, wanted: CoreSelection) -> CoreSelection {
        either!(self, machine => machine.cores(wanted))
    }

    /// See [`Machine::held`].
    ///
    /// # Errors
    /// What the driver answered.
    pub(super) fn held(&self, device: u32) -> Result<Held, Errno> {
        either!(self, machine => machine.held(device))
    }

    /// See [`Machine::check_closed`].
    pub(super) fn check_closed(&self, findings: &Findings) {
        either!(self, machine => machine.check_closed(findings));
    }
}

// SAFETY: a door is one driver for all its life, and every request goes to it unchanged: its guarantees hold.
unsafe impl Driver for Door<'_> {
    fn probe(&self) -> DriverResult<Probe> {
        either!(self, machine => machine.driver().probe())
    }

    fn routing_ids(&self) -> DriverResult<RoutingIds> {
        either!(self, machine => machine.driver().routing_ids())
    }

    fn open(&self, device: u32) -> DriverResult<OpenedDevice> {
        either!(self, machine => machine.open_device(device))
    }

    fn close(&self, device: u32) -> DriverResult<()> {
        either!(self, machine => machine.close_device(device))
    }

    fn alloc(&self, device: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()> {
        either!(self, machine => machine.driver().alloc(device, request, range))
    }

    fn free(&self, device: u32, range: &DeviceRange) -> DriverResult<()> {
        either!(self, machine => machine.driver().free(device, range))
    }

    fn map(&self, device: u32, range: &DeviceRange) -> DriverResult<NonNull<u8>> {
        either!(self, machine => machine.driver().map(device, range))
    }

    unsafe fn unmap(&self, device: u32, range: &DeviceRange, address: NonNull<u8>) -> DriverResult<()> {
        // SAFETY: the caller's promise, passed on.
        either!(self, machine => unsafe { machine.driver().unmap(device, range, address) })
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
        either!(self, machine => machine.driver().copy(device, src, src_offset, dst, dst_offset, size))
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
        either!(self, machine => machine.driver().copy_start(device, src, src_offset, dst, dst_offset, size, prefetch, wait))
    }

    fn copy_wait(&self, device: u32, src: &DeviceRange, dst: &DeviceRange, wait: i32) -> DriverResult<()> {
        either!(self, machine => machine.driver().copy_wait(device, src, dst, wait))
    }

    fn write(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &[u8]) -> DriverResult<()> {
        either!(self, machine => machine.driver().write(device, range, offset, bytes))
    }

    fn read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        either!(self, machine => machine.driver().read(device, range, offset, bytes))
    }

    fn fill(&self, device: u32, range: &DeviceRange, offset: u64, value: u8, size: u64) -> DriverResult<()> {
        either!(self, machine => machine.driver().fill(device, range, offset, value, size))
    }

    fn zero_copy_write(
        &self,
        device: u32,
        range: &DeviceRange,
        offset: u64,
        bytes: &[u8],
        window_bytes: u32,
    ) -> DriverResult<()> {
        either!(self, machine => machine.driver().zero_copy_write(device, range, offset, bytes, window_bytes))
    }

    fn zero_copy_read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        either!(self, machine => machine.driver().zero_copy_read(device, range, offset, bytes))
    }

    unsafe fn copy_batches(
        &self,
        device: u32,
        batches: &[CopyBatch<'_>],
        to_device: bool,
        window_bytes: u16,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promise, passed on.
        either!(self, machine => unsafe { machine.driver().copy_batches(device, batches, to_device, window_bytes) })
    }

    fn chunks(&self, device: u32, channel: u32, chunks: &mut [ChunkInfo]) -> DriverResult<u32> {
        either!(self, machine => machine.driver().chunks(device, channel, chunks))
    }
}
