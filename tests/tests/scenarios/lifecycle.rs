//! `context-tree` §§10, 11: bring-up and teardown, again and again, on one storage.

use nrt_core::model::{ByteSource, CopyExecutor, ModelPlan, RegionPlan, SubgraphPlan, VariableInfo};
use nrt_core::{Arch, Cause, Config, Error, Placement, Result, Runtime, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::{Live, SimConfig};
use nrt_tests::{TestDriver, TestRuntime, TestStorage, driver, one_device, runtime, storage};

use crate::books::{MIB, assert_quiet, books, finish, on_every_arch, sim};
use crate::plans::{Formula, Inside, Meanwhile, NOTHING, device, formula, host, load, refused, weights};

const CLOSED: Error = Error { status: Status::Closed, cause: Cause::NotOpen };

pub(crate) fn init(storage: &'static TestStorage, driver: TestDriver) -> Result<TestRuntime> {
    Runtime::init(storage, driver, Config::new(LinuxHooks::new()).side_by_side())
}

/// A subgraph with a bit of everything.
const EVERYTHING: SubgraphPlan<'static> = SubgraphPlan { regions: &[weights(5000)], local_scratchpad_bytes: MIB, ..NOTHING };

#[test]
fn an_idle_runtime_holds_its_bounce_buffers_and_nothing_else() {
    on_every_arch(|runtime| {
        let cores = u64::from(runtime.arch().cores_per_device());
        let expected = Live { chunks: cores, device_bytes: 0, host_bytes: cores * 2 * MIB, mappings: cores };
        assert_eq!(sim(runtime).live(0), expected);
        assert_eq!((runtime.device_bytes(), runtime.live_nodes(), runtime.peak_device_bytes()), (0, 0, 0));
    });
}

#[test]
fn one_runtime_at_a_time_on_a_storage() {
    let fresh: &'static TestStorage = storage();
    let first = init(fresh, one_device(Arch::Cayman)).unwrap();
    let second = one_device(Arch::Cayman);
    let in_use = Error { status: Status::Failure, cause: Cause::StorageInUse };
    assert_eq!(refused(init(fresh, second)), in_use);
    assert_eq!(second.seen(), 0);
    let before = books(&first);
    assert_eq!(refused(init(fresh, second)), in_use);
    assert_eq!(books(&first), before);
    finish(&first);
    finish(&init(fresh, second).unwrap());
}

#[test]
fn a_storage_serves_one_runtime_after_the_other_whatever_the_machine() {
    let fresh: &'static TestStorage = storage();
    let machines = [(Arch::Cayman, 2), (Arch::Sunda, 1), (Arch::Mariana, 1), (Arch::Sunda, 4), (Arch::Cayman, 1)];
    let mut last = 0;
    for (arch, devices) in machines {
        let runtime = init(fresh, driver(SimConfig { devices, ..SimConfig::new(arch) })).unwrap();
        assert_eq!(runtime.with_tree(|tree| tree.device_count()).unwrap(), devices);
        let mut events = 0;
        runtime.for_each_event(0, |_| events += 1).unwrap();
        assert_eq!((events, runtime.device_bytes(), runtime.live_nodes()), (0, 0, 0));
        let core = runtime.core(runtime.logical_cores() - 1).unwrap();
        let model = load(&core, EVERYTHING).unwrap();
        // Ids of an earlier life stay unknown.
        assert!(model.id() > last);
        last = model.id();
        model.unload().unwrap();
        for gone in [devices, 31] {
            assert_eq!(
                runtime.with_tree(|tree| tree.resolve(gone, 0)).unwrap().map_err(|error| error.cause),
                Err(Cause::DeviceNotInUse(gone))
            );
        }
        finish(&runtime);
    }
}

#[test]
fn a_storage_that_was_full_is_empty_for_the_next() {
    let fresh: &'static TestStorage = storage();
    for _ in 0..3 {
        let runtime = init(fresh, one_device(Arch::Cayman)).unwrap();
        let core = runtime.core(0).unwrap();
        let nodes: Vec<_> = (0..512).map(|_| core.allocate(0, &device(1, Usage::Io)).unwrap()).collect();
        let report = runtime.close(None).unwrap();
        assert_eq!((report.allocations, report.nodes, report.device_bytes), (512, 0, 0));
        assert_quiet(runtime.driver(), 1);
        drop(nodes);
    }
}

#[test]
fn close_takes_what_is_left_and_says_what_it_was() {
    for arch in Arch::ALL {
        let runtime = runtime(arch);
        let size = runtime.logical_core_size() as usize;
        let core = runtime.core(1).unwrap();
        let subgraphs = [EVERYTHING; 2];
        let plan = ModelPlan { name: "m", subgraphs: &subgraphs[..size] };
        let models = [core.load(&plan).unwrap(), core.load(&plan).unwrap(), load(&core, NOTHING).unwrap()];
        let tensors = [Placement::Device, Placement::Virtual].map(|place| core.tensor(place, 100, "t").unwrap());
        let memory =
            [device(5000, Usage::Cc), device(1, Usage::Io), host(1, Usage::Io)].map(|plan| core.allocate(0, &plan).unwrap());
        memory[0].map().unwrap();
        let report = runtime.close(None).unwrap();
        assert_eq!((report.models, report.tensors, report.allocations), (3, 2, 3));
        assert_eq!((report.device_bytes, report.nodes, report.slots, report.quarantined), (0, 0, 0, 0));
        assert_eq!((report.refused_requests, report.is_clean()), (0, false));
        assert_quiet(runtime.driver(), 1);
        // What the handles named is gone; dropping them asks nobody.
        runtime.driver().watch_all();
        drop((models, tensors, memory));
        assert_eq!(runtime.driver().seen(), 0);
    }
}

#[test]
fn dropping_an_open_runtime_closes_it() {
    let fresh: &'static TestStorage = storage();
    let driver = one_device(Arch::Cayman);
    let runtime = init(fresh, driver).unwrap();
    let _ = load(&runtime.core(0).unwrap(), EVERYTHING).unwrap().into_id();
    drop(runtime);
    assert_quiet(driver, 1);
    finish(&init(fresh, driver).unwrap());
}

#[test]
fn everything_answers_closed_after_close() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let model = load(&core, EVERYTHING).unwrap();
    let other = load(&core, EVERYTHING).unwrap();
    let tensor = core.tensor(Placement::Device, 10, "t").unwrap();
    runtime.close(None).unwrap();
    runtime.driver().watch_all();
    assert_eq!(runtime.close(None), Err(CLOSED));
    assert_eq!(refused(runtime.core(0)), CLOSED);
    assert_eq!(runtime.install(), Err(CLOSED));
    assert_eq!(runtime.with_tree(|_| ()), Err(CLOSED));
    assert_eq!(refused(runtime.core_by_number(0)), CLOSED);
    assert_eq!(refused(runtime.locate(0, 0)), CLOSED);
    assert_eq!(refused(runtime.hbm_cores(0, 0)), CLOSED);
    assert_eq!(runtime.flat_index(0, 0), Err(CLOSED));
    assert_eq!(runtime.host_device_id(0), Err(CLOSED));
    assert_eq!(runtime.device_by_host_id(0), Err(CLOSED));
    assert_eq!(runtime.routing_id(0), Err(CLOSED));
    assert_eq!(core.default_channel(), Err(CLOSED));
    assert_eq!(runtime.for_each_core_usage(|_| ()), Err(CLOSED));
    assert_eq!(runtime.for_each_model_usage(0, 0, |_, _| ()), Err(CLOSED));
    assert_eq!(runtime.for_each_event(0, |_| ()), Err(CLOSED));
    assert_eq!(runtime.refresh_ledger(0), Err(CLOSED));
    assert_eq!(refused(load(&core, NOTHING)), CLOSED);
    assert_eq!(refused(core.tensor(Placement::Device, 1, "t")), CLOSED);
    assert_eq!(refused(core.allocate(0, &device(1, Usage::Io))), CLOSED);
    assert_eq!(core.run(model.id(), &[], &[], None, &CopyExecutor), Err(CLOSED));
    assert_eq!(core.unload(model.id()), Err(CLOSED));
    assert_eq!(refused(core.begin_unload(model.id())), CLOSED);
    assert_eq!(refused(core.memory_stats()), CLOSED);
    assert_eq!(refused(core.usage(0)), CLOSED);
    assert_eq!(core.running_model(0), Err(CLOSED));
    assert_eq!(core.physical(0), Err(CLOSED));
    assert_eq!(core.scratchpad_pages(0, &mut []), Err(CLOSED));
    assert_eq!(core.scratchpad_address(0, 0, 1), Err(CLOSED));
    assert_eq!(core.library_users(0), Err(CLOSED));
    assert_eq!(core.resident_models(0), Err(CLOSED));
    assert_eq!(model.run(&[&tensor], &[], None, &CopyExecutor), Err(CLOSED));
    assert_eq!(refused(model.usage(0)), CLOSED);
    assert_eq!(model.for_each_variable(0, |_, _| ()), Err(CLOSED));
    assert_eq!(model.read_variable(0, 1, 0, &mut [0]), Err(CLOSED));
    assert_eq!(model.unload(), Err(CLOSED));
    assert_eq!(refused(other.unload_within(0)), CLOSED);
    assert_eq!(tensor.write(0, &[1]), Err(CLOSED));
    assert_eq!(tensor.read(0, &mut [1]), Err(CLOSED));
    assert_eq!(tensor.copy_to(0, &tensor, 5, 1), Err(CLOSED));
    assert_eq!(tensor.with_name(|_| ()), Err(CLOSED));
    assert_eq!(tensor.bytes(), 10, "the size asks no state");
    assert_eq!((runtime.device_bytes(), runtime.live_nodes()), (0, 0));
    drop(tensor);
    assert_eq!(runtime.driver().seen(), 0);
}

