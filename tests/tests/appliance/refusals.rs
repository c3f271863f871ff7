//! Command lines and deployments that are refused before anything is allocated, and devices that are not there.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::program::{Folder, Outcome, command, model, run, run_deployment};

fn small(more: Value) -> Value {
    json!({ "arch": "cayman", "models": [model("m", 0, json!({ "seed": 1, "bytes": 4096 }), more)] })
}

#[test]
fn help_and_version() {
    let help = run(["--help"]);
    assert_eq!((help.status, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.contains("Usage: nrt-appliance [DEPLOYMENT.json]") && help.stdout.contains("Exit status:"));
    let version = run(["-V"]);
    assert_eq!((version.status, version.stdout), (Some(0), format!("nrt-appliance {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn a_bad_command_line() {
    let outcome = run(["--jsn"]);
    let expected = "nrt-appliance: --jsn: unknown option, expected --device, --simulate, --info, --attach, --reserve, \
                    --json, --log, --help or --version\nTry --help.\n";
    assert_eq!(outcome.refused(2), expected);
    for arguments in [&["--simulate", "trn2"][..], &["--simulate"], &["a.json", "b.json"], &["--log", "loud"], &["--json=yes"]] {
        assert!(run(arguments).refused(2).starts_with("nrt-appliance: "), "{arguments:?}");
    }
}

#[test]
fn a_deployment_that_cannot_be_read() {
    let folder = Folder::new();
    let missing = folder.path("missing.json");
    assert_eq!(run([&missing]).refused(2), format!("nrt-appliance: {}: there is no such file\n", missing.display()));
    assert!(run([folder.path("")]).refused(2).ends_with("this is a directory, expected a file\n"));
    let empty = folder.file("empty.json", "");
    assert!(run([&empty]).refused(2).contains("line 1, column 1"));
    let long = folder.file("long.json", " ".repeat((1 << 20) + 1));
    assert!(run([&long]).refused(2).contains("expected at most 1048576 bytes"), "{}", run([&long]).stderr);
}

#[test]
fn an_unknown_key_is_named_with_its_place() {
    let folder = Folder::new();
    let text =
        "{\n  \"arch\": \"cayman\",\n  \"models\": [\n    { \"name\": \"generate\", \"vnc\": 0, \"wieghts\": {} }\n  ]\n}\n";
    let path = folder.file("d.json", text);
    let outcome = run([&path]);
    let message = outcome.refused(2);
    let place =
        format!("nrt-appliance: {}: model \"generate\", key \"wieghts\" (line 4, column 37): unknown key", path.display());
    assert!(message.starts_with(&place), "{message}");
}

#[test]
fn a_logical_core_that_the_other_architecture_does_not_have() {
    let folder = Folder::new();
    let mut deployment = small(json!({ "vnc": 3 }));
    deployment["logical_core_size"] = json!(1);
    let path = folder.file("d.json", deployment.to_string());
    assert_eq!(run([path.as_os_str(), "--json".as_ref()]).status, Some(0));
    let outcome = run([path.as_os_str(), "--simulate".as_ref(), "sunda".as_ref()]);
    assert!(outcome.refused(2).contains("model \"m\", key \"vnc\""), "{outcome:?}");
    assert!(outcome.stderr.contains("expected less than 2 (1 device x 2 cores / logical core size 1)"), "{outcome:?}");
}

#[test]
fn a_deployment_larger_than_the_static_memory() {
    let chunks = small(json!({ "weights": { "seed": 1, "bytes": 100_000 }, "weight_chunk_bytes": 1 }));
    let outcome = run_deployment(&chunks);
    let message = outcome.refused(2);
    for (need, pool, have) in [(100_001, "nodes", 32_768), (100_004, "mem_refs", 16_384)] {
        let expected = format!(
            "nrt-appliance: the deployment does not fit the static memory: {need} {pool} are needed, there are {have}; model \"m\" \
             alone needs {need}\n"
        );
        assert!(message.contains(&expected), "{expected:?}: {message}");
    }
    let tensors = |count: usize| (0..count).map(|index| json!({ "name": format!("t{index}"), "bytes": 64 })).collect::<Vec<_>>();
    let models = (0..64).map(|index| {
        model(&format!("m{index}"), 0, json!({ "seed": 1, "bytes": 1 }), json!({ "inputs": tensors(4), "outputs": tensors(1) }))
    });
    let many = json!({ "arch": "cayman", "threads": 16, "models": models.collect::<Vec<_>>() });
    let outcome = run_deployment(&many);
    assert!(
        outcome.refused(2).contains(": 6144 tensors are needed, there are 4096; model \"m0\" alone needs 96\n"),
        "{outcome:?}"
    );
    let outcome = run_deployment(&small(json!({ "scratchpad_bytes": 1_u64 << 40 })));
    assert_eq!(
        outcome.refused(2),
        "nrt-appliance: model \"m\", key \"scratchpad_bytes\": 2048 scratchpad pages are needed, a core has 1024\n"
    );
}

#[test]
fn a_deployment_that_just_fits() {
    // 16,380 chunks on two cores, 2 variables on each.
    let full = small(json!({ "weights": { "seed": 1, "bytes": 16_380 }, "weight_chunk_bytes": 1 }));
    let outcome = run_deployment(&full);
    let report = outcome.report();
    // So many records take more memory than other runs.
    assert_eq!((outcome.status, &report["errors"]), (Some(0), &json!([])));
    assert_eq!(report["models"][0]["bytes_by_usage"]["weight"], 16_380);
    let over = small(json!({ "weights": { "seed": 1, "bytes": 16_381 }, "weight_chunk_bytes": 1 }));
    assert!(run_deployment(&over).refused(2).contains("16385 mem_refs are needed, there are 16384"));
}

#[test]
fn devices() {
    for path in ["/dev/null", "/tmp/neuron0", "neuron0"] {
        assert!(run(["--device", path]).refused(2).contains("expected a device node, /dev/neuron0 to /dev/neuron63"), "{path}");
    }
    // A bad deployment is a bad deployment, whatever the device.
    assert!(run(["missing.json", "--device", "/dev/neuron0"]).refused(2).contains("there is no such file"));
}

/// Runs the program by a shell that has set something up for it.
fn after(setup: &str) -> Outcome {
    let program = super::program::executable().to_str().expect("UTF-8");
    Command::new("sh").args(["-c", &format!("{setup} {program} --json")]).stdin(Stdio::null()).output().expect("a shell").into()
}

#[test]
fn a_stack_that_is_too_small() {
    let outcome = after("ulimit -s 256;");
    let expected = "nrt-appliance: the stack is limited to 256.000KB, 512.000KB are needed (ulimit -s)\n";
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(4), "", expected));
    after("ulimit -s 512;").held();
}

/// The limit on files holds for modelled device memory too; the signal that comes with it does not end the program.
#[test]
fn memory_larger_than_files_may_be() {
    let outcome = after("ulimit -f 1000;");
    let (_, errors) = outcome.failed();
    assert_eq!(
        errors,
        "the model of the driver does not start: no memory behind HBM 0 of device 0 (25769803776 bytes): larger than a file may be (ulimit -f)"
    );
}

#[test]
fn standard_descriptors_that_are_closed() {
    // Nothing of the report or of the log gets into files that are opened later; nobody hears of it.
    let outcome = after("exec 0<&- 2>&-;");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    // The report goes to /dev/null then, as with many programs.
    assert_eq!(after("exec 0<&- 1>&- 2>&-;").status, Some(0));
}

/// Nobody reads the report: said, not the end by a signal.
#[test]
fn a_pipe_that_nobody_reads() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command(["--json"]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message, "nrt-appliance: standard output cannot be written: nobody reads the pipe\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let output = command(["--json"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message, "nrt-appliance: standard output cannot be written: no space left\n");
}

#[test]
fn the_log_has_levels() {
    let info = run(["--log", "info", "--json"]);
    assert_eq!(info.status, Some(0));
    // A line for each of the two cores of a logical core.
    assert_eq!(info.stderr.matches("nrt info: Added model ").count(), 2 * 8, "{}", info.stderr);
    assert_eq!(info.stderr.matches("nrt info: Removed model ").count(), 8, "{}", info.stderr);
    assert_eq!(run(["--log", "warn", "--json"]).stderr, "");
}
