//! The recorded answers of the real driver, replayed by a program under the emulator, several processes included; and
//! the same random requests in process and under the emulator.
//!
//! This program is both: run as a test it starts the emulator with itself, which then does the system calls.

mod door;
#[path = "../common/pin.rs"]
mod pin;
#[path = "../../../sim/tests/replay/mod.rs"]
mod replay;
#[path = "replay.rs"]
mod supervised;
mod wander;

use std::process::{Command, ExitCode};

use replay::{CAPABILITY, Door, ENGINE};

/// A recorded file, and how many of its answers are equal; the others are inside of the copy engine.
struct Case {
    name: &'static str,
    equal: usize,
    inside: usize,
    /// Answers that only a privileged program can get.
    privileged: usize,
}

const fn case(name: &'static str, equal: usize, inside: usize) -> Case {
    Case { name, equal, inside, privileged: 0 }
}

const CASES: [Case; 20] = [
    case("v2-probe", 140, 0),
    case("v2-sizes", 104, 0),
    case("v2-forms", 252, 0),
    case("v2-align", 443, 0),
    case("v2-host", 80, 1),
    Case { privileged: 1, ..case("v2-scratch", 62, 0) },
    case("v2-query", 207, 0),
    case("v2-frag", 98, 0),
    case("v2-exhaust", 76, 0),
    Case { privileged: 16, ..case("v2-mmap", 192, 0) },
    case("v2-procs", 88, 0),
    case("v2-crwl", 93, 0),
    case("v2-copy", 155, 51),
    case("v2-async", 73, 8),
    case("v2-sysfs", 95, 0),
    case("v2-hazard0", 4, 0),
    case("v2-hazard1", 4, 0),
    case("v2-hazard2", 5, 0),
    case("v2-hazard3", 5, 0),
    case("v2-hazard4", 6, 0),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [mode, file] if mode == "replay" => return supervised::run(file),
        [mode, seed, steps, file] if mode == "wander" => return wander::run(seed, steps, file),
        _ => {}
    }
    if arguments.iter().any(|argument| argument == "--list") {
        for case in &CASES {
            println!("{}: test", case.name);
        }
        println!("{}: test", wander::NAME);
        return ExitCode::SUCCESS;
    }
    // Hundreds of thousands of requests, one after the other.
    pin::pin(0);
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| name.contains(&***wanted));
    let mut failures = CASES.iter().filter(|case| is_wanted(case.name) && !passes(case)).count();
    failures += usize::from(is_wanted(wander::NAME) && !wander::passes());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one file under the emulator.
fn passes(case: &Case) -> bool {
    let path = format!("{}/../sim/tests/golden/{}.jsonl", env!("CARGO_MANIFEST_DIR"), case.name);
    let own = std::env::current_exe().expect("this program has a path");
    let started = std::time::Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_nrt-emulate"))
        .args(["--arch", "trn1", "--driver", "2.24.7", "--"])
        .arg(own)
        .args(["replay", &path])
        .output()
        .expect("the emulator starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let refused = if door::Kernel.is_privileged() { 0 } else { case.privileged };
    let left_out = [(ENGINE, case.inside), (CAPABILITY, refused)];
    let left_out: Vec<String> =
        left_out.into_iter().filter(|(_, count)| *count != 0).map(|(reason, count)| format!("{reason} {count}")).collect();
    let expected = format!("equal {}, left out: [{}]", case.equal - refused, left_out.join(", "));
    let summary = text.lines().last().unwrap_or_default();
    let passed = output.status.success() && summary == expected;
    println!("{}: {summary}, {:.1} s{}", case.name, started.elapsed().as_secs_f64(), if passed { "" } else { " FAILED" });
    if !passed {
        println!("  expected: {expected}\n{text}{}", String::from_utf8_lossy(&output.stderr));
    }
    passed
}
