//! Many processes on one device (`bars.c`).

mod common;

use common::{compile, emulate, good};

#[test]
fn one_is_killed_100_times_while_its_neighbour_works() {
    let program = compile("bars.c", "bars-kill", &[]);
    let output = emulate(&["--report"]).arg(program).args(["kill", "100"]).output().expect("the emulator");
    assert_eq!(good(&output), "killed 100 times\n");
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(report.contains("neuron0: 0 chunks live, 0 bytes device, 0 bytes host, 0 cores reserved"), "{report}");
}

#[test]
fn a_thousand_cycles_of_four_processes_leave_nothing() {
    let program = compile("bars.c", "bars-cycles", &[]);
    let output = emulate(&[]).arg(program).args(["cycles", "1000"]).output().expect("the emulator");
    let said = good(&output);
    assert!(said.starts_with("1000 cycles"), "{said}");
    print!("{said}");
}