#[test]
fn handles_of_a_closed_runtime_do_not_reach_its_successor() {
    let fresh: &'static TestStorage = storage();
    let first = init(fresh, one_device(Arch::Cayman)).unwrap();
    let old_core = first.core(0).unwrap();
    let (old_memory, old_tensor) =
        (old_core.allocate(0, &device(100, Usage::Io)).unwrap(), old_core.tensor(Placement::Device, 100, "t").unwrap());
    let old_model = load(&old_core, EVERYTHING).unwrap();
    first.close(None).unwrap();
    let second = init(fresh, one_device(Arch::Cayman)).unwrap();
    let core = second.core(0).unwrap();
    let (memory, tensor) =
        (core.allocate(0, &device(100, Usage::Io)).unwrap(), core.tensor(Placement::Device, 100, "t").unwrap());
    let model = load(&core, EVERYTHING).unwrap();
    memory.write(0, &formula(3, 100)).unwrap();
    let before = books(&second);
    assert_eq!(old_memory.write(0, &[0; 100]), Err(CLOSED));
    assert_eq!(old_tensor.write(0, &[0; 100]), Err(CLOSED));
    assert_eq!((old_core.physical(0), old_core.running_model(0)), (Err(CLOSED), Err(CLOSED)));
    assert_eq!((first.device_bytes(), first.live_nodes()), (0, 0));
    assert_eq!(model.run(&[&old_tensor], &[], None, &CopyExecutor).map_err(|error| error.status), Err(Status::InvalidHandle));
    drop((old_memory, old_tensor, old_model));
    drop(first);
    assert_eq!(books(&second), before);
    let mut bytes = [0; 100];
    memory.read(0, &mut bytes).unwrap();
    assert_eq!(bytes[..], formula(3, 100));
    drop((memory, tensor));
    model.unload().unwrap();
    finish(&second);
}

