//! `dmem` §15: what is told when memory runs out.

use nrt_core::driver::{Call, Errno};
use nrt_core::hooks::Level;
use nrt_core::model::{SubgraphPlan, UcodeLibrary};
use nrt_core::{Allocation, Arch, Config, Placement, Status, Usage};
use nrt_sim::SimConfig;
use nrt_tests::{driver, one_device};

use crate::books::{GIB, KIB, MIB};
use crate::plans::{Formula, NOTHING, device, host, refused, region, weights};

use crate::recorder::{RecordedRuntime, Recorder, recorded};

pub(crate) fn cayman(change: impl FnOnce(&mut Config<&'static Recorder>)) -> RecordedRuntime {
    recorded(one_device(Arch::Cayman), change)
}

/// The errors that were told, without the columns' spaces.
pub(crate) fn told(runtime: &RecordedRuntime) -> Vec<String> {
    let squeeze = |line: String| line.split_whitespace().collect::<Vec<_>>().join(" ");
    runtime.hooks().take(Level::Error).into_iter().map(squeeze).collect()
}

/// What stands in a line of the table, by its first words.
#[track_caller]
pub(crate) fn row(told: &[String], owner: &str) -> Vec<String> {
    let line = told.iter().find(|line| line.starts_with(owner)).unwrap_or_else(|| panic!("no {owner} in {told:#?}"));
    line[owner.len()..].split_whitespace().map(str::to_owned).collect()
}

pub(crate) fn close(runtime: &RecordedRuntime) {
    assert!(runtime.close(None).unwrap().is_clean());
}

#[test]
fn the_report_of_a_full_hbm_word_for_word() {
    let runtime = cayman(|config| config.scratchpad_page_size = 2 * MIB);
    let core = runtime.core(0).unwrap();
    let subgraph = SubgraphPlan { regions: &[weights(3 * MIB)], local_scratchpad_bytes: MIB, ..NOTHING };
    let model = core.load(&nrt_core::model::ModelPlan { name: "resnet", subgraphs: &[subgraph, subgraph] }).unwrap();
    let tensor = core.tensor(Placement::Device, 512 * KIB, "x").unwrap();
    let other = runtime.core(1).unwrap().allocate(0, &device(7 * KIB, Usage::DmaRingIo)).unwrap();
    runtime.hooks().take(Level::Info);
    let mapped = runtime.hooks().host_maps();
    runtime.driver().watch_all();
    let error = refused(core.tensor(Placement::Device, 32 * GIB, "kv \"cache\""));
    assert_eq!(error.status, Status::Resource);
    // The refused request and the driver's list: the report itself allocates nothing, neither there nor from the platform.
    assert_eq!((runtime.driver().seen(), runtime.hooks().host_maps()), (2, mapped));
    let lines = |level| runtime.hooks().take(level).iter().map(|line| line.clone() + "\n").collect::<String>();
    let (report, ring) = (lines(Level::Error), lines(Level::Info));
    assert_eq!(report, REPORT);
    assert_eq!(ring, RING);
    drop((tensor, other));
    model.unload().unwrap();
    close(&runtime);
}

const REPORT: &str = include_str!("forensics/report.txt");
const RING: &str = include_str!("forensics/ring.csv");

#[test]
fn a_load_that_runs_out_shows_what_it_held_by_then() {
    let runtime = cayman(|_| ());
    let core = runtime.core(1).unwrap();
    let kept = core.allocate(0, &device(MIB, Usage::Cc)).unwrap();
    let subgraph = SubgraphPlan {
        regions: &[weights(5 * MIB), region(2, Usage::InstrPe, MIB, None), region(3, Usage::ActTable, 30 * GIB, None)],
        ..NOTHING
    };
    let plan = nrt_core::model::ModelPlan { name: "too large", subgraphs: &[subgraph] };
    assert_eq!(refused(core.load(&plan)).status, Status::Resource);
    let told = told(&runtime);
    assert!(told[0].starts_with("Failed to allocate 30.000GB (alignment: none, usage: runtime (act_table)) on ND 0:NC 2"));
    // The HBM and the core as they were then, the model among it; by now all of the model is given back.
    assert_eq!(row(&told, "NC 2")[..4], ["7.000MB", "1.000MB", "5.000MB", "0.000B"]);
    assert_eq!(row(&told, "(being loaded)")[..4], ["6.000MB", "1.000MB", "5.000MB", "n/a"]);
    assert!(told[2].contains("23.978GB free") && told[3] == "full: 6.022GB more are needed", "{told:#?}");
    assert!(told.contains(&"(being loaded): \"too large\", its memory has been given back".into()), "{told:#?}");
    assert_eq!(runtime.device_bytes(), MIB);
    // The ring ends where memory ran out: no event of the giving back.
    let ring = runtime.hooks().take(Level::Info);
    assert!(ring.iter().filter(|line| line.contains(",free,")).count() == 0, "{ring:#?}");
    drop(kept);
    close(&runtime);
}

/// Regions that lie in the heap of the core count to their model all the same, resident or being loaded.
#[test]
fn what_a_model_holds_in_the_heap_of_the_core_is_its_own() {
    let runtime = cayman(|_| ());
    let core = runtime.core(1).unwrap();
    let regions = [weights(5 * MIB), region(2, Usage::Notification, 2 * MIB, None)];
    let resident =
        core.load(&nrt_core::model::ModelPlan { name: "resident", subgraphs: &[SubgraphPlan { regions: &regions, ..NOTHING }] });
    // The one that is refused is for the heap of the core, too.
    let regions = [weights(MIB), region(2, Usage::Notification, 3 * MIB, None), region(3, Usage::Notification, 30 * GIB, None)];
    let plan = nrt_core::model::ModelPlan { name: "too large", subgraphs: &[SubgraphPlan { regions: &regions, ..NOTHING }] };
    assert_eq!(refused(core.load(&plan)).status, Status::Resource);
    let told = told(&runtime);
    assert_eq!(row(&told, "NC 2")[..3], ["11.000MB", "0.000B", "6.000MB"]);
    for (owner, total, constants, notifications) in
        [("model 1", "7.000MB", "5.000MB", "2.000MB"), ("(being loaded)", "4.000MB", "1.000MB", "3.000MB")]
    {
        let row = row(&told, owner);
        assert_eq!([&row[0], &row[2], &row[12]], [total, constants, notifications], "{owner}: {told:#?}");
    }
    assert!(told.contains(&"(being loaded): \"too large\", its memory has been given back".into()), "{told:#?}");
    resident.unwrap().unload().unwrap();
    close(&runtime);
}

/// In pinned memory as well, and once in the sum.
#[test]
fn pinned_memory_of_a_model_in_the_heap_of_the_core_counts_once() {
    let runtime = recorded(driver(SimConfig { host_bytes: 32 << 20, ..SimConfig::new(Arch::Sunda) }), |_| ());
    let core = runtime.core(1).unwrap();
    let pinned = |variable, bytes| nrt_core::model::RegionPlan {
        location: nrt_core::Location::Host,
        ..region(variable, Usage::Notification, bytes, None)
    };
    let resident = core.load(&nrt_core::model::ModelPlan {
        name: "resident",
        subgraphs: &[SubgraphPlan { regions: &[pinned(1, 2 * MIB)], ..NOTHING }],
    });
    let regions = [pinned(1, 3 * MIB), pinned(2, 64 * MIB)];
    let plan = nrt_core::model::ModelPlan { name: "too large", subgraphs: &[SubgraphPlan { regions: &regions, ..NOTHING }] };
    assert_eq!(refused(core.load(&plan)).status, Status::FailHostMemAlloc);
    let lines = told(&runtime);
    for (owner, total) in [("NC 1", "5.000MB"), ("model 1", "2.000MB"), ("(being loaded)", "3.000MB")] {
        assert_eq!(row(&lines, owner)[0], total, "{owner}: {lines:#?}");
    }
    resident.unwrap().unload().unwrap();
    close(&runtime);
}

/// A page belongs to the core, but a model wanted it.
#[test]
fn a_load_without_room_for_its_scratchpad_names_itself() {
    let runtime = cayman(|_| ());
    let core = runtime.core(0).unwrap();
    let subgraph = SubgraphPlan { regions: &[weights(MIB)], local_scratchpad_bytes: 30 * GIB, ..NOTHING };
    let plan = nrt_core::model::ModelPlan { name: "wide", subgraphs: &[NOTHING, subgraph] };
    assert_eq!(refused(core.load(&plan)).status, Status::Resource);
    let lines = told(&runtime);
    assert!(lines[0].contains("on ND 0:NC 1 in device memory"), "{lines:#?}");
    assert_eq!(row(&lines, "(being loaded)")[0], "0.000B", "no weights yet: {lines:#?}");
    assert!(lines.contains(&"(being loaded): \"wide\", its memory has been given back".into()), "{lines:#?}");
    assert_eq!(runtime.device_bytes(), 0);
    close(&runtime);
}

/// The library of a core belongs to no model, but it is a model's load that has no room for it.
#[test]
fn a_shared_library_without_room_names_the_load_that_wanted_it() {
    let runtime = recorded(one_device(Arch::Sunda), |_| ());
    let core = runtime.core(1).unwrap();
    let libraries = [UcodeLibrary { content: &Formula, bytes: 64 * KIB, flags: 0, cpu_id: 0, total_cpus: 1, functions: &[] }];
    let subgraph = SubgraphPlan { regions: &[weights(5 * MIB)], libraries: &libraries, ..NOTHING };
    let plan = nrt_core::model::ModelPlan { name: "custom", subgraphs: &[subgraph] };
    // The weights, then the images, then the table.
    for (nth, bytes, held) in [(2, "64.000KB", "5.000MB"), (3, "26.664KB", "5.062MB")] {
        runtime.driver().watch(&[Call::Alloc]);
        runtime.driver().fail_nth(nth, Errno::ENOMEM);
        assert_eq!(refused(core.load(&plan)).status, Status::Resource);
        let told = told(&runtime);
        assert!(told[0].starts_with(&format!("Failed to allocate {bytes} ")), "{told:#?}");
        assert!(told[0].contains(" on ND 0:NC 1 in device memory"), "{told:#?}");
        assert_eq!((&row(&told, "NC 1")[0], &row(&told, "(being loaded)")[0]), (&held.to_owned(), &"5.000MB".to_owned()));
        assert!(told.contains(&"(being loaded): \"custom\", its memory has been given back".into()), "{told:#?}");
        assert_eq!((core.library_users(0).unwrap(), runtime.device_bytes()), ((0, false), 0), "no half of a library stays");
    }
    runtime.driver().reset();
    core.load(&plan).unwrap().unload().unwrap();
    assert!(core.library_users(0).unwrap().1, "it stays with the core");
    close(&runtime);
}

#[test]
fn full_and_fragmented_are_told_apart() {
    let runtime = cayman(|_| ());
    let core = runtime.core(0).unwrap();
    // 24 GiB but for the firmware's 16 MiB: 23 pieces of 1 GiB, and the rest.
    let mut pieces: Vec<_> = (0..23).map(|_| Some(core.allocate(0, &device(GIB, Usage::Weight)).unwrap())).collect();
    let rest = core.allocate(0, &device(GIB - 16 * MIB, Usage::Weight)).unwrap();
    let fail = |bytes| refused(core.allocate(1, &device(bytes, Usage::Weight)));
    assert_eq!(fail(4096).status, Status::Resource);
    let lines = told(&runtime);
    assert!(lines.contains(&"full: 4.000KB more are needed".into()), "{lines:#?}");
    assert!(
        lines[2].starts_with(
            "ND 0 HBM 0: 0.000B free, largest free run 0.000B, by the driver's list of all processes (24 allocations"
        )
    );
    // Every other piece goes: enough is free, in pieces.
    pieces.iter_mut().step_by(2).for_each(|piece| drop(piece.take()));
    assert_eq!(fail(3 * GIB).status, Status::Resource);
    let lines = told(&runtime);
    let fragmented = "fragmented: enough is free, but the largest run is 2.000GB too short";
    assert!(lines.contains(&fragmented.into()), "{lines:#?}");
    assert!(lines[2].contains("12.000GB free, largest free run 1.000GB"), "{lines:#?}");
    assert!(lines[2].contains("16.000MB reserved by the driver"), "{lines:#?}");
    // The free runs start 16 MiB behind a multiple of their length.
    let aligned = Allocation { align: GIB, ..device(GIB, Usage::Weight) };
    // Only the topmost does not: it is in a pool of its own.
    let top = core.allocate(1, &aligned).unwrap();
    assert_eq!(refused(core.allocate(1, &aligned)).status, Status::Resource);
    let lines = told(&runtime);
    assert!(lines[0].contains("(alignment: 1.000GB, "), "{lines:#?}");
    assert!(lines[3].starts_with("a run of that length was free: none is aligned"), "{lines:#?}");
    assert!(lines[4].ends_with("when no free run holds it from a multiple of 1.000GB on"), "{lines:#?}");
    drop((pieces, rest, top));
    close(&runtime);
}

#[test]
fn a_driver_that_does_not_list_its_chunks_leaves_what_the_ledger_knows() {
    let runtime = cayman(|_| ());
    let core = runtime.core(0).unwrap();
    let kept = core.allocate(0, &device(4 * GIB, Usage::Weight)).unwrap();
    runtime.driver().watch(&[Call::Chunks]);
    runtime.driver().fail_nth(1, Errno::EINVAL);
    refused(core.allocate(0, &device(32 * GIB, Usage::Weight)));
    let lines = told(&runtime);
    assert!(
        lines[2]
            .starts_with("ND 0 HBM 0: this process held 4.000GB of 24.000GB, so at most 20.000GB are free; what other processes"),
        "{lines:#?}"
    );
    drop(kept);
    close(&runtime);
}

#[test]
fn host_memory_has_its_own_table() {
    let runtime = recorded(driver(SimConfig { host_bytes: 32 << 20, ..SimConfig::new(Arch::Sunda) }), |_| ());
    let core = runtime.core(1).unwrap();
    let kept = core.allocate(0, &host(3 * MIB, Usage::DmaRing)).unwrap();
    let device_bytes = core.allocate(0, &device(5 * MIB, Usage::Weight)).unwrap();
    let error = refused(core.allocate(0, &host(64 * MIB, Usage::Notification)));
    assert_eq!(error.status, Status::FailHostMemAlloc);
    let lines = told(&runtime);
    assert!(lines[0].starts_with("Failed to allocate 64.000MB (alignment: none, usage: "), "{lines:#?}");
    assert!(lines[0].contains(" in host memory, for \"test\""), "{lines:#?}");
    assert_eq!(row(&lines, "ND 0 Overall")[0], "3.000MB");
    assert_eq!(row(&lines, "NC 1")[0], "3.000MB");
    drop((kept, device_bytes));
    close(&runtime);
}

#[test]
fn a_column_for_every_usage_on_request() {
    let runtime = cayman(|config| config.verbose_memory_table = true);
    let core = runtime.core(0).unwrap();
    let kept =
        [Usage::InstrPe, Usage::InstrAct, Usage::DmaRingCollectives].map(|usage| core.allocate(0, &device(KIB, usage)).unwrap());
    refused(core.allocate(0, &device(32 * GIB, Usage::Weight)));
    let lines = told(&runtime);
    let heading = lines.iter().find(|line| line.starts_with("TOTAL")).unwrap();
    assert!(heading.starts_with("TOTAL generic instr_pe instr_act instr_pool io"), "{heading}");
    assert_eq!(heading.split_whitespace().count(), 23);
    let row = row(&lines, "NC 0");
    assert_eq!(
        (row.len(), row[0].as_str(), row[1].as_str(), row[2].as_str(), row[22].as_str()),
        (23, "3.000KB", "0.000B", "1.000KB", "1.000KB")
    );
    drop(kept);
    close(&runtime);
}

#[test]
fn a_full_ring_tells_its_newest_events() {
    let runtime = cayman(|config| config.ring_entries = Some(32));
    let core = runtime.core(0).unwrap();
    for bytes in 1..=10 {
        drop(core.allocate(0, &Allocation { hint: "a,\"b\"", ..device(bytes, Usage::Io) }).unwrap());
    }
    refused(core.allocate(0, &device(32 * GIB, Usage::Weight)));
    let ring = runtime.hooks().take(Level::Info);
    assert_eq!(ring[0], "sequence,action,location,usage,channel,core,size,pa,align_offset,total_used,hint");
    let sequences: Vec<_> = ring[1..].iter().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(sequences, ["17", "18", "19", "20"]);
    let tail = format!(",0,{},\"a,\"\"b\"\"\"", 10);
    assert!(ring[3].starts_with("19,alloc,device,io,0,0,10,0x") && ring[3].ends_with(&tail), "{ring:#?}");
    assert!(ring[4].starts_with("20,free,device,io,0,0,10,0x"), "{ring:#?}");
    close(&runtime);
}

#[test]
fn other_failures_tell_no_report() {
    let runtime = cayman(|_| ());
    let core = runtime.core(0).unwrap();
    runtime.driver().watch(&[Call::Alloc]);
    runtime.driver().fail_nth(1, Errno::EIO);
    assert_eq!(refused(core.allocate(0, &device(1, Usage::Weight))).status, Status::Failure);
    refused(core.allocate(0, &device(0, Usage::Weight)));
    assert!(runtime.hooks().take(Level::Error).is_empty());
    close(&runtime);
}
