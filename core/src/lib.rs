//! nrt-core: the memory-and-multiplexing core of the Neuron runtime (`libnrt` 2.31.24.0), without a heap.
//!
//! It owns the device memory of Trainium and Inferentia and lets many models share one NeuronCore. Everything sits in one
//! static [`Storage`]: the context tree (`tdrv_ctx_t` → `mla[32]` → `tpb[8]`, byte-exact), the two-tier allocator (one GLOBAL
//! heap per core, one MODEL heap per model), the usage ledger, the model database of each core, the shared scratchpad, the
//! shared microcode library, tensors. No allocation, no libc, no panic on bad input.
//!
//! # Principles
//!
//! * **Byte-exact where others look.** The structs of [`abi`] have the layout of the C library, proven at compile time and
//!   against debug information; a debugger that knows `libnrt` can walk this runtime ([`Runtime::install`]).
//! * **All or nothing.** An operation that fails leaves ledger, lists, pools and driver as they were, and says why with a
//!   status and a [`Cause`]. Teardown always completes: what the driver refuses to take back is quarantined and reported.
//! * **Bounded.** No operation visits live objects except those whose job it is; no wait spins without end.
//! * **One door.** The kernel is reached through the [`Driver`](driver::Driver) trait only, the platform through
//!   [`Hooks`](hooks::Hooks). Both are statically dispatched.
//!
//! # A model, from static memory
//!
//! The driver here is the modelled one; on a device it is another implementation of the same trait.
//!
//! ```
//! use nrt_core::model::{ByteSource, CopyExecutor, IoPlan, ModelPlan, RegionPlan, SubgraphPlan};
//! use nrt_core::{Arch, Config, Location, Placement, Runtime, SmallStorage, Usage};
//! # use core::ptr::NonNull;
//! # use nrt_linux::LinuxHooks;
//! # use nrt_sim::{Backing, Region, Sim, SimConfig, SimStorage};
//! # struct Memory;
//! # // SAFETY: each call maps a new zeroed, page-aligned, shared region that is never unmapped.
//! # unsafe impl Backing for Memory {
//! #     fn region(&self, _: Region, bytes: u64) -> Option<NonNull<u8>> {
//! #         let region = nrt_linux::memory::SharedRegion::new(c"memory", bytes as usize).ok()?;
//! #         let base = region.base();
//! #         core::mem::forget(region);
//! #         Some(base)
//! #     }
//! # }
//!
//! // All memory of the runtime, laid out before `main`; zero is a valid storage, so it costs .bss only.
//! static STORAGE: SmallStorage = SmallStorage::new();
//! # static MODELLED: SimStorage<4096, 1> = SimStorage::new();
//! # let driver = Sim::new(&MODELLED, SimConfig::new(Arch::Cayman), &Memory).unwrap();
//!
//! // Where the weights come from: a file, a flash, a network; here a formula.
//! struct Weights;
//! impl ByteSource for Weights {
//!     fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), &'static str> {
//!         for (at, byte) in (offset..).zip(buffer) {
//!             *byte = at as u8;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let runtime = Runtime::init(&STORAGE, driver, Config::new(LinuxHooks::new()))?;
//! assert_eq!(runtime.logical_cores(), 4); // eight cores, two to a logical core
//!
//! // A plan borrows everything: one subgraph per physical core, here a single one on the first.
//! let regions = [RegionPlan {
//!     name: "weights",
//!     first_variable: 1,
//!     usage: Usage::Weight,
//!     location: Location::Device,
//!     channel: None, // the default HBM of the core
//!     align: 4096,
//!     bytes: 3 << 20,
//!     chunks: None,
//!     source: Some(&Weights),
//! }];
//! let (inputs, outputs) =
//!     ([IoPlan { name: "x", bytes: 1024, variable: 2 }], [IoPlan { name: "y", bytes: 1024, variable: 3 }]);
//! let subgraph = SubgraphPlan {
//!     regions: &regions,
//!     local_scratchpad_bytes: 1 << 20,
//!     inputs: &inputs,
//!     outputs: &outputs,
//!     ..SubgraphPlan::EMPTY
//! };
//! let core = runtime.core(0)?;
//! let model = core.load(&ModelPlan { name: "demo", subgraphs: &[subgraph] })?;
//!
//! // The ledger knows who holds what.
//! assert_eq!(model.usage(0)?.bytes[Usage::Weight.number()], 3 << 20);
//! assert_eq!(core.usage(0)?.bytes[Usage::Scratchpad.number()], 512 << 20); // one page, shared with later models
//!
//! // Tensors outlive models; running holds the core and pins the model.
//! let (x, y) = (core.tensor(Placement::Device, 1024, "x")?, core.tensor(Placement::Device, 1024, "y")?);
//! x.write(0, &[42; 1024])?;
//! model.run(&[&x], &[&y], None, &CopyExecutor)?;
//! let mut answer = [0; 1024];
//! y.read(0, &mut answer)?;
//! assert_eq!(answer, [42; 1024]);
//!
//! // An error names what, where and what was expected.
//! let error = core.tensor(Placement::Device, 1 << 45, "too large").err().unwrap();
//! assert_eq!(error.status, nrt_core::Status::Resource);
//! assert_eq!(
//!     error.to_string(),
//!     "NRT_RESOURCE: no room for 35184372088832 bytes (alignment: none, usage: tensor) in device memory on ND0:NC0, HBM 0"
//! );
//!
//! // Leaving: the model's bytes, and nothing else, go; then everything is back at zero.
//! model.unload()?;
//! drop((x, y));
//! assert_eq!((runtime.device_bytes(), runtime.live_nodes()), (0, 0));
//! assert!(runtime.close(None)?.is_clean());
//! # Ok::<(), nrt_core::Error>(())
//! ```
//!
//! # Features
//!
//! `log` and `defmt` emit trace records of single operations; both may be on. Neither is by default.
#![no_std]
#![deny(missing_docs, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

#[cfg(any(test, doctest))]
extern crate std;

#[macro_use]
mod fmt;

pub mod abi;
pub mod arch;
mod arena;
#[doc(hidden)]
pub mod bare;
pub mod context;
mod dmem;
pub mod driver;
pub mod environment;
mod error;
mod forensics;
mod hash_table;
pub mod hooks;
pub mod instance;
pub mod ledger;
mod lnc;
pub mod model;
mod model_db;
pub mod observer;
pub mod reserved_hbm;
mod runtime;
mod scratchpad;
mod size;
pub mod status;
pub mod sync;
mod system;
mod tensor;
mod text;
mod ulib;
mod usage;

pub use arch::Arch;
pub use arena::{AnyStorage, Capacities, DefaultStorage, LargeStorage, SmallStorage, Storage};
pub use error::{CarveoutRule, Cause, Error, OutOfMemory, PlanFault, PlanPart, PlanRule, Pool, Result};
pub use hash_table::ht_find;
pub use lnc::{logical_core, logical_core_count, physical_core, physical_core_count};
pub use model_db::LookUps;
pub use runtime::{
    Allocation, CloseReport, Config, CoreUsage, Dmem, Draining, HbmCores, Inside, LogicalCore, Model, ModelUsage, Runtime,
    Tensor, TensorList, TensorSet, Underway,
};
pub use scratchpad::PageAdvice;
pub use size::Size;
pub use status::Status;
pub use tensor::{Access, Fence, Placement, ReadPiece, WritePiece};
pub use usage::{Class, Location, Usage};
