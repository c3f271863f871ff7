//! The kernel's driver, through the cores this process reserved.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use nrt_core::driver::{Driver as _, DriverResult, Errno, OpenedDevice};
use nrt_core::environment::CoreSelection;
use nrt_core::hooks::{Hooks, Level};
use nrt_linux::neuron::{Fault, LinuxDriver, Reservation, System as _};

use super::driver::{Held, Machine};
use super::findings::Findings;
use super::statics::HOOKS;

/// This process's part of the real devices.
pub(super) struct Slice<'a> {
    driver: &'a LinuxDriver,
    cores: Reservation<'a>,
    left: Left,
}

/// What the driver still counted for this process when devices were closed. The close takes it away, so it is asked for
/// just before.
#[derive(Default)]
struct Left {
    /// Bytes of HBM.
    device_bytes: AtomicU64,
    /// Bytes of pinned host memory.
    host_bytes: AtomicU64,
    /// Devices closed without an answer to the question.
    untold: AtomicU64,
}

impl<'a> Slice<'a> {
    /// The cores of a reservation.
    pub(super) fn new(driver: &'a LinuxDriver, cores: Reservation<'a>) -> Self {
        Self { driver, cores, left: Left::default() }
    }

    /// What the driver counts for this process on an open device.
    fn counted(&self, device: u32) -> Result<Held, Fault> {
        let own = self.driver.system().pid();
        let listed = self.driver.attached_processes(self.cores.devices().start + device)?;
        let mut held = Held::default();
        for process in listed.iter().filter(|process| process.pid == own) {
            held = Held { device_bytes: process.device_bytes, host_bytes: process.host_bytes, allocations: None };
        }
        Ok(held)
    }
}

impl<'a> Machine for Slice<'a> {
    type Driver = Reservation<'a>;

    fn driver(&self) -> &Reservation<'a> {
        &self.cores
    }

    /// What the error number stands for is said here, since the number alone would not tell.
    fn open_device(&self, device: u32) -> DriverResult<OpenedDevice> {
        self.driver.attach(self.cores.devices().start + device).map_err(|fault| {
            HOOKS.log(Level::Error, format_args!("{fault}"));
            fault.errno()
        })
    }

    fn close_device(&self, device: u32) -> DriverResult<()> {
        match self.counted(device) {
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

    fn devices(&self) -> u32 {
        self.cores.devices().len() as u32
    }

    fn cores(&self, _: CoreSelection) -> CoreSelection {
        let cores = self.cores.runtime_cores();
        CoreSelection::Exact { first: cores.start, count: cores.len() as u32 }
    }

    fn held(&self, device: u32) -> Result<Held, Errno> {
        self.counted(device).map_err(Fault::errno)
    }

    fn check_closed(&self, findings: &Findings) {
        let Left { device_bytes, host_bytes, untold } = &self.left;
        let (bytes, host, untold) = (device_bytes.load(Relaxed), host_bytes.load(Relaxed), untold.load(Relaxed));
        if bytes != 0 || host != 0 {
            findings.error(format_args!(
                "the driver still counted {bytes} device bytes and {host} host bytes of this process when its devices \
                 were closed"
            ));
            findings.report(|report| report.live_device_bytes_at_exit += bytes);
        }
        if untold != 0 {
            findings.error(format_args!("the driver did not tell what was left on {untold} devices when they were closed"));
        }
    }
}
