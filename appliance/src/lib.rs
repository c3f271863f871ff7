//! The parts of the inference appliance that do not touch the device: the deployment file, the command line, the
//! report with its JSON and table forms, and the weight generator.
//!
//! Nothing here allocates, and no value larger than a few hundred bytes passes over the stack: a [`deployment::Deployment`]
//! and a [`report::Report`] are statics that are filled in place.
#![no_std]
#![deny(missing_docs, unsafe_code)]

pub mod cli;
pub mod deployment;
pub mod json_out;
mod quote;
pub mod report;
pub mod table;
pub mod usage;
pub mod weights;
