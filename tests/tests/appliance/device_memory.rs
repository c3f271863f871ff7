//! Too little device memory: an error that says what was asked for, and nothing left behind.

use std::ffi::OsStr;

use serde_json::{Value, json};

use super::program::{Outcome, assert_nothing_left, model, run, run_deployment, shipped};

/// Device memory without content, so that the size costs nothing.
fn region(bytes: u64) -> Value {
    json!({ "regions": [{ "usage": "generic", "bytes": bytes }], "subgraphs": 1 })
}

#[track_caller]
fn assert_out_of_memory(outcome: &Outcome, message: &str) {
    let (report, errors) = outcome.failed();
    assert_eq!(errors, message);
    assert_eq!((&report["weights_verified"], &report["outputs_verified"]), (&json!(false), &json!(false)));
    assert_nothing_left(&report);
}

#[test]
fn the_second_model_has_no_room() {
    let weights = |seed: u32| json!({ "seed": seed, "bytes": 100_000 });
    let deployment = json!({
        "arch": "cayman", "threads": 2, "requests": 100,
        "models": [
            model("first", 0, weights(1), region(20 << 30)), model("second", 0, weights(2), region(20 << 30)),
            model("third", 1, weights(3), json!({}))
        ]
    });
    let outcome = run_deployment(&deployment);
    let message = "model \"second\" cannot be loaded: NRT_RESOURCE: no room for 21474836480 bytes (alignment: none, usage: generic) \
                   in device memory on ND0:NC0, HBM 0";
    assert_out_of_memory(&outcome, message);
    let report = outcome.report();
    assert_eq!(report["requests"], 0);
    // The report tells who held the bytes.
    let handles = report["models"].as_array().unwrap().iter().map(|model| model["handle"].as_u64().unwrap()).collect::<Vec<_>>();
    assert!(handles[0] != 0 && handles[1..] == [0, 0], "{handles:?}");
    assert_eq!(report["models"][0]["bytes_by_usage"]["generic"], 20_u64 << 30);
}

/// With reservations everything is served as without, and a reservation that is full is a full HBM.
#[test]
fn memory_out_of_reservations() {
    let reserved = |name: &str, size| run([shipped(name).as_os_str(), "--reserve".as_ref(), OsStr::new(size), "--json".as_ref()]);
    let used = |report: &Value| {
        let models = report["models"].as_array().unwrap().iter();
        models.map(|model| (model["name"].clone(), model["bytes_by_usage"].clone())).collect::<Vec<_>>()
    };
    for name in ["default.json", "three-on-one-core.json", "sharing.json"] {
        let plain = run([shipped(name).as_os_str(), "--json".as_ref()]).held();
        assert_eq!(used(&reserved(name, "2GiB").held()), used(&plain), "{name}");
    }
    let message = "model \"generate\" cannot be loaded: NRT_RESOURCE: no room for 536870912 bytes (alignment: 4194304, usage: \
                   scratchpad) in device memory on ND0:NC0, HBM 0";
    assert_out_of_memory(&reserved("default.json", "256MiB"), message);
    // Two cores share an HBM of 24 GiB.
    let message = "13958643712 bytes cannot be reserved for ND0:NC1: NRT_RESOURCE: no room for 13958643712 bytes (alignment: none, \
                   usage: generic) in device memory on ND0:NC1, HBM 0";
    assert_out_of_memory(&reserved("default.json", "13GiB"), message);
}

#[test]
fn tensors_have_no_room() {
    let deployment = json!({
        "arch": "sunda", "requests": 1,
        "models": [model("m", 1, json!({ "seed": 1, "bytes": 10 }), json!({ "inputs": [{ "name": "x", "bytes": 1_u64 << 36 }] }))]
    });
    let message = "model \"m\" has no tensors: NRT_RESOURCE: no room for 68719480832 bytes (alignment: none, usage: tensor) \
                   in device memory on ND0:NC1, HBM 1";
    assert_out_of_memory(&run_deployment(&deployment), message);
}

#[test]
fn host_memory_has_limits_too() {
    // The driver gives at most 4 MiB of pinned host memory at a time.
    let host = json!({ "regions": [{ "usage": "dma_ring_io", "location": "host", "bytes": 1 << 30 }] });
    let deployment = json!({ "arch": "cayman", "models": [model("m", 0, json!({ "seed": 1, "bytes": 10 }), host)] });
    let outcome = run_deployment(&deployment);
    let (report, errors) = outcome.failed();
    assert!(errors.starts_with("model \"m\" cannot be loaded: NRT_FAIL_HOST_MEM_ALLOC: "), "{errors}");
    assert_nothing_left(&report);
}

#[test]
fn libraries_are_staged_on_sunda_alone() {
    let held = |arch: &str| {
        let library = json!({ "ulibs": 3 });
        let deployment = json!({ "arch": arch, "models": [model("m", 0, json!({ "seed": 1, "bytes": 10 }), library)] });
        run_deployment(&deployment).held()["models"][0]["bytes_by_usage"]["ucode_lib"].as_u64().unwrap_or(0)
    };
    assert_eq!(["sunda", "cayman", "mariana"].map(held), [3 * 65_536 + 27_304, 0, 0]);
}
