//! Weights in files: large ones, and what can be wrong with them before and during a run.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, symlink};
use std::process::Stdio;

use serde_json::{Value, json};

use super::program::{Folder, Outcome, assert_nothing_left, command, model};

/// Writes `bytes` bytes with content at the start of every 256 KiB and at the very end; between them the file is sparse.
fn patterned(folder: &Folder, name: &str, bytes: u64) {
    let file = File::create(folder.path(name)).unwrap();
    file.set_len(bytes).unwrap();
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = [0; 4096];
    for at in (0..bytes).step_by(256 << 10).chain([bytes - 4096]) {
        for place in block.as_chunks_mut::<8>().0 {
            word = word.rotate_left(17).wrapping_mul(0xd6e8_feb8_6659_fd93) ^ at;
            *place = word.to_le_bytes();
        }
        file.write_all_at(&block, at).unwrap();
    }
}

/// Requests that keep the program busy for some seconds, in which a file can be changed.
const LONG: u64 = 150_000;

fn one_model(file: &str, more: Value) -> Value {
    let mut deployment = json!({ "arch": "cayman", "models": [model("m", 0, json!({ "file": file }), json!({}))] });
    deployment.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    deployment
}

#[test]
fn a_gibibyte_of_weights() {
    let folder = Folder::new();
    patterned(&folder, "weights.bin", 1 << 30);
    let model =
        model("generate", 0, json!({ "file": "weights.bin" }), json!({ "code_bytes": 8_388_608, "scratchpad_bytes": 1 << 26 }));
    let deployment = json!({ "arch": "cayman", "threads": 2, "requests": 100, "reload_every": 50, "models": [model] });
    let report = folder.run(&deployment).held();
    assert_eq!(report["models"][0]["bytes_by_usage"]["weight"], 1 << 30);
    assert!(report["peak_device_bytes"].as_u64().unwrap() > 1 << 30);
}

#[test]
fn sizes_around_the_chunk() {
    let folder = Folder::new();
    for bytes in [1, 4095, 4096, 4097, 8192, 100_000] {
        fs::write(folder.path("w"), (0..bytes).map(|index| (index * 7 + index / 256) as u8).collect::<Vec<_>>()).unwrap();
        let deployment = json!({
            "arch": "mariana",
            "models": [model("m", 0, json!({ "file": "w" }), json!({ "weight_chunk_bytes": 4096 }))]
        });
        assert_eq!(folder.run(&deployment).held()["models"][0]["bytes_by_usage"]["weight"], bytes);
    }
}

#[test]
fn a_file_that_cannot_be_used_is_refused_before_the_start() {
    let folder = Folder::new();
    folder.file("empty", "");
    fs::create_dir(folder.path("folder")).unwrap();
    symlink("nowhere", folder.path("dangling")).unwrap();
    symlink("/dev/null", folder.path("null")).unwrap();
    symlink("loop", folder.path("loop")).unwrap();
    folder.file("plain", "x");
    for (file, reason) in [
        ("missing", "there is no such file"),
        ("dangling", "there is no such file"),
        ("empty", "the file is empty, expected at least one byte"),
        ("folder", "this is a directory, expected a file"),
        ("null", "this is not a regular file"),
        ("loop", "too many symbolic links"),
        ("plain/inside", "a part of the path is not a directory"),
    ] {
        let outcome = folder.run(&one_model(file, json!({})));
        assert_eq!(outcome.refused(2), format!("nrt-appliance: model \"m\", key \"weights.file\": {file}: {reason}\n"));
    }
    let sparse = File::create(folder.path("huge")).unwrap();
    if sparse.set_len((1 << 40) + 1).is_ok() {
        let message = folder.run(&one_model("huge", json!({}))).refused(2).to_owned();
        assert!(message.contains("the file has 1099511627777 bytes, expected at most 1099511627776"), "{message}");
    }
}

#[test]
fn a_file_without_permission_is_refused() {
    let folder = Folder::new();
    let path = folder.file("secret", "x");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if File::open(&path).is_ok() {
        // The superuser may read everything.
        return;
    }
    let outcome = folder.run(&one_model("secret", json!({})));
    assert!(outcome.refused(2).ends_with("secret: permission denied\n"), "{outcome:?}");
}

#[test]
fn every_faulty_file_is_named() {
    let folder = Folder::new();
    let models = ["a", "b"].map(|name| model(name, 0, json!({ "file": format!("{name}.bin") }), json!({})));
    let outcome = folder.run(&json!({ "arch": "sunda", "models": models }));
    let message = outcome.refused(2);
    assert!(message.contains("model \"a\", key \"weights.file\": a.bin") && message.contains("model \"b\""), "{message}");
}

