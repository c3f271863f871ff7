//! Plans of models and allocations, short enough to read in a test.

use nrt_core::driver::Driver;
use nrt_core::hooks::Hooks;
use nrt_core::model::{ByteSource, Executor, IoPlan, ModelPlan, RegionPlan, Run, SubgraphPlan};
use nrt_core::{Allocation, Cause, Error, Location, PlanFault, PlanPart, PlanRule, Result, Status, Usage};

use crate::books::{Core, TestModel};

/// A core's share of a model that needs nothing.
pub(crate) const NOTHING: SubgraphPlan<'static> = SubgraphPlan::EMPTY;

/// `bytes` of weights under variable 1, from a formula.
pub(crate) const fn weights(bytes: u64) -> RegionPlan<'static> {
    region(1, Usage::Weight, bytes, Some(&Formula))
}

/// A region of device memory.
pub(crate) const fn region(
    variable: u32,
    usage: Usage,
    bytes: u64,
    source: Option<&'static dyn ByteSource>,
) -> RegionPlan<'static> {
    RegionPlan {
        name: "region",
        first_variable: variable,
        usage,
        location: Location::Device,
        channel: None,
        align: 0,
        bytes,
        chunks: None,
        source,
    }
}

/// An input or output.
pub(crate) const fn io(name: &str, bytes: u64, variable: u32) -> IoPlan<'_> {
    IoPlan { name, bytes, variable }
}

/// Loads a model of one subgraph.
pub(crate) fn load<'r>(core: &Core<'r>, subgraph: SubgraphPlan<'_>) -> Result<TestModel<'r>> {
    core.load(&ModelPlan { name: "model", subgraphs: &[subgraph] })
}

/// Loads a model of one subgraph that needs only scratchpad of its own core.
pub(crate) fn load_arena<'r>(core: &Core<'r>, bytes: u64) -> Result<TestModel<'r>> {
    load(core, SubgraphPlan { local_scratchpad_bytes: bytes, ..NOTHING })
}

/// Unloads models.
pub(crate) fn unload<'r>(models: impl IntoIterator<Item = TestModel<'r>>) {
    models.into_iter().for_each(|model| model.unload().unwrap());
}

/// Device memory of a core.
pub(crate) const fn device(bytes: u64, usage: Usage) -> Allocation<'static> {
    Allocation { bytes, align: 0, location: Location::Device, channel: None, usage, hint: "test" }
}

/// Pinned host memory of a core.
pub(crate) const fn host(bytes: u64, usage: Usage) -> Allocation<'static> {
    Allocation { location: Location::Host, ..device(bytes, usage) }
}

/// Byte `n` is `n` mod 251.
pub(crate) struct Formula;

/// What [`Formula`] gives.
pub(crate) fn formula(offset: u64, bytes: usize) -> Vec<u8> {
    (offset..).take(bytes).map(|at| (at % 251) as u8).collect()
}

impl ByteSource for Formula {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> core::result::Result<(), &'static str> {
        for (at, byte) in (offset..).zip(buffer) {
            *byte = (at % 251) as u8;
        }
        Ok(())
    }
}

/// Calls the closure on the thread that executes.
pub(crate) struct Inside<F>(pub(crate) F);

impl<F: Fn(u32) -> Result<()>> Executor for Inside<F> {
    fn execute<D: Driver, H: Hooks>(&self, run: &Run<'_, D, H>) -> Result<()> {
        (self.0)(run.model())
    }
}

/// Calls the closure on another thread and waits for it: what others see while a model runs.
pub(crate) struct Meanwhile<F>(pub(crate) F);

impl<F: Fn(u32) + Sync> Executor for Meanwhile<F> {
    fn execute<D: Driver, H: Hooks>(&self, run: &Run<'_, D, H>) -> Result<()> {
        let id = run.model();
        std::thread::scope(|scope| scope.spawn(|| (self.0)(id)).join()).unwrap();
        Ok(())
    }
}

/// Status and cause of a result that must be an error.
#[track_caller]
pub(crate) fn refused<T>(result: Result<T>) -> Error {
    result.err().expect("an error")
}

/// The error of a plan that breaks a rule.
pub(crate) const fn broken(subgraph: u32, part: PlanPart, rule: PlanRule) -> Error {
    Error { status: Status::Invalid, cause: Cause::Plan(PlanFault { subgraph, part, rule }) }
}

/// The same, of a variable.
pub(crate) const fn broken_variable(subgraph: u32, variable: u32, rule: PlanRule) -> Error {
    broken(subgraph, PlanPart::Variable(variable), rule)
}
