//! Programs that are hard on whoever supervises them (`rough.c`), on two devices.

mod common;

use std::fs;
use std::process::Command;

use common::{compile, emulate, good, scratch};

/// Runs one check of `rough.c`.
fn check(name: &str, arguments: &[&str]) {
    let program = compile("rough.c", &format!("rough-{name}"), &["-Wall", "-Wextra"]);
    let mut command = emulate(&["--devices", "2"]);
    good(&command.arg(program).arg(name).args(arguments).output().expect("the emulator"));
}

#[test]
fn bytes_do_not_move_around_the_driver() {
    check("moved", &[]);
}

#[test]
fn a_device_sent_over_a_socket_is_one() {
    check("sent", &[]);
}

#[test]
fn children_made_in_every_way_inherit_devices() {
    check("children", &[]);
}

#[test]
fn threads_open_and_close_at_once() {
    check("storm", &[]);
}

#[test]
fn a_filter_of_the_programs_own_is_respected() {
    check("filtered", &[]);
}

#[test]
fn numbers_that_are_taken_are_left_alone() {
    check("crowded", &[]);
}

#[test]
fn more_descriptors_than_the_supervisor_may_have_are_answered() {
    let program = compile("rough.c", "rough-full", &["-Wall", "-Wextra"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 1280 && exec \"$0\" -- \"$@\"", env!("CARGO_BIN_EXE_nrt-emulate")]).arg(program);
    good(&shell.arg("full").output().expect("the emulator"));
}

#[test]
fn what_the_dead_had_is_free_however_many_they_are() {
    check("buried", &[]);
}

#[test]
fn another_root_has_the_devices_too() {
    // SAFETY: it only asks.
    if unsafe { libc::geteuid() } == 0 {
        let root = scratch("rough-root");
        fs::create_dir_all(&root).expect("a directory");
        check("rooted", &[root.to_str().expect("text")]);
    }
}
