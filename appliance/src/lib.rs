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
pub mod report;
pub mod table;
pub mod weights;

mod program;

use nrt_capacity::quote;
pub use nrt_capacity::{demand, json_out};
pub use program::{Memory, run, run_on};
