//! Models: what one is made of, how it comes and goes, how it runs (fact sheets `model-load`, `model-db`).

mod carveout;
mod load;
mod mem_refs;
mod plan;
mod run;
mod unload;

pub use carveout::Carveout;
pub(crate) use load::fill;
pub use mem_refs::VariableInfo;
pub use plan::{ByteSource, Chunks, IoPlan, ModelPlan, RegionPlan, SourceError, SubgraphPlan, UcodeFunction, UcodeLibrary};
pub use run::{CopyExecutor, Executor, Run};
pub(crate) use unload::Removal;
