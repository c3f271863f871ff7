//! Runs in which everything holds.

use std::ffi::OsStr;
use std::fs;

use serde_json::{Value, json};

use super::program::{RESIDENT_LIMIT, model, run, run_deployment, shipped};

#[test]
fn without_a_file_the_deployment_built_in_is_served() {
    let outcome = run(["--json"]);
    let report = outcome.held();
    assert_eq!((&report["arch"], &report["logical_cores"]), (&json!("cayman"), &json!(4)));
    assert_eq!((&report["requests"], &report["reloads"]), (&json!(200), &json!(4)));
}

#[test]
fn the_deployment_built_in_runs_on_each_architecture() {
    for (arch, cores) in [("sunda", 2), ("cayman", 4), ("mariana", 4)] {
        let report = run(["--simulate", arch, "--json"]).held();
        assert_eq!((&report["arch"], &report["logical_cores"]), (&json!(arch), &json!(cores)));
    }
}

#[test]
fn the_report_has_the_documented_shape() {
    let report = run(["--json"]).held();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let mut expected = [
        "arch",
        "logical_cores",
        "models",
        "cores",
        "requests",
        "reloads",
        "ready_us",
        "serving_us",
        "peak_device_bytes",
        "live_device_bytes_at_exit",
        "live_nodes_at_exit",
        "resident_anonymous_bytes_at_exit",
        "events",
        "weights_verified",
        "outputs_verified",
        "errors",
    ];
    expected.sort_unstable();
    assert_eq!(keys(&report), expected);
    let models = report["models"].as_array().unwrap();
    assert_eq!(models.len(), 4);
    let mut handles = Vec::new();
    for model in models {
        assert_eq!(keys(model), ["bytes_by_usage", "handle", "host_bytes", "name", "requests", "scratchpad_bytes", "vnc"]);
        assert_eq!(model["bytes_by_usage"].as_object().unwrap().len(), 22);
        assert_eq!(model["requests"], 50);
        handles.push(model["handle"].as_u64().unwrap());
    }
    handles.sort_unstable();
    handles.dedup();
    assert!(handles.len() == 4 && handles[0] > 0, "{handles:?}");
    // Every model was loaded once and reloaded once: the last ids are beyond the first ones.
    assert_eq!(handles, [5, 6, 7, 8]);
    assert!(report["peak_device_bytes"].as_u64().unwrap() > 4 * (512 << 20), "a scratchpad page on each of four cores");
}

#[test]
fn the_bytes_of_a_model_are_told_by_usage() {
    let report = run(["--json"]).held();
    let generate = &report["models"][0];
    assert_eq!((&generate["name"], &generate["vnc"]), (&json!("generate"), &json!(0)));
    let bytes = &generate["bytes_by_usage"];
    let code: u64 =
        ["instr_pe", "instr_act", "instr_pool", "instr_dve", "instr_sp"].map(|usage| bytes[usage].as_u64().unwrap()).iter().sum();
    // Code, spill and regions are for each of two cores, weights for both together.
    assert_eq!(code, 2 * 524_288);
    for (usage, held) in
        [("weight", 3_145_728), ("dram_spill", 2 * 131_072), ("dma_ring_io", 2 * 65_536), ("act_table", 2 * 16_384)]
    {
        assert_eq!(bytes[usage], held, "{usage}");
    }
    assert_eq!(generate["host_bytes"], 2 * 65_536);
    assert_eq!(report["models"][2]["bytes_by_usage"]["weight"], 700_001);
}

#[test]
fn every_shipped_deployment_holds() {
    let mut served = 0;
    for entry in fs::read_dir(shipped("")).unwrap() {
        let path = entry.unwrap().path();
        let text: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let report = run([path.as_os_str(), OsStr::new("--json")]).held();
        let (requests, every) = (text["requests"].as_u64().unwrap(), text["reload_every"].as_u64().unwrap());
        assert_eq!(report["arch"], text["arch"], "{path:?}");
        assert_eq!((&report["requests"], &report["reloads"]), (&json!(requests), &json!(requests / every)), "{path:?}");
        served += 1;
    }
    assert_eq!(served, 6);
}

