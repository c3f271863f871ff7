//! Allocations on one core and on several, while others walk the lists.

use std::sync::Barrier;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};

use nrt_core::{Allocation, Arch, Cause, Config, Location, Pool, Runtime, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_tests::TestRuntime;

use crate::rig::{Generation, TestCore, Watchdog, config, cycles, load, new_driver, open};

const HINT: &str = "stress allocation";

fn request(bytes: u64) -> Allocation<'static> {
    Allocation { bytes, align: 0, location: Location::Device, channel: None, usage: Usage::Generic, hint: HINT }
}

/// Allocates and frees; every block keeps the byte of its owner.
fn churn(core: TestCore<'_>, relative: u32, mark: u8, rounds: u64, most: usize) -> u64 {
    let mut held = Vec::new();
    let mut full = 0;
    for round in 0..rounds {
        let bytes = 1 + (round * 37) % 600;
        match core.allocate(relative, &request(bytes)) {
            Ok(block) => {
                block.fill(0, mark, bytes).unwrap();
                held.push((block, bytes));
            }
            Err(error) => {
                assert_eq!((error.status, error.cause), (Status::Resource, Cause::PoolFull(Pool::Nodes)));
                full += 1;
                held.pop();
            }
        }
        if held.len() > most {
            let (block, bytes) = held.swap_remove((round * 7) as usize % held.len());
            let mut back = vec![0; bytes as usize];
            block.read(0, &mut back).unwrap();
            assert!(back.iter().all(|byte| *byte == mark), "somebody else wrote to the block");
        }
    }
    full
}

/// Looks at everything there is to look at.
fn walk(runtime: &TestRuntime) {
    let mut nodes = 0;
    runtime
        .for_each_core_usage(|usage| {
            assert!(usage.total < 1 << 30, "a counter went below 0");
            nodes += usage.allocations;
        })
        .unwrap();
    assert!(nodes <= 512);
    let mut last = 0;
    runtime
        .for_each_event(0, |event| {
            assert!(event.sequence > last, "{} after {last}", event.sequence);
            last = event.sequence;
            assert!(matches!(event.action, 1 | 2) && event.size > 0 && event.pa != 0);
            assert!([HINT, "w", "spill", "scratchpad"].contains(&event.hint()), "{:?}", event.hint());
        })
        .unwrap();
    for core in 0..2 {
        runtime.for_each_model_usage(0, core, |usage, name| assert_eq!((usage.allocations, name), (2, "stress"))).unwrap();
    }
    runtime.refresh_ledger(0).unwrap();
    runtime.core(0).unwrap().memory_stats().unwrap();
}

#[test]
fn allocations_while_others_look() {
    let _watchdog = Watchdog::new("allocations_while_others_look");
    let (runtime, driver) = open(Arch::Cayman, 2);
    let rounds = cycles(3000);
    let (running, barrier) = (AtomicU32::new(5), Barrier::new(6));
    let mut walks = 0;
    std::thread::scope(|scope| {
        let (runtime, running, barrier) = (&runtime, &running, &barrier);
        for (mark, (vnc, relative)) in (1..).zip([(0, 0), (0, 0), (0, 1), (3, 0)]) {
            scope.spawn(move || {
                barrier.wait();
                churn(runtime.core(vnc).unwrap(), relative, mark, rounds, 20);
                running.fetch_sub(1, Release);
            });
        }
        scope.spawn(move || {
            barrier.wait();
            for generation in 0..rounds / 10 {
                load(runtime.core(0).unwrap(), 2, &Generation(generation as u8)).unwrap().unload().unwrap();
            }
            running.fetch_sub(1, Release);
        });
        barrier.wait();
        while running.load(Acquire) > 0 {
            walk(runtime);
            walks += 1;
        }
    });
    println!("{} allocations, {} loads, {walks} walks", 4 * rounds, rounds / 10);
    assert_eq!((runtime.live_nodes(), runtime.device_bytes()), (0, 0));
    assert!(runtime.close(Some(0)).unwrap().is_clean());
    assert_eq!(driver.inner().live(0).chunks, 0);
}

/// Four cores fight for 64 nodes: each may find none, none is lost.
#[test]
fn the_last_nodes() {
    let _watchdog = Watchdog::new("the_last_nodes");
    let driver = new_driver(Arch::Mariana);
    let storage: &'static nrt_core::Storage<64, 2, 8, 2, 64> = nrt_tests::storage();
    let runtime = Runtime::init(storage, driver, config(1)).unwrap();
    let rounds = cycles(3000);
    let full: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u32)
            .map(|thread| {
                let core = runtime.core(thread * 2).unwrap();
                scope.spawn(move || churn(core, 0, thread as u8 + 1, rounds, 30))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("{} allocations, {full} found no node", 4 * rounds);
    assert_eq!((runtime.live_nodes(), runtime.device_bytes()), (0, 0));
    let core = runtime.core(7).unwrap();
    let all: Vec<_> = (0..64).map(|_| core.allocate(0, &request(1)).unwrap()).collect();
    assert!(core.allocate(0, &request(1)).is_err());
    drop(all);
    assert!(runtime.close(Some(0)).unwrap().is_clean());
    assert_eq!(driver.inner().live(0).chunks, 0);
}

/// Two threads hold one allocation each at most, and two nodes are left: never "pool full", on whatever core a node was given
/// back.
#[test]
fn a_node_that_wanders_between_cores_is_found() {
    let _watchdog = Watchdog::new("a_node_that_wanders_between_cores_is_found");
    let storage = nrt_tests::storage::<16, 8, 8, 8, 8>();
    let config = Config { logical_core_size: Some(1), ..Config::new(LinuxHooks::new()).side_by_side() };
    let runtime = Runtime::init(storage, nrt_tests::one_device(Arch::Cayman), config).unwrap();
    let far = runtime.core(3).unwrap();
    let held: Vec<_> = (0..14).map(|_| far.allocate(0, &request(64)).unwrap()).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let cores = [runtime.core(0).unwrap(), runtime.core(1).unwrap()];
                for n in 0..cycles(100_000) {
                    let core = cores[(n.wrapping_mul(2_654_435_761) >> 20) as usize % 2];
                    drop(core.allocate(0, &request(64)).unwrap());
                }
            });
        }
    });
    // A full pool is still refused.
    let more: Vec<_> = (0..2).map(|_| far.allocate(0, &request(64)).unwrap()).collect();
    let refused = far.allocate(0, &request(64)).map(drop).unwrap_err();
    assert_eq!((refused.status, refused.cause), (Status::Resource, Cause::PoolFull(Pool::Nodes)));
    drop((held, more));
    assert!(runtime.close(None).unwrap().is_clean());
}
