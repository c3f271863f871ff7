//! Every option and exit status of the emulator.

mod common;

use std::fs;
use std::process::Stdio;

use common::{compile, compile_file, emulate, good, scratch};

#[test]
fn exit_statuses() {
    let status = |options: &[&str], program: &[&str]| {
        emulate(options).args(program).stderr(Stdio::null()).status().expect("the emulator").code()
    };
    assert_eq!(status(&[], &["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(status(&[], &["sh", "-c", "kill -9 $$"]), Some(137));
    assert_eq!(status(&[], &["/no/such/program"]), Some(127));
    assert_eq!(status(&[], &["/etc/passwd"]), Some(126));
    assert_eq!(status(&["--hbm", "1G"], &["true"]), Some(125));
    assert_eq!(status(&["--fail", "NOTHING:1:EIO"], &["true"]), Some(125));
    assert_eq!(status(&["--no-such-option"], &["true"]), Some(125));
    assert_eq!(status(&[], &[]), Some(125), "no program");
    assert_eq!(status(&["--output", "/no/such/directory/file"], &["true"]), Some(125));
}

/// What the emulator says when it refuses to start.
fn refusal(options: &[&str]) -> String {
    let output = emulate(options).arg("true").output().expect("the emulator");
    assert_eq!(output.status.code(), Some(125), "{options:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_never_existed_is_refused_and_named() {
    assert!(refusal(&["--arch", "trn3", "--driver", "2.24.7"]).contains("driver 2.24.7.0 does not know"));
    assert!(refusal(&["--driver", "2.27.4"]).contains("2.24.7, 2.25.4 and 2.26.5"));
    assert!(refusal(&["--devices", "33"]).contains("1 to 32"));
    assert!(refusal(&["--hbm", "25G"]).contains("2 GiB to 25769803776 bytes"));
    assert!(refusal(&["--fail", "MEM_FREE:0x:EIO"]).contains("N is a number"));
    assert!(refusal(&["--fail", "MEM_FREE:1:EWHAT"]).contains("EWHAT"));
}

#[test]
fn the_place_for_temporary_files_is_checked() {
    let run =
        |place: &str| emulate(&[]).args(["ls", "/sys/class/neuron_device"]).env("TMPDIR", place).output().expect("the emulator");
    for (place, why) in [("/no/such", "No such file"), ("/etc/passwd", "Not a directory"), ("", "not an absolute path")] {
        let output = run(place);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), &*output.stdout), (Some(125), &b""[..]), "{said}");
        assert!(said.starts_with(&format!("nrt-emulate: TMPDIR: \"{place}\": {why}")), "{said}");
        assert!(said.contains("expected a directory that can be written"), "{said}");
    }
    assert_eq!(good(&run(scratch("").to_str().expect("text"))), "neuron0\n");
}

#[test]
fn requests_fail_as_asked_for() {
    let program = compile("hold.c", "hold-fail", &[]);
    let run = |options: &[&str], chunks: &str| {
        emulate(options).arg(&program).args([chunks, "0"]).stdin(Stdio::null()).status().expect("the emulator").code()
    };
    let fails = |fault: &'static str| ["--fail", fault];
    assert_eq!(run(&fails("MEM_ALLOC_V2MT64:2:ENOMEM"), "1"), Some(0), "only the second fails");
    assert_eq!(run(&fails("MEM_ALLOC_V2MT64:2:ENOMEM"), "2"), Some(3));
    assert_eq!(run(&fails("MEM_ALLOC_V2MT64:*:12"), "1"), Some(3), "every one, by number");
    assert_eq!(run(&fails("OPEN:2:EBUSY"), "0"), Some(2), "the full descriptor is the second");
    assert_eq!(run(&fails("CRWL_NC_RANGE_MARK_EXT0:1:EBUSY"), "0"), Some(2));
    let both = ["--fail", "MEM_FREE:1:EINVAL", "--fail", "MEM_ALLOC_V2MT64:3:ENOMEM"];
    assert_eq!((run(&both, "2"), run(&both, "3")), (Some(0), Some(3)), "repeated");
    let memory = compile("memory.c", "memory-fail", &[]);
    let output = emulate(&fails("MMAP:1:EPERM")).arg(memory).output().expect("the emulator");
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stdout).contains("MAP_FAILED"));
}

/// Runs a program that allocates twice, with the second allocation failing.
fn traced(style: &str, name: &str) -> String {
    let program = compile("hold.c", &format!("hold-{name}"), &[]);
    let file = scratch(name);
    let options = [style, "--report", "--fail", "MEM_ALLOC_V2MT64:2:ENOMEM", "--output", file.to_str().expect("text")];
    let output = emulate(&options).arg(program).args(["2", "0"]).stdin(Stdio::null()).output().expect("the emulator");
    assert_eq!(output.status.code(), Some(3), "the second allocation fails");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "everything is in the file");
    fs::read_to_string(file).expect("a trace")
}

