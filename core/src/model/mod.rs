//! Models: what one is made of, how it comes and goes, how it runs (fact sheets `model-load`, `model-db`).

mod binding;
mod carveout;
mod io_names;
mod load;
mod mem_refs;
mod plan;
mod references;
mod run;
mod unload;
mod variables;

pub(crate) use binding::{Binding, MAX_BOUND};
pub use carveout::Carveout;
pub(crate) use load::fill;
pub use mem_refs::VariableInfo;
pub use plan::{
    Arena, ByteSource, Chunks, IoPlan, LibrarySupport, ModelPlan, RegionPlan, SourceError, SubgraphPlan, UcodeFunction,
    UcodeImage, UcodeLibrary, UcodeQueue, VariableKind, VariablePlan,
};
pub(crate) use run::Pinned;
pub use run::{CopyExecutor, Executor, Run};
pub(crate) use unload::Removal;
