//! `tensor` §§9.1, 11: accesses under way and who waits for them; completions and who waits for those.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nrt_core::model::{CopyExecutor, SubgraphPlan};
use nrt_core::{Access, Arch, Cause, Error, Placement, Result, Status};
use nrt_tests::runtime;

use crate::books::{TestTensor, finish};
use crate::plans::{Inside, Meanwhile, NOTHING, io, load};

/// Work that does not wait is over before that, mostly.
const LOOK: Duration = Duration::from_millis(60);

/// Whether `work` is still waiting when `release` begins, and finished after it.
fn waits(work: impl FnOnce() + Send, release: impl FnOnce()) -> bool {
    let (started, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            started.store(true, Ordering::Release);
            work();
            done.store(true, Ordering::Release);
        });
        while !started.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let end = Instant::now() + LOOK;
        while !done.load(Ordering::Acquire) && Instant::now() < end {
            std::thread::yield_now();
        }
        let waited = !done.load(Ordering::Acquire);
        release();
        waited
    })
}

/// Reads wait for writes; writes, fills and the target of a copy wait for both; slices share the fences.
#[test]
fn who_waits_for_whom() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let tensor = core.tensor(Placement::Device, 100, "t").unwrap();
    let other = core.tensor(Placement::Device, 100, "o").unwrap();
    let slice = tensor.slice(10, 10, "slice").unwrap();
    type Work<'a> = &'a (dyn Fn() -> Result<()> + Sync);
    let read = || slice.read(0, &mut [0; 4]);
    let copy_out = || tensor.copy_to(0, &other, 0, 10);
    let write = || slice.write(0, &[1; 4]);
    let fill = || tensor.fill(0, 1, 10);
    let copy_in = || other.copy_to(0, &slice, 0, 10);
    let cases: [(Work<'_>, bool); 5] = [(&read, false), (&copy_out, false), (&write, true), (&fill, true), (&copy_in, true)];
    for (work, writes) in cases {
        for access in [Access::Read, Access::Write] {
            let underway = tensor.begin(access).unwrap();
            if !writes && access == Access::Read {
                work().unwrap();
                drop(underway);
            } else {
                assert!(waits(|| work().unwrap(), || drop(underway)));
            }
            work().unwrap();
        }
    }
    drop((tensor, other, slice));
    finish(&runtime);
}

/// The last of several accesses lets the waiters go, not the first.
#[test]
fn waiters_go_with_the_last_access() {
    let runtime = runtime(Arch::Sunda);
    let tensor = runtime.host_tensor(100, "t").unwrap();
    let (first, second, write) =
        (tensor.begin(Access::Read).unwrap(), tensor.begin(Access::Read).unwrap(), tensor.begin(Access::Write).unwrap());
    assert!(waits(
        || tensor.write(0, &[1]).unwrap(),
        || {
            drop(first);
            drop(write);
            drop(second);
        }
    ));
    drop(tensor);
    finish(&runtime);
}

/// An execution is a pending read of its inputs and a pending write of its outputs.
#[test]
fn what_a_model_uses_is_left_alone_while_it_runs() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let (inputs, outputs) = ([io("a", 10, 1)], [io("c", 10, 3)]);
    let model = load(&core, SubgraphPlan { inputs: &inputs, outputs: &outputs, ..NOTHING }).unwrap();
    let [a, c, free] = [(); 3].map(|()| core.tensor(Placement::Device, 10, "t").unwrap());
    let executor = Meanwhile(|_| {
        a.read(0, &mut [0; 4]).unwrap();
        free.write(0, &[1]).unwrap();
    });
    model.run(&[&a], &[&c], None, &executor).unwrap();
    let blocked = |work: &(dyn Fn() + Sync)| {
        // The work starts inside the run and ends after it.
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let inside = Inside(|_| {
                scope.spawn(|| {
                    work();
                    ended.store(true, Ordering::Release);
                });
                let end = Instant::now() + LOOK;
                while !ended.load(Ordering::Acquire) && Instant::now() < end {
                    std::thread::yield_now();
                }
                assert!(!ended.load(Ordering::Acquire), "it waits for the run");
                Ok(())
            });
            model.run(&[&a], &[&c], None, &inside).unwrap();
        });
        assert!(ended.load(Ordering::Acquire));
    };
    blocked(&|| a.write(0, &[1]).unwrap());
    blocked(&|| c.read(0, &mut [0]).unwrap());
    blocked(&|| c.fill(0, 1, 1).unwrap());
    drop((a, c, free));
    model.unload().unwrap();
    finish(&runtime);
}

