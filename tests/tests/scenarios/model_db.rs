//! `model-db` §§1 to 3: handles, the table of each core, look-ups that miss.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use nrt_core::model::{CopyExecutor, ModelPlan, SubgraphPlan};
use nrt_core::{Arch, Cause, Config, Error, LookUps, Runtime, Status, Storage, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_tests::{TestRuntime, TestStorage, one_device, runtime, storage};

use crate::books::{books, finish, on_every_arch};
use crate::plans::{NOTHING, load, refused, weights};
use crate::raw;

fn unknown(id: u32) -> Error {
    Error { status: Status::InvalidHandle, cause: Cause::UnknownModel(id) }
}

/// A runtime whose next model gets the id after `last`.
fn runtime_after(last: u64) -> (TestRuntime, &'static AtomicU64) {
    let storage: &'static TestStorage = storage();
    // SAFETY: the counter is the second word of every storage, and an atomic.
    let counter = unsafe { &*std::ptr::from_ref(storage).cast::<AtomicU64>().add(1) };
    let runtime = Runtime::init(storage, one_device(Arch::Cayman), Config::new(LinuxHooks::new()).side_by_side()).unwrap();
    counter.store(last, Relaxed);
    (runtime, counter)
}

/// The documented form is the oracle of the one without a lock: the same ids come and go in both, some of them in one chain,
/// and every look-up has the same answer, on however many words references are counted.
#[test]
fn both_forms_of_look_up_answer_alike() {
    let forms = [(LookUps::Locked, false), (LookUps::Locked, true), (LookUps::LockFree, false), (LookUps::LockFree, true)];
    let [oracle, others @ ..] = forms.map(|(look_ups, striped_references)| {
        let usual = Config::new(LinuxHooks::new()).side_by_side();
        let config = Config { look_ups, striped_references, logical_core_size: Some(1), ..usual };
        let storage: &'static Storage<64, 600, 8, 2, 64> = storage();
        let runtime = Runtime::init(storage, one_device(Arch::Cayman), config).unwrap();
        let core = runtime.core(0).unwrap();
        let mut models = Vec::new();
        let mut answers = Vec::new();
        for round in 0_u32..40 {
            // Up to 580 models in 256 buckets: chains of three.
            models.extend((0..if round < 10 { 58 } else { 17 }).filter_map(|_| load(&core, NOTHING).ok()));
            for take in 0..20 {
                models.swap_remove((round * 31 + take * 7) as usize % models.len()).unload().unwrap();
            }
            for id in (0..1100).step_by(if round % 8 == 0 { 1 } else { 13 }).chain([u32::MAX, 1 << 31]) {
                answers.push((id, core.run(id, &[], &[], None, &CopyExecutor).map_err(|error| error.cause)));
            }
            answers.push((core.resident_models(0).unwrap() as u32, Ok(())));
        }
        models.into_iter().for_each(|model| model.unload().unwrap());
        assert!(runtime.close(None).unwrap().is_clean());
        answers
    });
    let found = oracle.iter().filter(|(_, answer)| answer.is_ok()).count();
    assert!(found > 1500 && found < oracle.len() - 1500, "{found} of {}", oracle.len());
    others.iter().for_each(|answers| assert_eq!(&oracle, answers));
}

#[test]
fn ids_are_unique_and_never_used_again() {
    on_every_arch(|runtime| {
        let mut last = 0;
        for vnc in (0..runtime.logical_cores()).cycle().take(20) {
            let model = load(&runtime.core(vnc).unwrap(), NOTHING).unwrap();
            assert!(model.id() > last);
            last = model.id();
            model.unload().unwrap();
        }
    });
}

#[test]
fn zero_is_never_minted_also_when_the_counter_passes_32_bits() {
    let (runtime, counter) = runtime_after(u64::from(u32::MAX) - 1);
    let core = runtime.core(0).unwrap();
    let ids = [(); 3].map(|()| load(&core, NOTHING).unwrap().into_id());
    assert_eq!(ids, [u32::MAX, 1, 2]);
    assert_eq!(counter.load(Relaxed), (1 << 32) + 2);
    ids.into_iter().for_each(|id| core.unload(id).unwrap());
    finish(&runtime);
}

#[test]
fn an_id_that_is_resident_already_is_an_invalid_handle_and_the_load_leaves_nothing() {
    let (runtime, counter) = runtime_after(0);
    let core = runtime.core(0).unwrap();
    let first = load(&core, SubgraphPlan { regions: &[weights(100)], ..NOTHING }).unwrap();
    assert_eq!(first.id(), 1);
    let before = books(&runtime);
    counter.store(0, Relaxed);
    let subgraph = SubgraphPlan { regions: &[weights(100)], local_scratchpad_bytes: 1, ..NOTHING };
    // The second core publishes first and has to take it back.
    let error = refused(core.load(&ModelPlan { name: "m", subgraphs: &[subgraph, subgraph] }));
    assert_eq!(error, Error { status: Status::InvalidHandle, cause: Cause::DuplicateModel(1) });
    assert_eq!(books(&runtime), before);
    // The same id on another core is no duplicate.
    counter.store(0, Relaxed);
    let other = load(&runtime.core(1).unwrap(), NOTHING).unwrap();
    assert_eq!(other.id(), 1);
    first.unload().unwrap();
    other.unload().unwrap();
    finish(&runtime);
}

#[test]
fn an_unknown_id_is_an_invalid_handle_wherever_it_is_given() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let model = load(&core, NOTHING).unwrap();
    let gone = load(&core, NOTHING).unwrap().into_id();
    core.unload(gone).unwrap();
    let elsewhere = runtime.core(1).unwrap();
    for id in [0, gone, 77, u32::MAX] {
        assert_eq!(core.run(id, &[], &[], None, &CopyExecutor), Err(unknown(id)));
        assert_eq!(core.unload(id), Err(unknown(id)));
        assert_eq!(refused(core.begin_unload(id)), unknown(id));
    }
    // Resident on its own core only.
    assert_eq!(elsewhere.run(model.id(), &[], &[], None, &CopyExecutor), Err(unknown(model.id())));
    assert_eq!(elsewhere.unload(model.id()), Err(unknown(model.id())));
    assert_eq!(refused(model.usage(1)), unknown(model.id()));
    assert_eq!(refused(model.usage(2)), unknown(model.id()));
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn a_handle_whose_model_was_unloaded_by_id_is_stale() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let model = load(&core, NOTHING).unwrap();
    let id = model.id();
    core.unload(id).unwrap();
    assert_eq!(model.run(&[], &[], None, &CopyExecutor), Err(unknown(id)));
    assert_eq!(refused(model.usage(0)), unknown(id));
    assert_eq!(model.for_each_variable(0, |_, _| ()), Err(unknown(id)));
    assert_eq!(model.read_variable(0, 1, 0, &mut [0]), Err(unknown(id)));
    assert_eq!(model.unload(), Err(unknown(id)));
    finish(&runtime);
}

