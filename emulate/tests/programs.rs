//! Whole programs under the emulator.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// The emulator with options.
fn emulate(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nrt-emulate"));
    command.args(options).arg("--");
    command
}

/// Compiles the C program of this folder.
fn compile(source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let source = format!("{}/tests/{source}", env!("CARGO_MANIFEST_DIR"));
    let status = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&out).arg(source).args(flags).status();
    assert!(status.expect("these tests need a C compiler, cc").success(), "{name} does not compile");
    out
}

/// Succeeds, or shows what the program said.
fn good(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}{err}", output.status);
    assert!(!err.contains("seccomp user notification is not available"), "{err}");
    out.into_owned()
}

#[test]
fn memory_path_for_every_driver_and_architecture() {
    let programs = [compile("memory.c", "memory", &[]), compile("memory.c", "memory-static", &["-static"])];
    for (arch, driver) in [
        ("trn1", "2.24.7"),
        ("inf2", "2.25.4"),
        ("trn1", "2.26.5"),
        ("trn2", "2.24.7"),
        ("trn2", "2.25.4"),
        ("trn2", "2.26.5"),
        ("trn3", "2.25.4"),
        ("trn3", "2.26.5"),
    ] {
        for program in &programs {
            let output = emulate(&["--arch", arch, "--driver", driver]).arg(program).output().expect("the emulator");
            assert_eq!(good(&output), format!("memory ok {driver}.0\n"), "{arch}");
        }
    }
}

#[test]
fn exit_statuses() {
    let status = |options: &[&str], program: &[&str]| {
        emulate(options).args(program).stderr(Stdio::null()).status().expect("the emulator").code()
    };
    assert_eq!(status(&[], &["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(status(&[], &["sh", "-c", "kill -9 $$"]), Some(137));
    assert_eq!(status(&[], &["/no/such/program"]), Some(127));
    assert_eq!(status(&[], &["/etc/passwd"]), Some(126));
    assert_eq!(status(&["--arch", "trn3", "--driver", "2.24.7"], &["true"]), Some(125), "never existed");
    assert_eq!(status(&["--hbm", "1G"], &["true"]), Some(125));
    assert_eq!(status(&["--fail", "NOTHING:1:EIO"], &["true"]), Some(125));
}

#[test]
fn failures_traces_and_reports() {
    let program = compile("hold.c", "hold-trace", &[]);
    let trace = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("trace.jsonl");
    let options = ["--trace=json", "--report", "--fail", "MEM_ALLOC_V2MT64:2:ENOMEM", "--output"];
    let output = emulate(&[&options[..], &[trace.to_str().expect("text")]].concat())
        .arg(program)
        .args(["2", "0"])
        .stdin(Stdio::null())
        .output()
        .expect("the emulator");
    assert_eq!(output.status.code(), Some(3), "the second allocation fails");
    let lines: Vec<serde_json::Value> = std::fs::read_to_string(trace)
        .expect("a trace")
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect();
    let allocations: Vec<_> = lines.iter().filter(|line| line["call"] == "MEM_ALLOC_V2MT64").collect();
    assert_eq!(allocations.len(), 2);
    assert_eq!((&allocations[0]["ret"], &allocations[0]["errno"]), (&0.into(), &0.into()));
    assert_eq!((&allocations[1]["ret"], &allocations[1]["errno"]), (&(-1).into(), &12.into()));
    let report = &lines.last().expect("a report")["report"];
    assert_eq!(report["devices"][0]["live_chunks"], 0);
    assert_eq!(report["memory"][0]["leaked_chunks"], 1);
}

#[test]
fn a_killed_process_gives_everything_back_and_the_other_does_not_notice() {
    let program = compile("hold.c", "hold", &[]);
    let program = program.to_str().expect("text");
    // The survivor works all the time; twenty others hold its neighbour core and are killed while they load.
    let script = format!(
        "{program} load 0 & survivor=$!
         for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
             said=$({program} victim 1) || exit 4
             case $said in *killed*) ;; *) exit 5 ;; esac
         done
         kill -USR1 $survivor; wait $survivor || exit 6
         {program} check 1"
    );
    let output = emulate(&["--arch", "trn1", "--report"]).args(["sh", "-c", &script]).output().expect("the emulator");
    good(&output);
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(report.contains("neuron0: 0 chunks live, 0 bytes device, 0 bytes host, 0 cores reserved"), "{report}");
}

/// Starts a program that tells when it holds the device, and waits for that.
fn started(mut command: Command) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the emulator");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    assert_eq!(line, "holding\n");
    (child, out)
}

#[test]
fn without_the_emulator_the_program_ends() {
    let program = compile("hold.c", "hold-orphan", &[]);
    let mut command = emulate(&[]);
    command.arg(program).args(["1", "0"]);
    let (mut emulator, mut out) = started(command);
    emulator.kill().expect("a signal");
    emulator.wait().expect("its end");
    // The program's end closes its output, also though nobody told it to end.
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("the end of the output");
    assert_eq!(rest, "");
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
fn a_program_that_is_done_lets_the_emulator_end() {
    let program = compile("hold.c", "hold-end", &[]);
    let mut command = emulate(&["--devices", "16"]);
    command.arg(program).args(["1", "0"]);
    let (mut emulator, _out) = started(command);
    emulator.stdin.take().expect("piped").write_all(b"\n").expect("a line");
    assert!(emulator.wait().expect("its end").success());
}

/// Prints what calls cost under the emulator and without it; `--nocapture` shows it.
#[test]
fn costs_are_printed() {
    let program = compile("cost.c", "cost", &[]);
    print!("{}", good(&emulate(&[]).arg(&program).output().expect("the emulator")));
}