/// An executor that touches what its own run has pending would wait for itself.
#[test]
fn an_executor_does_not_wait_for_its_own_run() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let (inputs, outputs) = ([io("a", 10, 1)], [io("c", 10, 3)]);
    let model = load(&core, SubgraphPlan { inputs: &inputs, outputs: &outputs, ..NOTHING }).unwrap();
    let [a, c] = [(); 2].map(|()| core.tensor(Placement::Device, 10, "t").unwrap());
    let reentered = Err(Error { status: Status::Invalid, cause: Cause::Reentered });
    let executor = Inside(|_| {
        assert_eq!(a.read(0, &mut [0]), Ok(()), "reads meet only reads");
        assert_eq!(a.write(0, &[0]), reentered);
        assert_eq!(c.read(0, &mut [0]), reentered);
        Ok(())
    });
    model.run(&[&a], &[&c], None, &executor).unwrap();
    a.write(0, &[0]).unwrap();
    drop((a, c));
    model.unload().unwrap();
    finish(&runtime);
}

fn timed_out() -> Result<()> {
    Err(Error { status: Status::Timeout, cause: Cause::TimedOut("the outputs to be completed") })
}

#[test]
fn completions_are_waited_for_in_microseconds() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let outputs = [io("c", 10, 3)];
    let model = load(&core, SubgraphPlan { outputs: &outputs, ..NOTHING }).unwrap();
    let mut c = core.tensor(Placement::Device, 10, "c").unwrap();
    let run = |c: &TestTensor<'_>| model.run(&[], &[c], None, &CopyExecutor).unwrap();
    assert_eq!(c.wait_completed(0, 0), Ok(()), "nothing expected");
    assert_eq!(c.wait_completed(-1, 0), Ok(()));
    assert_eq!(c.wait_completed(0, 1), timed_out());
    let start = Instant::now();
    assert_eq!(c.wait_completed(20_000, 1), timed_out());
    let waited = start.elapsed();
    assert!(waited >= Duration::from_millis(20), "20,000 us are 20 ms, not {waited:?}");
    assert!(waited < Duration::from_secs(10), "20,000 us are not {waited:?}");
    run(&c);
    assert_eq!(c.wait_completed(0, 1), Ok(()));
    assert_eq!(c.wait_completed(0, 1), Ok(()), "success resets nothing");
    assert_eq!(c.wait_completed(0, 2), timed_out());
    // For ever, until another thread's run completes it.
    assert!(waits(
        || c.wait_completed(-1, 3).unwrap(),
        || {
            run(&c);
            run(&c);
        }
    ));
    // With a bound that is far away.
    assert!(waits(|| c.wait_completed(i64::MAX, 4).unwrap(), || run(&c)));
    assert_eq!(c.completions(), Ok(4));
    c.reset_completions().unwrap();
    assert_eq!((c.completions(), c.wait_completed(0, 1)), (Ok(0), timed_out()));
    run(&c);
    // A slice counts for itself, and an exchanged storage begins anew.
    assert_eq!(c.slice(0, 5, "slice").unwrap().completions(), Ok(0));
    c.detach().unwrap();
    assert_eq!(c.completions(), Ok(0));
    drop(c);
    model.unload().unwrap();
    finish(&runtime);
}

/// A completion of another tensor wakes the waiter, who looks and sleeps on.
#[test]
fn each_waits_for_its_own_tensor() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let outputs = [io("c", 10, 3)];
    let model = load(&core, SubgraphPlan { outputs: &outputs, ..NOTHING }).unwrap();
    let [c, d] = [(); 2].map(|()| core.tensor(Placement::Device, 10, "t").unwrap());
    let run = |tensor: &TestTensor<'_>| model.run(&[], &[tensor], None, &CopyExecutor).unwrap();
    run(&d);
    let woken = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            c.wait_completed(-1, 1).unwrap();
            woken.store(true, Ordering::Release);
        });
        let end = Instant::now() + LOOK;
        while Instant::now() < end {
            run(&d);
        }
        assert!(!woken.load(Ordering::Acquire));
        run(&c);
    });
    assert!(woken.load(Ordering::Acquire) && c.completions() == Ok(1));
    drop((c, d));
    model.unload().unwrap();
    finish(&runtime);
}
