//! All memory of the program that is not a local: laid out before `main`, zero, touched where it is used.

use static_cell::ConstStaticCell;

use nrt_core::reserved_hbm::ReserveStorage;
use nrt_linux::threads::ThreadStack;
#[cfg(feature = "simulate")]
use nrt_sim::SimStorage;

use super::holders::Tables;
use super::hooks::JobHooks;
use super::verify::Buffers;
use crate::deployment::{Deployment, MAX_DEVICES, MAX_TEXT_BYTES, MAX_THREADS};
use crate::report::Report;

include!(concat!(env!("OUT_DIR"), "/storage.rs"));

/// Platform services; the command line sets the level of their log.
pub(super) static HOOKS: JobHooks = JobHooks::new();

/// The runtime's, if the program brings no other.
pub(crate) static STORAGE: DeploymentStorage = DeploymentStorage::new();

/// Allocations that the driver behind [`STORAGE`] is made for: its nodes, or what a small deployment on all devices needs.
const ALLOCATIONS: usize = if STORAGE.capacities().nodes > 1024 { STORAGE.capacities().nodes } else { 1024 };

/// Chunk records of the driver model: a live chunk for each node of [`STORAGE`] and each bounce buffer, and a free run
/// behind each of them at worst.
#[cfg(feature = "simulate")]
const CHUNKS: usize = 4 * ALLOCATIONS;

/// The driver model's.
#[cfg(feature = "simulate")]
pub(super) static SIM: SimStorage<CHUNKS, { MAX_DEVICES as usize }> = SimStorage::new();

/// Records of ranges: two for each node of [`STORAGE`], and what the cores keep back.
const RUNS: usize = 4 * ALLOCATIONS;

/// The reservations: one for each core.
pub(super) static RESERVE: ReserveStorage<{ MAX_DEVICES as usize }, { MAX_DEVICES as usize * 8 }, RUNS> = ReserveStorage::new();

/// Bytes of the stack of a serving thread. The largest things on it are the buffer of a request and, while it reloads a
/// model, the plan of the load.
pub(super) const STACK_BYTES: usize = 512 << 10;

/// Stacks of the serving threads.
pub(super) static STACKS: [ThreadStack<STACK_BYTES>; MAX_THREADS as usize] = [const { ThreadStack::new() }; MAX_THREADS as usize];

/// Text of the deployment; one byte more than the longest one, so that a longer one is seen.
pub(super) static TEXT: ConstStaticCell<[u8; MAX_TEXT_BYTES + 1]> = ConstStaticCell::new([0; MAX_TEXT_BYTES + 1]);

/// The deployment.
pub(super) static DEPLOYMENT: ConstStaticCell<Deployment> = ConstStaticCell::new(Deployment::new());

/// The report.
pub(super) static REPORT: ConstStaticCell<Report> = ConstStaticCell::new(Report::new());

/// The rows of the tables of who holds which bytes.
pub(super) static TABLES: ConstStaticCell<Tables> = ConstStaticCell::new(Tables::new());

/// What the weights are compared in.
pub(super) static BUFFERS: ConstStaticCell<Buffers> = ConstStaticCell::new(Buffers::new());
