//! `dmem` §1, §6, §8: what an observer is told, under the documented event ids.

use nrt_core::driver::{Call, Errno};
use nrt_core::observer::{Operation, Phase};
use nrt_core::{Allocation, Arch, Status, Usage};
use nrt_tests::one_device;

use crate::plans::{device, refused};
use crate::recorder::{RecordedRuntime, Seen, recorded};

fn runtime() -> RecordedRuntime {
    let runtime = recorded(one_device(Arch::Cayman), |_| ());
    runtime.hooks().observed();
    runtime
}

fn event(operation: Operation, phase: Phase, place: (u32, u32), bytes: u64, name: &str) -> Seen {
    Seen { operation, phase, place, bytes, name: name.to_owned() }
}

/// A begin and its end.
fn pair(operation: Operation, status: Status, place: (u32, u32), bytes: u64, name: &str) -> [Seen; 2] {
    [Phase::Begin, Phase::End(status)].map(|phase| event(operation, phase, place, bytes, name))
}

#[test]
fn ids_are_the_documented_ones() {
    let ids = [
        (Operation::TensorRead, 9),
        (Operation::TensorWrite, 10),
        (Operation::TensorReadBatch, 11),
        (Operation::TensorWriteBatch, 12),
        (Operation::TensorAllocate, 27),
        (Operation::TensorFree, 28),
        (Operation::BlockWhileExecuting, 29),
        (Operation::CopyIn, 30),
        (Operation::CopyOut, 31),
        (Operation::BatchCopyIn, 32),
        (Operation::BatchCopyOut, 33),
        (Operation::Allocate, 34),
        (Operation::Free, 35),
    ];
    for (operation, id) in ids {
        assert_eq!(operation.id(), id);
    }
}

#[test]
fn allocating_and_freeing_begin_and_end() {
    let runtime = runtime();
    let core = runtime.core(1).unwrap();
    let memory = core.allocate(1, &Allocation { hint: "mine", ..device(5000, Usage::Cc) }).unwrap();
    assert_eq!(runtime.hooks().observed(), pair(Operation::Allocate, Status::Success, (0, 3), 5000, "mine"));
    drop(memory);
    assert_eq!(runtime.hooks().observed(), pair(Operation::Free, Status::Success, (0, 3), 5000, "mine"));
    runtime.close(None).unwrap();
}

#[test]
fn copies_in_and_out_begin_and_end() {
    let runtime = runtime();
    let core = runtime.core(0).unwrap();
    let memory = core.allocate(1, &Allocation { hint: "mine", ..device(5000, Usage::Cc) }).unwrap();
    runtime.hooks().observed();
    memory.write(8, &[1; 100]).unwrap();
    assert_eq!(runtime.hooks().observed(), pair(Operation::CopyIn, Status::Success, (0, 1), 100, "mine"));
    memory.read(0, &mut [0; 300]).unwrap();
    assert_eq!(runtime.hooks().observed(), pair(Operation::CopyOut, Status::Success, (0, 1), 300, "mine"));
    runtime.driver().watch_all();
    runtime.driver().fail_nth(1, Errno::EIO);
    refused(memory.write(0, &[1; 7]));
    assert_eq!(runtime.hooks().observed(), pair(Operation::CopyIn, Status::Failure, (0, 1), 7, "mine"));
    drop(memory);
    runtime.close(None).unwrap();
}

#[test]
fn what_is_refused_ends_as_well() {
    let runtime = runtime();
    let core = runtime.core(0).unwrap();
    // Before the driver is asked, which the original leaves open; by the driver; and a release it does not take.
    refused(core.allocate(0, &device(0, Usage::Cc)));
    assert_eq!(runtime.hooks().observed(), pair(Operation::Allocate, Status::Invalid, (0, 0), 0, "test"));
    refused(core.allocate(0, &device(1 << 45, Usage::Cc)));
    assert_eq!(runtime.hooks().observed(), pair(Operation::Allocate, Status::Resource, (0, 0), 1 << 45, "test"));
    let memory = core.allocate(0, &device(1, Usage::Cc)).unwrap();
    runtime.hooks().observed();
    runtime.driver().watch(&[Call::Free]);
    runtime.driver().fail_nth(1, Errno::EIO);
    drop(memory);
    assert_eq!(runtime.hooks().observed(), pair(Operation::Free, Status::Failure, (0, 0), 1, "test"));
    runtime.close(None).unwrap();
}
