//! `model-db` §3, `model-load` §9: unlink, then drain; with and without an end; taken back.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::thread;

use nrt_core::model::{CopyExecutor, ModelPlan, SubgraphPlan};
use nrt_core::{Arch, Cause, Error, Status};
use nrt_tests::runtime;

use crate::books::{Core, TestModel, books, finish};
use crate::plans::{Inside, Meanwhile, NOTHING, load, refused, weights};
use crate::raw;

/// A model on both cores of its logical core.
fn load_both<'r>(core: &Core<'r>) -> TestModel<'r> {
    let subgraph = SubgraphPlan { regions: &[weights(100)], local_scratchpad_bytes: 1, ..NOTHING };
    core.load(&ModelPlan { name: "m", subgraphs: &[subgraph, subgraph] }).unwrap()
}

fn resident(core: &Core<'_>) -> (u64, u64) {
    (core.resident_models(0).unwrap(), core.resident_models(1).unwrap())
}

#[test]
fn a_drain_with_a_deadline_runs_out_and_is_finished_later() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    let id = load_both(&core).into_id();
    let unknown = Err(Error { status: Status::InvalidHandle, cause: Cause::UnknownModel(id) });
    let (token, tokens) = channel();
    let meanwhile = Meanwhile(|_| {
        let mut draining = core.begin_unload(id).unwrap();
        assert_eq!(draining.id(), id);
        // Unfindable at once, not gone: the first core is closed and drained first, the second one untouched till then.
        assert_eq!(core.run(id, &[], &[], Some(0), &CopyExecutor).map_err(|error| error.status), Err(Status::Timeout));
        assert_eq!(core.unload(id), unknown);
        assert_eq!(resident(&core), (0, 1));
        assert!(!draining.try_finish());
        assert!(!draining.wait(Some(1000)));
        assert_eq!(resident(&core), (0, 1));
        token.send(draining).unwrap();
    });
    core.run(id, &[], &[], None, &meanwhile).unwrap();
    let mut draining = tokens.recv().unwrap();
    assert!(draining.try_finish());
    assert!(draining.wait(None), "finished is finished");
    assert!(draining.cancel().is_none());
    assert_eq!(resident(&core), (0, 0));
    assert_eq!(core.unload(id), unknown);
    assert_eq!(books(&runtime), before);
    finish(&runtime);
}

#[test]
fn a_drain_without_an_end_waits_for_the_last_user() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    let id = load_both(&core).into_id();
    let ran = AtomicU64::new(0);
    thread::scope(|scope| {
        let executor = Inside(|_| {
            scope.spawn(|| {
                core.unload(id).unwrap();
                assert_eq!(ran.load(Relaxed), 1, "unload came back before the user left");
            });
            while resident(&core).0 != 0 {
                thread::yield_now();
            }
            ran.store(1, Relaxed);
            Ok(())
        });
        core.run(id, &[], &[], None, &executor).unwrap();
    });
    assert_eq!(books(&runtime), before);
    finish(&runtime);
}

#[test]
fn cancelling_makes_the_model_findable_again_on_both_cores() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let id = load_both(&core).into_id();
    let full = books(&runtime);
    let meanwhile = Meanwhile(|id| {
        let mut draining = core.begin_unload(id).unwrap();
        assert!(!draining.try_finish());
        let model = draining.cancel().expect("not gone");
        assert_eq!((model.id(), resident(&core)), (id, (1, 1)));
        assert_eq!(model.usage(1).unwrap().allocations, 1);
        let _ = model.into_id();
    });
    core.run(id, &[], &[], None, &meanwhile).unwrap();
    assert_eq!(books(&runtime), full);
    // The count is that of an idle model, and the model runs and goes as ever.
    for flat in 0..2 {
        // SAFETY: a resident model.
        assert_eq!(unsafe { (*raw::model(&runtime, flat, id)).ref_count.load(Relaxed) }, 0);
    }
    core.run(id, &[], &[], None, &CopyExecutor).unwrap();
    core.unload(id).unwrap();
    finish(&runtime);
}

#[test]
fn dropping_the_token_takes_the_removal_back() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(1).unwrap();
    let id = load(&core, NOTHING).unwrap().into_id();
    // Also when nobody uses the model and it was never waited for.
    drop(core.begin_unload(id).unwrap());
    assert_eq!(core.resident_models(0), Ok(1));
    core.run(id, &[], &[], None, &Meanwhile(|id| drop(core.begin_unload(id).unwrap()))).unwrap();
    core.run(id, &[], &[], None, &CopyExecutor).unwrap();
    core.unload(id).unwrap();
    finish(&runtime);
}

#[test]
fn unload_within_gives_the_token_only_when_the_time_is_up() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let idle = load_both(&core);
    assert!(idle.unload_within(0).unwrap().is_none());
    let id = load_both(&core).into_id();
    let meanwhile = Meanwhile(|id| {
        let model = core.begin_unload(id).unwrap().cancel().unwrap();
        let draining = model.unload_within(1000).unwrap().expect("in use");
        assert_eq!(resident(&core), (0, 1));
        drop(draining);
    });
    core.run(id, &[], &[], None, &meanwhile).unwrap();
    assert_eq!(resident(&core), (1, 1));
    core.unload(id).unwrap();
    finish(&runtime);
}

#[test]
fn a_token_can_be_waited_for_on_another_thread() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let id = load_both(&core).into_id();
    thread::scope(|scope| {
        let executor = Inside(|_| {
            let waiter = scope.spawn(|| core.begin_unload(id).unwrap().wait(None));
            while resident(&core).0 != 0 {
                thread::yield_now();
            }
            assert!(!waiter.is_finished());
            Ok(())
        });
        core.run(id, &[], &[], None, &executor).unwrap();
    });
    assert_eq!(resident(&core), (0, 0));
    finish(&runtime);
}

#[test]
fn an_executor_cannot_unload_on_its_own_core() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let (model, other) = (load_both(&core), load_both(&core));
    let reentered = Error { status: Status::Invalid, cause: Cause::Reentered };
    let executor = Inside(|id| {
        assert_eq!(core.unload(id), Err(reentered));
        assert_eq!(core.unload(other.id()), Err(reentered));
        assert_eq!(refused(core.begin_unload(id)), reentered);
        Ok(())
    });
    model.run(&[], &[], None, &executor).unwrap();
    assert_eq!(resident(&core), (2, 2));
    model.unload().unwrap();
    other.unload().unwrap();
    finish(&runtime);
}

#[test]
fn dropping_an_idle_model_unloads_it_and_one_in_use_stays() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    drop(load_both(&core));
    assert_eq!(books(&runtime), before);
    let id = load_both(&core).into_id();
    let meanwhile = Meanwhile(|id| drop(core.begin_unload(id).unwrap().cancel()));
    core.run(id, &[], &[], None, &meanwhile).unwrap();
    assert_eq!(resident(&core), (1, 1));
    core.unload(id).unwrap();
    assert_eq!(books(&runtime), before);
    finish(&runtime);
}

#[test]
fn a_model_of_one_subgraph_leaves_from_its_only_core() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    let id = load(&core, NOTHING).unwrap().into_id();
    let meanwhile = Meanwhile(|id| {
        let mut draining = core.begin_unload(id).unwrap();
        assert!(!draining.try_finish());
    });
    core.run(id, &[], &[], None, &meanwhile).unwrap();
    assert_eq!(resident(&core), (1, 0));
    core.unload(id).unwrap();
    assert_eq!(books(&runtime), before);
    finish(&runtime);
}
