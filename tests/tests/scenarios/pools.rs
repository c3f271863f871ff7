//! Design rule 3: a full pool gives `NRT_RESOURCE`, says which pool, changes nothing, and is of use again afterwards.

use nrt_core::driver::Call;
use nrt_core::model::{ModelPlan, RegionPlan, SubgraphPlan};
use nrt_core::{Arch, Cause, Config, Error, Placement, Pool, Runtime, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_tests::{TestRuntime, one_device, runtime, storage};

use crate::books::{MIB, books, finish};
use crate::plans::{NOTHING, device, host, io, load, load_arena, refused, region, unload, weights};

fn full(pool: Pool) -> Error {
    Error { status: Status::Resource, cause: Cause::PoolFull(pool) }
}

/// Everything works: a bit of each pool.
fn works(runtime: &TestRuntime) {
    let core = runtime.core(0).unwrap();
    let before = books(runtime);
    let memory = core.allocate(0, &device(1, Usage::Io)).unwrap();
    let tensor = core.tensor(Placement::Device, 1, "t").unwrap();
    let subgraph = SubgraphPlan { regions: &[weights(10)], local_scratchpad_bytes: 1, inputs: &[io("x", 1, 9)], ..NOTHING };
    let model = core.load(&ModelPlan { name: "m", subgraphs: &[subgraph, subgraph] }).unwrap();
    model.unload().unwrap();
    drop((memory, tensor));
    assert_eq!(books(runtime), before);
}

#[test]
fn nodes() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let mut kept: Vec<_> = (0..512).map(|n| core.allocate(n % 2, &device(1, Usage::Io)).unwrap()).collect();
    let before = books(&runtime);
    runtime.driver().watch(&[Call::Alloc]);
    // Refused before the driver is asked, wherever a node is needed.
    assert_eq!(refused(core.allocate(0, &device(1, Usage::Io))), full(Pool::Nodes));
    assert_eq!(refused(core.allocate(1, &host(1, Usage::Io))), full(Pool::Nodes));
    assert_eq!(refused(runtime.core(3).unwrap().allocate(0, &device(1, Usage::Io))), full(Pool::Nodes));
    assert_eq!(refused(core.tensor(Placement::Device, 1, "t")), full(Pool::Nodes));
    assert_eq!(refused(load_arena(&core, 1)), full(Pool::Nodes));
    let regions = [weights(10)];
    assert_eq!(refused(load(&core, SubgraphPlan { regions: &regions, ..NOTHING })), full(Pool::Nodes));
    assert_eq!((runtime.driver().seen(), books(&runtime)), (0, before));
    // What needs no node still works.
    drop(core.tensor(Placement::Virtual, 1, "t").unwrap());
    load(&core, NOTHING).unwrap().unload().unwrap();
    // One node given back on one core is found by any other: the magazines are searched before giving up.
    kept.pop();
    let far = runtime.core(3).unwrap();
    let stolen = far.allocate(1, &device(1, Usage::Io)).unwrap();
    assert_eq!(refused(far.allocate(1, &device(1, Usage::Io))), full(Pool::Nodes));
    drop(stolen);
    // A model that finds room for some of its memory only takes none.
    kept.pop();
    let before = books(&runtime);
    let three = [1, 2, 3].map(|variable| region(variable, Usage::Io, 10, None));
    assert_eq!(refused(load(&core, SubgraphPlan { regions: &three, ..NOTHING })), full(Pool::Nodes));
    assert_eq!(books(&runtime), before);
    drop(kept);
    works(&runtime);
    finish(&runtime);
}

#[test]
fn models() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let both = ModelPlan { name: "m", subgraphs: &[NOTHING, NOTHING] };
    let mut kept: Vec<_> = (0..7).map(|_| load(&core, NOTHING).unwrap()).collect();
    // One slot left, two needed.
    let before = books(&runtime);
    assert_eq!(refused(core.load(&both)), full(Pool::Models));
    assert_eq!(books(&runtime), before);
    kept.push(load(&runtime.core(2).unwrap(), NOTHING).unwrap());
    let before = books(&runtime);
    assert_eq!(refused(load(&core, NOTHING)), full(Pool::Models));
    assert_eq!(books(&runtime), before);
    kept.truncate(6);
    core.load(&both).unwrap().unload().unwrap();
    unload(kept);
    works(&runtime);
    finish(&runtime);
}

