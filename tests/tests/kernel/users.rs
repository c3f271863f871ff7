//! The same as somebody who is not root.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::programs::{Outcome, Shared, appliance, emulator, memory_path_in_c, serve};

/// The user and group that own nothing.
const NOBODY: u32 = 65534;

/// Whether this process may become somebody else.
fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status of this process");
    status.lines().any(|line| line.strip_prefix("Uid:").is_some_and(|ids| ids.split_whitespace().nth(1) == Some("0")))
}

/// The appliance, a std program and C programs, with the emulator itself run by another user. Whoever is not root is that
/// other user in all other tests already.
#[test]
fn as_another_user() {
    if !is_root() {
        return println!("not root: every other test of this program is run by an ordinary user already");
    }
    let programs = [appliance(), serve(), memory_path_in_c(false), memory_path_in_c(true)].map(Path::new);
    let emulator = emulator();
    let shared = Shared::new(&[&[emulator.as_path()], &programs[..]].concat());
    for (arch, driver) in super::MACHINES {
        for (name, arguments, said) in [
            ("nrt-appliance", &["--device", "/dev/neuron0"][..], "after close: 0 device bytes and 0 nodes live"),
            ("serve", &[], "nothing is left"),
            ("kernel-memory", &[], "memory ok "),
            ("kernel-memory-static", &[], "memory ok "),
        ] {
            let outcome: Outcome = Command::new(shared.path("nrt-emulate"))
                .args(["--arch", arch, "--driver", driver, "--"])
                .arg(shared.path(name))
                .args(arguments)
                .current_dir("/")
                .uid(NOBODY)
                .gid(NOBODY)
                .stdin(Stdio::null())
                .output()
                .expect("the emulator runs")
                .into();
            assert_eq!(outcome.status, Some(0), "{name} on {arch} {driver}: {outcome:?}");
            assert!(outcome.stdout.contains(said), "{name} on {arch} {driver}: {outcome:?}");
        }
    }
}
