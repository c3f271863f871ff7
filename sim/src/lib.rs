//! nrt-sim: the Neuron kernel driver, modelled in static memory.
//!
//! Three layers:
//! * [`Kernel`] is the driver without bytes: attached processes, handles, memory pools, copy checks. Process ids are
//!   arguments, so it serves one program or many.
//! * [`request`] answers requests as programs make them, numbers and arguments, through that kernel: the recorded
//!   answers of the real driver and the supervisor of `nrt-emulate` both go through it.
//! * [`Sim`] puts memory of a [`Backing`] behind it and implements [`Driver`](nrt_core::driver::Driver) for the process
//!   it lives in.
//!
//! Principles:
//! * The answers are those of the real driver: handles, addresses, sizes, errnos and the order of checks. Recorded
//!   answers of driver 2.24.7.0 are replayed by the tests.
//! * What damages a real machine is refused and counted ([`Hazards`]), never imitated.
//! * All state is a [`SimStorage`] the caller declares `static`; there is no heap. A request costs the logarithm of the
//!   free runs; whoever asks for a list pays for its length.
//! * Memory is not cleared, neither on allocation nor on free, as on the real device.
//!
//! ```no_run
//! use core::ptr::NonNull;
//! use nrt_core::{arch::Arch, driver::Driver};
//! use nrt_sim::{Backing, Region, Sim, SimConfig, SimStorage};
//!
//! struct Memory;
//!
//! // SAFETY: every call is a new mapping of its own, shared, zero and never unmapped.
//! unsafe impl Backing for Memory {
//!     fn region(&self, _region: Region, bytes: u64) -> Option<NonNull<u8>> {
//!         use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
//!         let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
//!         // SAFETY: a new mapping at no particular address.
//!         let address = unsafe { mmap_anonymous(core::ptr::null_mut(), bytes.try_into().ok()?, access, flags) };
//!         NonNull::new(address.ok()?.cast())
//!     }
//! }
//!
//! static STORAGE: SimStorage<65_536, 1> = SimStorage::new();
//!
//! let sim = Sim::new(&STORAGE, SimConfig::new(Arch::Cayman), &Memory).expect("one device");
//! assert_eq!(sim.probe().expect("what there is").devices, 1);
//! assert_eq!(sim.live(0).chunks, 0);
//! ```
//!
//! Not modelled: device resets, notification queues, register access, timing. Host memory comes from one
//! window per device by first fit, where the real driver asks the kernel, then its reserve pools: addresses of host
//! chunks are plausible, not predicted.
#![no_std]
#![deny(missing_docs, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![deny(unsafe_code)]

#[cfg(test)]
extern crate std;

#[allow(unsafe_code, reason = "declares the unsafe trait Backing")]
pub mod backing;
#[allow(unsafe_code, reason = "moves bytes between raw addresses")]
mod bytes;
pub mod config;
mod counters;
mod device;
#[allow(unsafe_code, reason = "implements the unsafe trait Driver")]
mod driver;
pub mod kernel;
mod pool;
mod record;
pub mod request;
pub mod resources;
#[allow(unsafe_code, reason = "computes addresses inside the backing")]
mod sim;
mod storage;
pub mod sysfs;
mod tree;
#[allow(unsafe_code, reason = "shows zeroed memory")]
mod zeroed;

pub use backing::{Backing, Region};
pub use config::{DriverVersion, MAX_DEVICES, Routing, SimConfig, SimError};
pub use counters::Counter;
pub use device::{CategoryUsage, Hazards, Live};
pub use kernel::Kernel;
pub use sim::Sim;
pub use storage::SimStorage;
