//! Many threads, many reloads, many runs: what races would show in.

use serde_json::{Value, json};

use super::program::{Folder, model, shipped};

fn with(name: &str, threads: u32, requests: u64, reload_every: u64) -> Value {
    let mut deployment: Value = serde_json::from_str(&std::fs::read_to_string(shipped(name)).unwrap()).unwrap();
    deployment["threads"] = json!(threads);
    deployment["requests"] = json!(requests);
    deployment["reload_every"] = json!(reload_every);
    deployment
}

#[track_caller]
fn repeatedly(runs: u32, deployment: &Value) {
    let folder = Folder::new();
    let reloads = deployment["requests"].as_u64().unwrap() / deployment["reload_every"].as_u64().unwrap();
    for _ in 0..runs {
        let report = folder.run(deployment).held();
        assert_eq!((&report["requests"], &report["reloads"]), (&deployment["requests"], &json!(reloads)));
        let requests = report["models"].as_array().unwrap().iter().map(|model| model["requests"].as_u64().unwrap()).sum::<u64>();
        assert_eq!(requests, deployment["requests"].as_u64().unwrap());
    }
}

#[test]
fn reloads_under_the_load_of_four_threads() {
    repeatedly(5, &with("default.json", 4, 1000, 20));
}

#[test]
fn a_reload_with_every_request() {
    repeatedly(3, &with("sharing.json", 16, 300, 1));
}

#[test]
fn three_models_of_one_core_are_reloaded_all_the_time() {
    repeatedly(3, &with("three-on-one-core.json", 8, 300, 2));
}

#[test]
fn one_model_that_all_threads_want() {
    let deployment = json!({
        "arch": "sunda", "threads": 16, "requests": 2000, "reload_every": 3,
        "models": [model("m", 0, json!({ "seed": 9, "bytes": 5000 }), json!({ "ulibs": 1, "scratchpad_bytes": 4096 }))]
    });
    repeatedly(3, &deployment);
}
