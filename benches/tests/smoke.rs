//! Every scenario runs, for a moment, and leaves nothing behind. The times mean nothing here.

use nrt_benches::cli::measure_all;
use nrt_benches::measure::{Effort, processors};
use nrt_benches::report;

#[test]
fn every_group_runs_and_leaves_nothing_behind() {
    let results = match measure_all(Effort::SMOKE, "", |_| {}) {
        Ok(results) => results,
        Err(left) => panic!("{left}"),
    };
    let groups: std::collections::BTreeSet<_> = results.iter().filter_map(|measured| measured.name.split('/').next()).collect();
    assert_eq!(groups.into_iter().collect::<Vec<_>>(), ["acquire", "drain", "floor", "look-up", "model", "node", "pool"]);
    for measured in &results {
        assert_eq!(measured.rows.is_some(), measured.threads <= processors().len(), "{}", measured.name);
        assert!(report::table(measured).contains(measured.name));
    }
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
    ] {
        assert!(json["ratios"][name].as_f64() > Some(0.0), "{name}");
        assert!(json["ratio_intervals"][name].as_array().is_some_and(|ends| ends.len() == 2), "{name}");
    }
}