#[test]
fn close_does_not_pull_the_ground_from_under_a_user() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let both = core.load(&ModelPlan { name: "m", subgraphs: &[NOTHING, NOTHING] }).unwrap();
    let executor = Inside(|_| {
        // One operation is inside, one model is in use, on two cores.
        let busy = Error { status: Status::ExecNcBusy, cause: Cause::Busy { operations: 1, models: 1 } };
        assert_eq!(runtime.close(Some(0)), Err(busy));
        // Open as before.
        runtime.core(1).unwrap().tensor(Placement::Device, 1, "t").map(drop)
    });
    assert_eq!(both.run(&[], &[], None, &executor), Ok(()));
    // A token of an unload is inside, too.
    let draining = core.begin_unload(both.id()).unwrap();
    assert_eq!(refused(runtime.close(Some(0))).cause, Cause::Busy { operations: 1, models: 0 });
    drop(draining);
    both.unload().unwrap();
    finish(&runtime);
}

#[test]
fn a_thread_inside_an_operation_does_not_wait_for_itself() {
    const ITSELF: Error = Error { status: Status::Invalid, cause: Cause::WaitsForItself };
    const REENTERED: Error = Error { status: Status::Invalid, cause: Cause::Reentered };
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let id = load(&core, EVERYTHING).unwrap().into_id();
    let busy = |models| Error { status: Status::ExecNcBusy, cause: Cause::Busy { operations: 1, models } };
    // A close: refused without a deadline; with one, the counts come at once, however far the deadline is.
    let close = |models| {
        assert_eq!(runtime.close(None), Err(ITSELF));
        assert_eq!(runtime.close(Some(u64::MAX)), Err(busy(models)));
    };
    let mut visits = 0;
    runtime.for_each_core_usage(|_| (close(0), visits += 1).1).unwrap();
    runtime.for_each_event(0, |_| (close(0), visits += 1).1).unwrap();
    runtime.with_tree(|_| (close(0), visits += 1).1).unwrap();
    assert_eq!(visits, 8 + 2 + 1);
    let tensor = core.tensor(Placement::Virtual, 8, "t").unwrap();
    tensor.with_name(|_| close(0)).unwrap();
    let executor = Inside(|_| {
        close(1);
        Ok(())
    });
    core.run(id, &[], &[], None, &executor).unwrap();
    // A source of bytes, in the middle of a load.
    let source = Asking(&close);
    let region = RegionPlan { source: Some(&source), ..weights(5000) };
    load(&core, SubgraphPlan { regions: &[region], ..NOTHING }).unwrap().unload().unwrap();
    // An unload of the model that is looked at or runs, by id, by handle, by token.
    let unload = |expected: Error| {
        assert_eq!(core.unload(id), Err(expected));
        assert_eq!(refused(core.begin_unload(id)), expected);
    };
    runtime.for_each_model_usage(0, 0, |usage, _| (assert_eq!(usage.id, id), unload(ITSELF)).1).unwrap();
    core.run(id, &[], &[], None, &Inside(|_| (unload(REENTERED), Ok(())).1)).unwrap();
    // Another thread began to unload: the visitor does not wait for its own visit either.
    let model = load(&core, EVERYTHING).unwrap();
    let other = model.id();
    let mut asked = 0;
    let mut visit = |_: VariableInfo, _: &str| {
        asked += 1;
        std::thread::scope(|scope| {
            let mut token = scope.spawn(|| core.begin_unload(other).unwrap()).join().unwrap();
            assert!(!token.wait(None) && !token.try_finish());
        });
    };
    model.for_each_variable(0, &mut visit).unwrap();
    assert_eq!(asked, 1);
    // Other models can go meanwhile.
    runtime
        .for_each_model_usage(0, 0, |usage, _| {
            if usage.id == id {
                core.unload(other).unwrap();
            }
        })
        .unwrap();
    drop((tensor, model));
    core.unload(id).unwrap();
    finish(&runtime);
}

