//! The main job: host the models of a deployment, serve requests to them, reload them under that load, and check everything.
//!
//! In order, each step in a room of its own:
//!
//! | room | step |
//! | --- | --- |
//! | [`read`] | the deployment, from its file or built in |
//! | [`source`] | the weights files, opened before anything is allocated |
//! | [`environment`] | what the environment asks for |
//! | [`capacity`] | whether it all fits the static memory |
//! | [`device`], `kernel` | real devices: the connection and this process's cores |
//! | [`model`], `backing` | the model of the driver |
//! | [`driver`] | the one driver behind the runtime |
//! | [`host`] | bring-up, then the steps below, then close |
//! | [`server`] | the resident models: load, reload, unload; [`plan`] says what a model consists of |
//! | [`tensors`], [`serve`], [`request`] | threads that serve, one request, the reloads under load |
//! | [`hooks`] | platform services that count what the runtime does |
//! | [`holders`], [`sharing`] | who holds which bytes; what models share |
//! | [`verify`] | whether the device still holds what was loaded |
//! | [`close`] | the proof that nothing is left |
//!
//! The steps are not inlined into each other: in one frame of many kilobytes every local has a long offset, which made the
//! program larger by a hundredth (`docs/footprint.md`).
//!
//! # Exit status
//! 0 only if every check held. What goes wrong before the job starts is a line on standard error and status 2 or 3; nothing
//! is written to standard output then. `info` is another job: what there is to tell about the devices. What goes wrong afterwards is in the report, and the status is 1.

#[cfg(not(all(feature = "device", feature = "simulate")))]
mod absent;
#[cfg(feature = "simulate")]
mod backing;
mod capacity;
mod close;
#[cfg_attr(not(feature = "device"), path = "no_device.rs")]
mod device;
mod driver;
mod environment;
mod findings;
mod holders;
mod hooks;
mod host;
#[cfg(feature = "device")]
mod info;
#[cfg(feature = "device")]
mod kernel;
mod locked;
#[cfg_attr(not(feature = "simulate"), path = "no_model.rs")]
mod model;
mod plan;
mod progress;
mod read;
mod request;
mod say;
mod serve;
mod server;
mod sharing;
mod source;
mod statics;
mod tensors;
mod verify;

use core::ffi::CStr;
use core::fmt;

use nrt_core::driver::Probe;
use nrt_core::hooks::Hooks as _;
use nrt_linux::args::Args;
use nrt_linux::env::Env;
use nrt_linux::file::PathBuffer;
use nrt_linux::output::{Buffered, stdout};
use nrt_linux::process;

use crate::Memory;
use crate::cli::{self, Command, Exit, HELP, Run, Target, VERSION};
use crate::report::Report;
use crate::table::Size;
use findings::Findings;
use host::Job;
use say::{Reason, say};
pub(crate) use statics::STORAGE;
use statics::{HOOKS, REPORT, TABLES};

/// Stack that the main thread needs, in bytes; it has 8 MiB unless somebody limits it.
const STACK_BYTES: u64 = 512 << 10;

/// Does what the command line asks for. Can be called once.
pub(crate) fn run(memory: &Memory, args: Args<'_>, env: Env<'_>) -> Exit {
    let started = HOOKS.now_ns();
    if let Some(limit) = process::stack_limit().filter(|&limit| limit < STACK_BYTES) {
        let (limit, need) = (Size(limit), Size(STACK_BYTES));
        say(format_args!("the stack is limited to {limit}, {need} are needed (ulimit -s)"));
        return Exit::NoStart;
    }
    match cli::parse(args.operands().map(CStr::to_bytes)) {
        Ok(Command::Run(run)) => serve_deployment(started, memory, &run, &env).unwrap_or_else(|exit| exit),
        Ok(Command::Info(wanted)) => device::tell(&wanted, &env).unwrap_or_else(|exit| exit),
        Ok(Command::Help) => print(|out| out.write_str(HELP)),
        Ok(Command::Version) => print(|out| out.write_str(VERSION)),
        Err(error) => {
            say(format_args!("{error}\nTry --help."));
            Exit::Usage
        }
    }
}

/// The main job.
fn serve_deployment(started: u64, memory: &Memory, run: &Run<'_>, env: &Env<'_>) -> Result<Exit, Exit> {
    HOOKS.linux.log_settings().set_level(Some(run.log));
    let number = match run.target {
        Target::Device { number } => Some(number),
        Target::Simulated(_) => {
            model::available()?;
            None
        }
    };
    // The deployment built in is for whatever device there is, so the device comes first.
    let early = match (number, run.deployment) {
        (Some(number), None) => Some(device::connect(number, 1)?),
        _ => None,
    };
    let arch = run.target.arch().or(early.as_ref().map(device::arch));
    // An empty path fits every buffer.
    let mut path = PathBuffer::new(b"").map_err(|_| Exit::Usage)?;
    let deployment = read::deployment(run, arch, &mut path)?;
    let sources = source::open_all(deployment, path.as_c_str())?;
    let kernel = match (early, number) {
        (None, Some(number)) => Some(device::connect(number, deployment.devices)?),
        (early, _) => early,
    };
    let machine = match &kernel {
        Some(driver) => device::machine(driver, deployment)?,
        None => {
            let (arch, devices) = (deployment.arch(), deployment.devices);
            Probe { arch, revision: 0, devices, cores_per_device: arch.cores_per_device(), features: 0 }
        }
    };
    let environment = &environment::for_deployment(env, &machine, deployment)?;
    if memory.checked {
        capacity::check(deployment, environment, &sources, memory.storage.capacities())?;
    }
    let slice = kernel.as_ref().map(|driver| device::reserve(driver, environment)).transpose()?;
    let report: &mut Report = REPORT.take();
    report.set_arch(deployment.arch());
    report.logical_cores = environment::logical_cores(environment, deployment);
    let findings = Findings::new(report);
    let tables = TABLES.take();
    let job = Job {
        started,
        storage: memory.storage,
        deployment,
        environment,
        sources: &sources,
        reserve: run.reserve,
        findings: &findings,
        tables,
    };
    host::host(slice, job);
    let no_device = findings.has_no_device();
    let report = findings.into_report();
    if no_device {
        report.errors().for_each(|error| say(format_args!("{error}")));
        return Err(Exit::NoDevice);
    }
    report.events = HOOKS.events();
    report.resident_anonymous_bytes_at_exit = process::resident_anonymous_bytes().ok();
    let printed = print(|out| {
        if run.json {
            report.write_json(out)?;
            return out.write_char('\n');
        }
        tables.write(out)?;
        report.write_text(out)
    });
    if report.holds() {
        return Ok(printed);
    }
    // The report may be in a file or a pipe by now: what went wrong is said where people look.
    report.errors().for_each(|error| say(format_args!("{error}")));
    Ok(Exit::CheckFailed)
}

/// Writes to standard output, all of it.
fn print(write: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result) -> Exit {
    let mut out: Buffered<'_> = Buffered::new(stdout());
    let written = write(&mut out);
    match out.flush() {
        Ok(()) if written.is_ok() => Exit::Success,
        Ok(()) => Exit::CheckFailed,
        Err(errno) => {
            say(format_args!("standard output cannot be written: {}", Reason(errno)));
            Exit::CheckFailed
        }
    }
}
