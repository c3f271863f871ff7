//! What the environment asks for, as with every program on these devices.
//!
//! The deployment says which logical cores its models go to, counted from the first one this process has; which ones it
//! has is up to the environment: `NEURON_RT_VISIBLE_CORES` names them, `NEURON_RT_NUM_CORES` counts them, without either it is
//! all cores of the deployment's devices. How the runtime cuts scratchpads, copies and keeps its books is up to it as well.

use core::ffi::CStr;

use heapless::Vec;
use nrt_core::driver::Probe;
use nrt_core::environment::{CoreSelection, Environment, names};
use nrt_linux::env::Env;

use super::say::say;
use crate::cli::Exit;
use crate::deployment::Deployment;
use crate::quote::Quote;

/// Names and values of the variables that are set, with room for one more.
type Variables<'a> = Vec<(&'static str, &'a str), { names::ALL.len() + 1 }>;

/// The variables of the environment that have a say.
///
/// # Errors
/// [`Exit::Usage`] for a value that is not UTF-8; said.
fn variables<'a>(env: &Env<'a>) -> Result<Variables<'a>, Exit> {
    let set = names::ALL.iter().filter_map(|name| Some((*name, env.get(name)?)));
    set.map(|(name, value)| {
        let text = value.to_str().map_err(|_| {
            say(format_args!("{name}=\"{}\": the value is not UTF-8", Quote { bytes: CStr::to_bytes(value), limit: 60 }));
            Exit::Usage
        });
        Ok((name, text?))
    })
    .collect()
}

/// What the environment asks for on a machine; `size` is the logical core size of whom it is for, and takes the place of the
/// default when no variable gives one.
///
/// # Errors
/// [`Exit::Usage`] for a variable that cannot be; said.
#[inline(never)]
pub(super) fn read(env: &Env<'_>, machine: &Probe, size: Option<u32>) -> Result<Environment, Exit> {
    let mut pairs = variables(env)?;
    let given = pairs.iter().any(|(name, _)| [names::LOGICAL_NC_CONFIG, names::VIRTUAL_CORE_SIZE].contains(name));
    if let (Some(size), false) = (size, given) {
        let text = if size == 1 { "1" } else { "2" };
        // There is room for one more.
        let _ = pairs.push((names::LOGICAL_NC_CONFIG, text));
    }
    Environment::parse(&pairs, machine).map_err(|error| {
        say(format_args!("{error}"));
        Exit::Usage
    })
}

/// What the environment asks for on the machine of a deployment.
///
/// # Errors
/// [`Exit::Usage`] for a variable that cannot be, or that leaves less than the deployment needs; said.
#[inline(never)]
pub(super) fn for_deployment(env: &Env<'_>, machine: &Probe, deployment: &Deployment) -> Result<Environment, Exit> {
    let size = deployment.logical_core_size;
    let environment = read(env, machine, Some(size))?;
    let wanted = environment.logical_core_size;
    if wanted != size {
        say(format_args!("the environment wants logical cores of {wanted} physical cores, the deployment of {size}"));
        return Err(Exit::Usage);
    }
    let have = logical_cores(&environment, deployment);
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
    Ok(environment)
}

/// Logical cores that this process gets.
pub(super) fn logical_cores(environment: &Environment, deployment: &Deployment) -> u32 {
    match environment.cores {
        CoreSelection::All => deployment.logical_cores(),
        CoreSelection::Count(count) | CoreSelection::Exact { count, .. } => count,
    }
}
