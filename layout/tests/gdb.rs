//! The gdb script on running processes and on core files of them: the appliance as it is shipped, and a program with debug
//! information.
//!
//! The latter is this test program itself, started by gdb with one test chosen (`resident`) and a variable set: it loads two
//! models on the modelled driver, installs the tree and stops at a known function.

mod common;
mod resident;

use std::path::Path;
use std::process::Command;

use common::{absent, code, layout, text, write};

/// Runs gdb in batch mode; nothing, loudly, when there is none.
fn gdb(arguments: &[&str], child: bool) -> Option<String> {
    let mut command = Command::new("gdb");
    command.args(["-nx", "-batch", "-q"]).args(["-ex", "set confirm off", "-ex", "set debuginfod enabled off"]).args(arguments);
    if child {
        command.env(resident::VARIABLE, "1");
    }
    match command.output() {
        Ok(output) => Some(format!("{}{}", text(&output.stdout), text(&output.stderr))),
        Err(error) => {
            absent("gdb", &format!("a gdb session does not start: {error}"));
            None
        }
    }
}

/// The script as emitted, which is the committed one.
fn script(directory: &Path) -> String {
    let output = layout(&["emit", "gdb"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with(include_str!("../gdb/offsets.py")), "gdb/offsets.py is what `emit gdb` writes");
    write(directory, "nrt.py", &output.stdout).display().to_string()
}

/// What the commands say about the two models of [`resident`].
fn holds(out: &str, place: &str) {
    let expected = [
        // The tree: Cayman, one device, eight cores, two to a logical core.
        "CAYMAN, 1 devices, 8 cores registered",
        "  ND0  ",
        "    NC0  ",
        "    NC7  0 B on device",
        "scratchpad: 1 pages of 512 MiB",
        // The databases.
        "models in 256 buckets",
        "\"alpha\": 0 users, ",
        "\"beta\": 0 users, ",
        // The lists.
        "GLOBAL allocator",
        "MODEL of alpha",
        "3 MiB of weight in HBM 0",
        "5 MiB of weight in HBM 1",
        "64 KiB of tensor in HBM 0",
        // The ledgers.
        "weight 3 MiB",
        "weight 5 MiB",
        "events in a ring of ",
        "+ NC0 3 MiB of weight",
        "lists and ledger agree",
    ];
    for words in expected {
        assert!(out.contains(words), "{place}: no {words:?} in\n{out}");
    }
    assert!(!out.contains("Traceback") && !out.contains("cannot read"), "{place}:\n{out}");
}

const TASKS: [&str; 10] =
    ["-ex", "nrt tree", "-ex", "nrt models", "-ex", "nrt allocator", "-ex", "nrt ledger 0 64", "-ex", "nrt check"];

#[test]
fn a_live_process_and_its_core_file() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = format!("source {}", script(directory.path()));
    let core = directory.path().join("core");
    let save = format!("gcore {}", core.display());
    let program = std::env::current_exe().expect("this test has a path").display().to_string();

    let stop = format!("break {}", resident::STOP);
    let mut live = vec!["-ex", &stop, "-ex", "run", "-ex", &source];
    live.extend(TASKS);
    live.extend([
        "-ex",
        &save,
        "-ex",
        "kill",
        "--args",
        &program,
        "--exact",
        "resident::stays_until_it_is_looked_at",
        "--nocapture",
    ]);
    let Some(out) = gdb(&live, true) else { return };
    holds(&out, "live process");
    assert!(core.is_file(), "no core file:\n{out}");

    let file = core.display().to_string();
    let mut dead = vec!["-ex", &source];
    dead.extend(TASKS);
    dead.extend([program.as_str(), file.as_str()]);
    let out = gdb(&dead, false).expect("gdb started before");
    holds(&out, "core file");

    // The same core without the program's debug information: the symbol is enough.
    let stripped = directory.path().join("stripped");
    let strip = Command::new("strip").arg("--strip-debug").arg("-o").arg(&stripped).arg(&program).status();
    if strip.is_ok_and(|status| status.success()) {
        let stripped = stripped.display().to_string();
        let mut dead = vec!["-ex", &source];
        dead.extend(TASKS);
        dead.extend([stripped.as_str(), file.as_str()]);
        holds(&gdb(&dead, false).expect("gdb started before"), "core file without debug information");
    }
}

/// Stops the appliance where its fourth and last model has just been loaded: when it logs so.
const LOADED: [&str; 8] = [
    "-ex",
    "set language c",
    "-ex",
    "catch syscall write",
    "-ex",
    r#"condition 1 $_regex((char*)$rsi, ".*Added model 4 .*")"#,
    "-ex",
    "run --log info",
];

