//! `model-db` §§6, 7: one model at a time on a core, pinned while it runs, with what fits.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use nrt_core::model::{CopyExecutor, ModelPlan, SubgraphPlan};
use nrt_core::{Arch, Cause, Error, Placement, Pool, Result, Status};
use nrt_tests::runtime;

use crate::books::{TestTensor, books, finish, on_every_arch};
use crate::plans::{Inside, Meanwhile, NOTHING, formula, io, load, unload};
use crate::raw;

fn invalid(cause: Cause) -> Result<()> {
    Err(Error { status: Status::Invalid, cause })
}

#[test]
fn the_running_model_is_its_id_while_it_runs_and_zero_otherwise() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(1).unwrap();
    let both = core.load(&ModelPlan { name: "both", subgraphs: &[NOTHING, NOTHING] }).unwrap();
    let single = load(&core, NOTHING).unwrap();
    let running = || [core.running_model(0).unwrap(), core.running_model(1).unwrap()];
    // SAFETY: records of an open tree; the executor runs on this thread.
    let raw = || [2, 3].map(|flat| unsafe { (*raw::tpb(&runtime, 0, flat)).h_running_model.id });
    for (model, expected) in [(&both, [both.id(); 2]), (&single, [single.id(), 0])] {
        assert_eq!((running(), raw()), ([0, 0], [0, 0]));
        let executor = Inside(|id| {
            assert_eq!(id, model.id());
            assert_eq!((running(), raw()), (expected, expected));
            assert_eq!(runtime.core(0).unwrap().running_model(0), Ok(0));
            Ok(())
        });
        model.run(&[], &[], None, &executor).unwrap();
    }
    let failing = Error { status: Status::HwError, cause: Cause::Source("the engine stopped") };
    assert_eq!(both.run(&[], &[], None, &Inside(|_| Err(failing))), Err(failing));
    assert_eq!(running(), [0, 0]);
    both.unload().unwrap();
    single.unload().unwrap();
    finish(&runtime);
}

#[test]
fn a_panic_of_the_executor_leaves_nothing_running() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let model = core.load(&ModelPlan { name: "m", subgraphs: &[NOTHING, NOTHING] }).unwrap();
    let executor = Inside(|_| std::panic::resume_unwind(Box::new("the engine is on fire")));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model.run(&[], &[], None, &executor)));
    assert!(caught.is_err());
    assert_eq!([0, 1].map(|relative| core.running_model(relative)), [Ok(0), Ok(0)]);
    // The same thread is as free as before.
    model.run(&[], &[], None, &Inside(|_| Ok(()))).unwrap();
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn a_model_is_counted_on_each_of_its_cores_while_it_runs() {
    let runtime = runtime(Arch::Cayman);
    let model = runtime.core(0).unwrap().load(&ModelPlan { name: "m", subgraphs: &[NOTHING, NOTHING] }).unwrap();
    // SAFETY: a resident model; the count is an atomic.
    let refs = || [0, 1].map(|flat| unsafe { (*raw::model(&runtime, flat, model.id())).ref_count.load(Relaxed) });
    assert_eq!(refs(), [0, 0]);
    let executor = Inside(|_| {
        assert_eq!(refs(), [1, 1]);
        Ok(())
    });
    model.run(&[], &[], None, &executor).unwrap();
    assert_eq!(refs(), [0, 0]);
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn one_model_at_a_time_executes_on_a_core() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let models = [(); 2].map(|()| load(&core, NOTHING).unwrap());
    let (inside, runs) = (AtomicU32::new(0), AtomicU32::new(0));
    let executor = Inside(|_| {
        assert_eq!(inside.fetch_add(1, Relaxed), 0);
        thread::yield_now();
        assert_eq!(inside.fetch_sub(1, Relaxed), 1);
        runs.fetch_add(1, Relaxed);
        Ok(())
    });
    let (executor, models_ref) = (&executor, &models);
    thread::scope(|scope| {
        for n in 0..4 {
            scope.spawn(move || (0..200).for_each(|_| models_ref[n % 2].run(&[], &[], None, executor).unwrap()));
        }
    });
    assert_eq!(runs.load(Relaxed), 800);
    unload(models);
    finish(&runtime);
}

