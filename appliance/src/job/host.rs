//! From bring-up to close, on the in-process model of the driver or on real devices.

use core::fmt;

use nrt_core::Config;
use nrt_core::reserved_hbm::ReservedHbm;
use nrt_sim::{Sim, SimConfig};

use super::backing::SparseMemory;
use super::capacity::SCRATCHPAD_PAGE_BYTES;
use super::close;
use super::driver::{Door, Slice};
use super::findings::Findings;
use super::holders::{self, Tables};
use super::progress::Progress;
use super::say::Reason;
use super::serve;
use super::server::{Runtime, Server};
use super::sharing;
use super::source::Sources;
use super::statics::{BUFFERS, HOOKS, RESERVE, SIM, STORAGE};
use super::tensors::Tensors;
use super::verify;
use crate::deployment::Deployment;

/// Window of pinned host memory of a modelled device: 16 GiB, of which only what is used becomes real.
const HOST_BYTES: u64 = 16 << 30;

/// What there is to host, and where findings go.
pub(super) struct Job<'a> {
    pub(super) deployment: &'static Deployment,
    pub(super) sources: &'a Sources,
    /// Bytes to reserve for every core, if any.
    pub(super) reserve: Option<u64>,
    pub(super) findings: &'a Findings,
    pub(super) tables: &'a mut Tables,
}

/// Hosts the models of a deployment from the first to the last step, on a slice of the real devices or else on the model of
/// the driver; whatever does not hold is in the findings. Can be called once.
pub(super) fn host(slice: Option<Slice<'_>>, job: Job<'_>) {
    if let Some(slice) = slice {
        return through(&Door::Kernel(slice), job);
    }
    let deployment = job.deployment;
    let simulated = SimConfig { devices: deployment.devices, host_bytes: HOST_BYTES, ..SimConfig::new(deployment.arch()) };
    let memory = SparseMemory::new();
    match Sim::new(&SIM, simulated, &memory) {
        Ok(sim) => through(&Door::Modelled(&sim), job),
        Err(error) => {
            let why = Why(memory.refused().map(Reason));
            job.findings.fail(format_args!("the model of the driver does not start: {error}{why}"));
        }
    }
}

/// A reason behind an error, if there is one.
struct Why(Option<Reason>);

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

/// Everything on one driver.
fn through(door: &Door<'_>, job: Job<'_>) {
    let Job { deployment, sources, reserve, findings, tables } = job;
    let reserved = match ReservedHbm::new(door, &HOOKS, &RESERVE) {
        Ok(reserved) => reserved,
        Err(error) => return findings.fail(format_args!("the reservations cannot be used: {error}")),
    };
    let mut config = Config::new(&HOOKS);
    config.cores = door.cores();
    config.logical_core_size = Some(deployment.logical_core_size);
    config.scratchpad_page_size = SCRATCHPAD_PAGE_BYTES;
    config.contiguous_scratchpad = deployment.contiguous_scratchpad;
    match Runtime::init(&STORAGE, &reserved, config) {
        Ok(runtime) => {
            if let Err(error) = runtime.install() {
                findings.fail(format_args!("the context tree cannot be installed: {error}"));
            }
            if let Some(bytes) = reserve {
                reserve_everywhere(&runtime, bytes, findings);
            }
            on_runtime(&Server::new(&runtime, deployment, sources, findings), tables);
            close::check_unloaded(&runtime, door, findings);
            close::close(&runtime, findings);
        }
        Err(error) => findings.fail(format_args!("the runtime does not start: {error}")),
    }
    close::check_driver(door, findings);
}

/// Reserves memory for every core, on its own HBM.
fn reserve_everywhere(runtime: &Runtime<'_>, bytes: u64, findings: &Findings) {
    let arch = runtime.arch();
    for (device, core) in close::cores(runtime) {
        let channel = arch.default_channel(core);
        if let Err(error) = runtime.driver().reserve(device, core, channel, bytes) {
            return findings.fail(format_args!("{bytes} bytes cannot be reserved for ND{device}:NC{core}: {error}"));
        }
    }
}

/// Everything between bring-up and close.
fn on_runtime(server: &Server<'_>, tables: &mut Tables) {
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
