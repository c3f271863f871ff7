//! From bring-up to close, on the in-process model of the driver.

use nrt_core::Config;
use nrt_core::reserved_hbm::ReservedHbm;
use nrt_sim::{Sim, SimConfig};

use super::backing::SparseMemory;
use super::capacity::SCRATCHPAD_PAGE_BYTES;
use super::close;
use super::findings::Findings;
use super::holders::{self, Tables};
use super::progress::Progress;
use super::serve;
use super::server::{Runtime, Server};
use super::source::Sources;
use super::statics::{BUFFERS, HOOKS, RESERVE, SIM, STORAGE};
use super::tensors::Tensors;
use super::verify;
use crate::deployment::Deployment;

/// Window of pinned host memory of a modelled device: 16 GiB, of which only what is used becomes real.
const HOST_BYTES: u64 = 16 << 30;

/// Hosts the models of a deployment from the first to the last step; whatever does not hold is in the findings. Can be
/// called once.
pub(super) fn host(
    deployment: &'static Deployment,
    sources: &Sources,
    reserve: Option<u64>,
    findings: &Findings,
    tables: &mut Tables,
) {
    let simulated = SimConfig { devices: deployment.devices, host_bytes: HOST_BYTES, ..SimConfig::new(deployment.arch()) };
    let sim = match Sim::new(&SIM, simulated, &SparseMemory) {
        Ok(sim) => sim,
        Err(error) => return findings.fail(format_args!("the model of the driver does not start: {error}")),
    };
    let reserved = match ReservedHbm::new(&sim, &HOOKS, &RESERVE) {
        Ok(reserved) => reserved,
        Err(error) => return findings.fail(format_args!("the reservations cannot be used: {error}")),
    };
    let mut config = Config::new(&HOOKS);
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
            close::check_unloaded(&runtime, &sim, findings);
            close::close(&runtime, findings);
        }
        Err(error) => findings.fail(format_args!("the runtime does not start: {error}")),
    }
    close::check_driver(&sim, findings);
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
    if let Err(error) = holders::report(server).and_then(|()| tables.fill(server)) {
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
