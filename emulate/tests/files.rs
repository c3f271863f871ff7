//! What programs do with descriptors, paths and mappings of devices (`files.c`), on two devices.

mod common;

use common::{compile, emulate, good};

/// Runs one check of `files.c`.
fn check(name: &str, options: &[&str]) -> String {
    let program = compile("files.c", &format!("files-{name}"), &[]);
    good(&emulate(&[&["--devices", "2"], options].concat()).args([program.as_os_str(), name.as_ref()]).output().expect("it runs"))
}

#[test]
fn paths_show_devices_that_are_not_there() {
    check("paths", &[]);
}

#[test]
fn copies_of_descriptors_count_as_the_driver_counts_them() {
    check("copies", &[]);
}

#[test]
fn mappings_show_whole_chunks_and_are_not_inherited() {
    check("mappings", &[]);
}

#[test]
fn threads_map_at_the_same_time_while_signals_arrive() {
    check("threads", &[]);
}

#[test]
fn a_replaced_program_gives_back_what_it_does_not_pass_on() {
    check("programs", &[]);
}

#[test]
fn a_child_that_allocates_through_inherited_descriptors_is_killed_or_refused() {
    // SIGSEGV as on a real machine; EACCES and a diagnosis in strict mode.
    assert_eq!(check("forked", &[]), "11 0\n");
    assert_eq!(check("forked", &["--strict"]), "0 13\n");
}
