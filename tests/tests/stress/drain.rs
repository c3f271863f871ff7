//! Removals that run into their deadline, and several removals of one model.

use std::sync::Barrier;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::mpsc::channel;

use nrt_core::{Arch, Cause, Placement, Status};

use crate::rig::{Executes, Generation, IO, Stops, Watchdog, cycles, load, one_more, open, open_counting};

/// Threads run a model by its id; a third one removes it with a deadline, and takes back what did not finish.
fn deadlines(test: &'static str, size: u32, striped: bool) {
    let _watchdog = Watchdog::new(test);
    let (runtime, driver) = open_counting(Arch::Cayman, size, striped);
    let core = runtime.core(0).unwrap();
    let tensors = ["x", "z", "z"].map(|name| core.tensor(Placement::Device, IO, name).unwrap());
    let (nodes, live) = (runtime.live_nodes(), driver.inner().live(0));
    let mut model = load(core, size, &Generation(0)).unwrap();
    let (id, served, stop) = (AtomicU32::new(model.id()), AtomicU64::new(0), AtomicBool::new(false));
    let (mut cancelled, mut removed) = (0, 0);
    let model = std::thread::scope(|scope| {
        let (id, served, stop, x) = (&id, &served, &stop, &tensors[0]);
        for z in &tensors[1..] {
            scope.spawn(move || {
                let _stops = Stops(stop);
                while !stop.load(Acquire) {
                    match core.run(id.load(Acquire), &[x], &[z], None, &Executes(|_| Ok(()))) {
                        Ok(()) => served.fetch_add(1, AcqRel),
                        Err(error) => {
                            assert_eq!(error.status, Status::InvalidHandle, "{error}");
                            continue;
                        }
                    };
                }
            });
        }
        let _stops = Stops(stop);
        for cycle in 0..cycles(1000) {
            one_more(served, stop);
            match model.unload_within(cycle % 3 * 20_000).unwrap() {
                Some(draining) => {
                    assert_eq!(draining.id(), id.load(Acquire));
                    cancelled += 1;
                    model = draining.cancel().unwrap();
                }
                None => {
                    removed += 1;
                    assert_eq!((runtime.live_nodes(), driver.inner().live(0)), (nodes, live));
                    model = load(core, size, &Generation(cycle as u8)).unwrap();
                    id.store(model.id(), Release);
                }
            }
        }
        model
    });
    println!("{test}: {removed} removed, {cancelled} taken back, {} served", served.into_inner());
    model.unload().unwrap();
    drop(tensors);
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}

#[test]
fn deadlines_single() {
    deadlines("deadlines_single", 1, false);
}

#[test]
fn deadlines_pairs() {
    deadlines("deadlines_pairs", 2, false);
}

#[test]
fn deadlines_striped() {
    deadlines("deadlines_striped", 2, true);
}

/// While an execution is under way: not findable, not finished, taken back, run again; a second run times out.
#[test]
fn a_removal_waits_for_the_execution() {
    let _watchdog = Watchdog::new("a_removal_waits_for_the_execution");
    let (runtime, _) = open(Arch::Cayman, 2);
    let core = runtime.core(1).unwrap();
    let [x, z] = ["x", "z"].map(|name| core.tensor(Placement::Device, IO, name).unwrap());
    let model = load(core, 2, &Generation(1)).unwrap();
    let id = model.id();
    let (inside, (go_on, wait)) = (Barrier::new(2), channel::<()>());
    std::thread::scope(|scope| {
        let (x, z, inside) = (&x, &z, &inside);
        let (go_on, wait) = (go_on, std::sync::Mutex::new(wait));
        scope.spawn(move || {
            let executor = Executes(|_| {
                inside.wait();
                wait.lock().unwrap().recv().unwrap();
                Ok(())
            });
            core.run(id, &[x], &[z], None, &executor).unwrap();
        });
        inside.wait();
        assert_eq!((core.running_model(0), core.running_model(1)), (Ok(id), Ok(id)));
        let error = core.run(id, &[x], &[z], Some(0), &Executes(|_| Ok(()))).unwrap_err();
        assert_eq!((error.status, error.cause), (Status::Timeout, Cause::TimedOut("the core to become free")));
        let mut draining = model.unload_within(1_000_000).unwrap().unwrap();
        assert!(!draining.try_finish());
        assert_eq!((core.resident_models(0), core.resident_models(1)), (Ok(0), Ok(1)));
        assert_eq!(core.begin_unload(id).err().unwrap().status, Status::InvalidHandle);
        let model = draining.cancel().unwrap();
        assert_eq!((core.resident_models(0), core.resident_models(1)), (Ok(1), Ok(1)));
        let mut draining = core.begin_unload(model.into_id()).unwrap();
        go_on.send(()).unwrap();
        assert!(draining.wait(None));
    });
    assert_eq!((core.running_model(0), core.running_model(1)), (Ok(0), Ok(0)));
    drop((x, z));
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}

/// Two threads unload one id while a third one runs it: one of the two succeeds.
fn twice(test: &'static str, size: u32, striped: bool) {
    let _watchdog = Watchdog::new(test);
    let (runtime, driver) = open_counting(Arch::Cayman, size, striped);
    let core = runtime.core(0).unwrap();
    let [x, z] = ["x", "z"].map(|name| core.tensor(Placement::Device, IO, name).unwrap());
    let (nodes, live) = (runtime.live_nodes(), driver.inner().live(0));
    let cycles = cycles(1000);
    let (id, barrier, won) = (AtomicU32::new(0), Barrier::new(3), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (id, barrier, won) = (&id, &barrier, &won);
        for _ in 0..2 {
            scope.spawn(move || {
                for _ in 0..cycles {
                    barrier.wait();
                    match core.unload(id.load(Acquire)) {
                        Ok(()) => {
                            won.fetch_add(1, AcqRel);
                        }
                        Err(error) => assert_eq!(error.status, Status::InvalidHandle),
                    }
                    barrier.wait();
                }
            });
        }
        for cycle in 0..cycles {
            id.store(load(core, size, &Generation(cycle as u8)).unwrap().into_id(), Release);
            barrier.wait();
            while core.run(id.load(Acquire), &[&x], &[&z], None, &Executes(|_| Ok(()))).is_ok() {}
            barrier.wait();
            assert_eq!((runtime.live_nodes(), driver.inner().live(0)), (nodes, live));
            assert_eq!(core.resident_models(size - 1), Ok(0));
            assert_eq!(won.load(Acquire), cycle + 1, "exactly one succeeds");
        }
    });
    drop((x, z));
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}

#[test]
fn twice_single() {
    twice("twice_single", 1, false);
}

#[test]
fn twice_pairs() {
    twice("twice_pairs", 2, false);
}

#[test]
fn twice_striped() {
    twice("twice_striped", 1, true);
}
