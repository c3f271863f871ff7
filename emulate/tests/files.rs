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
fn a_device_at_a_low_number_is_one() {
    check("low", &[]);
}

#[test]
fn shells_pass_devices_on_at_the_numbers_they_like() {
    let program = compile("files.c", "files-shell", &[]);
    let script = format!(
        "exec 3<>/dev/neuron0 && [ \"$(readlink /proc/self/fd/3)\" = /dev/neuron0 ] && \
         ! dd if=/dev/neuron0 of=/dev/null count=1 2>/dev/null && ! cat <&3 2>/dev/null && exec 3>&- && {} refused </dev/neuron0",
        program.display()
    );
    good(&emulate(&[]).args(["bash", "-c", &script]).output().expect("the emulator"));
}

#[test]
fn what_the_driver_has_no_function_for_is_refused() {
    check("refused", &[]);
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
fn what_a_process_closed_is_free_for_others_while_it_sleeps() {
    check("closings", &[]);
}

#[test]
fn descriptors_outlive_the_first_thread() {
    check("remains", &[]);
}

#[test]
fn every_closing_is_in_the_trace() {
    let script = "exec 3<>/dev/neuron0 4>/dev/neuron1; exec 3>&-; exec 5<>/dev/neuron0; [ -e /dev/neuron0 ]";
    let output = emulate(&["--devices", "2", "--trace=json", "--report"]).args(["bash", "-c", script]).output().expect("it runs");
    good(&output);
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let calls =
        |names: &[&str]| -> Vec<_> { lines.iter().filter(|line| names.iter().any(|name| line["call"] == *name)).collect() };
    let sorted = |mut numbers: Vec<_>| {
        numbers.sort_unstable();
        numbers
    };
    // 1. What was opened or copied is closed, once.
    let (made, closed) = (calls(&["open", "dup", "dup2"]), calls(&["close"]));
    let numbers = sorted(made.iter().map(|line| line["ret"].as_u64()).collect());
    assert_eq!(sorted(closed.iter().map(|line| line["args"]["fd"].as_u64()).collect()), numbers, "{text}");
    // 2. Some by the shell, the others at its end.
    let last: Vec<_> = closed.iter().filter(|line| line["remark"] == "at the end of the process, or before").collect();
    let last: Vec<_> = last.into_iter().map(|line| (line["device"].as_u64(), line["args"]["fd"].as_u64())).collect();
    assert_eq!(last, [(Some(1), Some(4)), (Some(0), Some(5))], "{text}");
    let report = &lines.last().expect("lines")["report"];
    let cost = report["calls"].as_array().expect("calls").iter().find(|call| call["call"] == "close");
    assert_eq!(cost.expect("closings")["calls"], closed.len());
}

#[test]
fn a_child_that_allocates_through_inherited_descriptors_is_killed_or_refused() {
    // SIGSEGV as on a real machine; EACCES and a diagnosis in strict mode.
    assert_eq!(check("forked", &[]), "11 0\n");
    assert_eq!(check("forked", &["--strict"]), "0 13\n");
}
