//! Models: what one is made of, how it comes and goes, how it runs (fact sheets `model-load`, `model-db`).

mod carveout;
mod io_names;
mod load;
mod mem_refs;
mod plan;
mod references;
mod run;
mod unload;
mod variables;

pub use carveout::Carveout;
pub(crate) use load::fill;
pub use mem_refs::VariableInfo;
pub use plan::{
    Arena, ByteSource, Chunks, IoPlan, LibrarySupport, ModelPlan, RegionPlan, SourceError, SubgraphPlan, UcodeFunction,
    UcodeImage, UcodeLibrary, UcodeQueue, VariableKind, VariablePlan,
};
pub use run::{CopyExecutor, Executor, Run};
pub(crate) use unload::Removal;
