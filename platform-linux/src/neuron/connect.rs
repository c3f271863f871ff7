//! Finding the devices and the driver (`driver-abi` §§2, 6).
#![allow(unsafe_code, reason = "sends requests whose structs point to memory")]

use core::fmt;
use core::ops::Deref;

use nrt_core::arch::Arch;
use nrt_core::driver::Errno;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno as SystemErrno;

use super::forms::Forms;
use super::holders::decimal;
use super::slot::Slot;
use super::sysfs;
use super::system::{Kind, Linux, System};
use super::version::{DriverVersion, RuntimeRange};
use crate::request::{CompatibleVersion, DeviceBasicInfo, DriverInfoGet, Reply, Request};

/// Device nodes there can be.
pub const MAX_DEVICES: u32 = 64;

/// Cores a device can have.
pub const MAX_CORES_PER_DEVICE: u32 = 8;

/// The devices a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Every device this process can see.
    All,
    /// The device nodes of these numbers, bit i for `/dev/neuron<i>`.
    Nodes(u64),
}

impl Selection {
    /// The one device `/dev/neuron<node>`.
    #[must_use]
    pub const fn one(node: u32) -> Self {
        Self::Nodes(if node < MAX_DEVICES { 1 << node } else { 0 })
    }
}

/// Why there is no client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// This process has a client already (or inherited one over a fork and has not dropped it).
    AlreadyConnected,
    /// There is no device node.
    NoDevice,
    /// A wanted device node is not there.
    Absent {
        /// Number of the node.
        node: u32,
    },
    /// The driver is older than 2, which nothing here can talk to.
    TooOld(DriverVersion),
    /// The first device cannot be opened.
    Open {
        /// Number of the node.
        node: u32,
        /// The answer.
        errno: SystemErrno,
    },
    /// A question was not answered.
    Question {
        /// The request.
        request: &'static str,
        /// The answer.
        errno: Errno,
    },
    /// An architecture this runtime does not know.
    Architecture(u32),
    /// The driver does not serve this runtime.
    Incompatible {
        /// Architecture of the devices.
        arch: Arch,
        /// Version of the driver, if it can be read.
        version: Option<DriverVersion>,
        /// What the driver serves.
        driver: RuntimeRange,
        /// What this runtime speaks.
        runtime: RuntimeRange,
    },
    /// A number of cores no device has.
    Cores(u32),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyConnected => f.write_str("this process has a connection to the driver already"),
            Self::NoDevice => f.write_str("there is no device node /dev/neuron0 to /dev/neuron63"),
            Self::Absent { node } => write!(f, "there is no device /dev/neuron{node}"),
            Self::TooOld(version) => write!(f, "driver {version} is too old, 2.1.5 is the first that can be used"),
            Self::Open { node, errno } => write!(f, "/dev/neuron{node} cannot be opened: {errno}"),
            Self::Question { request, errno } => write!(f, "the driver did not answer {request}: {errno}"),
            Self::Architecture(number) => write!(f, "devices of architecture {number} are unknown, expected 2 to 4"),
            Self::Incompatible { arch, version, driver, runtime } => {
                f.write_str("driver ")?;
                if let Some(version) = version {
                    write!(f, "{version} ")?;
                }
                write!(f, "serves runtime interfaces {driver}, this runtime speaks {runtime} on {arch}")
            }
            Self::Cores(count) => write!(f, "the driver reports {count} cores per device, expected 1 to 8"),
        }
    }
}

impl core::error::Error for ConnectError {}

/// What the machine has, as the driver tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Bit i: `/dev/neuron<i>` is one of the devices of this client.
    pub nodes: u64,
    /// Architecture of all devices.
    pub arch: Arch,
    /// PCI revision; 240 is a hardware emulator, 255 is QEMU.
    pub revision: u32,
    /// Cores of each device.
    pub cores_per_device: u32,
    /// Feature bits, 0 for drivers before 2.12.11.
    pub features: u64,
    /// Runtimes the driver serves.
    pub serves: RuntimeRange,
    /// Version of the driver, if it can be read.
    pub version: Option<DriverVersion>,
    /// Forms of the requests in use.
    pub forms: Forms,
}

impl Machine {
    /// Number of devices.
    #[must_use]
    pub const fn devices(&self) -> u32 {
        self.nodes.count_ones()
    }

    /// Number of the node of the `device`-th device, lowest first.
    #[must_use]
    pub fn node(&self, device: u32) -> Option<u32> {
        (0..MAX_DEVICES).filter(|node| self.nodes >> node & 1 != 0).nth(device as usize)
    }

    /// Number of the lowest node, from which the driver counts cores.
    #[must_use]
    pub const fn first_node(&self) -> u32 {
        self.nodes.trailing_zeros()
    }
}

/// The connection of this process to the driver.
///
/// It holds one misc descriptor for the process, on its lowest device, and at most one full descriptor per device, all
/// close-on-exec and none ever duplicated. There is one connection per process at a time.
///
/// # Fork
/// A connection belongs to the process that made it. In a forked child every request is refused, because the driver would
/// end the child at its first allocation; the child drops the inherited connection and makes its own.
#[derive(Debug)]
pub struct LinuxDriver<S: System = Linux> {
    pub(super) machine: Machine,
    /// Discovery and core reservation. Its close drops every core of the process.
    pub(super) misc: OwnedFd,
    pub(super) owner: u32,
    pub(super) slots: [Slot; MAX_DEVICES as usize],
    /// Last, so that the claim ends when the descriptors are closed: the close of this misc descriptor would drop the
    /// cores of the next connection.
    pub(super) system: Claimed<S>,
}

