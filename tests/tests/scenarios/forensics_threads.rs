//! `dmem` §15: who tells when memory runs out for several at once, and what the thread that tells needs and holds.

use std::sync::Barrier;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use nrt_core::abi::tpb_sunda_t;
use nrt_core::model::SubgraphPlan;
use nrt_core::{Allocation, Cause, Placement, Usage};

use crate::books::{GIB, MIB};
use crate::forensics::{cayman, close, row, told};
use crate::plans::{NOTHING, device, refused, region};

#[test]
fn two_threads_run_out_at_once_and_each_tells_its_own() {
    let runtime = cayman(|config| config.logical_core_size = Some(1));
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        for thread in 0..2_u32 {
            let (runtime, barrier) = (&runtime, &barrier);
            scope.spawn(move || {
                let core = runtime.core(thread).unwrap();
                let kept = core.allocate(0, &device((u64::from(thread) + 1) * MIB, Usage::Weight)).unwrap();
                for round in 0..50 {
                    barrier.wait();
                    let hint = format!("thread {thread} round {round}");
                    let size = (40 + u64::from(thread)) * GIB;
                    refused(core.allocate(0, &Allocation { hint: &hint, ..device(size, Usage::Tensor) }));
                    let lines = told(runtime);
                    let headline = format!(
                        "Failed to allocate {}.000GB (alignment: none, usage: tensors) on ND 0:NC {thread} in device memory, for \"{hint}\"",
                        40 + thread
                    );
                    assert_eq!(lines.iter().filter(|line| line.starts_with("Failed")).collect::<Vec<_>>(), [&headline]);
                    assert_eq!(row(&lines, &format!("NC {thread}"))[0], format!("{}.000MB", thread + 1));
                    assert!(lines.iter().filter(|line| line.starts_with("NC ")).count() <= 2);
                }
                barrier.wait();
                drop(kept);
            });
        }
    });
    close(&runtime);
}

#[test]
fn more_threads_than_records_are_told_as_well() {
    const THREADS: u32 = 8;
    let runtime = cayman(|config| config.logical_core_size = Some(1));
    let barrier = Barrier::new(THREADS as usize);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (runtime, barrier) = (&runtime, &barrier);
            scope.spawn(move || {
                for _ in 0..20 {
                    barrier.wait();
                    refused(runtime.core(thread).unwrap().allocate(0, &device(64 * GIB, Usage::Weight)));
                    let lines = told(runtime);
                    let own = format!("on ND 0:NC {thread} in device memory");
                    assert!(lines[0].contains(&own), "{lines:#?}");
                    assert_eq!(lines.iter().filter(|line| line.starts_with("Failed")).count(), 1);
                }
            });
        }
    });
    close(&runtime);
}

#[test]
fn no_lock_is_held_while_the_report_is_told() {
    let runtime = cayman(|_| ());
    let core = runtime.core(0).unwrap();
    // Eight cores, each with its library, database, execution, scratchpad, memory and bounce-buffer lock; the device's ledger.
    let mla = runtime.with_tree(|tree| tree.mla(0)).unwrap().unwrap().as_ptr().expose_provenance();
    let own = std::thread::current().id();
    let looks: &'static AtomicU64 = Box::leak(Box::default());
    runtime.hooks().inspect(move || {
        if std::thread::current().id() != own {
            return;
        }
        // SAFETY: the records of a device and its cores, of an open runtime; the words are atomics.
        unsafe {
            let mla = std::ptr::with_exposed_provenance_mut::<nrt_core::abi::mla_t>(mla);
            assert_eq!((*mla).dmem_logger.lock.word.load(Relaxed), 0, "the lock of the ledger is held");
            for core in 0..8 {
                let tpb = &raw const (*mla)._tpbs[core];
                let locks = [
                    &(*(&raw const (*tpb).u).cast::<tpb_sunda_t>()).ulib_staging_lock,
                    &(*tpb).model_db_lock,
                    &(*tpb).hw_exec_queue.compute_req_lock,
                    &(*tpb).scratchpad.lock,
                    &(*(*tpb).tpb_allocator).lock,
                    &(&(*(*mla).device).cpy_bufs)[core].lock,
                ];
                let held = locks.iter().position(|lock| lock.word.load(Relaxed) != 0);
                assert_eq!(held, None, "a lock of core {core} is held");
            }
        }
        looks.fetch_add(1, Relaxed);
    });
    let subgraph = SubgraphPlan { regions: &[region(1, Usage::Weight, 30 * GIB, None)], local_scratchpad_bytes: 1, ..NOTHING };
    let plan = nrt_core::model::ModelPlan { name: "m", subgraphs: &[subgraph] };
    refused(core.load(&plan));
    refused(core.allocate(0, &device(30 * GIB, Usage::Weight)));
    refused(core.tensor(Placement::Device, 30 * GIB, "t"));
    // Pages are asked for while the lock of the scratchpad is held.
    let wide = SubgraphPlan { local_scratchpad_bytes: 30 * GIB, ..NOTHING };
    refused(core.load(&nrt_core::model::ModelPlan { name: "wide", subgraphs: &[wide] }));
    let lines = told(&runtime);
    assert_eq!(lines.iter().filter(|line| line.starts_with("Failed")).count(), 4);
    assert!(looks.load(Relaxed) >= lines.len() as u64);
    close(&runtime);
}

#[test]
fn the_report_needs_little_stack() {
    let runtime = cayman(|_| ());
    let model = runtime.core(0).unwrap();
    let model = model.load(&nrt_core::model::ModelPlan { name: "m", subgraphs: &[NOTHING] }).unwrap();
    std::thread::scope(|scope| {
        let small = std::thread::Builder::new().stack_size(96 << 10);
        let fails = || refused(runtime.core(0).unwrap().allocate(0, &device(64 * GIB, Usage::Weight)));
        let error = small.spawn_scoped(scope, fails).unwrap().join().unwrap();
        assert!(matches!(error.cause, Cause::OutOfMemory(_)));
    });
    model.unload().unwrap();
    close(&runtime);
}