#[test]
fn files_are_relative_to_the_deployment() {
    let folder = Folder::new();
    fs::create_dir(folder.path("inner")).unwrap();
    folder.file("w", "outer");
    folder.file("inner/w", "in the inner folder");
    let absolute = folder.path("w");
    for (file, bytes) in [("w", 19), ("../w", 5), (absolute.to_str().unwrap(), 5)] {
        let path = folder.file("inner/deployment.json", one_model(file, json!({})).to_string());
        let report = super::program::run([path.as_os_str(), "--json".as_ref()]).held();
        assert_eq!(report["models"][0]["bytes_by_usage"]["weight"], bytes, "{file}");
    }
}

/// Runs a deployment of one model and calls `disturb` when the model is loaded.
fn disturbed(folder: &Folder, deployment: &Value, disturb: impl FnOnce()) -> Outcome {
    let path = folder.file("deployment.json", deployment.to_string());
    let mut child = command([path.as_os_str(), "--json".as_ref(), "--log".as_ref(), "info".as_ref()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("Added model") {
        line.clear();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "the log ends before the model is loaded");
    }
    disturb();
    // The log goes on; nobody may be kept waiting for it to be read.
    let reader = std::thread::spawn(move || {
        let mut rest = String::new();
        log.read_to_string(&mut rest).unwrap();
        rest
    });
    let mut outcome: Outcome = child.wait_with_output().unwrap().into();
    outcome.stderr = reader.join().unwrap();
    outcome
}

#[test]
fn a_file_that_shrinks_ends_the_job_at_the_next_reload() {
    let folder = Folder::new();
    patterned(&folder, "w", 4 << 20);
    let deployment = one_model("w", json!({ "threads": 4, "requests": 1_000_000_000, "reload_every": 40 }));
    let outcome = disturbed(&folder, &deployment, || {
        OpenOptions::new().write(true).open(folder.path("w")).unwrap().set_len(1_000_000).unwrap();
    });
    let (report, errors) = outcome.failed();
    assert!(errors.contains("model \"m\" cannot be loaded: ") && errors.contains("the weights file cannot be read"), "{errors}");
    // Where a reload that was under way at that moment had got to may lie behind the new end.
    let (_, rest) = errors.split_once("model \"m\" key \"weights.file\": the file ends at offset ").expect(&errors);
    let offset = rest.split_once(',').and_then(|(offset, _)| offset.parse::<u64>().ok()).expect(&errors);
    assert!((1_000_000..4 << 20).contains(&offset), "{errors}");
    assert_eq!((&report["weights_verified"], &report["outputs_verified"]), (&json!(false), &json!(false)));
    assert_eq!(report["models"][0]["handle"], 0);
    assert_nothing_left(&report);
}

#[test]
fn a_file_that_shrinks_after_the_last_load_fails_the_verification() {
    let folder = Folder::new();
    patterned(&folder, "w", 4 << 20);
    let outcome = disturbed(&folder, &one_model("w", json!({ "requests": LONG })), || {
        OpenOptions::new().write(true).open(folder.path("w")).unwrap().set_len(1_000_000).unwrap();
    });
    let (report, errors) = outcome.failed();
    assert!(errors.contains("key \"weights.file\": the file ends at offset 1000000"), "{errors}");
    assert_eq!((&report["weights_verified"], &report["outputs_verified"]), (&json!(false), &json!(true)));
    assert_nothing_left(&report);
}

#[test]
fn a_changed_byte_is_found_with_its_offset() {
    let folder = Folder::new();
    patterned(&folder, "w", 4 << 20);
    let at = (3 << 20) + 12_345;
    let outcome = disturbed(&folder, &one_model("w", json!({ "requests": LONG })), || {
        let file = OpenOptions::new().read(true).write(true).open(folder.path("w")).unwrap();
        file.write_all_at(&[0x5a], at).unwrap();
    });
    let (report, errors) = outcome.failed();
    assert_eq!(
        errors,
        format!(
            "model \"m\", weights differ at offset {at}: 0x00 on the device (core 1 of the logical core, variable 0x10001), 0x5a \
             in the source"
        )
    );
    assert_eq!((&report["weights_verified"], &report["outputs_verified"]), (&json!(false), &json!(true)));
    assert_nothing_left(&report);
}

#[test]
fn what_is_appended_is_not_looked_at() {
    let folder = Folder::new();
    patterned(&folder, "w", 1 << 20);
    let deployment = one_model("w", json!({ "requests": LONG, "reload_every": 10_000 }));
    let outcome = disturbed(&folder, &deployment, || {
        OpenOptions::new().write(true).open(folder.path("w")).unwrap().set_len(2 << 20).unwrap();
    });
    let report = outcome.report();
    assert_eq!((outcome.status, &report["errors"]), (Some(0), &json!([])));
    assert_eq!(report["models"][0]["bytes_by_usage"]["weight"], 1 << 20);
}
