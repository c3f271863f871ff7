//! The proof that nothing is left: of the ledger, of the pools, of the driver.

use nrt_core::{CloseReport, CoreUsage, Usage};

use super::driver::{Door, Held};
use super::findings::Findings;
use super::server::{PATIENCE_NS, Runtime};
use crate::demand::LIBRARY_NODES;

/// Bytes of pinned host memory that the driver library keeps for each core's staged copies (`nrt-api` §8).
const BOUNCE_BYTES: u64 = 2 << 20;

/// Granule of the driver in bytes: it counts whole ones.
const GRANULE: u64 = 4096;

/// Checks that nothing is held when all models are unloaded and all tensors are gone, except the microcode library of a
/// core, which stays until the core is closed; and that the driver counts as the runtime does.
#[inline(never)]
pub(super) fn check_unloaded(runtime: &Runtime<'_>, door: &Door<'_>, findings: &Findings) {
    let (mut allocations, mut cores) = (0, 0);
    // What is carved out of a reservation is no chunk of the driver's, but the reservation is one.
    let (mut ranges, mut reservations, mut uncarved) = (0, 0, 0);
    let visit: &mut dyn FnMut(&CoreUsage) = &mut |core| {
        let (device, index) = (core.device, core.core);
        cores += 1;
        allocations += u64::from(core.allocations);
        for usage in Usage::ALL {
            let bytes = core.bytes[usage.number()];
            if bytes != 0 && usage != Usage::UcodeLib {
                findings.error(format_args!("ND{device}:NC{index} holds {bytes} bytes of {} after unload", usage.name()));
            }
        }
        let kept = if core.bytes[Usage::UcodeLib.number()] == 0 { 0 } else { LIBRARY_NODES };
        if core.allocations != kept {
            findings
                .error(format_args!("ND{device}:NC{index} holds {} allocations after unload, expected {kept}", core.allocations));
        }
        match runtime.driver().statistics(device, index, runtime.arch().default_channel(index)) {
            Ok(carved) => {
                ranges += u64::from(carved.ranges);
                reservations += u64::from(carved.reservations);
                uncarved += carved.free_bytes();
            }
            Err(error) => findings.error(format_args!("the reservations cannot be read after unload: {error}")),
        }
    };
    if let Err(error) = runtime.for_each_core_usage(visit) {
        findings.error(format_args!("the ledger cannot be read after unload: {error}"));
    }
    // Each core's bounce buffer is the driver library's and in no ledger.
    let bounce = cores * BOUNCE_BYTES;
    let mut all = Held::default();
    for device in 0..door.devices() {
        match door.held(device) {
            Ok(held) => {
                all.device_bytes += held.device_bytes;
                all.host_bytes += held.host_bytes;
                all.allocations = held.allocations.map(|count| count + all.allocations.unwrap_or(0));
            }
            Err(errno) => {
                return findings.error(format_args!("ND{device}: the driver does not tell what this process holds: {errno}"));
            }
        }
    }
    all.allocations = all.allocations.map(|count| (count + ranges).saturating_sub(reservations));
    all.device_bytes = all.device_bytes.saturating_sub(uncarved);
    let bytes = runtime.device_bytes();
    let rounding = allocations * GRANULE;
    if !(bytes..=bytes + rounding).contains(&all.device_bytes)
        || all.host_bytes != bounce
        || all.allocations.is_some_and(|count| count != allocations + cores)
    {
        findings.error(format_args!(
            "after unload the driver counts {} device bytes and {} host bytes in {} allocations, the runtime {bytes} and \
             {bounce} in {}",
            all.device_bytes,
            all.host_bytes,
            all.allocations.unwrap_or(0),
            allocations + cores
        ));
    }
}

/// Closes the runtime and checks that it found nothing left over.
#[inline(never)]
pub(super) fn close(runtime: &Runtime<'_>, findings: &Findings) {
    let (bytes, nodes) = match runtime.close(Some(PATIENCE_NS)) {
        Ok(report) => {
            if !report.is_clean() {
                unclean(&report, findings);
            }
            (report.device_bytes + report.quarantined_bytes, report.nodes + u64::from(report.quarantined))
        }
        Err(error) => {
            findings.error(format_args!("the runtime cannot be closed: {error}"));
            (runtime.device_bytes(), runtime.live_nodes())
        }
    };
    findings.report(|report| {
        report.live_device_bytes_at_exit = bytes;
        report.live_nodes_at_exit = nodes;
    });
}

fn unclean(report: &CloseReport, findings: &Findings) {
    let CloseReport {
        models,
        tensors,
        allocations,
        quarantined,
        quarantined_bytes,
        device_bytes,
        nodes,
        slots,
        refused_requests,
    } = *report;
    findings.error(format_args!(
        "close found {models} models, {tensors} tensors and {allocations} allocations; {quarantined} allocations of \
         {quarantined_bytes} bytes stay with the driver, {refused_requests} requests were refused; {device_bytes} device bytes, \
         {nodes} nodes and {slots} slots are left"
    ));
}
