//! `dmem` §1, §6, §8, `tensor` §6: what an observer is told, under the documented event ids.

use nrt_core::driver::{Call, Errno};
use nrt_core::hooks::Level;
use nrt_core::model::{CopyExecutor, IoPlan, ModelPlan, SubgraphPlan};
use nrt_core::observer::{Operation, Phase};
use nrt_core::{Access, Allocation, Arch, Fence, Placement, ReadPiece, Status, Usage, WritePiece};
use nrt_sim::{DriverVersion, SimConfig};
use nrt_tests::{driver, one_device};

use crate::plans::{NOTHING, device, refused};
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

const OK: Status = Status::Success;
const NOWHERE: (u32, u32) = (u32::MAX, u32::MAX);

/// What happens within a begin and its end.
fn around(outer: [Seen; 2], inner: impl IntoIterator<Item = impl IntoIterator<Item = Seen>>) -> Vec<Seen> {
    let [begin, end] = outer;
    std::iter::once(begin).chain(inner.into_iter().flatten()).chain([end]).collect()
}

#[test]
fn operations_of_a_device_tensor_are_told_with_what_they_are_made_of() {
    use Operation::{Allocate, BlockWhileExecuting, CopyIn, CopyOut, Free, TensorAllocate, TensorFree, TensorRead, TensorWrite};
    let runtime = runtime();
    let core = runtime.core(1).unwrap();
    let seen = || runtime.hooks().observed();
    let on = |operation, bytes| pair(operation, OK, (0, 2), bytes, "mine");
    let tensor = core.tensor(Placement::Device, 5000, "mine").unwrap();
    assert_eq!(seen(), around(on(TensorAllocate, 5000), [on(Allocate, 5000)]));
    tensor.write(8, &[1; 100]).unwrap();
    assert_eq!(seen(), around(on(TensorWrite, 100), [on(BlockWhileExecuting, 5000), on(CopyIn, 100)]));
    tensor.read(0, &mut [0; 300]).unwrap();
    assert_eq!(seen(), around(on(TensorRead, 300), [on(BlockWhileExecuting, 5000), on(CopyOut, 300)]));
    // A view that goes and leaves the storage; then the last one.
    let slice = tensor.slice(0, 10, "part").unwrap();
    drop(slice);
    assert_eq!(seen(), pair(TensorFree, OK, (0, 2), 10, "part"));
    drop(tensor);
    assert_eq!(seen(), around(on(TensorFree, 5000), [on(Free, 5000)]));
    runtime.close(None).unwrap();
    assert_eq!(seen(), []);
}

#[test]
fn operations_of_a_plain_tensor_are_of_no_device() {
    use Operation::{BlockWhileExecuting, TensorAllocate, TensorFree, TensorRead, TensorWrite};
    let runtime = runtime();
    let seen = || runtime.hooks().observed();
    let of = |operation, bytes| pair(operation, OK, NOWHERE, bytes, "plain");
    let tensor = runtime.host_tensor(64, "plain").unwrap();
    assert_eq!(seen(), of(TensorAllocate, 64));
    tensor.write(0, &[1; 10]).unwrap();
    assert_eq!(seen(), around(of(TensorWrite, 10), [of(BlockWhileExecuting, 64)]));
    tensor.read(0, &mut [1; 20]).unwrap();
    assert_eq!(seen(), around(of(TensorRead, 20), [of(BlockWhileExecuting, 64)]));
    drop(tensor);
    assert_eq!(seen(), of(TensorFree, 64));
    runtime.close(None).unwrap();
}

/// A run holds its tensors for as long as it lasts: nobody gives one up.
#[test]
fn a_run_frees_no_tensor() {
    let runtime = runtime();
    let core = runtime.core(0).unwrap();
    let [inputs, outputs] = [("x", 1), ("z", 2)].map(|(name, variable)| [IoPlan { name, bytes: 64, variable }]);
    let subgraph = SubgraphPlan { inputs: &inputs, outputs: &outputs, ..SubgraphPlan::EMPTY };
    let model = core.load(&ModelPlan { name: "m", subgraphs: &[subgraph] }).unwrap();
    let [x, z] = ["x", "z"].map(|name| core.tensor(Placement::Device, 64, name).unwrap());
    x.write(0, &[7; 64]).unwrap();
    let [ins, outs] = [("x", &x), ("z", &z)].map(|(name, tensor)| {
        let set = runtime.tensor_set().unwrap();
        set.add(name, tensor).unwrap();
        set
    });
    runtime.hooks().observed();
    model.run_sets(&ins, &outs, None, &CopyExecutor).unwrap();
    model.run(&[&x], &[&z], None, &CopyExecutor).unwrap();
    assert_eq!(runtime.hooks().observed(), [], "looking tensors up and letting them go is nobody's operation");
    drop((model, ins, outs, x, z));
    runtime.close(None).unwrap();
}

