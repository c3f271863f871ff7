//! A runtime on the null driver.

use std::ffi::CStr;

use nrt_core::hooks::Hooks;
use nrt_core::model::{Executor, ModelPlan, Run, SubgraphPlan};
use nrt_core::{Allocation, Config, DefaultStorage, Dmem, Inside, Location, LogicalCore, Model, Runtime, Status, Usage, driver};

use crate::driver::NullDriver;

/// An open runtime that lives for ever.
pub type World<H> = &'static Runtime<NullDriver, H>;
/// A core of it.
pub type Core<H> = LogicalCore<'static, NullDriver, H>;

/// Memory of one of its cores.
pub type Memory<H> = Dmem<'static, NullDriver, H>;

/// A stay inside it.
pub type Stay<H> = Inside<'static, NullDriver, H>;

/// Bytes of the measured allocations.
pub const BYTES: u64 = 4096;
/// What the measured allocations are called: 20 bytes.
pub const HINT: &CStr = c"weights.layer07.proj";

/// Two CAYMAN devices with eight logical cores of one physical core each, storage of the default size.
///
/// # Panics
/// When the runtime does not come up.
#[must_use]
pub fn open<H: Hooks>(hooks: H) -> World<H> {
    open_with(Config::new(hooks))
}

/// The same; references to its models are spread over several words.
///
/// # Panics
/// When the runtime does not come up.
#[must_use]
pub fn open_striped<H: Hooks>(hooks: H) -> World<H> {
    open_with(Config { striped_references: true, ..Config::new(hooks) })
}

fn open_with<H: Hooks>(config: Config<H>) -> World<H> {
    // SAFETY: zeroed memory is an unclaimed storage.
    let storage: &'static DefaultStorage = Box::leak(unsafe { Box::new_zeroed().assume_init() });
    let config = Config { logical_core_size: Some(1), ..config.side_by_side() };
    match Runtime::init(storage, NullDriver { devices: 2 }, config) {
        Ok(runtime) => Box::leak(Box::new(runtime)),
        Err(error) => panic!("the runtime does not come up: {error}"),
    }
}

/// Core `core` of device `device`.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn core<H: Hooks>(world: World<H>, device: u32, core: u32) -> Core<H> {
    let vnc = device * world.arch().cores_per_device() + core;
    world.core(vnc).unwrap_or_else(|error| panic!("core {vnc}: {error}"))
}

/// The measured allocation.
///
/// # Panics
/// Never: the hint is text.
#[must_use]
pub fn allocation() -> Allocation<'static> {
    let hint = HINT.to_str().unwrap_or_else(|error| unreachable!("{error}"));
    Allocation { bytes: BYTES, align: 0, location: Location::Device, channel: None, usage: Usage::Tensor, hint }
}

/// Allocates on a core.
///
/// # Panics
/// When there is no room.
#[inline]
#[must_use]
pub fn allocate<H: Hooks>(core: &Core<H>, request: &Allocation<'_>) -> Memory<H> {
    match core.allocate(0, request) {
        Ok(memory) => memory,
        Err(error) => panic!("allocate: {error}"),
    }
}

/// Goes inside.
///
/// # Panics
/// When the runtime is closed.
pub fn stay<H: Hooks>(world: World<H>) -> Stay<H> {
    world.stay().unwrap_or_else(|error| panic!("the runtime is closed: {error}"))
}

/// As [`allocate`], inside already.
///
/// # Panics
/// When there is no room.
#[inline]
#[must_use]
pub fn allocate_inside<H: Hooks>(inside: &Stay<H>, core: &Core<H>, request: &Allocation<'_>) -> Memory<H> {
    match inside.allocate(core, 0, request) {
        Ok(memory) => memory,
        Err(error) => panic!("allocate: {error}"),
    }
}

/// Makes `count` models without memory, inputs or outputs resident on a core.
///
/// # Panics
/// When one does not load.
#[must_use]
pub fn load_models<H: Hooks>(core: &Core<H>, count: usize) -> Vec<Model<'static, NullDriver, H>> {
    let subgraph = SubgraphPlan::EMPTY;
    let plan = ModelPlan { name: "empty", subgraphs: &[subgraph] };
    let load = |_| core.load(&plan).unwrap_or_else(|error| panic!("load: {error}"));
    (0..count).map(load).collect()
}

/// An execution of nothing: one call, as on the C side.
pub struct Nothing;

impl Executor for Nothing {
    #[inline(never)]
    fn execute<D: driver::Driver, H: Hooks>(&self, run: &Run<'_, D, H>) -> nrt_core::Result<()> {
        std::hint::black_box(run.model());
        Ok(())
    }
}

/// Runs a model that has no tensors.
///
/// # Panics
/// When it does not run.
#[inline]
pub fn run<H: Hooks>(core: &Core<H>, id: u32) {
    if let Err(error) = core.run(id, &[], &[], None, &Nothing) {
        panic!("run: {error}");
    }
}

/// Takes a model, looks for a variable it does not have, gives it back.
///
/// # Panics
/// When the answer is another one than that there is no such variable.
#[inline]
pub fn look_up<H: Hooks>(model: &Model<'_, NullDriver, H>, absent: u32) {
    match model.read_variable(0, absent, 0, &mut []) {
        Err(error) if error.status == Status::Invalid => {}
        other => panic!("look-up: {other:?}"),
    }
}
