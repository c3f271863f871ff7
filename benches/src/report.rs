//! Results as a table for people and as JSON for programs.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::bars;
use crate::machine;
use crate::measure::{BATCH, Effort, Row};
use crate::stats::Summary;

/// A measured scenario.
pub struct Measured {
    /// `group/situation`.
    pub name: &'static str,
    /// What one operation is.
    pub operation: &'static str,
    /// Threads at work.
    pub threads: usize,
    /// Operations timed together.
    pub batch: u32,
    /// One per peer, or why there are none.
    pub rows: Option<Vec<Row>>,
}

/// The table of one scenario.
#[must_use]
pub fn table(measured: &Measured) -> String {
    let mut text = format!("\n{}: {}\n", measured.name, measured.operation);
    let Some(rows) = &measured.rows else {
        text.push_str("  not measured: it needs more processors than there are\n");
        return text;
    };
    let ours = rows.first().map_or("", |row| row.name);
    let _ = writeln!(
        text,
        "  {:<26}{:>9}{:>9}{:>9}{:>10}{:>9}  time ÷ that of {ours}: medians, means",
        "ns per operation", "p50", "p99", "p99.9", "max", "mean"
    );
    for row in rows {
        let ratio = |summary: Option<Summary>| {
            summary.map_or(String::new(), |Summary { median, low, high, .. }| format!("{median:.2} [{low:.2}, {high:.2}]"))
        };
        let numbers = format!(
            "  {:<26}{:>9.1}{:>9.1}{:>9.1}{:>10.0}{:>9.1}  {:<20} {}",
            row.name,
            row.p50_ns,
            row.p99_ns,
            row.p999_ns,
            row.max_ns,
            row.mean_ns,
            ratio(row.ratio),
            ratio(row.ratio_of_means)
        );
        let _ = writeln!(text, "{}", numbers.trim_end());
        if row.disturbed > 0 {
            let _ = writeln!(text, "    (in {} of {} slices a thread was preempted)", row.disturbed, row.slices);
        }
    }
    text
}

/// Everything as one object.
#[must_use]
pub fn json(results: &[Measured], effort: Effort) -> Value {
    let mut rows = Vec::new();
    let (mut ratios, mut intervals) = (Map::new(), Map::new());
    let (mut means, mut mean_intervals) = (Map::new(), Map::new());
    let mut coverage = None;
    for measured in results {
        let (group, situation) = measured.name.split_once('/').unwrap_or((measured.name, ""));
        for row in measured.rows.iter().flatten() {
            rows.push(json!({
                "group": group,
                "situation": situation,
                "operation": measured.operation,
                "name": row.name,
                "threads": measured.threads,
                "batch": measured.batch,
                "p50_ns": row.p50_ns,
                "p99_ns": row.p99_ns,
                "p999_ns": row.p999_ns,
                "max_ns": row.max_ns,
                "mean_ns": row.mean_ns,
                "batches": row.batches,
                "slices": row.slices,
                "disturbed_slices": row.disturbed,
                "tail": row.tail,
                "runs": effort.runs,
                "touches": row.touches,
                "locks": row.locks,
            }));
            let key =
                format!("{}: {} / {}", measured.name, row.name, measured.rows.iter().flatten().next().map_or("", |row| row.name));
            if let Some(ratio) = row.ratio {
                ratios.insert(key.clone(), json!(ratio.median));
                intervals.insert(key.clone(), json!([ratio.low, ratio.high]));
                coverage = Some(ratio.coverage);
            }
            if let Some(ratio) = row.ratio_of_means {
                means.insert(key.clone(), json!(ratio.median));
                mean_intervals.insert(key, json!([ratio.low, ratio.high]));
            }
        }
    }
    let (mut named, mut named_intervals, mut judged) = (Map::new(), Map::new(), Map::new());
    for verdict in bars::verdicts(results) {
        let name = verdict.name.to_owned();
        named.insert(name.clone(), json!(verdict.ratio.median));
        named_intervals.insert(name.clone(), json!([verdict.ratio.low, verdict.ratio.high]));
        let side = if verdict.at_most { "at_most" } else { "at_least" };
        judged.insert(name, json!({ side: verdict.bar, "passes": verdict.passes }));
    }
    json!({
        "machine": machine::machine(),
        "versions": machine::versions(),
        "method": {
            "batch": BATCH,
            "runs": effort.runs,
            "rounds": effort.rounds,
            "slice_ns": effort.slice.as_nanos() as u64,
            "times": "means of batches, per operation",
            "ratios": "those with a bar: time of the peer / time of nrt, where the bar is an upper one the inverse; medians of batches, means where two threads meet; median over runs",
            "ratios_of_medians": "median batch of the peer / median batch of the first peer of the scenario, median over runs",
            "interval_coverage": coverage,
        },
        "rows": rows,
        "ratios": named,
        "ratio_intervals": named_intervals,
        "verdicts": judged,
        "ratios_of_medians": ratios,
        "ratio_of_medians_intervals": intervals,
        "ratios_of_means": means,
        "ratio_of_means_intervals": mean_intervals,
    })
}