#[test]
fn the_trace_in_json_has_these_keys() {
    let text = traced("--trace=json", "trace.jsonl");
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let known = ["pid", "tid", "call", "args", "ret", "errno", "us", "device", "out", "path", "remark"];
    let (report, calls) = lines.split_last().expect("lines");
    for call in calls {
        let keys = call.as_object().expect("an object").keys();
        assert!(keys.into_iter().all(|key| known.contains(&key.as_str())), "{call}");
        assert!(known[..7].iter().all(|key| call.get(key).is_some()), "{call}");
        assert!(call["pid"].is_u64() && call["us"].is_f64() && call["args"].is_object(), "{call}");
    }
    let allocations: Vec<_> = calls.iter().filter(|line| line["call"] == "MEM_ALLOC_V2MT64").collect();
    assert_eq!(allocations.len(), 2);
    assert_eq!((&allocations[0]["ret"], &allocations[0]["errno"]), (&0.into(), &0.into()));
    assert_eq!((&allocations[0]["device"], &allocations[0]["out"]["handle"]), (&0.into(), &1.into()));
    assert_eq!((&allocations[0]["args"]["size"], &allocations[0]["args"]["nc_id"]), (&4096.into(), &0.into()));
    assert_eq!((&allocations[1]["ret"], &allocations[1]["errno"]), (&(-1).into(), &12.into()));
    assert_eq!(allocations[1]["remark"], "as asked for");
    assert_eq!(allocations[1]["args"]["size"], 4096);
    let opened: Vec<_> = calls.iter().filter(|line| line["call"] == "open" && line["device"] == 0).collect();
    assert_eq!(opened.len(), 2);
    assert_eq!(opened[0]["path"], "/dev/neuron0");
    let report = &report["report"];
    assert_eq!(report["devices"][0]["live_chunks"], 0);
    let memory = &report["memory"][0];
    assert_eq!((&memory["place"], &memory["category"]), (&"device".into(), &"tensors".into()));
    assert_eq!((&memory["peak"], &memory["live"], &memory["leaked_chunks"]), (&4096.into(), &0.into(), &1.into()));
    let cost = report["calls"].as_array().expect("calls").iter().find(|call| call["call"] == "MEM_ALLOC_V2MT64");
    let cost = cost.expect("the allocations");
    assert_eq!((&cost["calls"], &cost["failures"]), (&2.into(), &1.into()));
    assert!(cost["mean_us"].as_f64().expect("a time") > 0.0);
}

#[test]
fn trace_and_report_for_people() {
    let text = traced("--trace", "trace.txt");
    let line = text.lines().find(|line| line.contains("MEM_ALLOC_V2MT64")).expect("an allocation");
    assert!(line.contains("neuron0 MEM_ALLOC_V2MT64(size=4096, align=0,") && line.contains(" = 0 handle=0x1 "), "{line}");
    assert!(line.ends_with(" us"), "{line}");
    assert!(text.contains("= -1 ENOMEM (as asked for)"), "{text}");
    assert!(text.contains("device tensors: peak 4096 bytes, live 0, not freed before close: 1 chunks, 4096 bytes"), "{text}");
    assert!(text.contains("MEM_ALLOC_V2MT64: 2 calls, 1 failed, "), "{text}");
}

#[test]
fn what_is_not_modelled_is_refused_in_the_trace() {
    let program = compile("hold.c", "hold-engine", &[]);
    let output = emulate(&["--trace"]).arg(program).args(["engine", "0"]).output().expect("the emulator");
    assert_eq!(output.status.code(), Some(22), "EINVAL");
    let trace = String::from_utf8_lossy(&output.stderr);
    assert!(trace.contains("DMA_QUEUE_INIT() = -1 EINVAL (engines and their queues are not modelled"), "{trace}");
}

#[test]
fn strict_mode_tells_what_the_driver_does_not() {
    let program = compile("hold.c", "hold-strict", &[]);
    let run = |options: &[&str]| {
        let output = emulate(options).arg(&program).args(["zero", "0"]).output().expect("the emulator");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (lenient, silent) = run(&["--arch", "trn1"]);
    assert_eq!((lenient, silent.as_str()), (Some(0), ""));
    let (strict, told) = run(&["--arch", "trn1", "--strict"]);
    assert_eq!(strict, Some(22));
    assert!(told.contains("HAZARD: copy or fill of length 0"), "{told}");
}

#[test]
fn precise_errnos_replace_positive_values() {
    let program = compile("hold.c", "hold-precise", &[]);
    let run = |options: &[&str]| good(&emulate(options).arg(&program).args(["positive", "0"]).output().expect("the emulator"));
    // An argument that cannot be read, and a bad handle in the extended query.
    assert_eq!(run(&[]), "8 0 22 0\n");
    assert_eq!(run(&["--precise-errnos"]), "-1 14 -1 22\n");
}

/// The example of `docs/emulator.md` does what the text says.
#[test]
fn the_example_of_the_documentation_runs() {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/emulator.md")).expect("the document");
    let code = text.split_once("```c\n").and_then(|(_, rest)| rest.split_once("```")).expect("an example").0;
    let source = scratch("alloc.c");
    fs::write(&source, code).expect("a file");
    let program = compile_file(&source, "alloc", &[]);
    let output = emulate(&["--trace"]).arg(program).output().expect("the emulator");
    assert_eq!(good(&output), "result 0, handle 1\n");
    let trace = String::from_utf8_lossy(&output.stderr);
    assert!(trace.contains("MEM_ALLOC_V2MT64(size=0x100000"), "{trace}");
}