/// A system whose claim ends with this.
#[derive(Debug)]
pub(super) struct Claimed<S: System>(S);

impl<S: System> Deref for Claimed<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: System> Drop for Claimed<S> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl LinuxDriver<Linux> {
    /// Finds the devices and asks the driver what it can do. No process slot is taken yet.
    ///
    /// # Errors
    /// [`ConnectError`], each with its reason.
    pub fn connect(selection: Selection) -> Result<Self, ConnectError> {
        Self::connect_through(Linux, selection)
    }
}

impl<S: System> LinuxDriver<S> {
    /// [`connect`](LinuxDriver::connect) through other system calls.
    ///
    /// # Errors
    /// As [`connect`](LinuxDriver::connect).
    pub fn connect_through(system: S, selection: Selection) -> Result<Self, ConnectError> {
        if !system.claim() {
            return Err(ConnectError::AlreadyConnected);
        }
        let system = Claimed(system);
        let (machine, misc) = discover(&*system, selection)?;
        let owner = system.pid();
        Ok(Self { system, machine, misc, owner, slots: [const { Slot::new() }; MAX_DEVICES as usize] })
    }

    /// Gives up forms of requests although the driver has them: to behave as with an older driver, or to rule a newer path
    /// out when something is wrong. To be called before a device is opened.
    ///
    /// # Errors
    /// The connection, when a device is open: its memory was allocated with the forms of before.
    #[allow(clippy::result_large_err, reason = "the error is the connection itself")]
    pub fn limited_to(mut self, forms: Forms) -> Result<Self, Self> {
        if self.slots.iter().any(Slot::is_open) {
            return Err(self);
        }
        self.machine.forms = self.machine.forms.and(forms);
        Ok(self)
    }

    /// What the machine has.
    #[must_use]
    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The system calls in use.
    #[must_use]
    pub fn system(&self) -> &S {
        &self.system
    }
}

impl<S: System> Drop for LinuxDriver<S> {
    fn drop(&mut self) {
        for (device, slot) in self.slots.iter().enumerate() {
            // A device with mappings stays open until the process ends: the kernel then removes the mappings first.
            // Exclusive access means that no request is under way.
            let _ = slot.close(device as u32);
        }
    }
}

/// The device nodes there are: by the names in `/dev`, or one by one where the directory cannot be read.
fn nodes_present<S: System>(system: &S) -> u64 {
    let mut named = 0_u64;
    let listed = system.list(c"/dev", &mut |name| {
        let number = name.strip_prefix(b"neuron").and_then(decimal).filter(|&number| number < MAX_DEVICES);
        named |= number.map_or(0, |number| 1 << number);
        true
    });
    let candidates = if listed.is_ok() { named } else { u64::MAX };
    (0..MAX_DEVICES).filter(|&node| candidates >> node & 1 != 0 && system.present(node)).fold(0, |nodes, node| nodes | 1 << node)
}

/// The machine, and the misc descriptor on its lowest device.
fn discover<S: System>(system: &S, selection: Selection) -> Result<(Machine, OwnedFd), ConnectError> {
    let version = sysfs::driver_version(system);
    if let Some(version) = version
        && version < DriverVersion([2, 1, 5, 0])
    {
        return Err(ConnectError::TooOld(version));
    }
    let present = nodes_present(system);
    let nodes = match selection {
        Selection::All => present,
        Selection::Nodes(wanted) if wanted & !present != 0 => {
            return Err(ConnectError::Absent { node: (wanted & !present).trailing_zeros() });
        }
        Selection::Nodes(wanted) => wanted,
    };
    if nodes == 0 {
        return Err(ConnectError::NoDevice);
    }
    let node: u32 = nodes.trailing_zeros();
    let misc = system.open(node, Kind::Misc).map_err(|errno| ConnectError::Open { node, errno })?;
    let basic = ask(system, &misc, DeviceBasicInfo::new())?;
    let arch = Arch::from_number(basic.architecture).ok_or(ConnectError::Architecture(basic.architecture))?;
    let features = match ask(system, &misc, DriverInfoGet::new()) {
        Ok(info) => info.feature_flags1,
        // Drivers before 2.12.11 do not know the question.
        Err(ConnectError::Question { errno: Errno::EINVAL, .. }) => 0,
        Err(error) => return Err(error),
    };
    let range = ask(system, &misc, CompatibleVersion::new())?;
    let serves = RuntimeRange { min: range.min, max: range.max };
    let runtime = RuntimeRange::ours(arch);
    if !runtime.served_by(serves) {
        return Err(ConnectError::Incompatible { arch, version, driver: serves, runtime });
    }
    // Readable for root only in drivers before 2.28.
    let cores_per_device = sysfs::number(system, node, "core_count").map_or(arch.cores_per_device(), |count| count as u32);
    if cores_per_device == 0 || cores_per_device > MAX_CORES_PER_DEVICE {
        return Err(ConnectError::Cores(cores_per_device));
    }
    let forms = Forms::settle(arch, features, serves.max);
    let machine = Machine { nodes, arch, revision: basic.revision, cores_per_device, features, serves, version, forms };
    Ok((machine, misc))
}

fn ask<S: System, R: Request>(system: &S, misc: &OwnedFd, request: R) -> Result<R::Argument, ConnectError> {
    // SAFETY: the descriptor was opened by this system.
    unsafe { system.request(misc.as_fd(), request) }
        .map_err(crate::driver_errno)
        .and_then(Reply::done)
        .map_err(|errno| ConnectError::Question { request: R::NAME, errno })
}
