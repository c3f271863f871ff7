//! The parts of the inference appliance that do not touch the device: the deployment file, the command line, the
//! report with its JSON and table forms, and the weight generator.
//!
//! Nothing here allocates, and no value larger than a few hundred bytes passes over the stack: a [`deployment::Deployment`]
//! and a [`report::Report`] are statics that are filled in place.
#![no_std]
#![deny(missing_docs)]

pub mod cli;
pub mod deployment;
pub mod json_out;
mod quote;
pub mod report;
pub mod table;
pub mod usage;
pub mod weights;

use core::fmt::Write as _;

use nrt_linux::args::Args;
use nrt_linux::env::Env;
use nrt_linux::output::{self, Buffered};

/// Runs the program and returns its exit status.
#[must_use]
pub fn run(_args: Args<'_>, _env: Env<'_>) -> i32 {
    let mut text: Buffered<'_> = Buffered::new(output::stderr());
    let _ = writeln!(text, "usage: nrt-appliance [DEPLOYMENT.json] [--device PATH | --simulate ARCH] [--json]");
    2
}
