//! The driver of the job: the model of it in this process, or the kernel's, through the cores this process reserved.
#![allow(unsafe_code, reason = "implements the unsafe trait of the core")]

use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use nrt_core::driver::{
    AllocRequest, ChunkInfo, CopyBatch, DeviceRange, Driver, DriverResult, Errno, OpenedDevice, Probe, RoutingIds,
};
use nrt_core::environment::CoreSelection;
use nrt_core::hooks::{Hooks, Level};
use nrt_linux::neuron::{Fault, LinuxDriver, Reservation, System as _};
use nrt_sim::Sim;

use super::statics::HOOKS;

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

/// One of the two. One type for both, so that the runtime is in the program once.
pub(super) enum Door<'a> {
    /// The model.
    Modelled(&'a Sim),
    /// The kernel's driver.
    Kernel(Slice<'a>),
}

/// This process's part of the real devices.
pub(super) struct Slice<'a> {
    driver: &'a LinuxDriver,
    cores: Reservation<'a>,
    left: Left,
}

/// What the driver still counted for this process when devices were closed. The close takes it away, so it is asked for
/// just before.
#[derive(Default)]
pub(super) struct Left {
    /// Bytes of HBM.
    pub(super) device_bytes: AtomicU64,
    /// Bytes of pinned host memory.
    pub(super) host_bytes: AtomicU64,
    /// Devices closed without an answer to the question.
    pub(super) untold: AtomicU64,
}

impl<'a> Slice<'a> {
    /// The cores of a reservation.
    pub(super) fn new(driver: &'a LinuxDriver, cores: Reservation<'a>) -> Self {
        Self { driver, cores, left: Left::default() }
    }

    /// Number of logical cores.
    pub(super) fn logical_cores(&self) -> u32 {
        self.cores.runtime_cores().len() as u32
    }

    /// What the driver counts for this process on an open device.
    fn held(&self, device: u32) -> Result<Held, Fault> {
        let own = self.driver.system().pid();
        let listed = self.driver.attached_processes(self.cores.devices().start + device)?;
        let mut held = Held::default();
        for process in listed.iter().filter(|process| process.pid == own) {
            held = Held { device_bytes: process.device_bytes, host_bytes: process.host_bytes, allocations: None };
        }
        Ok(held)
    }

    /// Opens a device; what the error number stands for is said here, since the number alone would not tell.
    fn open(&self, device: u32) -> DriverResult<OpenedDevice> {
        self.driver.attach(self.cores.devices().start + device).map_err(|fault| {
            HOOKS.log(Level::Error, format_args!("{fault}"));
            fault.errno()
        })
    }

    fn close(&self, device: u32) -> DriverResult<()> {
        match self.held(device) {
            Ok(held) => {
                self.left.device_bytes.fetch_add(held.device_bytes, Relaxed);
                self.left.host_bytes.fetch_add(held.host_bytes, Relaxed);
            }
            Err(_) => {
                self.left.untold.fetch_add(1, Relaxed);
            }
        }
        self.cores.close(device)
    }
}

impl Door<'_> {
    /// Number of devices.
    pub(super) fn devices(&self) -> u32 {
        match self {
            Self::Modelled(sim) => sim.kernel().config().devices,
            Self::Kernel(slice) => slice.cores.devices().len() as u32,
        }
    }

    /// The logical cores of the driver's devices that are this process's; in the runtime they count from 0.
    pub(super) fn cores(&self) -> CoreSelection {
        match self {
            Self::Modelled(_) => CoreSelection::All,
            Self::Kernel(slice) => {
                let cores = slice.cores.runtime_cores();
                CoreSelection::Exact { first: cores.start, count: cores.len() as u32 }
            }
        }
    }

    /// What the driver counts for this process on an open device.
    ///
    /// # Errors
    /// What the driver answered.
    pub(super) fn held(&self, device: u32) -> Result<Held, Errno> {
        match self {
            Self::Modelled(sim) => {
                let live = sim.live(device);
                Ok(Held { device_bytes: live.device_bytes, host_bytes: live.host_bytes, allocations: Some(live.chunks) })
            }
            Self::Kernel(slice) => slice.held(device).map_err(Fault::errno),
        }
    }

    /// The model, or what was left when the devices were closed.
    pub(super) fn after(&self) -> After<'_> {
        match self {
            Self::Modelled(sim) => After::Modelled(sim),
            Self::Kernel(slice) => After::Kernel(&slice.left),
        }
    }
}

