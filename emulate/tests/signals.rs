//! Programs that are interrupted, stopped, replaced or killed while they map device memory (`signals.c`).

use std::io::{BufRead, BufReader};
use std::process::Stdio;

mod common;

use common::{compile, emulate, good};

fn run(how: &str, rounds: &str) -> (String, String) {
    let program = compile("signals.c", &format!("signals-{how}"), &[]);
    let output = emulate(&["--report"]).arg(program).args([how, rounds]).output().expect("the emulator");
    (good(&output), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The program's word, and that nothing is left on the device; gives the report.
fn check(how: &str, rounds: &str, said: &str) -> String {
    let (output, report) = run(how, rounds);
    assert_eq!(output, said);
    assert!(report.contains("neuron0: 0 chunks live, 0 bytes device, 0 bytes host, 0 cores reserved"), "{report}");
    report
}

#[test]
fn a_timer_does_not_show_in_a_mapping() {
    check("timer", "1000", "mapped under signals\n");
}

/// A close is never interrupted: every one takes back what was left, and no descriptor stays.
#[test]
fn a_timer_that_interrupts_calls_does_not_interrupt_a_close() {
    let report = check("close", "2000", "closed under signals\n");
    assert!(report.contains("live 0, not freed before close: 2000 chunks"), "{report}");
    assert!(report.contains("  close: 2000 calls, 0 failed"), "{report}");
}

#[test]
fn the_parent_learns_of_a_child_killed_while_it_maps() {
    check("kill", "40", "kill 40 times\n");
}

#[test]
fn a_stopped_program_goes_on_where_it_was() {
    check("stop", "10", "stop 10 times\n");
}

#[test]
fn a_program_that_maps_can_be_replaced() {
    check("exec", "10", "exec 10 times\n");
}

#[test]
fn the_memory_behind_a_device_keeps_its_length() {
    check("shrink", "1", "not shorter\n");
}

/// When only what the program left behind is still there, a signal to the emulator ends it; the status is the program's.
#[test]
fn what_a_program_leaves_behind_ends_with_the_emulator() {
    let script = "(while kill -0 $$ 2>/dev/null; do :; done; echo ended; exec sleep 600) & exit 5";
    let mut emulator = emulate(&[]).args(["sh", "-c", script]).stdout(Stdio::piped()).spawn().expect("the emulator");
    let mut said = String::new();
    BufReader::new(emulator.stdout.as_mut().expect("a pipe")).read_line(&mut said).expect("the word of the child");
    assert_eq!(said, "ended\n");
    // SAFETY: a child that was not waited for.
    assert_eq!(unsafe { libc::kill(emulator.id() as libc::pid_t, libc::SIGTERM) }, 0);
    assert_eq!(emulator.wait().expect("its end").code(), Some(5));
}
