//! Handles dropped at bad moments.

use std::sync::Barrier;
use std::sync::mpsc::channel;

use nrt_core::{Allocation, Arch, Cause, Location, Placement, Status, Usage};

use crate::rig::{Executes, Generation, IO, Watchdog, load, open};

/// A close that gives up leaves the runtime as it was: what was dropped in the meantime is gone, not forgotten.
#[test]
fn dropped_while_a_close_waits() {
    let _watchdog = Watchdog::new("dropped_while_a_close_waits");
    let (runtime, driver) = open(Arch::Cayman, 2);
    let (core, other) = (runtime.core(0).unwrap(), runtime.core(1).unwrap());
    let [x, z] = ["x", "z"].map(|name| core.tensor(Placement::Device, IO, name).unwrap());
    let busy = load(core, 2, &Generation(1)).unwrap();
    let (nodes, live) = (runtime.live_nodes(), driver.inner().live(0));
    let request =
        Allocation { bytes: 10, align: 0, location: Location::Device, channel: None, usage: Usage::Generic, hint: "dropped" };
    let (inside, go_on) = (Barrier::new(2), channel::<()>());
    let wait = std::sync::Mutex::new(go_on.1);
    std::thread::scope(|scope| {
        let (runtime, busy, x, z, inside, wait) = (&runtime, &busy, &x, &z, &inside, &wait);
        scope.spawn(move || {
            let executor = Executes(|_| {
                inside.wait();
                wait.lock().unwrap().recv().unwrap();
                Ok(())
            });
            busy.run(&[x], &[z], None, &executor).unwrap();
        });
        inside.wait();
        let mut dropped = 0;
        while dropped < 3 {
            let block = other.allocate(0, &request).unwrap();
            let tensor = other.tensor(Placement::Virtual, 10, "dropped").unwrap();
            let model = load(other, 2, &Generation(2)).unwrap();
            let closer = scope.spawn(move || runtime.close(Some(20_000_000)));
            while runtime.core(0).is_ok() && !closer.is_finished() {
                std::hint::spin_loop();
            }
            let in_time = runtime.core(0).is_err();
            drop((block, tensor, model));
            dropped += u32::from(in_time && runtime.core(0).is_err());
            let error = closer.join().unwrap().unwrap_err();
            assert_eq!(error.status, Status::ExecNcBusy);
            assert_eq!(error.cause, Cause::Busy { operations: 1, models: 1 });
            assert_eq!(runtime.live_nodes(), nodes, "a dropped handle left its memory behind");
            assert_eq!(driver.inner().live(0), live);
            assert_eq!(other.resident_models(0), Ok(0));
        }
        go_on.0.send(()).unwrap();
    });
    drop((x, z, busy));
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}
