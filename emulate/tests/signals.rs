//! Programs that are interrupted, stopped, replaced or killed while they map device memory (`signals.c`).

mod common;

use common::{compile, emulate, good};

fn run(how: &str, rounds: &str) -> (String, String) {
    let program = compile("signals.c", &format!("signals-{how}"), &["-pthread"]);
    let output = emulate(&["--report"]).arg(program).args([how, rounds]).output().expect("the emulator");
    (good(&output), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The program's word, and that nothing is left on the device.
fn check(how: &str, rounds: &str, said: &str) {
    let (output, report) = run(how, rounds);
    assert_eq!(output, said);
    assert!(report.contains("neuron0: 0 chunks live, 0 bytes device, 0 bytes host, 0 cores reserved"), "{report}");
}

#[test]
fn a_timer_does_not_show_in_a_mapping() {
    check("timer", "1000", "mapped under signals\n");
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
