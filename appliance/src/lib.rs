//! The inference appliance: hosts the models of a deployment on one Neuron device, serves requests to them, and checks every
//! byte. [`run`] is the whole program; the rest are the parts of it that do not touch a device: the deployment file, the
//! command line, the report with its JSON and table forms, the device list, and the weight generator.
//!
//! Nothing here allocates. Everything large is a static that is filled in place: a [`deployment::Deployment`], a
//! [`report::Report`], the storages of the runtime and of the driver model, the stacks of the threads.
#![no_std]
#![deny(missing_docs, unsafe_code)]

pub mod cli;
pub mod deployment;
pub mod info;
mod job;
pub mod json_out;
mod quote;
pub mod report;
pub mod table;
pub mod weights;

use nrt_linux::args::Args;
use nrt_linux::env::Env;

/// Runs the program and returns its exit status, one of [`cli::Exit`]. Can be called once in a process.
///
/// The environment is consulted for real devices alone: it says which cores of theirs this process may have. Everything
/// else is in the deployment.
#[must_use]
pub fn run(args: Args<'_>, env: Env<'_>) -> i32 {
    job::run(args, env) as i32
}
