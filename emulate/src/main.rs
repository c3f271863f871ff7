//! nrt-emulate: runs unmodified programs against a model of the Neuron kernel driver.
//!
//! The program runs under a seccomp filter that traps calls with a path and calls on the descriptors of devices; the
//! supervisor answers those from the kernel model of `nrt-sim`. Device memory is a memfd in which the offset is the
//! physical address, so that the program's `mmap` needs no help and both sides see the same pages. Every other system
//! call runs at full speed.
#![deny(missing_docs)]

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("the emulator needs Linux on x86-64");

mod arguments;
mod cli;
mod closings;
mod faults;
mod files;
mod filter;
mod inject;
mod launch;
mod ledger;
mod listing;
mod memory;
mod nodes;
mod null;
mod output;
mod path_only;
mod paths;
mod process;
mod program;
mod remote;
mod report;
mod requests;
mod resolve;
mod seccomp;
mod stat;
mod supervisor;
mod tree;
mod world;

use std::process::ExitCode;

use clap::Parser;

use cli::Options;
use faults::Faults;
use output::{Output, Style};
use process::Processes;
use supervisor::Supervisor;
use world::{World, WorldError};

/// Exit status of the emulator's own failures.
const FAILED: u8 = 125;

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => {
            // Help and version are what was asked for.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS };
        }
    };
    match run(&options) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("nrt-emulate: {error}");
            ExitCode::from(FAILED)
        }
    }
}

/// Runs the program; answers the exit status.
fn run(options: &Options) -> Result<u8, String> {
    tree::check_place()?;
    let output = Output::new(options.output.as_deref(), options.trace).map_err(|error| format!("output: {error}"))?;
    let world = World::new(options.config(), output, options.trace.is_some(), options.report).map_err(|error| match error {
        WorldError::Config(error) => error.to_string(),
        WorldError::Memory(error) => format!("no memory for the devices: {error}"),
    })?;
    let signals = supervisor::signals().map_err(|error| format!("signals: {error}"))?;
    let (first, limit) = launch::window().map_err(|error| error.to_string())?;
    let [program, arguments @ ..] = &options.program[..] else { return Err("no program".to_owned()) };
    let child = launch::launch(program, arguments, first, &limit).map_err(|error| error.to_string())?;
    launch::raise_limit(&limit).map_err(|error| format!("limit of open files: {error}"))?;
    if options.null {
        return null::run(&child).map(|status| status as u8).map_err(|error| format!("the supervision ended: {error}"));
    }
    let processes = Processes::new(first, limit.rlim_max);
    let mut supervisor = Supervisor::new(world, child, processes, Faults::new(options.fail.clone()), signals)
        .map_err(|error| error.to_string())?;
    let status = supervisor.run().map_err(|error| format!("the supervision ended: {error}"))?;
    if options.report {
        supervisor.report(options.trace == Some(Style::Json));
    }
    if let Some(reason) = supervisor.not_executed() {
        eprintln!("nrt-emulate: {}: {reason}", program.to_string_lossy());
    }
    // Exit statuses are a byte.
    Ok(status as u8)
}