/// Asks a question while it is read.
struct Asking<F>(F);

impl<F: Fn(u32) + Sync> ByteSource for Asking<F> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> core::result::Result<(), &'static str> {
        (self.0)(0);
        Formula.read(offset, buffer)
    }
}

#[test]
fn close_waits_for_those_inside() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let id = load(&core, NOTHING).unwrap().into_id();
    std::thread::scope(|scope| {
        let executor = Inside(|_| {
            let closer = scope.spawn(|| assert_eq!(runtime.close(None).unwrap().models, 1));
            while runtime.core(0).is_ok() {
                std::thread::yield_now();
            }
            assert!(!closer.is_finished());
            Ok(())
        });
        assert_eq!(core.run(id, &[], &[], None, &executor), Ok(()));
    });
    assert_quiet(runtime.driver(), 1);
}

#[test]
fn others_can_work_while_a_model_runs() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let id = load(&core, NOTHING).unwrap().into_id();
    let meanwhile = Meanwhile(|_| {
        let model = load(&core, EVERYTHING).unwrap();
        let tensor = core.tensor(Placement::Device, 10, "t").unwrap();
        tensor.write(0, &[1; 10]).unwrap();
        drop(tensor);
        model.unload().unwrap();
    });
    core.run(id, &[], &[], None, &meanwhile).unwrap();
    core.unload(id).unwrap();
    finish(&runtime);
}

#[test]
fn the_peak_is_the_largest_sum_after_a_load_or_tensor() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    drop(core.tensor(Placement::Device, 5000, "t").unwrap());
    load(&core, SubgraphPlan { regions: &[weights(3000)], ..NOTHING }).unwrap().unload().unwrap();
    assert_eq!((runtime.peak_device_bytes(), runtime.device_bytes()), (5000, 0));
    finish(&runtime);
}
