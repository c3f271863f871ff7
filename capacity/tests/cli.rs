//! The command as people run it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nrt_capacity::Fit;
use nrt_core::Pool;
use serde_json::{Value, json};

/// Exit status, standard output, standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_nrt-capacity")).args(arguments).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("a status"), text(output.stdout), text(output.stderr))
}

fn shipped(name: &str) -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../appliance/deployments/").to_string() + name
}

/// Writes a deployment of one small model, with `more` keys in place of the usual ones.
fn deployment(name: &str, more: Value) -> PathBuf {
    let mut model = json!({
        "name": "m", "vnc": 0, "weights": { "seed": 1, "bytes": 1 },
        "inputs": [{ "name": "x", "bytes": 1 }], "outputs": [{ "name": "y", "bytes": 1 }]
    });
    model.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, json!({ "arch": "cayman", "models": [model] }).to_string()).unwrap();
    path
}

#[test]
fn the_text_says_who_needs_what() {
    let (status, out, errors) = run(&[&shipped("sharing.json")]);
    assert_eq!((status, errors.as_str()), (0, ""));
    for line in [
        "       2  \"generate\" core 0: weight chunks",
        "       5  \"embed\" core 0: code of engines",
        "       2  \"generate\" 2 threads: memory of the threads",
        "       6  \"generate\" 2 threads: inputs and outputs of the threads, slices of one",
        "       2  ND0:NC0: scratchpad pages",
        "       2  ND0:NC0: the shared microcode library",
        "         4  \"embed\" core 0: variables of the scratchpad",
        "         4  ND0:NC0: functions of the shared library",
    ] {
        assert!(out.lines().any(|shown| shown == line), "{line:?}: {out}");
    }
    // 2 + 1 chunks, 2 × 5 pieces of code, 2 pointers, 2 pages, the library's 2, 2 threads × 2 models.
    assert!(out.starts_with("nodes 23 "), "{out}");
    assert!(out.contains("\nmodels 2 ") && out.contains("\ntensors 12 ") && out.contains("\nring 256 "), "{out}");
}

#[test]
fn the_json_has_the_same_numbers() {
    for name in ["default.json", "cayman.json", "mariana.json", "sunda.json", "sharing.json", "three-on-one-core.json"] {
        let (status, out, errors) = run(&["--json", &shipped(name), "--ring=1024"]);
        assert_eq!((status, errors.as_str()), (0, ""), "{name}");
        let report: Value = serde_json::from_str(&out).unwrap();
        let fit = Fit::read(Path::new(&shipped(name))).unwrap().with_ring(1024);
        let capacities = fit.capacities();
        assert_eq!(report["capacities"]["nodes"], capacities.nodes);
        assert_eq!(report["capacities"]["ring"], 1024);
        assert_eq!(report["static_bytes"], capacities.storage_bytes());
        // What is listed adds up to what is derived.
        let sum = |pool: &str| {
            let needs = report["needs"].as_array().unwrap().iter().filter(|need| need["pool"] == pool);
            needs.map(|need| need["slots"].as_u64().unwrap()).sum::<u64>()
        };
        assert_eq!((sum("nodes"), sum("models")), (capacities.nodes as u64, capacities.models as u64), "{name}");
        assert_eq!(sum("tensors"), capacities.tensors as u64, "{name}");
        assert_eq!(sum("mem_refs").max(sum("tables")), capacities.mem_refs as u64, "{name}");
        assert!(report["needs"][0]["model"].is_string() && report["needs"][0]["relative"] == 0);
    }
}

#[test]
fn the_least_of_a_storage_is_said() {
    let path = deployment("least.json", json!({ "subgraphs": 1 }));
    let fit = Fit::read(&path).unwrap();
    // A chunk, and what input and output are slices of.
    assert_eq!((fit.demand(Pool::Nodes), fit.capacities().nodes), (2, 8));
    // A logical core of two cores, although the model is on one.
    assert_eq!((fit.demand(Pool::Models), fit.capacities().models), (1, 2));
    let (_, out, _) = run(&[path.to_str().unwrap()]);
    assert!(out.contains("       6  the least that a storage has\n"), "{out}");
}