/// Where to look for what is left after close.
pub(super) enum After<'a> {
    /// The model tells at any time.
    Modelled(&'a Sim),
    /// The kernel's driver was asked at the close.
    Kernel(&'a Left),
}

/// The same request to either driver.
macro_rules! either {
    ($door:expr, $driver:ident => $request:expr) => {
        match $door {
            Door::Modelled($driver) => $request,
            Door::Kernel(Slice { cores: $driver, .. }) => $request,
        }
    };
}

// SAFETY: a door is one driver for all its life, and every request goes to it unchanged: its guarantees hold. (Opening
// and closing a device of the kernel's passes through `Slice`, which makes the same request.)
unsafe impl Driver for Door<'_> {
    fn probe(&self) -> DriverResult<Probe> {
        either!(self, driver => driver.probe())
    }

    fn routing_ids(&self) -> DriverResult<RoutingIds> {
        either!(self, driver => driver.routing_ids())
    }

    fn open(&self, device: u32) -> DriverResult<OpenedDevice> {
        match self {
            Self::Modelled(sim) => sim.open(device),
            Self::Kernel(slice) => slice.open(device),
        }
    }

    fn close(&self, device: u32) -> DriverResult<()> {
        match self {
            Self::Modelled(sim) => sim.close(device),
            Self::Kernel(slice) => slice.close(device),
        }
    }

    fn alloc(&self, device: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()> {
        either!(self, driver => driver.alloc(device, request, range))
    }

    fn free(&self, device: u32, range: &DeviceRange) -> DriverResult<()> {
        either!(self, driver => driver.free(device, range))
    }

    fn map(&self, device: u32, range: &DeviceRange) -> DriverResult<NonNull<u8>> {
        either!(self, driver => driver.map(device, range))
    }

    unsafe fn unmap(&self, device: u32, range: &DeviceRange, address: NonNull<u8>) -> DriverResult<()> {
        // SAFETY: the caller's promise, passed on.
        either!(self, driver => unsafe { driver.unmap(device, range, address) })
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
        either!(self, driver => driver.copy(device, src, src_offset, dst, dst_offset, size))
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
        either!(self, driver => driver.copy_start(device, src, src_offset, dst, dst_offset, size, prefetch, wait))
    }

    fn copy_wait(&self, device: u32, src: &DeviceRange, dst: &DeviceRange, wait: i32) -> DriverResult<()> {
        either!(self, driver => driver.copy_wait(device, src, dst, wait))
    }

    fn write(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &[u8]) -> DriverResult<()> {
        either!(self, driver => driver.write(device, range, offset, bytes))
    }

    fn read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        either!(self, driver => driver.read(device, range, offset, bytes))
    }

    fn fill(&self, device: u32, range: &DeviceRange, offset: u64, value: u8, size: u64) -> DriverResult<()> {
        either!(self, driver => driver.fill(device, range, offset, value, size))
    }

    fn zero_copy_write(
        &self,
        device: u32,
        range: &DeviceRange,
        offset: u64,
        bytes: &[u8],
        window_bytes: u32,
    ) -> DriverResult<()> {
        either!(self, driver => driver.zero_copy_write(device, range, offset, bytes, window_bytes))
    }

    fn zero_copy_read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        either!(self, driver => driver.zero_copy_read(device, range, offset, bytes))
    }

    unsafe fn copy_batches(
        &self,
        device: u32,
        batches: &[CopyBatch<'_>],
        to_device: bool,
        window_bytes: u16,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promise, passed on.
        either!(self, driver => unsafe { driver.copy_batches(device, batches, to_device, window_bytes) })
    }

    fn chunks(&self, device: u32, channel: u32, chunks: &mut [ChunkInfo]) -> DriverResult<u32> {
        either!(self, driver => driver.chunks(device, channel, chunks))
    }
}
