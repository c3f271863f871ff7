//! Close while everybody is busy.

use std::sync::Barrier;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use nrt_core::{Allocation, Arch, Cause, CloseReport, Location, Placement, Status, Storage, Usage};
use nrt_sim::Live;
use nrt_tests::TestRuntime;

use crate::rig::{Executes, Generation, IO, Watchdog, cycles, load, new_driver, open, open_on};

const REQUEST: Allocation<'static> =
    Allocation { bytes: 100, align: 0, location: Location::Device, channel: None, usage: Usage::Weight, hint: "load" };

/// Works until the runtime is closed, and keeps what it has then; afterwards everything answers `NRT_CLOSED`.
fn work(runtime: &TestRuntime, vnc: u32, closed: &AtomicBool, at_the_end: &Barrier, refused: &AtomicU64) {
    let mut blocks = Vec::new();
    let mut models = Vec::new();
    let mut tensors = Vec::new();
    let Ok(core) = runtime.core(vnc) else { panic!("close started before the work") };
    at_the_end.wait();
    let check = |error: nrt_core::Error| {
        assert_eq!(error.status, Status::Closed, "{error}");
        refused.fetch_add(1, Relaxed);
    };
    for round in 0_u64.. {
        // Also while a close that gives up later is under way, operations are refused.
        let over = closed.load(Acquire);
        match core.allocate(0, &REQUEST) {
            Ok(block) => blocks.push(block),
            Err(error) => check(error),
        }
        match core.tensor(Placement::Device, IO, "t") {
            Ok(tensor) => tensors.push(tensor),
            Err(error) => check(error),
        }
        match load(core, 2, &Generation(round as u8)) {
            Ok(model) => models.push(model),
            Err(error) => check(error),
        }
        if let ([model, ..], [x, z, ..]) = (&models[..], &tensors[..]) {
            model.run(&[x], &[z], None, &Executes(|_| Ok(()))).unwrap_or_else(check);
        }
        if over {
            break;
        }
        if round % 2 == 1 {
            blocks.pop();
            models.pop();
        }
        tensors.truncate(3);
        blocks.truncate(10);
        models.truncate(1);
    }
    for tensor in &tensors {
        check(tensor.write(0, &[1]).unwrap_err());
    }
    for block in &blocks {
        check(block.map().unwrap_err());
    }
    for model in &models {
        check(model.usage(0).unwrap_err());
    }
    at_the_end.wait();
    // Another runtime has the storage by now: these handles must not touch it.
    drop((blocks, models, tensors));
}

#[test]
fn close_under_load() {
    let _watchdog = Watchdog::new("close_under_load");
    let driver = new_driver(Arch::Cayman);
    let storage: &'static Storage<128, 16, 128, 32, 64> = nrt_tests::storage();
    let (mut busy, mut left, refused) = (0, CloseReport::default(), AtomicU64::new(0));
    let rounds = cycles(60);
    for round in 0..rounds {
        let runtime = open_on(storage, driver);
        let (closed, barrier) = (AtomicBool::new(false), Barrier::new(4));
        std::thread::scope(|scope| {
            for vnc in 0..3 {
                let (runtime, closed, barrier, refused) = (&runtime, &closed, &barrier, &refused);
                scope.spawn(move || work(runtime, vnc, closed, barrier, refused));
            }
            barrier.wait();
            let report = loop {
                match runtime.close(Some(round % 4 * 50_000)) {
                    Ok(report) => break report,
                    Err(error) => {
                        assert_eq!(error.status, Status::ExecNcBusy, "{error}");
                        assert!(matches!(error.cause, Cause::Busy { .. }), "{error}");
                        busy += 1;
                    }
                }
            };
            assert_eq!(CloseReport { models: 0, tensors: 0, allocations: 0, ..report }, CloseReport::default());
            (left.models, left.tensors, left.allocations) =
                (left.models + report.models, left.tensors + report.tensors, left.allocations + report.allocations);
            assert_eq!(driver.inner().live(0), Live::default());
            let next = open_on(storage, driver);
            let core = next.core(0).unwrap();
            let kept: Vec<_> = (0..20).map(|_| core.allocate(0, &REQUEST).unwrap()).collect();
            let model = load(core, 2, &Generation(99)).unwrap();
            let before = (next.live_nodes(), next.device_bytes(), driver.inner().live(0));
            closed.store(true, Release);
            barrier.wait();
            assert_eq!((next.live_nodes(), next.device_bytes(), driver.inner().live(0)), before);
            model.unload().unwrap();
            drop(kept);
            assert!(next.close(None).unwrap().is_clean());
        });
    }
    println!(
        "{rounds} closes, {busy} gave up, {} operations refused; still there: {} models, {} tensors, {} allocations",
        refused.into_inner(),
        left.models,
        left.tensors,
        left.allocations
    );
}

/// Exactly who is inside is told, and nothing changes by a close that gives up.
#[test]
fn busy_with_counts() {
    let _watchdog = Watchdog::new("busy_with_counts");
    let (runtime, _) = open(Arch::Cayman, 2);
    let core = runtime.core(0).unwrap();
    let model = load(core, 2, &Generation(1)).unwrap();
    let draining = core.begin_unload(model.into_id()).unwrap();
    let error = runtime.close(Some(0)).unwrap_err();
    assert_eq!((error.status, error.cause), (Status::ExecNcBusy, Cause::Busy { operations: 1, models: 0 }));
    let model = draining.cancel().unwrap();
    let [x, z] = ["x", "z"].map(|name| core.tensor(Placement::Device, IO, name).unwrap());
    let executor = Executes(|id| {
        let error = runtime.close(Some(0)).unwrap_err();
        assert_eq!((error.status, error.cause), (Status::ExecNcBusy, Cause::Busy { operations: 1, models: 1 }));
        assert_eq!(core.unload(id).unwrap_err().cause, Cause::Reentered);
        Ok(())
    });
    model.run(&[&x], &[&z], None, &executor).unwrap();
    model.unload().unwrap();
    drop((x, z));
    assert!(runtime.close(Some(0)).unwrap().is_clean());
    assert_eq!(runtime.close(Some(0)).unwrap_err().status, Status::Closed);
    assert_eq!(core.running_model(0).unwrap_err().status, Status::Closed);
    assert_eq!(core.physical(0).unwrap_err().status, Status::Closed);
    assert_eq!((runtime.live_nodes(), runtime.device_bytes()), (0, 0));
}
