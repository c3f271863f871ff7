//! Replays recorded answers of the real driver through the emulator: this program runs itself under it, once for each
//! recorded file, and the inner one makes the recorded system calls and compares.

mod calls;
mod layout;
mod replay;

use std::process::{Command, ExitCode};

/// What becomes of the lines of a file: calls replayed, and those left out by reason.
struct Case {
    name: &'static str,
    replayed: usize,
    left_out: &'static [(&'static str, usize)],
}

const fn case(name: &'static str, replayed: usize, left_out: &'static [(&'static str, usize)]) -> Case {
    Case { name, replayed, left_out }
}

const OBSERVED: &str = "observation";
/// Register windows, pods, engines.
const REFUSED: &str = "not modelled";
/// Host addresses that the recording does not tell, and `mremap`.
const UNKNOWN: &str = "not replayable";
const INSIDE: &str = "mapping from inside of a chunk";

const CASES: [Case; 14] = [
    case("v2-sizes", 104, &[]),
    case("v2-forms", 252, &[]),
    case("v2-align", 443, &[]),
    case("v2-frag", 98, &[]),
    case("v2-exhaust", 76, &[]),
    case("v2-scratch", 62, &[]),
    case("v2-host", 77, &[(OBSERVED, 4)]),
    case("v2-query", 207, &[]),
    case("v2-crwl", 93, &[]),
    case("v2-async", 72, &[(OBSERVED, 9)]),
    case("v2-copy", 132, &[(OBSERVED, 74)]),
    case("v2-procs", 84, &[(OBSERVED, 4)]),
    case("v2-mmap", 164, &[(INSIDE, 7), (REFUSED, 1), (UNKNOWN, 5), (OBSERVED, 15)]),
    case("v2-probe", 136, &[(REFUSED, 4)]),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, file] = &arguments[..]
        && mode == "replay"
    {
        return replay::run(file);
    }
    if arguments.iter().any(|argument| argument == "--list") {
        for case in &CASES {
            println!("{}: test", case.name);
        }
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let chosen = CASES.iter().filter(|case| wanted.is_empty() || wanted.iter().any(|name| case.name.contains(&***name)));
    let failures = chosen.filter(|case| !passes(case)).count();
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one file under the emulator.
fn passes(case: &Case) -> bool {
    let path = format!("{}/../sim/tests/golden/{}.jsonl", env!("CARGO_MANIFEST_DIR"), case.name);
    let own = std::env::current_exe().expect("this program has a path");
    let output = Command::new(env!("CARGO_BIN_EXE_nrt-emulate"))
        .args(["--arch", "trn1", "--driver", "2.24.7", "--"])
        .arg(own)
        .args(["replay", &path])
        .output()
        .expect("the emulator starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let left_out: Vec<String> = case.left_out.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    let expected = format!("replayed {}, left out: [{}]", case.replayed, left_out.join(", "));
    let summary = text.lines().last().unwrap_or_default();
    let passed = output.status.success() && summary == expected;
    println!("{}: {summary}{}", case.name, if passed { "" } else { " FAILED" });
    if !passed {
        println!("  expected: {expected}\n{text}{}", String::from_utf8_lossy(&output.stderr));
    }
    passed
}
