//! `dmem` §§2.5, 14: the event ring.

use std::ffi::CStr;
use std::sync::atomic::Ordering::Relaxed;

use nrt_core::ledger::Event;
use nrt_core::{Allocation, Arch, Usage};
use nrt_tests::{TestRuntime, runtime};

use crate::books::finish;
use crate::plans::{device, host};
use crate::raw::ledger;

fn events(runtime: &TestRuntime) -> Vec<Event> {
    let mut events = Vec::new();
    runtime.for_each_event(0, |event| events.push(*event)).unwrap();
    events
}

/// (entry_count, next_entry_idx, entries_dropped) after a refresh.
fn cursors(runtime: &TestRuntime) -> (usize, usize, usize) {
    runtime.refresh_ledger(0).unwrap();
    // SAFETY: the ledger of an open device.
    unsafe {
        let ledger = ledger(runtime, 0);
        ((*ledger).entry_count.load(Relaxed), (*ledger).next_entry_idx.load(Relaxed), (*ledger).entries_dropped.load(Relaxed))
    }
}

#[test]
fn an_event_carries_the_logical_size_and_the_total_after_it() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(1).unwrap();
    assert_eq!((events(&runtime), cursors(&runtime)), (vec![], (0, 0, 0)));
    let first = core.allocate(1, &Allocation { hint: "first", ..device(1000, Usage::Weight) }).unwrap();
    let second = core.allocate(0, &Allocation { hint: "second", ..device(5, Usage::Io) }).unwrap();
    let pa = first.address().unwrap();
    drop(first);
    let seen = events(&runtime);
    let numbers = |event: &Event| (event.sequence, event.action, event.core, event.usage, event.size, event.total_used);
    assert_eq!(numbers(&seen[0]), (1, 1, 3, 6, 1000, 1000));
    assert_eq!(numbers(&seen[1]), (2, 1, 2, 4, 5, 1005));
    assert_eq!(numbers(&seen[2]), (3, 2, 3, 6, 1000, 5));
    assert_eq!(seen.len(), 3);
    assert_eq!((seen[0].location, seen[0].channel, seen[0].pa, seen[0].align_offset), (2, 1, pa, 0));
    assert_eq!((seen[0].hint(), seen[1].hint(), seen[2].hint()), ("first", "second", "first"));
    drop(second);
    finish(&runtime);
}

#[test]
fn host_memory_is_in_the_ring_without_a_total() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let _device = core.allocate(0, &device(64, Usage::Io)).unwrap();
    drop(core.allocate(0, &host(100, Usage::DmaRingIo)).unwrap());
    let seen = events(&runtime);
    assert_eq!((seen[1].action, seen[1].location, seen[1].usage, seen[1].size, seen[1].total_used), (1, 1, 20, 100, 0));
    assert_eq!((seen[2].action, seen[2].location, seen[2].size, seen[2].total_used), (2, 1, 100, 0));
    drop(_device);
    finish(&runtime);
}

#[test]
fn events_of_all_cores_are_merged_in_the_order_they_happened() {
    let runtime = runtime(Arch::Cayman);
    let mut expected = Vec::new();
    let mut kept = Vec::new();
    for n in 0..40_u64 {
        let flat = (n * 5 % 8) as u32;
        kept.push(runtime.core(flat / 2).unwrap().allocate(flat % 2, &device(1 + n, Usage::Io)).unwrap());
        expected.push((n + 1, flat, 1 + n));
    }
    let seen: Vec<_> = events(&runtime).iter().map(|event| (event.sequence, event.core, event.size)).collect();
    assert_eq!(seen, expected);
    assert_eq!(cursors(&runtime).0, 40);
    drop(kept);
    finish(&runtime);
}

#[test]
fn a_full_segment_drops_its_oldest_events_and_keeps_every_new_one() {
    let runtime = runtime(Arch::Cayman);
    // 256 entries of the device in eight segments of 32.
    let core = runtime.core(0).unwrap();
    let other = runtime.core(3).unwrap().allocate(1, &device(9, Usage::Io)).unwrap();
    for n in 1..=50 {
        drop(core.allocate(0, &device(n, Usage::Io)).unwrap());
    }
    let seen = events(&runtime);
    assert_eq!(seen.len(), 33);
    // The 68 dropped ones count first.
    assert_eq!((seen[0].core, seen[0].sequence, seen[32].sequence), (7, 69, 101));
    let sizes: Vec<_> = seen[1..].iter().map(|event| (event.action, event.size)).collect();
    let expected: Vec<_> = (35..=50).flat_map(|n| [(1, n), (2, n)]).collect();
    assert_eq!(sizes, expected);
    let (count, _, dropped) = cursors(&runtime);
    assert_eq!((count, dropped), (33, 68));
    drop(other);
    finish(&runtime);
}

