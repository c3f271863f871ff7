//! Every scenario runs, for a moment, and leaves nothing behind. The times mean nothing here.

use std::sync::Mutex;

use nrt_benches::cli::measure_all;
use nrt_benches::measure::{Effort, processors};
use nrt_benches::trace::Script;
use nrt_benches::{bars, html, report};

/// What is counted on the C side, and who hands over to whom, is one for the whole process: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn every_group_runs_and_leaves_nothing_behind() {
    let _alone = ONE_AT_A_TIME.lock();
    let results = match measure_all(Effort::SMOKE, "", None, |_| {}) {
        Ok(results) => results,
        Err(left) => panic!("{left}"),
    };
    let groups: std::collections::BTreeSet<_> = results.iter().filter_map(|measured| measured.name.split('/').next()).collect();
    assert_eq!(
        groups.into_iter().collect::<Vec<_>>(),
        ["acquire", "carve", "copy", "drain", "floor", "look-up", "model", "node", "pool", "tail"]
    );
    for measured in &results {
        assert_eq!(measured.rows.is_some(), measured.threads <= processors().len(), "{}", measured.name);
        assert!(report::table(measured).contains(measured.name));
    }
    let page = html::page(&results, &bars::verdicts(&results)).unwrap_or_else(|error| panic!("{error}"));
    let drawn = results.iter().filter(|measured| measured.rows.is_some()).count();
    assert_eq!((page.matches("<svg").count(), page.matches("</svg>").count()), (drawn, drawn));
    assert!(!page.contains("<?xml") && !page.contains("href") && !page.contains("src="), "the page stands alone");
    let json = report::json(&results, Effort::SMOKE);
    for row in json["rows"].as_array().into_iter().flatten() {
        assert!(row["batches"].as_u64() > Some(0) && row["p50_ns"].as_f64() > Some(0.0), "{row}");
        assert!(row["p999_ns"].as_f64() <= row["max_ns"].as_f64(), "{row}");
    }
    assert!(json["machine"]["processors"].as_u64() > Some(0));
    for name in [
        "pool_vs_heapless",
        "pool_vs_calloc",
        "object_vs_c_object_path",
        "acquire_vs_documented_1t",
        "acquire_vs_papaya_guard",
        "drain_vs_futex_wake",
        "carve_vs_offset_allocator",
        "carve_vs_syscall",
        "staged_copy_vs_hand",
    ] {
        assert!(json["ratios"][name].as_f64() > Some(0.0), "{name}");
        assert!(json["ratio_intervals"][name].as_array().is_some_and(|ends| ends.len() == 2), "{name}");
    }
}

#[test]
fn a_trace_is_replayed_by_everybody_and_leaves_nothing_behind() {
    let _alone = ONE_AT_A_TIME.lock();
    let text = "{\"alloc\": 1, \"bytes\": 5000}\n{\"alloc\": 2, \"bytes\": 70000}\n{\"free\": 1}\n";
    let script = Box::leak(Box::new(Script::parse(text).unwrap_or_else(|error| panic!("{error}"))));
    let results = measure_all(Effort::SMOKE, "", Some(script), |_| {}).unwrap_or_else(|left| panic!("{left}"));
    assert_eq!(results.iter().map(|measured| measured.name).collect::<Vec<_>>(), ["trace/objects", "trace/ranges"]);
    assert!(results.iter().flat_map(|measured| measured.rows.iter().flatten()).all(|row| row.batches > 0));
}