#[test]
fn batches_are_told_as_one() {
    use Operation::{BatchCopyIn, BatchCopyOut, BlockWhileExecuting, TensorReadBatch, TensorWriteBatch};
    let batches = SimConfig { version: DriverVersion::V2_26_5, ..SimConfig::new(Arch::Cayman) };
    let runtime = recorded(driver(batches), |_| ());
    let core = runtime.core(0).unwrap();
    let [one, two] = ["one", "two"].map(|name| core.tensor(Placement::Device, 100, name).unwrap());
    let seen = || runtime.hooks().observed();
    seen();
    let all = |operation, status, bytes| pair(operation, status, NOWHERE, bytes, "");
    let fence = |name| pair(BlockWhileExecuting, OK, (0, 0), 100, name);
    let pieces = [WritePiece::new(0, &[1; 4]), WritePiece::new(50, &[2; 6])];
    runtime.write_batch(&[(&one, &pieces), (&two, &pieces[..1])], Fence::Wait).unwrap();
    let inner = [fence("one"), fence("two"), all(BatchCopyIn, OK, 14)];
    assert_eq!(seen(), around(all(TensorWriteBatch, OK, 14), inner));
    let mut back = [0; 6];
    runtime.read_batch(&mut [(&one, &mut [ReadPiece::new(50, &mut back)])], Fence::Skip).unwrap();
    assert_eq!(seen(), around(all(TensorReadBatch, OK, 6), [all(BatchCopyOut, OK, 6)]));
    // Refused before the driver is asked, and by the driver.
    runtime.write_batch(&[(&one, &[WritePiece::new(99, &[1; 2])])], Fence::Wait).unwrap_err();
    assert_eq!(seen(), all(TensorWriteBatch, Status::Invalid, 2));
    runtime.driver().watch(&[Call::CopyBatches]);
    runtime.driver().fail_nth(1, Errno::EIO);
    runtime.write_batch(&[(&one, &pieces)], Fence::Skip).unwrap_err();
    let failed = |operation| all(operation, Status::Failure, 10);
    assert_eq!(seen(), around(failed(TensorWriteBatch), [failed(BatchCopyIn)]));
    drop((one, two));
    runtime.close(None).unwrap();
    // Without such requests of the driver, each piece is a copy within.
    let runtime = crate::observer::runtime();
    let one = runtime.core(0).unwrap().tensor(Placement::Device, 100, "one").unwrap();
    runtime.hooks().observed();
    runtime.write_batch(&[(&one, &pieces)], Fence::Skip).unwrap();
    let copies = [4, 6].map(|bytes| pair(Operation::CopyIn, OK, (0, 0), bytes, "one"));
    assert_eq!(runtime.hooks().observed(), around(all(TensorWriteBatch, OK, 10), [around(all(BatchCopyIn, OK, 10), copies)]));
    drop(one);
    runtime.close(None).unwrap();
}

#[test]
fn tensor_operations_that_are_refused_end_as_well() {
    use Operation::{Allocate, BlockWhileExecuting, CopyIn, TensorAllocate, TensorRead, TensorWrite};
    let runtime = runtime();
    let core = runtime.core(0).unwrap();
    let seen = || runtime.hooks().observed();
    let on = |operation, status, bytes| pair(operation, status, (0, 0), bytes, "t");
    refused(core.tensor(Placement::Device, 0, "t"));
    assert_eq!(seen(), on(TensorAllocate, Status::Invalid, 0));
    refused(core.tensor(Placement::Device, 1 << 45, "t"));
    let outer = on(TensorAllocate, Status::Resource, 1 << 45);
    assert_eq!(seen(), around(outer, [on(Allocate, Status::Resource, 1 << 45)]));
    let tensor = core.tensor(Placement::Device, 100, "t").unwrap();
    seen();
    refused(tensor.read(99, &mut [0; 2]));
    assert_eq!(seen(), on(TensorRead, Status::Invalid, 2));
    runtime.driver().watch_all();
    runtime.driver().fail_nth(1, Errno::EIO);
    refused(tensor.write(0, &[1; 7]));
    let inner = [on(BlockWhileExecuting, OK, 100), on(CopyIn, Status::Failure, 7)];
    assert_eq!(seen(), around(on(TensorWrite, Status::Failure, 7), inner));
    drop(tensor);
    runtime.close(None).unwrap();
}

