//! A reservation as a driver of its own: a process's slice of the machine.
#![allow(unsafe_code, reason = "implements the unsafe trait of the core")]

use core::ops::Range;

use nrt_core::driver::{Call, DriverResult, Errno, ForwardDriver, Probe};

use super::connect::LinuxDriver;
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
    fn device_of(&self, device: u32) -> DriverResult<u32> {
        let devices = self.devices();
        let number = devices.start.checked_add(device).filter(|number| devices.contains(number));
        number.ok_or(Errno::EINVAL)
    }
}

// SAFETY: every request goes to the connection, with another number for the device: the slice's devices, counted from the
// first.
unsafe impl<S: System> ForwardDriver for Reservation<'_, S> {
    type Inner = LinuxDriver<S>;

    fn forward(&self, _: Call) -> DriverResult<&LinuxDriver<S>> {
        Ok(self.driver)
    }

    fn device(&self, device: u32) -> DriverResult<u32> {
        self.device_of(device)
    }

    fn machine(&self, probe: Probe) -> Probe {
        Probe { devices: self.devices().len() as u32, ..probe }
    }
}
