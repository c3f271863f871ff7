//! The variables of the environment count, on the modelled driver as on a real one.

use serde_json::{Value, json};

use super::program::{Folder, Outcome, command, model};

/// Runs a deployment, or the one built in, with a variable set.
fn with(variable: (&str, &str), deployment: Option<&Value>) -> Outcome {
    let folder = Folder::new();
    let path = deployment.map(|deployment| folder.file("d.json", deployment.to_string()));
    let mut command = command(path.iter().map(|path| path.as_os_str()).chain(["--json".as_ref()]));
    command.env(variable.0, variable.1).output().expect("the program runs").into()
}

fn two_pages() -> Value {
    let more = json!({ "subgraphs": 1, "scratchpad_bytes": 3 << 20 });
    json!({ "arch": "cayman", "requests": 4, "models": [model("m", 0, json!({ "seed": 1, "bytes": 5000 }), more)] })
}

#[test]
fn a_smaller_scratchpad_page_is_taken_and_advice_given() {
    let scratchpad = |report: &Value| report["cores"][0]["scratchpad"].clone();
    let plain = with(("HOME", "/"), Some(&two_pages())).held();
    assert_eq!((&scratchpad(&plain)["pages"], &scratchpad(&plain)["advised_page_mib"]), (&json!(1), &Value::Null));
    // The model was compiled for pages of 512 MiB: its variable of 3 MiB fits no page of two.
    let small = with(("NEURON_SCRATCHPAD_PAGE_SIZE", "2"), Some(&two_pages())).held();
    assert_eq!((&scratchpad(&small)["pages"], &scratchpad(&small)["held_bytes"]), (&json!(2), &json!(4 << 20)));
    assert_eq!(scratchpad(&small)["advised_page_mib"], 512);
    assert_eq!(small["models"][0]["bytes_by_usage"]["scratchpad_not_shared"], 3 << 20);
    // Pages of 64 MiB, each below the one before; the size of the other mode is not used.
    let contiguous = with(("NEURON_RT_DBG_EXPERIMENTAL_CONTIGUOUS_SCRATCHPAD", "1"), Some(&two_pages())).held();
    assert_eq!((&scratchpad(&contiguous)["pages"], &scratchpad(&contiguous)["held_bytes"]), (&json!(1), &json!(64 << 20)));
}

#[test]
fn the_other_variables_count_too() {
    let cores = with(("NEURON_RT_VISIBLE_CORES", "1-2"), None).held();
    assert_eq!(cores["logical_cores"], 2);
    for (variable, value) in [
        ("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "16"),
        ("NEURON_RT_DBG_ZEROCOPY", "1"),
        ("NEURON_RT_DBG_SCRATCHPAD_ON_SINGLE_CORE", "1"),
        ("NEURON_RT_DBG_DIRECT_BAR4_WRITE_SIZE", "0"),
    ] {
        assert_eq!(with((variable, value), None).held()["logical_cores"], 4, "{variable}");
    }
    // The documented default of the ring, more than the static memory holds.
    let outcome = with(("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "1048576"), None);
    let cut = "nrt warning: NEURON_RT_DEBUG_MEMLOG_MAX_SIZE: 1048576 entries are wanted, a device has room for 4096\n";
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), cut));
}

#[test]
fn a_value_that_cannot_be_is_named_with_its_place_and_what_was_expected() {
    let machine = "; this machine has 1 device of 8 cores, 4 logical cores of size 2";
    for (variable, value, position, expected, tail) in [
        // No source says which kinds of instances have one size only, so none is taken for one.
        ("NEURON_LOGICAL_NC_CONFIG", "3", 1, "a logical core size of 1 or 2", machine),
        ("NEURON_RT_VIRTUAL_CORE_SIZE", "4", 1, "a logical core size of 1 or 2", machine),
        ("NEURON_RT_VISIBLE_CORES", "0,x", 3, "a logical core number", machine),
        ("NEURON_RT_NUM_CORES", "9", 1, "a number of logical cores from 0 (all) to 4", machine),
        ("NEURON_SCRATCHPAD_PAGE_SIZE", "4096", 1, "a page size from 1 to 4095 MiB", machine),
        ("NEURON_RT_ONE_TMPBUF_PAGE_SIZE_MB", "64k", 3, "a page size from 1 to 4095 MiB", machine),
        ("NEURON_RT_DBG_SCRATCHPAD_ON_SINGLE_CORE", "yes", 1, "0 or 1", machine),
        ("NEURON_RT_DBG_EXPERIMENTAL_CONTIGUOUS_SCRATCHPAD", "10", 2, "0 or 1", machine),
        ("NEURON_RT_DBG_VERBOSE_DEV_MEM", "", 1, "0 or 1", machine),
        ("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "many", 1, "a decimal number", machine),
    ] {
        let outcome = with((variable, value), None);
        let message = format!("nrt-appliance: {variable}=\"{value}\": character {position}: expected {expected}{tail}\n");
        assert_eq!(outcome.refused(2), message);
    }
    let outcome = with(("NEURON_LOGICAL_NC_CONFIG", "1"), None);
    let message = "nrt-appliance: the environment wants logical cores of 1 physical cores, the deployment of 2\n";
    assert_eq!(outcome.refused(2), message);
    let outcome = with(("NEURON_RT_VISIBLE_CORES", "3"), None);
    assert!(outcome.refused(2).contains("key \"vnc\": logical core 1 is wanted, and this process is to have 1"), "{outcome:?}");
}

/// The runtime is watched: what a request consists of is seen under the documented ids.
#[test]
fn operations_are_counted_by_event_id() {
    let report = with(("HOME", "/"), Some(&two_pages())).held();
    let count = |id: u32| {
        let events = report["events"].as_array().expect("an array");
        events.iter().find(|event| event["id"] == id).map_or(0, |event| event["count"].as_u64().expect("a number"))
    };
    // Four requests: their inputs are written and their outputs read in batches.
    assert_eq!([12, 32, 11, 33].map(count), [4; 4]);
    // One tensor comes; it and its two slices go.
    assert_eq!([27, 28].map(count), [1, 3]);
    assert!(count(34) > 2 && count(34) == count(35), "{report}");
    assert!(count(30) > 0 && count(31) > 0, "weights go in and come out again: {report}");
}