#[test]
fn two_logical_cores_execute_side_by_side() {
    let runtime = runtime(Arch::Cayman);
    let [first, second] = [0, 1].map(|vnc| load(&runtime.core(vnc).unwrap(), NOTHING).unwrap());
    let executor = Inside(|_| second.run(&[], &[], Some(0), &CopyExecutor));
    assert_eq!(first.run(&[], &[], None, &executor), Ok(()));
    first.unload().unwrap();
    second.unload().unwrap();
    finish(&runtime);
}

#[test]
fn an_executor_that_runs_its_own_core_again_is_refused() {
    on_every_arch(|runtime| {
        let core = runtime.core(0).unwrap();
        let (model, other) = (load(&core, NOTHING).unwrap(), load(&core, NOTHING).unwrap());
        let executor = Inside(|_| {
            assert_eq!(model.run(&[], &[], None, &CopyExecutor), invalid(Cause::Reentered));
            other.run(&[], &[], Some(0), &CopyExecutor)
        });
        assert_eq!(model.run(&[], &[], None, &executor), invalid(Cause::Reentered));
        assert_eq!(model.run(&[], &[], None, &CopyExecutor), Ok(()));
    });
}

#[test]
fn a_core_that_stays_busy_is_a_timeout() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let (model, other) = (load(&core, NOTHING).unwrap(), load(&core, NOTHING).unwrap());
    let late = Err(Error { status: Status::Timeout, cause: Cause::TimedOut("the core to become free") });
    let meanwhile = Meanwhile(|_| {
        assert_eq!(other.run(&[], &[], Some(0), &CopyExecutor), late);
        assert_eq!(other.run(&[], &[], Some(1_000_000), &CopyExecutor), late);
    });
    model.run(&[], &[], None, &meanwhile).unwrap();
    // A free core is taken also without time; the waiters left nothing behind.
    assert_eq!(other.run(&[], &[], Some(0), &CopyExecutor), Ok(()));
    model.unload().unwrap();
    other.unload().unwrap();
    finish(&runtime);
}

#[test]
fn what_is_bound_must_fit_the_contract() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let (inputs, outputs) = ([io("a", 100, 1), io("b", 200, 2)], [io("c", 300, 3)]);
    let model = load(&core, SubgraphPlan { inputs: &inputs, outputs: &outputs, ..NOTHING }).unwrap();
    let [a, b, c] = [100, 200, 300].map(|bytes| core.tensor(Placement::Device, bytes, "t").unwrap());
    let run = |inputs: &[&TestTensor<'_>], outputs: &[&TestTensor<'_>]| model.run(inputs, outputs, None, &CopyExecutor);
    let [input, output] =
        [false, true].map(|output| move |index, need, have| invalid(Cause::Binding { output, index, need, have }));
    let foreign = runtime.core(2).unwrap().tensor(Placement::Device, 300, "t").unwrap();
    assert_eq!(run(&[&a, &b], &[&c]), Ok(()));
    assert_eq!(run(&[&c, &c], &[&c]), Ok(()), "larger ones fit");
    // What does not fit is refused before anything is counted, marked or asked of the driver.
    let (before, completions) = (books(&runtime), c.completions());
    // SAFETY: a resident model; the count is an atomic.
    let refs = || unsafe { (*raw::model(&runtime, 0, model.id())).ref_count.load(Relaxed) };
    runtime.driver().watch_all();
    assert_eq!(run(&[&a], &[&c]), input(1, 200, 0));
    assert_eq!(run(&[], &[&c]), input(0, 100, 0));
    assert_eq!(run(&[&b, &a], &[&c]), input(1, 200, 100));
    assert_eq!(run(&[&a, &b], &[&b]), output(0, 300, 200));
    assert_eq!(run(&[&a, &b], &[]), output(0, 300, 0));
    assert_eq!(run(&[&a, &b, &c], &[&c]), input(2, 0, 300));
    assert_eq!(run(&[&a, &b], &[&c, &a]), output(1, 0, 100));
    let elsewhere = invalid(Cause::WrongCore { tensor: 2, model: 0 });
    assert_eq!(run(&[&a, &foreign], &[&c]), elsewhere);
    assert_eq!(run(&[&a, &b], &[&foreign]), elsewhere);
    for (error, text) in [
        (input(1, 200, 100), "input 1 needs a tensor of at least 200 bytes, bound are 100"),
        (output(0, 300, 0), "output 0 needs a tensor of at least 300 bytes, bound are 0"),
        (output(1, 0, 100), "output 1 is bound, the model declares 1"),
        (elsewhere, "the tensor lives on logical core 2, the model on 0"),
    ] {
        assert_eq!(error.unwrap_err().to_string(), format!("NRT_INVALID: {text}"));
    }
    assert_eq!((runtime.driver().seen(), refs(), core.running_model(0)), (0, 0, Ok(0)));
    assert_eq!((books(&runtime), c.completions()), (before, completions));
    // Nobody waits for an access that never began.
    [&a, &b, &c, &foreign].into_iter().for_each(|tensor| tensor.write(0, &[1]).unwrap());
    drop((a, b, c, foreign));
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn more_than_64_bound_tensors_or_those_of_another_runtime_are_refused() {
    let (runtime, elsewhere) = (runtime(Arch::Cayman), runtime(Arch::Cayman));
    let model = load(&runtime.core(0).unwrap(), NOTHING).unwrap();
    let stranger = elsewhere.core(0).unwrap().tensor(Placement::Device, 10, "t").unwrap();
    let stale = Err(Error { status: Status::InvalidHandle, cause: Cause::StaleHandle });
    assert_eq!(model.run(&[&stranger], &[], None, &CopyExecutor), stale);
    let own = runtime.core(0).unwrap().tensor(Placement::Device, 10, "t").unwrap();
    assert_eq!(own.copy_to(0, &stranger, 0, 1), stale);
    let full = Err(Error { status: Status::Resource, cause: Cause::PoolFull(Pool::FeatureMaps) });
    assert_eq!(model.run(&[&own; 40], &[&own; 25], None, &CopyExecutor), full);
    drop((stranger, own));
    model.unload().unwrap();
    finish(&runtime);
    finish(&elsewhere);
}

