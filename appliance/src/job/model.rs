//! The model of the driver in this process.

use nrt_core::driver::Errno;
use nrt_core::environment::CoreSelection;
use nrt_sim::{Hazards, Live, Sim, SimConfig};

use super::backing::SparseMemory;
use super::driver::{Held, Machine};
use super::findings::Findings;
use super::say::Reason;
use super::statics::SIM;
use crate::cli::Exit;
use crate::deployment::Deployment;

/// Window of pinned host memory of a modelled device: 16 GiB, of which only what is used becomes real.
const HOST_BYTES: u64 = 16 << 30;

/// The model, while it runs.
pub(super) type Modelled<'a> = &'a Sim;

/// Whether this program has the model.
///
/// # Errors
/// None.
pub(super) fn available() -> Result<(), Exit> {
    Ok(())
}

/// Calls `work` with a model of the devices that a deployment wants; that it does not start is in the findings. Can be
/// called once.
pub(super) fn with(deployment: &Deployment, findings: &Findings, work: impl FnOnce(Modelled<'_>)) {
    let simulated = SimConfig { devices: deployment.devices, host_bytes: HOST_BYTES, ..SimConfig::new(deployment.arch()) };
    let memory = SparseMemory::new();
    match Sim::new(&SIM, simulated, &memory) {
        Ok(sim) => work(&sim),
        Err(error) => {
            let why = Why(memory.refused().map(Reason));
            findings.fail(format_args!("the model of the driver does not start: {error}{why}"));
        }
    }
}

/// A reason behind an error, if there is one.
struct Why(Option<Reason>);

impl core::fmt::Display for Why {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

impl Machine for Modelled<'_> {
    type Driver = Sim;

    fn driver(&self) -> &Sim {
        self
    }

    fn devices(&self) -> u32 {
        self.kernel().config().devices
    }

    fn cores(&self, wanted: CoreSelection) -> CoreSelection {
        wanted
    }

    fn held(&self, device: u32) -> Result<Held, Errno> {
        let live = self.live(device);
        Ok(Held { device_bytes: live.device_bytes, host_bytes: live.host_bytes, allocations: Some(live.chunks) })
    }

    fn check_closed(&self, findings: &Findings) {
        for device in 0..self.devices() {
            let live = self.live(device);
            if live != Live::default() {
                findings.error(format_args!(
                    "ND {device}: the driver still has {} allocations, {} device bytes, {} host bytes and {} mappings",
                    live.chunks, live.device_bytes, live.host_bytes, live.mappings
                ));
                findings.report(|report| report.live_device_bytes_at_exit += live.device_bytes);
            }
            let hazards = self.hazards(device);
            if hazards != Hazards::default() {
                findings.error(format_args!("ND {device}: requests that harm a device: {}", Counted(hazards)));
            }
        }
    }
}

/// The hazards that occurred, with their numbers.
struct Counted(Hazards);

impl core::fmt::Display for Counted {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let hazards = &self.0;
        let named = [
            ("unattached alloc", hazards.unattached_alloc),
            ("zero length", hazards.zero_length),
            ("freed while mapped", hazards.freed_while_mapped),
            ("wrapped range", hazards.wrapped_range),
            ("contiguous host", hazards.contiguous_host),
            ("contiguous order", hazards.contiguous_order),
            ("oversize async", hazards.oversize_async),
            ("overlapping async", hazards.overlapping_async),
            ("abandoned async", hazards.abandoned_async),
            ("stale range", hazards.stale_range),
            ("out of chunk records", hazards.out_of_records),
        ];
        let mut before = "";
        for (name, count) in named.into_iter().filter(|(_, count)| *count != 0) {
            write!(f, "{before}{name} {count}")?;
            before = ", ";
        }
        Ok(())
    }
}
