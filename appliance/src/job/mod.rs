//! The main job: host the models of a deployment, serve requests to them, reload them under that load, and check everything.
//!
//! In order, each step in a room of its own:
//!
//! | room | step |
//! | --- | --- |
//! | [`read`] | the deployment, from its file or built in |
//! | [`source`] | the weights files, opened before anything is allocated |
//! | [`capacity`] | whether it all fits the static memory |
//! | [`host`] | bring-up, then the steps below, then close |
//! | [`server`] | the resident models: load, reload, unload; [`plan`] says what a model consists of |
//! | [`tensors`], [`serve`], [`request`] | threads that serve, one request, the reloads under load |
//! | [`holders`] | who holds which bytes |
//! | [`verify`] | whether the device still holds what was loaded |
//! | [`close`] | the proof that nothing is left |
//!
//! # Exit status
//! 0 only if every check held. What goes wrong before the job starts is a line on standard error and status 2 or 3; nothing
//! is written to standard output then. What goes wrong afterwards is in the report, and the status is 1.

mod backing;
mod capacity;
mod close;
mod findings;
mod holders;
mod host;
mod locked;
mod plan;
mod progress;
mod read;
mod request;
mod say;
mod serve;
mod server;
mod source;
mod statics;
mod tensors;
mod verify;

use core::ffi::CStr;
use core::fmt;

use nrt_linux::args::Args;
use nrt_linux::device::{self, Node};
use nrt_linux::file::PathBuffer;
use nrt_linux::output::{Buffered, stdout};
use nrt_linux::process;

use crate::cli::{self, Command, Exit, HELP, Run, Target, VERSION};
use crate::quote::Quote;
use crate::report::Report;
use findings::Findings;
use say::{Reason, say};
use statics::{HOOKS, REPORT, STORAGE, TABLES};

/// Does what the command line asks for. Can be called once.
pub(crate) fn run(args: Args<'_>) -> Exit {
    match cli::parse(args.operands().map(CStr::to_bytes)) {
        Ok(Command::Run(run)) => serve_deployment(&run).unwrap_or_else(|exit| exit),
        Ok(Command::Help) => print(|out| out.write_str(HELP)),
        Ok(Command::Version) => print(|out| out.write_str(VERSION)),
        Err(error) => {
            say(format_args!("{error}\nTry --help."));
            Exit::Usage
        }
    }
}

/// The main job.
fn serve_deployment(run: &Run<'_>) -> Result<Exit, Exit> {
    // An empty path fits every buffer.
    let mut path = PathBuffer::new(b"").map_err(|_| Exit::Usage)?;
    let deployment = read::deployment(run, &mut path)?;
    let sources = source::open_all(deployment, path.as_c_str())?;
    capacity::check(deployment, &sources, STORAGE.capacities())?;
    if let Target::Device { path, .. } = run.target {
        return Err(no_device(path));
    }
    HOOKS.log_settings().set_level(Some(run.log));
    let report: &mut Report = REPORT.take();
    report.set_arch(deployment.arch());
    report.logical_cores = deployment.logical_cores();
    let findings = Findings::new(report);
    let tables = TABLES.take();
    host::host(deployment, &sources, run.reserve, &findings, tables);
    let report = findings.into_report();
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

/// Says why a device is not served.
fn no_device(path: &[u8]) -> Exit {
    let shown = Quote { bytes: path, limit: 200 };
    match PathBuffer::new(path).map(|path| device::probe(path.as_c_str())) {
        Ok(Node::Refused(errno)) => say(format_args!("{shown}: the device cannot be opened: {}", Reason(errno))),
        Ok(node @ (Node::Absent | Node::NotADevice)) => say(format_args!("{shown}: {node}")),
        Ok(Node::Opens) => say(format_args!(
            "{shown}: the device is there, but this version serves on the in-process model of the driver only; leave --device out"
        )),
        Err(errno) => say(format_args!("{shown}: {}", Reason(errno))),
    }
    Exit::NoDevice
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