/// What is never in a core file of a real appliance either: device memory and the host memory shared with it.
const PRIVATE_ONLY: &str = r#"python open("/proc/%d/coredump_filter" % gdb.selected_inferior().pid, "w").write("0x31")"#;

#[test]
fn the_appliance_and_its_core_file() {
    let appliance = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // The program that the tests of the appliance run, in the same folder: whichever comes first builds it, for all.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder for temporary files in the target folder");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--package", "nrt-appliance", "--bin", "nrt-appliance", "--target-dir"])
        .arg(target)
        .args(["--message-format", "json"])
        .current_dir(&appliance)
        .output()
        .expect("cargo starts");
    assert!(built.status.success(), "{}", text(&built.stderr));
    let messages = text(&built.stdout);
    let program = messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(str::to_owned)
    });
    let program = program.expect("cargo names the executable");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let core = directory.path().join("core").display().to_string();
    let save = format!("gcore {core}");
    // From the tree, room by room.
    let source = format!("source {}/gdb/nrt.py", env!("CARGO_MANIFEST_DIR"));
    let mut live = LOADED.to_vec();
    live.extend(["-ex", &source]);
    live.extend(TASKS);
    live.extend(["-ex", PRIVATE_ONLY, "-ex", &save, "-ex", "kill", &program]);
    let Some(out) = gdb(&live, false) else { return };
    hosts(&out, "running appliance");

    // From the one file.
    let source = format!("source {}", script(directory.path()));
    let mut dead = vec!["-ex", source.as_str()];
    dead.extend(TASKS);
    dead.extend([program.as_str(), core.as_str()]);
    hosts(&gdb(&dead, false).expect("gdb started before"), "core file of the appliance");
}

/// What the commands say about the built-in deployment of the appliance once its four models are resident.
fn hosts(out: &str, place: &str) {
    let expected = [
        "CAYMAN, 1 devices, 8 cores registered",
        "    NC3  ",
        "scratchpad: 1 pages of 512 MiB",
        "3 models in 256 buckets",
        "model 1 \"generate\": 0 users, ",
        "model 4 \"vision\": 0 users, ",
        "512 MiB of scratchpad in HBM 0",
        "MODEL of rerank (3) allocator",
        "64 KiB of dma_ring_io in host",
        "scratchpad 512 MiB",
        "events in a ring of ",
        "lists and ledger agree",
    ];
    for words in expected {
        assert!(out.contains(words), "{place}: no {words:?} in\n{out}");
    }
    assert!(!out.contains("Traceback") && !out.contains("cannot read"), "{place}:\n{out}");
}

#[test]
fn the_offsets_of_a_file_are_those_of_its_debug_information() {
    // Our own program has the documented layout: only the line that says where the offsets are from differs.
    let own = env!("CARGO_BIN_EXE_nrt-layout");
    let emitted = |arguments: &[&str]| {
        let output = layout(arguments);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let (documented, read) = (emitted(&["emit", "gdb"]), emitted(&["emit", "gdb", "--elf", own]));
    let differing: Vec<_> = documented.lines().zip(read.lines()).filter(|(one, other)| one != other).collect();
    assert_eq!(documented.lines().count(), read.lines().count());
    assert!(differing.iter().all(|(one, _)| *one == "# of the documented table"), "{differing:?}");
    assert_eq!(differing.len(), 1);

    // A file without those structs is refused.
    let directory = tempfile::tempdir().expect("a temporary directory");
    let other = common::compile(directory.path(), "struct other { int a; } other; int main(void) { return 0; }", &["-g"]);
    let output = layout(&["emit", "gdb", "--elf", other.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 3, "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("tdrv_ctx_t"), "{}", text(&output.stderr));
}

#[test]
fn faults_are_said() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = format!("source {}", script(directory.path()));
    let program = std::env::current_exe().expect("this test has a path").display().to_string();
    // Not started yet: the tree is not installed. An address that holds nothing. A word that is no task.
    let tasks = ["-ex", "nrt tree", "-ex", "nrt at 64", "-ex", "nrt tree", "-ex", "nrt nonsense", "-ex", "nrt dmem"];
    let Some(out) = gdb(&[&["-ex", source.as_str()], tasks.as_slice(), &[&program]].concat(), false) else { return };
    for words in ["no tree is installed yet", "cannot read", "usage: nrt tree|"] {
        assert!(out.contains(words), "no {words:?} in\n{out}");
    }
    assert!(!out.contains("Traceback"), "{out}");
}