/// Whatever is asked of a model on a core it is not on, after it left by its id, and after close.
#[test]
fn a_model_that_is_not_there_tells_nothing() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let model = load(&core, SubgraphPlan { regions: &[weights(100)], ..NOTHING }).unwrap();
    let id = model.id();
    let told = |relative| {
        [
            model.usage(relative).map(drop),
            model.for_each_variable(relative, |_, _| ()),
            model.variable_address(relative, 1, 0, 1).map(drop),
            model.with_io_name(relative, 1, |_, _| ()).map(drop),
            model.read_variable(relative, 1, 0, &mut [0]),
        ]
    };
    let nowhere = |relative| model.scratchpad_address(relative, 0, 1).unwrap_err();
    assert_eq!(told(0), [Ok(()); 5]);
    for relative in [1, 2, u32::MAX] {
        assert_eq!((told(relative), nowhere(relative)), ([Err(unknown(id)); 5], unknown(id)));
    }
    core.unload(id).unwrap();
    assert_eq!((told(0), nowhere(0)), ([Err(unknown(id)); 5], unknown(id)));
    runtime.close(None).unwrap();
    let closed = Error { status: Status::Closed, cause: Cause::NotOpen };
    assert_eq!((told(0), nowhere(0)), ([Err(closed); 5], closed));
}

