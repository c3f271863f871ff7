//! What is told at the end of a run.

use nrt_sim::sysfs;
use serde_json::{Value, json};

use crate::output::Output;
use crate::supervisor::Supervisor;

impl Supervisor {
    /// The report as one JSON object.
    fn report_json(&self) -> Value {
        let ledger = self.world.ledger.borrow();
        let memory: Vec<Value> = ledger
            .shares
            .iter()
            .map(|(&(pid, host, category), share)| {
                json!({
                    "pid": pid,
                    "place": if host { "host" } else { "device" },
                    "category": sysfs::category_name(host, category),
                    "peak": share.peak,
                    "live": share.live,
                    "leaked_chunks": share.leaked_chunks,
                    "leaked_bytes": share.leaked_bytes,
                })
            })
            .collect();
        let calls: Vec<Value> = self
            .costs
            .iter()
            .map(|(name, cost)| {
                let mean = cost.time.as_secs_f64() * 1e6 / cost.calls.max(1) as f64;
                json!({ "call": name, "calls": cost.calls, "failures": cost.failures, "mean_us": mean })
            })
            .collect();
        let config = self.world.kernel.config();
        let devices: Vec<Value> = (0..config.devices)
            .map(|device| {
                let live = self.world.kernel.live(device);
                let cores = (0..config.cores_per_device).filter(|&core| self.world.kernel.core_owner(device, core).is_some());
                json!({
                    "device": device,
                    "live_chunks": live.chunks,
                    "live_device_bytes": live.device_bytes,
                    "live_host_bytes": live.host_bytes,
                    "reserved_cores": cores.count(),
                })
            })
            .collect();
        json!({
            "processes": self.processes.seen,
            "diagnoses": self.world.diagnoses.get(),
            "devices": devices,
            "memory": memory,
            "calls": calls,
        })
    }

    /// Writes the report.
    pub(crate) fn report(&self, json: bool) {
        let report = self.report_json();
        let out: &Output = &self.world.output;
        if json {
            out.line(&json!({ "report": report }).to_string());
            return;
        }
        out.line(&format!("nrt-emulate: {} processes, {} diagnoses", report["processes"], report["diagnoses"]));
        for device in report["devices"].as_array().into_iter().flatten() {
            out.line(&format!(
                "  neuron{}: {} chunks live, {} bytes device, {} bytes host, {} cores reserved",
                device["device"],
                device["live_chunks"],
                device["live_device_bytes"],
                device["live_host_bytes"],
                device["reserved_cores"]
            ));
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for line in report["memory"].as_array().into_iter().flatten() {
            let leaked = if line["leaked_chunks"] == 0 {
                String::new()
            } else {
                format!(", not freed before close: {} chunks, {} bytes", line["leaked_chunks"], line["leaked_bytes"])
            };
            out.line(&format!(
                "  [{}] {} {}: peak {} bytes, live {}{leaked}",
                line["pid"],
                text(&line["place"]),
                text(&line["category"]),
                line["peak"],
                line["live"]
            ));
        }
        for line in report["calls"].as_array().into_iter().flatten() {
            let mean = line["mean_us"].as_f64().unwrap_or_default();
            out.line(&format!("  {}: {} calls, {} failed, {mean:.1} us", text(&line["call"]), line["calls"], line["failures"]));
        }
    }
}
