//! Every pool filled to its last slot: the next request names the pool, changes nothing, and works after a release.
//!
//! Two pools cannot be the one that is full: an entry of a group list goes with a node, the backing of a tensor with its
//! view, and of both pairs there are equally many.

use nrt_core::model::{
    ByteSource, Chunks, IoPlan, ModelPlan, RegionPlan, SourceError, SubgraphPlan, UcodeFunction, UcodeLibrary,
};
use nrt_core::{Allocation, Arch, Cause, Config, CoreUsage, Error, Location, Placement, Pool, Runtime, Status, Storage, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::{Live, SimConfig};
use nrt_tests::{TestDriver, TestRuntime};

pub(crate) const PAGE: u64 = 1 << 20;

/// A runtime on a storage of these capacities.
pub(crate) fn tiny<const N: usize, const M: usize, const R: usize, const T: usize>(
    arch: Arch,
    logical_core_size: u32,
) -> (TestRuntime, TestDriver) {
    let driver = nrt_tests::driver(SimConfig::new(arch));
    let storage: &'static Storage<N, M, R, T, 64> = nrt_tests::storage();
    let config = Config {
        logical_core_size: Some(logical_core_size),
        scratchpad_page_size: PAGE,
        ..Config::new(LinuxHooks::new()).side_by_side()
    };
    (Runtime::init(storage, driver, config).unwrap(), driver)
}

/// What an operation that fails must leave alone.
#[derive(Debug, PartialEq)]
pub(crate) struct State(Vec<CoreUsage>, Vec<(u32, u64, (u32, bool))>, Live);

pub(crate) fn state(runtime: &TestRuntime, driver: TestDriver) -> State {
    let mut usage = Vec::new();
    runtime.for_each_core_usage(|core| usage.push(*core)).unwrap();
    let mut cores = Vec::new();
    for vnc in 0..runtime.logical_cores() {
        let core = runtime.core(vnc).unwrap();
        for relative in 0..runtime.logical_core_size() {
            cores.push((
                core.scratchpad_pages(relative, &mut []).unwrap(),
                core.resident_models(relative).unwrap(),
                core.library_users(relative).unwrap(),
            ));
        }
    }
    State(usage, cores, driver.inner().live(0))
}

/// `operation` fails because `pool` is full and changes nothing.
pub(crate) fn full<T>(runtime: &TestRuntime, driver: TestDriver, pool: Pool, operation: impl FnOnce() -> Result<T, Error>) {
    let before = state(runtime, driver);
    let error = operation().err().unwrap_or_else(|| panic!("{} left", pool.name()));
    assert_eq!(error, Error { status: Status::Resource, cause: Cause::PoolFull(pool) });
    assert_eq!(state(runtime, driver), before, "{}", pool.name());
}

pub(crate) fn block(usage: Usage) -> Allocation<'static> {
    Allocation { bytes: 100, align: 0, location: Location::Device, channel: None, usage, hint: "block" }
}

struct Zeros;

impl ByteSource for Zeros {
    fn read(&self, _: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
        buffer.fill(0);
        Ok(())
    }
}

/// `pieces` pieces of weights.
pub(crate) fn pieces(pieces: u64) -> RegionPlan<'static> {
    RegionPlan {
        name: "w",
        first_variable: 0,
        usage: Usage::Weight,
        location: Location::Device,
        channel: None,
        align: 0,
        bytes: pieces * 64,
        chunks: Some(Chunks { bytes: 64, first: 0, step: 1 }),
        source: Some(&Zeros),
    }
}

pub(crate) const EMPTY: SubgraphPlan<'static> = SubgraphPlan::EMPTY;

