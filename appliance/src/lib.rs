//! nrt-appliance: hosts the models of a deployment on one Neuron device.
#![no_std]

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
