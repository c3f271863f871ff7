//! A stay inside the gate: what is done through it is what is done without it, and a close waits for it.

use nrt_core::{Arch, Cause, Error, Status, Usage};
use nrt_tests::runtime;

use crate::books::{TestDmem, assert_quiet, books, finish};
use crate::plans::{device, refused};
use crate::raw;

const CLOSED: Error = Error { status: Status::Closed, cause: Cause::NotOpen };

#[test]
fn a_stay_does_what_is_done_without_it() {
    let (plain, staying) = (runtime(Arch::Cayman), runtime(Arch::Cayman));
    let inside = staying.stay().unwrap();
    let cores = [plain.core(1).unwrap(), staying.core(1).unwrap()];
    let mut kept: [Vec<TestDmem<'_>>; 2] = [Vec::new(), Vec::new()];
    for (step, bytes) in [100, 5000, 1, 70_000, 4096, 9].into_iter().enumerate() {
        let request = device(bytes, Usage::Generic);
        kept[0].push(cores[0].allocate(1, &request).unwrap());
        kept[1].push(inside.allocate(&cores[1], 1, &request).unwrap());
        if step % 2 == 1 {
            drop(kept[0].remove(step / 2));
            inside.release(kept[1].remove(step / 2));
        }
        assert_eq!(books(&staying), books(&plain), "step {step}");
        assert_eq!(raw::sizes(raw::global(&staying, 3)), raw::sizes(raw::global(&plain, 3)), "step {step}");
    }
    let bad = device(0, Usage::Generic);
    assert_eq!(refused(inside.allocate(&cores[1], 1, &bad)), refused(cores[0].allocate(1, &bad)));
    assert_eq!(refused(inside.allocate(&cores[1], 2, &device(1, Usage::Generic))).status, Status::Invalid);
    let mut events = [Vec::new(), Vec::new()];
    for (runtime, events) in [&plain, &staying].into_iter().zip(&mut events) {
        let visit = |event: &nrt_core::ledger::Event| events.push((event.action, event.core, event.size, event.total_used));
        runtime.for_each_event(0, visit).unwrap();
    }
    assert_eq!(events[1], events[0]);
    let [first, second] = kept;
    drop(first);
    second.into_iter().for_each(|memory| inside.release(memory));
    drop(inside);
    finish(&staying);
    finish(&plain);
}

#[test]
fn the_last_handle_gives_the_memory_back() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let inside = runtime.stay().unwrap();
    let memory = inside.allocate(&core, 0, &device(5000, Usage::Tensor)).unwrap();
    let other = memory.share().unwrap();
    memory.write(0, &[7; 5000]).unwrap();
    inside.release(memory);
    let mut bytes = [0; 5000];
    other.read(0, &mut bytes).unwrap();
    assert_eq!((bytes, runtime.live_nodes()), ([7; 5000], 1));
    inside.release(other);
    assert_eq!(runtime.live_nodes(), 0);
    drop(inside);
    finish(&runtime);
}

#[test]
fn a_stay_is_of_one_runtime() {
    let (own, other) = (runtime(Arch::Cayman), runtime(Arch::Cayman));
    let inside = own.stay().unwrap();
    let foreign = other.core(0).unwrap();
    let request = device(100, Usage::Generic);
    assert_eq!(refused(inside.allocate(&foreign, 0, &request)).status, Status::InvalidHandle);
    // What was allocated elsewhere goes back there.
    let memory = foreign.allocate(0, &request).unwrap();
    inside.release(memory);
    assert_eq!((own.live_nodes(), other.live_nodes()), (0, 0));
    // Once its own runtime is closed, the handle is as inert as if it had been dropped.
    let memory = foreign.allocate(0, &request).unwrap();
    other.close(None).unwrap();
    inside.release(memory);
    assert_quiet(other.driver(), 1);
    drop(inside);
    finish(&own);
}

#[test]
fn close_waits_for_a_stay() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let request = device(100, Usage::Generic);
    let inside = runtime.stay().unwrap();
    let memory = inside.allocate(&core, 0, &request).unwrap();
    // It counts as an operation under way; the runtime stays open.
    let busy = Error { status: Status::ExecNcBusy, cause: Cause::Busy { operations: 1, models: 0 } };
    assert_eq!(runtime.close(Some(0)), Err(busy));
    drop(core.allocate(0, &request).unwrap());
    std::thread::scope(|scope| {
        let closer = scope.spawn(|| runtime.close(None).unwrap());
        while runtime.core(0).is_ok() {
            std::thread::yield_now();
        }
        // Nobody new comes in; who is inside goes on.
        assert_eq!(refused(runtime.stay()), CLOSED);
        let more = inside.allocate(&core, 0, &request).unwrap();
        inside.release(memory);
        assert!(!closer.is_finished());
        drop(inside);
        // One handle was left, whose memory the close gave back.
        let report = closer.join().unwrap();
        assert_eq!(report.allocations, 1);
        drop(more);
    });
    assert_eq!(refused(runtime.stay()), CLOSED);
    assert_quiet(runtime.driver(), 1);
}
