//! From bring-up to close, on the in-process model of the driver or on real devices.

use nrt_core::driver::Call;
use nrt_core::environment::Environment;
use nrt_core::hooks::Hooks as _;
use nrt_core::reserved_hbm::ReservedHbm;
use nrt_core::{AnyStorage, Cause, Config, CoreUsage};

use super::close;
use super::device::Slice;
use super::driver::Door;
use super::findings::Findings;
use super::holders::{self, Tables};
use super::model;
use super::progress::Progress;
use super::serve;
use super::server::{Runtime, Server};
use super::sharing;
use super::source::Sources;
use super::statics::{BUFFERS, HOOKS, RESERVE};
use super::tensors::Tensors;
use super::verify;
use crate::deployment::Deployment;

/// What there is to host, and where findings go.
pub(super) struct Job<'a> {
    /// When the program started, on the clock of the hooks.
    pub(super) started: u64,
    /// Memory of the runtime.
    pub(super) storage: &'static dyn AnyStorage,
    pub(super) deployment: &'static Deployment,
    /// What the environment asks for, checked against the machine and the deployment.
    pub(super) environment: &'a Environment,
    pub(super) sources: &'a Sources,
    /// Bytes to reserve for every core, if any.
    pub(super) reserve: Option<u64>,
    pub(super) findings: &'a Findings,
    pub(super) tables: &'a mut Tables,
}

/// Hosts the models of a deployment from the first to the last step, on a slice of the real devices or else on the model of
/// the driver; whatever does not hold is in the findings, also that a device cannot be opened. Can be called once.
pub(super) fn host(slice: Option<Slice<'_>>, job: Job<'_>) {
    if let Some(slice) = slice {
        return through(&Door::Kernel(slice), job);
    }
    model::with(job.deployment, job.findings, |model| through(&Door::Modelled(model), job));
}

/// Everything on one driver.
#[inline(never)]
fn through(door: &Door<'_>, job: Job<'_>) {
    let Job { started, storage, deployment, environment, sources, reserve, findings, tables } = job;
    let reserved = match ReservedHbm::new(door, &HOOKS, &RESERVE) {
        Ok(reserved) => reserved,
        Err(error) => return findings.fail(format_args!("the reservations cannot be used: {error}")),
    };
    let mut config = Config::from_environment(&HOOKS, environment);
    config.cores = door.cores(environment.cores);
    config.contiguous_scratchpad |= deployment.contiguous_scratchpad;
    match Runtime::init(storage, &reserved, config) {
        Ok(runtime) => {
            findings.report(|report| report.ready_us = microseconds_since(started));
            if let Some(bytes) = reserve {
                reserve_everywhere(&runtime, bytes, findings);
            }
            on_runtime(&Server::new(&runtime, deployment, sources, findings), started, tables);
            close::check_unloaded(&runtime, door, findings);
            close::close(&runtime, findings);
        }
        Err(error) => {
            if let Cause::Driver { call: Call::Open, .. } = error.cause {
                findings.no_device();
            }
            findings.fail(format_args!("the runtime does not start: {error}"));
        }
    }
    door.check_closed(findings);
}

/// Microseconds since a moment on the clock of the hooks.
fn microseconds_since(moment: u64) -> u64 {
    HOOKS.now_ns().saturating_sub(moment) / 1000
}

/// Reserves memory for every core, on its own HBM.
#[inline(never)]
fn reserve_everywhere(runtime: &Runtime<'_>, bytes: u64, findings: &Findings) {
    let visit: &mut dyn FnMut(&CoreUsage) = &mut |usage| {
        let (device, core) = (usage.device, usage.core);
        let channel = runtime.arch().default_channel(core);
        if !findings.failed()
            && let Err(error) = runtime.driver().reserve(device, core, channel, bytes)
        {
            findings.fail(format_args!("{bytes} bytes cannot be reserved for ND{device}:NC{core}: {error}"));
        }
    };
    if let Err(error) = runtime.for_each_core_usage(visit) {
        findings.fail(format_args!("the cores to reserve for cannot be told: {error}"));
    }
}

/// Everything between bring-up and close.
#[inline(never)]
fn on_runtime(server: &Server<'_>, started: u64, tables: &mut Tables) {
    let findings = server.findings;
    let mut progress = Progress::new();
    let mut tensors = Tensors::new(server);
    if !findings.failed() {
        server.load_all(|model| {
            progress.show(format_args!("loading \"{}\"", model.name));
        });
    }
    if !findings.failed() {
        tensors.allocate(server);
    }
    if !findings.failed() {
        findings.report(|report| report.serving_us = microseconds_since(started));
        serve::serve(server, &tensors, &mut progress);
    }
    if let Err(error) = holders::report(server).and_then(|()| sharing::report(server)).and_then(|()| tables.fill(server)) {
        findings.error(format_args!("the holders of the bytes cannot be told: {error}"));
    }
    drop(tensors);
    let verified = !findings.failed() && verify::verify(server, BUFFERS.take(), &mut progress);
    findings.report(|report| {
        report.weights_verified = verified;
        report.peak_device_bytes = server.runtime.peak_device_bytes();
        report.logical_cores = server.runtime.logical_cores();
    });
    server.unload_all();
    progress.clear();
}