#[test]
fn outputs_carry_the_inputs_repeated_or_cut() {
    on_every_arch(|runtime| {
        let core = runtime.core(0).unwrap();
        let (inputs, outputs) = ([io("a", 10, 1), io("b", 7, 2)], [io("p", 25, 3), io("q", 5, 4), io("r", 10, 5)]);
        let model = load(&core, SubgraphPlan { inputs: &inputs, outputs: &outputs, ..NOTHING }).unwrap();
        let tensor = |bytes| core.tensor(Placement::Device, bytes, "t").unwrap();
        let (a, b, p, q, r) = (tensor(10), tensor(7), tensor(25), tensor(5), tensor(10));
        let (first, second) = (formula(3, 10), formula(90, 7));
        a.write(0, &first).unwrap();
        b.write(0, &second).unwrap();
        model.run(&[&a, &b], &[&p, &q, &r], None, &CopyExecutor).unwrap();
        let read = |tensor: &TestTensor<'_>| {
            let mut bytes = vec![0; tensor.bytes() as usize];
            tensor.read(0, &mut bytes).unwrap();
            bytes
        };
        assert_eq!(read(&p), [&first[..], &first, &first[..5]].concat());
        assert_eq!(read(&q), second[..5]);
        assert_eq!(read(&r), first);
    });
}

#[test]
fn a_run_that_fails_changes_nothing_on_the_books() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let (inputs, outputs) = ([io("a", 10, 1)], [io("b", 10, 2)]);
    let model = load(&core, SubgraphPlan { inputs: &inputs, outputs: &outputs, ..NOTHING }).unwrap();
    let [a, b] = [(); 2].map(|()| core.tensor(Placement::Device, 10, "t").unwrap());
    let before = books(&runtime);
    runtime.driver().watch_all();
    runtime.driver().fail_nth(1, nrt_core::driver::Errno::EPERM);
    let error = model.run(&[&a], &[&b], None, &CopyExecutor).unwrap_err();
    assert_eq!(error.status, Status::Failure);
    assert_eq!(books(&runtime), before);
    assert_eq!(model.run(&[&a], &[&b], None, &CopyExecutor), Ok(()));
    drop((a, b));
    model.unload().unwrap();
    finish(&runtime);
}
