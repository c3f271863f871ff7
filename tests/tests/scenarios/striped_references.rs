//! `model-db` §3 with `Config::striped_references`: a reference is counted on the word of its thread, and a removal waits for
//! those on every word.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use nrt_core::model::{CopyExecutor, ModelPlan, SubgraphPlan};
use nrt_core::{Arch, Cause, Config, LookUps, Status};
use nrt_linux::hooks::LinuxHooks;
use nrt_tests::{TestRuntime, one_device, open};

use crate::books::{Core, TestModel, books, finish};
use crate::plans::{NOTHING, weights};
use crate::raw;

fn runtime(look_ups: LookUps, striped_references: bool) -> TestRuntime {
    open(one_device(Arch::Cayman), Config { look_ups, striped_references, ..Config::new(LinuxHooks::new()).side_by_side() })
}

/// A model of one variable on both cores of its logical core.
fn load_both<'r>(core: &Core<'r>) -> TestModel<'r> {
    let subgraph = SubgraphPlan { regions: &[weights(100)], ..NOTHING };
    core.load(&ModelPlan { name: "m", subgraphs: &[subgraph, subgraph] }).unwrap()
}

/// References to a model, word by word.
fn references(core: &Core<'_>, id: u32) -> [u64; 8] {
    core.bare_database().unwrap().references(id).unwrap()
}

/// A thread that holds a reference until it is let go.
struct Holder<'s> {
    /// Where it is counted.
    word: usize,
    leave: Sender<()>,
    thread: ScopedJoinHandle<'s, ()>,
}

impl Holder<'_> {
    fn let_go(self) {
        self.leave.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

/// Starts a thread that looks at the model, and sees which word counts it.
fn hold<'s>(scope: &'s Scope<'s, '_>, core: &Core<'_>, model: &'s TestModel<'_>) -> Holder<'s> {
    let before = references(core, model.id());
    let ((inside, entered), (leave, left)) = (channel(), channel());
    let thread = scope.spawn(move || {
        let look = |_, _: &str| {
            inside.send(()).unwrap();
            left.recv().unwrap();
        };
        model.for_each_variable(0, look).unwrap();
    });
    entered.recv().unwrap();
    let after = references(core, model.id());
    let word = (0..8).find(|&word| after[word] != before[word]).expect("a reference is counted");
    let mut expected = before;
    expected[word] += 1;
    assert_eq!(after, expected);
    Holder { word, leave, thread }
}

/// One thread that is counted on the documented word, and one that is counted elsewhere.
fn hold_two_words<'s>(scope: &'s Scope<'s, '_>, core: &Core<'_>, model: &'s TestModel<'_>) -> [Holder<'s>; 2] {
    let (mut first, mut other) = (None, None);
    let mut more = Vec::new();
    // All live at once, so their stacks lie in different places: sooner or later there is one on each word.
    while first.is_none() || other.is_none() {
        assert!(more.len() < 200, "200 threads on one word");
        let holder = hold(scope, core, model);
        let wanted = if holder.word == 0 { &mut first } else { &mut other };
        if wanted.is_none() {
            *wanted = Some(holder);
        } else {
            more.push(holder);
        }
    }
    more.into_iter().for_each(Holder::let_go);
    [first.unwrap(), other.unwrap()]
}

#[test]
fn every_reference_is_counted_on_one_word_and_given_back_there() {
    for (look_ups, striped) in [LookUps::LockFree, LookUps::Locked].into_iter().flat_map(|form| [(form, false), (form, true)]) {
        let runtime = runtime(look_ups, striped);
        let core = runtime.core(0).unwrap();
        let model = load_both(&core);
        let id = model.id();
        thread::scope(|scope| {
            let holders: Vec<_> = (0..8).map(|_| hold(scope, &core, &model)).collect();
            let held = references(&core, id);
            assert_eq!(held.iter().sum::<u64>(), 8);
            // The documented word is the first one; without the option it counts all.
            for flat in 0..2 {
                // SAFETY: a resident model.
                assert_eq!(unsafe { (*raw::model(&runtime, flat, id)).ref_count.load(Relaxed) }, held[0]);
            }
            let words = held.iter().filter(|count| **count > 0).count();
            assert_eq!((words > 1, held[0] == 8), (striped, !striped), "{held:?}");
            for holder in holders {
                let (word, mut expected) = (holder.word, references(&core, id));
                holder.let_go();
                expected[word] -= 1;
                assert_eq!(references(&core, id), expected);
            }
        });
        assert_eq!(references(&core, id), [0; 8]);
        model.unload().unwrap();
        finish(&runtime);
    }
}