/// Totals are put together when the ring is read: also for what a core held before its oldest event that is left, on
/// channels that no event names any more, and beside releases.
#[test]
fn totals_over_cores_hold_after_events_were_dropped() {
    let runtime = runtime(Arch::Cayman);
    let (left, right) = (runtime.core(0).unwrap(), runtime.core(1).unwrap());
    let on = |channel, bytes| Allocation { channel: Some(channel), ..device(bytes, Usage::Io) };
    let elsewhere = left.allocate(0, &on(1, 700)).unwrap();
    let base = left.allocate(0, &on(0, 1000)).unwrap();
    let beside = right.allocate(0, &on(0, 20)).unwrap();
    for _ in 0..40 {
        drop(left.allocate(0, &on(0, 3)).unwrap());
    }
    let last = right.allocate(0, &on(1, 5)).unwrap();
    drop(beside);
    let seen = events(&runtime);
    let totals: Vec<_> = seen.iter().map(|event| (event.core, event.channel, event.total_used)).collect();
    // The allocation on core 2 is older than all that is left of core 0, which held 1000 bytes before that.
    assert_eq!(totals[0], (2, 0, 1020));
    let pairs: Vec<_> = (0..16).flat_map(|_| [(0, 0, 1023), (0, 0, 1020)]).collect();
    assert_eq!(totals[1..33], pairs);
    assert_eq!(totals[33..], [(2, 1, 705), (2, 0, 1000)]);
    // Written back, the raw entries tell the same: core 2 has the third segment of 32.
    runtime.refresh_ledger(0).unwrap();
    // SAFETY: the ring of an open device, three entries of the segment written.
    let raw: Vec<_> = unsafe {
        let entries = (*ledger(&runtime, 0)).entries;
        (64..67).map(|n| (*entries.add(n)).total_mem_used).collect()
    };
    assert_eq!(raw, [1020, 705, 1000]);
    drop((elsewhere, base, last));
    finish(&runtime);
}

#[test]
fn texts_outlive_what_they_named_and_the_raw_pointers_stay_valid() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let long = "a name that is longer than the ring keeps";
    drop(core.allocate(0, &Allocation { hint: long, ..device(1, Usage::Io) }).unwrap());
    // The node is used again under another name.
    let _next = core.allocate(0, &Allocation { hint: "next", ..device(2, Usage::Io) }).unwrap();
    let seen = events(&runtime);
    assert_eq!([seen[0].hint(), seen[1].hint(), seen[2].hint()], [&long[..31], &long[..31], "next"]);
    // SAFETY: the ring of an open device, entries 0 to 2 written, each hint NUL-terminated.
    let raw: Vec<_> = unsafe {
        let entries = (*ledger(&runtime, 0)).entries;
        (0..3).map(|n| CStr::from_ptr((*entries.add(n)).hint).to_str().unwrap().to_owned()).collect()
    };
    assert_eq!(raw, [&long[..31], &long[..31], "next"]);
    drop(_next);
    finish(&runtime);
}

#[test]
fn texts_are_cut_in_front_of_a_character_in_every_event() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    // The 31st byte is the first, the second, the third of a character of three.
    let names = [28, 29, 30].map(|ahead| format!("{}\u{20ac}\u{20ac}", "x".repeat(ahead)));
    for name in &names {
        drop(core.allocate(0, &Allocation { hint: name, ..device(1, Usage::Io) }).unwrap());
    }
    let cut = |name: &str| name[..name.floor_char_boundary(31)].to_owned();
    let expected: Vec<_> = names.iter().flat_map(|name| [cut(name), cut(name)]).collect();
    assert_eq!(events(&runtime).iter().map(|event| event.hint().to_owned()).collect::<Vec<_>>(), expected);
    // SAFETY: the ring of an open device, entries 0 to 5 written, each hint NUL-terminated.
    let raw: Vec<_> = unsafe {
        let entries = (*ledger(&runtime, 0)).entries;
        (0..6).map(|n| CStr::from_ptr((*entries.add(n)).hint).to_str().expect("whole characters").to_owned()).collect()
    };
    assert_eq!(raw, expected);
    finish(&runtime);
}

#[test]
fn the_raw_ring_is_what_the_walk_tells() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(1).unwrap();
    let memory = core.allocate(0, &device(4097, Usage::XtCc)).unwrap();
    // SAFETY: the ring of an open device; core 1's segment of 128 entries starts with the one event.
    let entry = unsafe { *(*ledger(&runtime, 0)).entries.add(128) };
    assert_eq!((entry.action.0, entry.mem_loc.0, entry.mem_usage.0, entry.tdram_channel, entry.nc_idx), (1, 2, 17, 1, 1));
    assert_eq!((entry.size, entry.align_offset, entry.total_mem_used), (4097, 0, 4097));
    assert_eq!(entry.pa, memory.address().unwrap());
    assert_eq!(cursors(&runtime), (1, 129, 0));
    drop(memory);
    finish(&runtime);
}
