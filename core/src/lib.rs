//! nrt-core: the memory-and-multiplexing core of the Neuron runtime, without a heap.
#![no_std]
#![deny(missing_docs)]

#[cfg(test)]
extern crate std;

pub mod abi;
pub mod arch;
mod arena;
pub mod context;
mod dmem;
pub mod driver;
mod error;
mod hash_table;
pub mod hooks;
pub mod ledger;
mod lnc;
pub mod model;
mod model_db;
mod runtime;
mod scratchpad;
pub mod status;
pub mod sync;
mod system;
mod tensor;
mod text;
mod ulib;
mod usage;

pub use arch::Arch;
pub use arena::{Capacities, DefaultStorage, LargeStorage, SmallStorage, Storage};
pub use error::{CarveoutRule, Cause, Error, OutOfMemory, Pool, Result};
pub use lnc::{logical_core, physical_core};
pub use runtime::{Allocation, CloseReport, Config, CoreUsage, Dmem, Draining, LogicalCore, Model, ModelUsage, Runtime, Tensor};
pub use status::Status;
pub use tensor::Placement;
pub use usage::{Class, Location, Usage};