fn library<'a>(functions: &'a [UcodeFunction<'a>]) -> UcodeLibrary<'a> {
    UcodeLibrary { content: &Zeros, bytes: 64, flags: 0, cpu_id: 0, total_cpus: 1, functions }
}

#[test]
fn nodes() {
    let (runtime, driver) = tiny::<8, 2, 64, 16>(Arch::Sunda, 1);
    let (core, other) = (runtime.core(0).unwrap(), runtime.core(1).unwrap());
    let mut held: Vec<_> = (0..8).map(|_| core.allocate(0, &block(Usage::Weight)).unwrap()).collect();
    driver.watch_all();
    for core in [core, other] {
        full(&runtime, driver, Pool::Nodes, || core.allocate(0, &block(Usage::Generic)));
        full(&runtime, driver, Pool::Nodes, || core.tensor(Placement::Device, 5, "t"));
        full(&runtime, driver, Pool::Nodes, || core.tensor(Placement::Host, 5, "t"));
    }
    assert_eq!(driver.seen(), 0, "the driver is not asked when there is no node");
    drop(core.tensor(Placement::Virtual, 5, "needs no node").unwrap());
    for _ in 0..20 {
        held.pop();
        held.push(other.allocate(0, &block(Usage::Tensor)).unwrap());
        full(&runtime, driver, Pool::Nodes, || core.allocate(0, &block(Usage::Generic)));
    }
    // One node is left where two are needed.
    held.pop();
    let two_pieces = SubgraphPlan { regions: &[pieces(2)], ..EMPTY };
    let two_pages = SubgraphPlan { local_scratchpad_bytes: 2 * PAGE, ..EMPTY };
    let page_and_piece = SubgraphPlan { local_scratchpad_bytes: 1, regions: &[pieces(1)], ..EMPTY };
    let image_and_table = SubgraphPlan { libraries: &[library(&[])], ..EMPTY };
    for subgraph in [two_pieces, two_pages, page_and_piece, image_and_table] {
        for core in [core, other] {
            let plan = ModelPlan { name: "two nodes", subgraphs: &[subgraph] };
            full(&runtime, driver, Pool::Nodes, || core.load(&plan));
            held.pop();
            core.load(&plan).unwrap().unload().unwrap();
            if core.library_users(0).unwrap().1 {
                // Its two nodes stay with the core.
                held.pop();
            } else {
                held.push(core.allocate(0, &block(Usage::Weight)).unwrap());
            }
        }
    }
    drop(held);
    assert!(runtime.close(Some(0)).unwrap().is_clean());
    assert_eq!(driver.inner().live(0), Live::default());
}

#[test]
fn models() {
    let (runtime, driver) = tiny::<64, 3, 64, 4>(Arch::Cayman, 2);
    let core = runtime.core(1).unwrap();
    let regions = [pieces(1)];
    let pair = [SubgraphPlan { local_scratchpad_bytes: 1, regions: &regions, ..EMPTY }; 2];
    let (pair, single) = (ModelPlan { name: "pair", subgraphs: &pair }, ModelPlan { name: "single", subgraphs: &pair[..1] });
    let first = core.load(&pair).unwrap();
    full(&runtime, driver, Pool::Models, || core.load(&pair));
    full(&runtime, driver, Pool::Models, || runtime.core(0).unwrap().load(&pair));
    let second = runtime.core(0).unwrap().load(&single).unwrap();
    full(&runtime, driver, Pool::Models, || core.load(&single));
    second.unload().unwrap();
    full(&runtime, driver, Pool::Models, || core.load(&pair));
    first.unload().unwrap();
    let again = core.load(&pair).unwrap();
    drop(again);
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}

#[test]
fn mem_refs() {
    let (runtime, driver) = tiny::<64, 4, 4, 4>(Arch::Mariana, 1);
    let core = runtime.core(0).unwrap();
    let output = [IoPlan { name: "z", bytes: 1, variable: 77 }];
    let load = |weights: u64, outputs| {
        let regions = [pieces(weights)];
        let subgraph = SubgraphPlan { regions: &regions, outputs, local_scratchpad_bytes: 1, ..EMPTY };
        core.load(&ModelPlan { name: "m", subgraphs: &[subgraph] })
    };
    full(&runtime, driver, Pool::MemRefs, || load(5, &[]));
    full(&runtime, driver, Pool::MemRefs, || load(4, &output));
    load(4, &[]).unwrap().unload().unwrap();
    let three = load(2, &output).unwrap();
    full(&runtime, driver, Pool::MemRefs, || load(2, &[]));
    full(&runtime, driver, Pool::MemRefs, || load(1, &output));
    let one = load(1, &[]).unwrap();
    full(&runtime, driver, Pool::MemRefs, || load(1, &[]));
    three.unload().unwrap();
    let again = load(3, &[]).unwrap();
    full(&runtime, driver, Pool::MemRefs, || load(1, &[]));
    drop((one, again));
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}

#[test]
fn tensors() {
    let (runtime, driver) = tiny::<64, 2, 4, 2>(Arch::Mariana, 2);
    let core = runtime.core(3).unwrap();
    let placements = [Placement::Device, Placement::Host, Placement::Virtual];
    let mut held = vec![core.tensor(Placement::Virtual, 9, "a").unwrap(), core.tensor(Placement::Device, 9, "b").unwrap()];
    for placement in placements {
        full(&runtime, driver, Pool::Tensors, || core.tensor(placement, 9, "c"));
        held.remove(0);
        held.push(core.tensor(placement, 9, "d").unwrap());
        full(&runtime, driver, Pool::Tensors, || runtime.core(0).unwrap().tensor(placement, 9, "e"));
    }
    drop(held);
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}

#[test]
fn feature_maps_and_functions() {
    let (runtime, driver) = tiny::<64, 2, 64, 2>(Arch::Sunda, 1);
    let core = runtime.core(0).unwrap();
    let names: Vec<_> = (0..33).map(|n| format!("io{n}")).collect();
    let io: Vec<_> = (0..).zip(&names).map(|(variable, name)| IoPlan { name, bytes: 1, variable }).collect();
    let load = |inputs, outputs| core.load(&ModelPlan { name: "io", subgraphs: &[SubgraphPlan { inputs, outputs, ..EMPTY }] });
    full(&runtime, driver, Pool::FeatureMaps, || load(&io[..20], &io[20..]));
    full(&runtime, driver, Pool::FeatureMaps, || load(&[], &io));
    load(&io[..20], &io[20..32]).unwrap().unload().unwrap();

    let functions = [UcodeFunction { name: "f", opcode: 1, sub_opcode: 0 }; 29];
    let load = |count: usize| {
        let libraries = [library(&functions[..count])];
        core.load(&ModelPlan { name: "f", subgraphs: &[SubgraphPlan { libraries: &libraries, ..EMPTY }] })
    };
    let before = state(&runtime, driver);
    let error = load(29).err().unwrap();
    assert_eq!(error.status, Status::Invalid);
    assert!(matches!(error.cause, Cause::Plan(_)), "{error}");
    assert_eq!(state(&runtime, driver), before);
    load(28).unwrap().unload().unwrap();
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}

/// A storage that cannot hold one model of the machine is refused before the device is opened, and free for another one.
#[test]
fn too_few_models_for_the_logical_core() {
    static STORAGE: Storage<64, 1, 4, 4, 64> = Storage::new();
    let driver = nrt_tests::one_device(Arch::Cayman);
    let init = |size| {
        Runtime::init(&STORAGE, driver, Config { logical_core_size: Some(size), ..Config::new(LinuxHooks::new()).side_by_side() })
    };
    let error = init(2).err().unwrap();
    assert_eq!(error.status, Status::Resource);
    assert_eq!(error.cause, Cause::Capacity { pool: Pool::Models, need: 2, have: 1 });
    assert_eq!(driver.seen(), 1, "the probe");
    let runtime = init(1).unwrap();
    let second = init(1).err().unwrap();
    assert_eq!(second, Error { status: Status::Failure, cause: Cause::StorageInUse });
    assert!(runtime.close(None).unwrap().is_clean());
    assert!(init(1).unwrap().close(None).unwrap().is_clean());
}