#[test]
fn text_for_people() {
    let outcome = run([shipped("three-on-one-core.json")]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let text = &outcome.stdout;
    for piece in [
        "Device memory\nCORE / MODEL",
        "ND 0:NC 0",
        "\n  (shared)",
        "\n  small",
        "\n  medium",
        "\n  large",
        "cayman with 8 logical cores\n",
        "requests 300, reloads 6, peak ",
        "weights verified, outputs verified\n",
        "after close: 0 device bytes and 0 nodes live\n",
        "resident anonymous memory ",
    ] {
        assert!(text.contains(piece), "{piece:?} is missing:\n{text}");
    }
    assert!(!text.contains("error:") && !text.contains("Pinned host memory"), "{text}");
    let host = run::<&str>([]).stdout;
    assert!(host.contains("Pinned host memory of the models\n"), "{host}");
}

/// One page of the scratchpad.
const PAGE: u64 = 512 << 20;
/// A microcode library and its table.
const LIBRARY: u64 = 65_536 + 27_304;

/// Three needs above a page: their sum is four pages, each alone is two, so arenas of their own would be six.
#[test]
fn models_of_one_core_share_it() {
    let needs = [600 << 20, 700 << 20, 550 << 20];
    let deployment = json!({
        "arch": "sunda", "threads": 3, "requests": 90, "reload_every": 10,
        "models": (0..3).map(|index| {
            let more = json!({ "scratchpad_bytes": needs[index], "ulibs": 1 });
            model(&format!("m{index}"), 1, json!({ "seed": index, "bytes": 300_000 }), more)
        }).collect::<Vec<_>>()
    });
    let report = run_deployment(&deployment).held();
    assert_eq!(report["reloads"], 9);
    let named = (0..3).map(|index| json!({ "model": format!("m{index}"), "bytes": needs[index] })).collect::<Vec<_>>();
    assert_eq!(
        report["cores"],
        json!([{
            "device": 0, "core": 1, "vnc": 1,
            "scratchpad": { "needs": named, "held_bytes": 2 * PAGE, "pages": 2, "users": 3, "advised_page_mib": null },
            "library": { "copies": 1, "bytes": LIBRARY, "users": 3 }
        }])
    );
    // At no time was there more, reloads included.
    let peak = report["peak_device_bytes"].as_u64().unwrap();
    assert!((2 * PAGE..2 * PAGE + (8 << 20)).contains(&peak), "{peak}");
}

#[test]
fn the_shipped_example_of_sharing_says_what_is_shared() {
    let path = shipped("sharing.json");
    let report = run([path.as_os_str(), OsStr::new("--json")]).held();
    let core = &report["cores"][0];
    // The largest need is two pages, the sum would be three.
    let needs = core["scratchpad"]["needs"].as_array().unwrap();
    let bytes: Vec<u64> = needs.iter().map(|need| need["bytes"].as_u64().unwrap()).collect();
    assert_eq!((bytes.iter().max().unwrap().div_ceil(PAGE), bytes.iter().sum::<u64>().div_ceil(PAGE)), (2, 3));
    assert_eq!((&core["scratchpad"]["held_bytes"], &core["scratchpad"]["users"]), (&json!(2 * PAGE), &json!(2)));
    assert_eq!(core["library"], json!({ "copies": 1, "bytes": LIBRARY, "users": 2 }));
    let text = run([path]).stdout;
    for line in [
        "\nND 0:NC 0 scratchpad: generate needs 600.000MB, embed needs 500.000MB; held 1.000GB in 2 pages for 2 models\n",
        "\nND 0:NC 0 microcode library: 1 copies of 90.664KB for 2 models\n",
    ] {
        assert!(text.contains(line), "{line:?} is missing:\n{text}");
    }
}

#[test]
fn the_scratchpad_can_be_one_piece() {
    let deployment = |scratchpad: &str| {
        json!({
            "arch": "cayman", "scratchpad": scratchpad, "threads": 2, "requests": 60, "reload_every": 10,
            "models": (0..2).map(|index| {
                let weights = json!({ "seed": index, "bytes": 300_000 });
                model(&format!("m{index}"), 1, weights, json!({ "scratchpad_bytes": (100 << 20) + 1 }))
            }).collect::<Vec<_>>()
        })
    };
    let peak = |scratchpad| run_deployment(&deployment(scratchpad)).held()["peak_device_bytes"].as_u64().unwrap();
    // Both cores' slices on the first core: 200 MiB and a little in four pages of 64 MiB, for both models.
    let contiguous = peak("contiguous");
    assert!((256 << 20..260 << 20).contains(&contiguous), "{contiguous}");
    // A page of 512 MiB on each core.
    let paged = peak("paged");
    assert!((1 << 30..(1 << 30) + (4 << 20)).contains(&paged), "{paged}");
}

#[test]
fn models_with_several_libraries_have_sets_of_their_own() {
    let models = |ulibs: u64| {
        json!({
            "arch": "sunda", "threads": 2, "requests": 40, "reload_every": 5,
            "models": (0..2).map(|index| {
                model(&format!("m{index}"), 0, json!({ "seed": index, "bytes": 1000 }), json!({ "ulibs": ulibs }))
            }).collect::<Vec<_>>()
        })
    };
    let libraries = |ulibs| {
        let report = run_deployment(&models(ulibs)).held();
        [0, 1].map(|index| report["models"][index]["bytes_by_usage"]["ucode_lib"].as_u64().unwrap_or(0))
    };
    // One library belongs to the core, whichever model brought it; nine are each model's own.
    assert_eq!(libraries(1), [0, 0]);
    assert_eq!(libraries(9), [9 * 65_536 + 27_304; 2]);
}

#[test]
fn outputs_are_cut_and_repeated() {
    let io = json!({
        "inputs": [{ "name": "a", "bytes": 100_003 }, { "name": "b", "bytes": 1 }, { "name": "c", "bytes": 70_000 }],
        "outputs": [
            { "name": "cut", "bytes": 3 }, { "name": "ones", "bytes": 77 }, { "name": "same", "bytes": 70_000 },
            { "name": "repeated", "bytes": 300_010 }
        ]
    });
    let deployment = json!({
        "arch": "mariana", "requests": 10, "threads": 2,
        "models": [model("m", 3, json!({ "seed": 5, "bytes": 1 }), io)]
    });
    run_deployment(&deployment).held();
}

#[test]
fn addresses_far_beyond_four_gibibytes() {
    // Memory far into the HBM: a region of 20 GiB, never touched, lies in front of everything else.
    let far = json!({ "regions": [{ "usage": "generic", "bytes": 20_u64 << 30 }], "subgraphs": 1 });
    let deployment = json!({
        "arch": "mariana", "requests": 20, "reload_every": 4,
        "models": [
            model("far", 0, json!({ "seed": 1, "bytes": 5_000_000 }), far),
            model("behind", 0, json!({ "seed": 2, "bytes": 5_000_000 }), json!({}))
        ]
    });
    let report = run_deployment(&deployment).held();
    assert!(report["peak_device_bytes"].as_u64().unwrap() > 20 << 30);
}

#[test]
fn without_requests_there_is_still_something_to_check() {
    let deployment = json!({ "arch": "cayman", "models": [model("m", 0, json!({ "seed": 1, "bytes": 10 }), json!({}))] });
    let report = run_deployment(&deployment).held();
    assert_eq!((&report["requests"], &report["reloads"]), (&json!(0), &json!(0)));
}

#[test]
fn many_devices_and_models() {
    let models =
        (0..64).map(|index| model(&format!("m{index}"), index * 2, json!({ "seed": index, "bytes": 10_000 }), json!({})));
    let deployment = json!({
        "arch": "cayman", "devices": 32, "threads": 16, "requests": 640, "reload_every": 64, "models": models.collect::<Vec<_>>()
    });
    let report = run_deployment(&deployment).report();
    assert_eq!((&report["errors"], &report["logical_cores"], &report["reloads"]), (&json!([]), &json!(128), &json!(10)));
    let resident = report["resident_anonymous_bytes_at_exit"].as_u64().unwrap();
    assert!(resident < 4 * RESIDENT_LIMIT, "{resident}");
}