#[test]
fn the_rust_form_is_what_a_build_script_writes() {
    let (status, out, _) = run(&[&shipped("sharing.json"), "--rust"]);
    assert_eq!(status, 0);
    assert!(out.contains("pub type DeploymentStorage = ::nrt_core::Storage<23, 2, 25, 12, 256>;"), "{out}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emit");
    fs::create_dir_all(&folder).unwrap();
    // The variable is for a process of its own: other threads of this one read the environment.
    let emitted = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "emit_in_a_process_of_its_own", "--nocapture"])
        .env("OUT_DIR", &folder)
        .env("NRT_CAPACITY_EMIT", shipped("sharing.json"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&emitted.stdout);
    assert!(said.contains(&format!("cargo::rerun-if-changed={}", shipped("sharing.json"))), "{said}");
    assert_eq!(fs::read_to_string(folder.join("storage.rs")).unwrap(), out);
}

/// Does something only as a part of the test above.
#[test]
fn emit_in_a_process_of_its_own() {
    if let Ok(path) = std::env::var("NRT_CAPACITY_EMIT") {
        println!();
        nrt_capacity::emit(path, "storage.rs").unwrap();
    }
}

#[test]
fn weights_files_count_by_their_size() {
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("weights.bin"), vec![0; 2500]).unwrap();
    let path = deployment("file.json", json!({ "weights": { "file": "weights.bin" }, "weight_chunk_bytes": 1000 }));
    let fit = Fit::read(&path).unwrap();
    assert_eq!(fit.files().len(), 2);
    // 3 chunks over two cores, the memory of one thread.
    assert_eq!(fit.demand(Pool::Nodes), 4);
}

#[test]
fn help_and_faults() {
    let (status, out, _) = run(&["--help"]);
    assert!(status == 0 && out.contains("Examples:") && out.contains("Exit status:"), "{out}");
    let missing = deployment("missing.json", json!({ "weights": { "file": "nothing.bin" } }));
    let empty = deployment("empty.json", json!({ "weights": { "file": "empty.bin" } }));
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("empty.bin"), []).unwrap();
    let many = deployment("many.json", json!({ "weights": { "seed": 1, "bytes": 1_u64 << 40 }, "weight_chunk_bytes": 1000 }));
    let pages = deployment("pages.json", json!({ "scratchpad_bytes": 1_u64 << 40 }));
    let unknown = deployment("unknown.json", json!({ "speed": 1 }));
    let path = |path: &Path| path.to_str().unwrap().to_string();
    let faults: [(&[&str], &str); 12] = [
        (&[], "no deployment, expected the path of one"),
        (&["a", "b"], "\"b\": given a second time, expected one deployment"),
        (&["--fast"], "--fast: unknown option, expected --json, --rust, --ring or --help"),
        (&["--json", "--rust", "a"], "--rust: excludes an option given before"),
        (&["--ring"], "--ring: no value given"),
        (&["--ring", "7", "a"], "--ring \"7\": bad value, expected 8 to 16777215"),
        (&["nowhere.json"], "nowhere.json: No such file"),
        (&[&path(&missing)], "nothing.bin: No such file"),
        (&[&path(&empty)], "empty.bin: the file has 0 bytes, expected 1 to 1099511627776"),
        (&[&path(&many)], "nodes are needed, there can be 16777215"),
        (&[&path(&pages)], "2048 scratchpad pages of a core are needed, there can be 1024"),
        (&[&path(&unknown)], "model \"m\", key \"speed\" (line 1, column "),
    ];
    for (arguments, message) in faults {
        let (status, out, errors) = run(arguments);
        assert_eq!((status, out.as_str()), (2, ""), "{arguments:?}: {errors}");
        assert!(errors.starts_with("nrt-capacity: ") && errors.contains(message), "{arguments:?}: {errors}");
    }
}