/// The deadline runs out twice, with words that are drained in between; then somebody waits without an end.
#[test]
fn a_removal_waits_for_the_last_reference_on_whatever_word_it_is() {
    for (look_ups, documented_last) in
        [(LookUps::LockFree, false), (LookUps::LockFree, true), (LookUps::Locked, false), (LookUps::Locked, true)]
    {
        let runtime = runtime(look_ups, true);
        let core = runtime.core(0).unwrap();
        let before = books(&runtime);
        let model = load_both(&core);
        let left = AtomicU64::new(0);
        thread::scope(|scope| {
            let mut holders = hold_two_words(scope, &core, &model);
            if documented_last {
                holders.reverse();
            }
            let [early, late] = holders;
            let mut draining = core.begin_unload(model.id()).unwrap();
            assert!(!draining.try_finish());
            assert!(!draining.wait(Some(1000)));
            early.let_go();
            for _ in 0..2 {
                assert!(!draining.try_finish());
                assert!(!draining.wait(Some(1000)));
            }
            assert_eq!((core.resident_models(0), core.resident_models(1)), (Ok(0), Ok(1)));
            let waiter = scope.spawn(|| {
                let mut draining = draining;
                assert!(draining.wait(None));
                assert_eq!(left.load(Relaxed), 1, "the removal came to its end before the last user left");
            });
            for _ in 0..100 {
                thread::yield_now();
            }
            left.store(1, Relaxed);
            late.let_go();
            waiter.join().unwrap();
        });
        assert_eq!(
            core.run(model.into_id(), &[], &[], None, &CopyExecutor).map_err(|error| error.status),
            Err(Status::InvalidHandle)
        );
        assert_eq!(books(&runtime), before);
        finish(&runtime);
    }
}

#[test]
fn a_removal_taken_back_leaves_every_reference_as_it_was() {
    let runtime = runtime(LookUps::LockFree, true);
    let core = runtime.core(0).unwrap();
    let model = load_both(&core);
    let id = model.id();
    thread::scope(|scope| {
        let [first, other] = hold_two_words(scope, &core, &model);
        let mut expected = references(&core, id);
        assert_eq!(expected.iter().sum::<u64>(), 2);
        // The documented word is drained by then, the others are not.
        let mut draining = core.begin_unload(id).unwrap();
        first.let_go();
        assert!(!draining.try_finish());
        let again = draining.cancel().expect("not gone");
        expected[0] -= 1;
        assert_eq!(references(&core, id), expected);
        core.run(id, &[], &[], None, &CopyExecutor).unwrap();
        // A reference on each of two words, one of them new: nobody goes without waiting for both.
        let more = hold(scope, &core, &model);
        let draining = again.unload_within(1000).unwrap().expect("in use");
        other.let_go();
        more.let_go();
        let again = draining.cancel().expect("nobody asked whether it is finished");
        assert_eq!(references(&core, id), [0; 8]);
        again.unload().unwrap();
    });
    let _ = model.into_id();
    finish(&runtime);
}

#[test]
fn a_close_that_gives_up_counts_a_model_that_is_held_on_any_word() {
    let runtime = runtime(LookUps::LockFree, true);
    let core = runtime.core(0).unwrap();
    let (model, idle) = (load_both(&core), load_both(&core));
    thread::scope(|scope| {
        let holders = hold_two_words(scope, &core, &model);
        for (operations, holder) in (1..=2).rev().zip(holders) {
            let busy = runtime.close(Some(0)).unwrap_err();
            assert_eq!((busy.status, busy.cause), (Status::ExecNcBusy, Cause::Busy { operations, models: 1 }));
            holder.let_go();
        }
    });
    model.unload().unwrap();
    idle.unload().unwrap();
    finish(&runtime);
}