/// A wait that has something to wait for begins before it and ends after it.
#[test]
fn a_wait_for_a_fence_begins_before_it_and_ends_behind_it() {
    let runtime = runtime();
    let core = runtime.core(0).unwrap();
    let tensor = core.tensor(Placement::Device, 100, "t").unwrap();
    let underway = tensor.begin(Access::Write).unwrap();
    runtime.hooks().observed();
    let on = |operation, bytes| pair(operation, OK, (0, 0), bytes, "t");
    std::thread::scope(|scope| {
        scope.spawn(|| tensor.read(0, &mut [0; 8]).unwrap());
        let mut seen = Vec::new();
        while seen.len() < 2 {
            seen.extend(runtime.hooks().observed());
            std::thread::yield_now();
        }
        // It waits: nothing ends until the access does.
        let begun = [on(Operation::TensorRead, 8), on(Operation::BlockWhileExecuting, 100)].map(|[begin, _]| begin);
        assert_eq!(seen, begun);
        drop(underway);
    });
    let [_, waited] = on(Operation::BlockWhileExecuting, 100);
    let [_, read] = on(Operation::TensorRead, 8);
    let [begin, end] = on(Operation::CopyOut, 8);
    assert_eq!(runtime.hooks().observed(), [waited, begin, end, read]);
    drop(tensor);
    runtime.close(None).unwrap();
}

/// Pages of the contiguous scratchpad are allocations as well, and tell as much when there is no room.
#[test]
fn contiguous_pages_begin_and_end_and_explain_themselves() {
    const PAGE: u64 = 64 << 20;
    let machine = driver(SimConfig { hbm_bytes: 2 << 30, ..SimConfig::new(Arch::Sunda) });
    let runtime = recorded(machine, |config| config.contiguous_scratchpad = true);
    let core = runtime.core(0).unwrap();
    runtime.hooks().observed();
    let subgraph = SubgraphPlan { local_scratchpad_bytes: 2 * PAGE, ..NOTHING };
    let model = core.load(&ModelPlan { name: "model", subgraphs: &[subgraph] }).unwrap();
    let pages = |operation, status| pair(operation, status, (0, 0), PAGE, "scratchpad");
    let both = |operation| [pages(operation, Status::Success), pages(operation, Status::Success)].concat();
    assert_eq!(runtime.hooks().observed(), both(Operation::Allocate));
    model.unload().unwrap();
    assert_eq!(runtime.hooks().observed(), both(Operation::Free));

    // What is in the way leaves much free, but not where the next page must be.
    let blocked = core.allocate(0, &device((1 << 30) - 2 * PAGE - (16 << 20), Usage::Generic)).unwrap();
    runtime.hooks().observed();
    runtime.hooks().take(Level::Error);
    let large = SubgraphPlan { local_scratchpad_bytes: 4 * PAGE, ..NOTHING };
    let error = refused(core.load(&ModelPlan { name: "model", subgraphs: &[large] }));
    assert_eq!(error.status, Status::Resource);
    let seen = runtime.hooks().observed();
    assert_eq!(seen[..4], both(Operation::Allocate));
    assert_eq!(seen[4..6], pages(Operation::Allocate, Status::Resource));
    assert_eq!(seen[6..], both(Operation::Free));
    let told = runtime.hooks().take(Level::Error).join("\n");
    assert!(told.contains("for \"scratchpad\"") && told.contains("none is below the last scratchpad page"), "{told}");
    drop(blocked);
    runtime.close(None).unwrap();
}

/// `model-load` §7: what each core of the logical core holds before and after a model.
#[test]
fn a_model_is_added_with_the_bytes_before_and_after_on_each_core() {
    const MIB: u64 = 1 << 20;
    let runtime = recorded(one_device(Arch::Cayman), |config| config.scratchpad_page_size = 2 * MIB);
    let added = || {
        let lines = runtime.hooks().take(Level::Info);
        lines.into_iter().filter(|line| line.starts_with("Added model")).collect::<Vec<_>>()
    };
    let core = runtime.core(0).unwrap();
    let tensor = core.tensor(Placement::Device, 512, "x").unwrap();
    let weights = [crate::plans::weights(3 * MIB)];
    let subgraph = SubgraphPlan { regions: &weights, local_scratchpad_bytes: 1, ..NOTHING };
    let both = core.load(&ModelPlan { name: "both", subgraphs: &[subgraph, subgraph] }).unwrap();
    assert_eq!(
        added(),
        [
            "Added model 1 \"both\" on ND0:NC0, mem_usage before 512 after 5243392",
            "Added model 1 \"both\" on ND0:NC1, mem_usage before 0 after 5242880",
        ]
    );
    // Its page is there already.
    let one = core.load(&ModelPlan { name: "one", subgraphs: &[subgraph] }).unwrap();
    assert_eq!(
        added(),
        [
            "Added model 2 \"one\" on ND0:NC0, mem_usage before 5243392 after 8389120",
            "Added model 2 \"one\" on ND0:NC1, mem_usage before 5242880 after 5242880",
        ]
    );
    runtime.driver().watch(&[Call::Alloc]);
    runtime.driver().fail_nth(1, Errno::EIO);
    refused(core.load(&ModelPlan { name: "one", subgraphs: &[subgraph] }));
    assert!(added().is_empty());
    one.unload().unwrap();
    both.unload().unwrap();
    drop(tensor);
    assert!(runtime.close(None).unwrap().is_clean());
}
