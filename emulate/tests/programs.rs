//! Whole programs under the emulator.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use common::{compile, emulate, good, scratch};

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
fn without_the_emulator_calls_on_devices_fail_in_what_is_left() {
    let program = compile("files.c", "files-orphaned", &[]);
    let mut command = emulate(&[]);
    command.arg(program).arg("orphaned");
    let (mut emulator, mut out) = started(command);
    let input = emulator.stdin.take();
    emulator.kill().expect("a signal");
    emulator.wait().expect("its end");
    drop(input);
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("the end of the output");
    assert_eq!(rest, "-1 1 1\n", "ENOSYS for requests, and for paths");
}

/// What a killed emulator left among the temporary files is cleared by the next one, but not what another one uses.
#[test]
fn what_a_killed_emulator_left_is_cleared() {
    let place = scratch("programs-left");
    // Of an earlier run of this test.
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).expect("a directory");
    let trees = || -> Vec<PathBuf> { fs::read_dir(&place).expect("it").map(|entry| entry.expect("an entry").path()).collect() };
    let start = || {
        let mut command = emulate(&[]);
        command.env("TMPDIR", &place).args(["sh", "-c", "cd /sys/class/neuron_device; echo holding; read line; cat neuron0/dev"]);
        started(command)
    };
    let (mut killed, _out) = start();
    let dead = trees();
    killed.kill().expect("a signal");
    killed.wait().expect("its end");
    assert_eq!((dead.len(), trees()), (1, dead.clone()), "nobody could clear it");
    let (mut alive, mut out) = start();
    let live: Vec<PathBuf> = trees().into_iter().filter(|tree| !dead.contains(tree)).collect();
    for tree in [&dead[0], &live[0]] {
        let past = SystemTime::now() - Duration::from_secs(3600);
        fs::File::open(tree).and_then(|tree| tree.set_modified(past)).expect("an older time");
    }
    let listed = emulate(&[]).env("TMPDIR", &place).args(["ls", "/sys/class/neuron_device"]).output().expect("the emulator");
    assert_eq!(good(&listed), "neuron0\n");
    assert_eq!(trees(), live);
    alive.stdin.take().expect("piped").write_all(b"\n").expect("a line");
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("the end of the output");
    assert_eq!((rest.as_str(), alive.wait().expect("its end").success(), trees().len()), ("240:0\n", true, 0));
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