#[test]
fn variables() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let names: Vec<_> = (0..32).map(|n: u32| n.to_string()).collect();
    let ios: Vec<_> = (0..).zip(&names).map(|(variable, name)| io(name, 1, variable)).collect();
    let plan = SubgraphPlan { inputs: &ios, ..NOTHING };
    let mut kept: Vec<_> = (0..7).map(|_| load(&core, plan).unwrap()).collect();
    let before = books(&runtime);
    // 224 of 256 are taken; 33 are needed.
    let one_more = SubgraphPlan { regions: &[RegionPlan { first_variable: 99, ..weights(10) }], ..plan };
    assert_eq!(refused(load(&core, one_more)), full(Pool::MemRefs));
    assert_eq!(books(&runtime), before);
    kept.push(load(&core, plan).unwrap());
    kept.pop().unwrap().unload().unwrap();
    unload(kept);
    load(&core, one_more).unwrap().unload().unwrap();
    works(&runtime);
    finish(&runtime);
}

#[test]
fn tensors() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let placement = |n: usize| if n.is_multiple_of(2) { Placement::Device } else { Placement::Virtual };
    let mut kept: Vec<_> = (0..32).map(|n| core.tensor(placement(n), 1, "t").unwrap()).collect();
    let before = books(&runtime);
    for placement in [Placement::Device, Placement::Virtual] {
        assert_eq!(refused(core.tensor(placement, 1, "t")), full(Pool::Tensors));
    }
    assert_eq!(books(&runtime), before);
    for _ in 0..100 {
        kept.pop();
        kept.push(core.tensor(Placement::Device, 1, "t").unwrap());
    }
    drop(kept);
    works(&runtime);
    finish(&runtime);
}

#[test]
fn pages_of_the_scratchpad_are_nodes() {
    let config = Config { scratchpad_page_size: MIB, ..Config::new(LinuxHooks::new()).side_by_side() };
    let runtime = nrt_tests::open(one_device(Arch::Cayman), config);
    let core = runtime.core(0).unwrap();
    let stays = load_arena(&core, 5 * MIB).unwrap();
    let before = books(&runtime);
    assert_eq!(refused(load_arena(&core, 513 * MIB)), full(Pool::Nodes));
    assert_eq!(books(&runtime), before);
    load_arena(&core, 512 * MIB).unwrap().unload().unwrap();
    stays.unload().unwrap();
    works(&runtime);
    finish(&runtime);
}

#[test]
fn a_storage_too_small_for_one_model_is_refused_with_the_numbers() {
    let small = storage::<8, 1, 1, 1, 8>();
    let driver = one_device(Arch::Cayman);
    let error = refused(Runtime::init(small, driver, Config::new(LinuxHooks::new()).side_by_side()));
    assert_eq!(error, Error { status: Status::Resource, cause: Cause::Capacity { pool: Pool::Models, need: 2, have: 1 } });
    // On a machine with single cores it is enough, down to the last slot.
    let runtime = Runtime::init(small, one_device(Arch::Sunda), Config::new(LinuxHooks::new()).side_by_side()).unwrap();
    let core = runtime.core(1).unwrap();
    let model = load(&core, SubgraphPlan { regions: &[weights(10)], ..NOTHING }).unwrap();
    let tensor = core.tensor(Placement::Device, 1, "t").unwrap();
    assert_eq!(refused(load(&core, NOTHING)), full(Pool::Models));
    assert_eq!(refused(core.tensor(Placement::Device, 1, "t")), full(Pool::Tensors));
    drop(tensor);
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn many_threads_at_a_full_pool_lose_no_slot() {
    let runtime = runtime(Arch::Cayman);
    let before = books(&runtime);
    std::thread::scope(|scope| {
        for vnc in 0..4 {
            let runtime = &runtime;
            scope.spawn(move || {
                let core = runtime.core(vnc).unwrap();
                for _ in 0..5 {
                    let mut kept = Vec::new();
                    // Together they ask for 800 of 512 nodes.
                    for n in 0..200 {
                        match core.allocate(n % 2, &device(1, Usage::Io)) {
                            Ok(memory) => kept.push(memory),
                            Err(error) => assert_eq!(error, full(Pool::Nodes)),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(books(&runtime), before);
    let core = runtime.core(0).unwrap();
    let all: Vec<_> = (0..512).map(|_| core.allocate(0, &device(1, Usage::Io)).unwrap()).collect();
    drop(all);
    works(&runtime);
    finish(&runtime);
}
