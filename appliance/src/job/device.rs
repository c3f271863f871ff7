//! Real devices: the connection to the driver, and this process's cores.

use nrt_core::arch::Arch;
use nrt_core::driver::{Driver as _, Probe};
use nrt_core::environment::Environment;
use nrt_linux::Errno;
use nrt_linux::neuron::{ConnectError, CoreError, LinuxDriver, Selection};

pub(super) use super::info::tell;
pub(super) use super::kernel::Slice;
use super::say::{Reason, say};
use crate::cli::Exit;
use crate::deployment::Deployment;

/// A connection to the driver.
pub(super) type Connection = LinuxDriver;

/// Connects to the driver for `devices` devices from `/dev/neuron<first>` on.
///
/// # Errors
/// [`Exit::NoDevice`]; why has been said.
#[inline(never)]
pub(super) fn connect(first: u32, devices: u32) -> Result<LinuxDriver, Exit> {
    // At least one, at most 64 devices, so both shifts are in range.
    let nodes = (u64::MAX >> (64 - devices.clamp(1, 64))).checked_shl(first).unwrap_or(0);
    connected(LinuxDriver::connect(Selection::Nodes(nodes)))
}

/// The connection, or [`Exit::NoDevice`] when there is none; why is said.
///
/// # Errors
/// See above.
#[inline(never)]
pub(super) fn connected(result: Result<LinuxDriver, ConnectError>) -> Result<LinuxDriver, Exit> {
    result.map_err(|error| {
        match error {
            ConnectError::Open { node, errno } => {
                let hint = match errno {
                    Errno::ACCESS | Errno::PERM => "; the node is root's, unless the driver's package opens it to all",
                    Errno::NODEV | Errno::NXIO => "; the node is there, but no driver serves it",
                    _ => "",
                };
                say(format_args!("/dev/neuron{node} cannot be opened: {}{hint}", Reason(errno)));
            }
            ConnectError::NoDevice | ConnectError::Absent { .. } => say(format_args!(
                "{error}; without --device the in-process model of the driver serves, and any program can be run under \
                 nrt-emulate"
            )),
            _ => say(format_args!("{error}")),
        }
        Exit::NoDevice
    })
}

/// Architecture of the devices.
pub(super) fn arch(connection: &Connection) -> Arch {
    connection.machine().arch
}

/// Checks that a deployment is one for these devices.
///
/// # Errors
/// [`Exit::Usage`] when it is for another architecture; said.
fn check_arch(driver: &LinuxDriver, deployment: &Deployment) -> Result<(), Exit> {
    let machine = driver.machine();
    if machine.arch == deployment.arch() {
        return Ok(());
    }
    say(format_args!(
        "the deployment is for {}, /dev/neuron{} is a device of {}",
        deployment.arch(),
        machine.first_node(),
        machine.arch
    ));
    Err(Exit::Usage)
}

/// What the driver says of the machine, which is one for the deployment.
///
/// # Errors
/// [`Exit::Usage`] when the deployment is for another architecture, or the driver does not answer; said.
#[inline(never)]
pub(super) fn machine(driver: &LinuxDriver, deployment: &Deployment) -> Result<Probe, Exit> {
    check_arch(driver, deployment)?;
    probe(driver)
}

/// What the driver says of the machine.
///
/// # Errors
/// [`Exit::Usage`] when it does not answer; said.
pub(super) fn probe(driver: &LinuxDriver) -> Result<Probe, Exit> {
    driver.probe().map_err(|errno| {
        say(format_args!("the driver does not answer: {errno}"));
        Exit::Usage
    })
}

/// Reserves the cores that the environment names, or all of the devices.
///
/// # Errors
/// [`Exit::Usage`] when the choice cannot be; [`Exit::NoDevice`] when others have the cores; said.
#[inline(never)]
pub(super) fn reserve<'d>(driver: &'d LinuxDriver, environment: &Environment) -> Result<Slice<'d>, Exit> {
    let cores = driver.reserve(environment.cores, environment.logical_core_size).map_err(|error| {
        match driver.explain(&error) {
            Some(conflict) => say(format_args!("the cores are not free: {conflict}")),
            None => say(format_args!("the cores cannot be reserved: {error}")),
        }
        match error {
            CoreError::Choice(_) => Exit::Usage,
            _ => Exit::NoDevice,
        }
    })?;
    Ok(Slice::new(driver, cores))
}
