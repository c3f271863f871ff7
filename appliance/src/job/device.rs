//! Real devices: the connection to the driver, and this process's cores.
//!
//! The deployment says which logical cores its models go to, counted from the first one this process has; which ones it
//! has is up to the environment, as with every program on these devices: `NEURON_RT_VISIBLE_CORES` names them,
//! `NEURON_RT_NUM_CORES` counts them, without either it is all cores of the deployment's devices.

use core::ffi::CStr;

use heapless::Vec;
use nrt_core::arch::Arch;
use nrt_core::driver::Driver as _;
use nrt_core::environment::{CoreSelection, Environment, names};
use nrt_linux::Errno;
use nrt_linux::env::Env;
use nrt_linux::neuron::{ConnectError, CoreError, LinuxDriver, Selection};

pub(super) use super::info::tell;
pub(super) use super::kernel::Slice;
use super::say::{Reason, say};
use crate::cli::Exit;
use crate::deployment::Deployment;
use crate::quote::Quote;

/// Variables that have a say in which cores a process gets.
const VARIABLES: [&str; 4] = [names::LOGICAL_NC_CONFIG, names::VIRTUAL_CORE_SIZE, names::NUM_CORES, names::VISIBLE_CORES];

/// Names and values of those that are set, with room for one more.
type Variables<'a> = Vec<(&'static str, &'a str), { VARIABLES.len() + 1 }>;

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

/// The variables of the environment that have a say in the cores.
///
/// # Errors
/// [`Exit::Usage`] for a value that is not UTF-8; said.
fn variables<'a>(env: &Env<'a>) -> Result<Variables<'a>, Exit> {
    let set = VARIABLES.iter().filter_map(|name| Some((*name, env.get(name)?)));
    set.map(|(name, value)| {
        let text = value.to_str().map_err(|_| {
            say(format_args!("{name}=\"{}\": the value is not UTF-8", Quote { bytes: CStr::to_bytes(value), limit: 60 }));
            Exit::Usage
        });
        Ok((name, text?))
    })
    .collect()
}

/// The logical core size and the logical cores of these devices that the environment wants; `size` is the logical core size of whom it is for, and
/// takes the place of the default when no variable gives one.
///
/// # Errors
/// [`Exit::Usage`] for a variable that cannot be; said.
#[inline(never)]
pub(super) fn environment(driver: &LinuxDriver, env: &Env<'_>, size: Option<u32>) -> Result<(u32, CoreSelection), Exit> {
    let mut pairs = variables(env)?;
    let given = pairs.iter().any(|(name, _)| [names::LOGICAL_NC_CONFIG, names::VIRTUAL_CORE_SIZE].contains(name));
    if let (Some(size), false) = (size, given) {
        let text = if size == 1 { "1" } else { "2" };
        // There is room for one more.
        let _ = pairs.push((names::LOGICAL_NC_CONFIG, text));
    }
    let refused = |text: core::fmt::Arguments<'_>| {
        say(text);
        Exit::Usage
    };
    let probe = driver.probe().map_err(|errno| refused(format_args!("the driver does not answer: {errno}")))?;
    Environment::cores(&pairs, &probe).map_err(|error| refused(format_args!("{error}")))
}

/// Reserves the cores that the environment names, or all of the devices, for a deployment.
///
/// # Errors
/// [`Exit::Usage`] when the deployment is for another architecture, the environment cannot be, or leaves less than the deployment needs; [`Exit::NoDevice`] when others
/// have the cores; said.
#[inline(never)]
pub(super) fn reserve<'d>(driver: &'d LinuxDriver, env: &Env<'_>, deployment: &Deployment) -> Result<Slice<'d>, Exit> {
    check_arch(driver, deployment)?;
    let size = deployment.logical_core_size;
    let (wanted, selection) = environment(driver, env, Some(size))?;
    if wanted != size {
        say(format_args!("the environment wants logical cores of {wanted} physical cores, the deployment of {size}"));
        return Err(Exit::Usage);
    }
    let have = match selection {
        CoreSelection::All => deployment.logical_cores(),
        CoreSelection::Count(count) | CoreSelection::Exact { count, .. } => count,
    };
    for model in deployment.models() {
        if model.vnc >= have {
            say(format_args!(
                "model \"{}\", key \"vnc\": logical core {} is wanted, and this process is to have {have} ({}, {})",
                model.name,
                model.vnc,
                names::VISIBLE_CORES,
                names::NUM_CORES
            ));
            return Err(Exit::Usage);
        }
    }
    let cores = driver.reserve(selection, size).map_err(|error| {
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
