//! Two threads use a model while a third one unloads and reloads it.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use nrt_core::{Arch, Placement, Status};

use crate::rig::{
    Executes, Generation, IO, Stops, TestModel, TestTensor, WEIGHT, Watchdog, cycles, load, one_more, open_counting,
};

struct Current<'r> {
    model: TestModel<'r>,
    generation: u8,
}

#[derive(Default)]
struct Tally {
    served: AtomicU64,
    missed: AtomicU64,
    read: AtomicU64,
}

impl Current<'_> {
    /// The weights are those of this generation, or the model is not to be found.
    fn check_weights(&self, size: u32) -> bool {
        for relative in 0..size {
            let mut bytes = [0; 64];
            match self.model.read_variable(relative, WEIGHT, 0, &mut bytes) {
                Ok(()) => assert_eq!(bytes, [self.generation; 64], "weights of another generation"),
                Err(error) => {
                    assert_eq!(error.status, Status::InvalidHandle, "{error}");
                    return false;
                }
            }
        }
        true
    }
}

fn worker(
    current: &Mutex<Arc<Current<'_>>>,
    stop: &AtomicBool,
    size: u32,
    x: &TestTensor<'_>,
    z: &TestTensor<'_>,
    tally: &Tally,
) {
    let _stops = Stops(stop);
    let mut back = [0; IO as usize];
    while !stop.load(Acquire) {
        let now = current.lock().unwrap().clone();
        let executor = Executes(|id| {
            assert_eq!(id, now.model.id());
            now.check_weights(size);
            Ok(())
        });
        match now.model.run(&[x], &[z], None, &executor) {
            Ok(()) => {
                z.read(0, &mut back).unwrap();
                assert_eq!(back, [0x5A; IO as usize]);
                tally.served.fetch_add(1, AcqRel);
            }
            Err(error) => {
                assert_eq!(error.status, Status::InvalidHandle, "{error}");
                tally.missed.fetch_add(1, Relaxed);
                std::thread::yield_now();
            }
        }
        if now.check_weights(size) {
            tally.read.fetch_add(1, Relaxed);
        }
        let _ = now.model.for_each_variable(0, |variable, _| assert!(variable.bytes == 3000 || variable.bytes == IO));
    }
}

fn reload(test: &'static str, size: u32, striped: bool) {
    let _watchdog = Watchdog::new(test);
    let (runtime, driver) = open_counting(Arch::Cayman, size, striped);
    let core = runtime.core(0).unwrap();
    let tensors = ["x", "z", "z"].map(|name| core.tensor(Placement::Device, IO, name).unwrap());
    tensors[0].write(0, &[0x5A; IO as usize]).unwrap();
    let (nodes, usage, live) = (runtime.live_nodes(), core.usage(size - 1).unwrap(), driver.inner().live(0));
    let (tally, stop) = (Tally::default(), AtomicBool::new(false));
    let first = Current { model: load(core, size, &Generation(1)).unwrap(), generation: 1 };
    let current = Mutex::new(Arc::new(first));
    let cycles = cycles(1000);
    std::thread::scope(|scope| {
        for z in &tensors[1..] {
            scope.spawn(|| worker(&current, &stop, size, &tensors[0], z, &tally));
        }
        let _stops = Stops(&stop);
        for cycle in 0..cycles {
            one_more(&tally.served, &stop);
            let id = current.lock().unwrap().model.id();
            core.unload(id).unwrap();
            // Nothing of the model is left once the unload is over, whoever still has its handle.
            assert_eq!(runtime.live_nodes(), nodes);
            assert_eq!(core.usage(size - 1).unwrap(), usage);
            assert_eq!((core.resident_models(0).unwrap(), core.scratchpad_pages(size - 1, &mut []).unwrap()), (0, 0));
            assert_eq!(driver.inner().live(0), live);
            let generation = (cycle + 2) as u8;
            let next = Current { model: load(core, size, &Generation(generation)).unwrap(), generation };
            *current.lock().unwrap() = Arc::new(next);
        }
    });
    println!(
        "{test}: {cycles} reloads, {} served, {} missed, {} read",
        tally.served.into_inner(),
        tally.missed.into_inner(),
        tally.read.into_inner()
    );
    drop((current, tensors));
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}

#[test]
fn reload_single() {
    reload("reload_single", 1, false);
}

#[test]
fn reload_pairs() {
    reload("reload_pairs", 2, false);
}

#[test]
fn reload_striped() {
    reload("reload_striped", 2, true);
}