#[test]
fn each_core_has_a_table_of_256_buckets_keyed_by_the_low_bits() {
    let (runtime, counter) = runtime_after(9);
    let core = runtime.core(0).unwrap();
    // SAFETY: the database of an open core.
    let table = unsafe { (*raw::tpb(&runtime, 0, 0)).model_db };
    // SAFETY: as above.
    assert_eq!(unsafe { ((*table).size, (*table).size_mask) }, (256, 255));
    let mut ids = Vec::new();
    for last in [9, 265, 521, 10] {
        counter.store(last, Relaxed);
        ids.push(load(&core, NOTHING).unwrap().into_id());
    }
    assert_eq!(ids, [10, 266, 522, 11]);
    // Every chain is checked on the way: three models in bucket 10, the newest first.
    let keys: Vec<_> = raw::chained(table)
        .iter()
        // SAFETY: nodes of resident models.
        .map(|node| unsafe { ((**node).key.load(Relaxed), (**node).bucket, (**node).key_type.0) })
        .collect();
    assert_eq!(keys, [(522, 10, 0), (266, 10, 0), (10, 10, 0), (11, 11, 0)]);
    // §1.3: 0 = found; the model lies 7,496 bytes before its node.
    for id in [10, 266, 522, 11, 778, 0] {
        let mut node = std::ptr::null_mut();
        // SAFETY: as above; nobody changes the chains meanwhile.
        let answer = unsafe { nrt_core::ht_find(table, id, &mut node) };
        assert_eq!((answer == 0, !node.is_null()), (ids.contains(&(id as u32)), answer == 0));
        if answer == 0 {
            // SAFETY: a resident model.
            assert_eq!(unsafe { (*node.byte_sub(7496).cast::<nrt_core::abi::model_t>()).h_model.id }, id as u32);
        }
    }
    // From the middle, the end, the head of the chain.
    for (id, left) in [(266, vec![522, 10, 11]), (10, vec![522, 11]), (522, vec![11]), (11, vec![])] {
        core.unload(id).unwrap();
        // SAFETY: as above.
        let keys: Vec<_> = raw::chained(table).iter().map(|node| unsafe { (**node).key.load(Relaxed) }).collect();
        assert_eq!(keys, left);
        assert_eq!(core.unload(id), Err(unknown(id)));
    }
    finish(&runtime);
}

#[test]
fn the_models_of_a_core_can_be_listed_with_what_they_hold() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(1).unwrap();
    let (small, large) = ([weights(10)], [weights(2000)]);
    let subgraphs = [&small, &large].map(|regions| SubgraphPlan { regions, ..NOTHING });
    let both = core.load(&ModelPlan { name: "both", subgraphs: &subgraphs }).unwrap();
    let single = core.load(&ModelPlan { name: "single", subgraphs: &subgraphs[1..] }).unwrap();
    let listed = |flat| {
        let mut seen = Vec::new();
        let row = |usage: &nrt_core::ModelUsage, name: &str| {
            seen.push((usage.id, name.to_owned(), usage.bytes[Usage::Weight.number()], usage.allocations));
        };
        runtime.for_each_model_usage(0, flat, row).unwrap();
        seen
    };
    assert_eq!(listed(2), [(both.id(), "both".into(), 10, 1), (single.id(), "single".into(), 2000, 1)]);
    assert_eq!(listed(3), [(both.id(), "both".into(), 2000, 1)]);
    assert_eq!(listed(0), []);
    let nowhere = Error { status: Status::Invalid, cause: Cause::CoreOutOfRange(8) };
    assert_eq!(runtime.for_each_model_usage(0, 8, |_, _| ()), Err(nowhere));
    both.unload().unwrap();
    single.unload().unwrap();
    finish(&runtime);
}
