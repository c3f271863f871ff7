//! The deployment: which models one device hosts, and how they are served.
//!
//! A deployment is one JSON object. [`parse_into`] reads it into a [`Deployment`], a static of bounded size, and checks every
//! rule below before anything is allocated on a device; the first fault is a [`DeploymentError`] that names the model, the
//! key, the line and the column, what was found and what was expected.
//!
//! ```json
//! {
//!   "arch": "cayman", "logical_core_size": 2, "threads": 2, "requests": 2000, "reload_every": 500,
//!   "models": [
//!     { "name": "generate", "vnc": 0, "weights": { "file": "weights.bin" },
//!       "code_bytes": 8388608, "scratchpad_bytes": 67108864, "ulibs": 1,
//!       "regions": [ { "usage": "dma_ring_io", "location": "host", "bytes": 65536 } ],
//!       "inputs": [ { "name": "x", "bytes": 65536 } ], "outputs": [ { "name": "y", "bytes": 65536 } ] }
//!   ]
//! }
//! ```
//!
//! # Keys
//!
//! A key without a default must be there. Any other key is an error, so is a key given twice in one object.
//!
//! | object | key | default | value |
//! | --- | --- | --- | --- |
//! | top | `arch` | | `"sunda"`, `"cayman"` or `"mariana"`; the caller may put another in its place |
//! | | `devices` | 1 | 1..=32 |
//! | | `logical_core_size` | 1 on sunda, else 2 | 1 on sunda, else 1 or 2 |
//! | | `scratchpad` | `"paged"` | `"paged"`: pages of 512 MiB; `"contiguous"`: one piece of 64 MiB pages on the first core of each HBM. Where the machine cannot have that, the log says so and it is paged |
//! | | `threads` | 1 | 1..=16 threads that serve requests |
//! | | `requests` | 0 | requests in total, dealt round-robin over the models |
//! | | `reload_every` | 0 | completed requests between two reloads, models in turn; 0 = never |
//! | | `models` | | 1..=64 models |
//! | model | `name` | | unique, 1..=63 bytes |
//! | | `vnc` | | logical core: less than devices x cores per device / logical core size |
//! | | `subgraphs` | the logical core size | 1 (everything on the first core) or the logical core size |
//! | | `weights` | | `{"file"}` or `{"seed", "bytes"}` |
//! | | `weight_chunk_bytes` | 1048576 | 1.. bytes of each weight allocation; chunk i is on core i mod subgraphs |
//! | | `code_bytes` | 0 | instruction bytes per core; 0 = none |
//! | | `spill_bytes` | 0 | spill bytes per core; 0 = none |
//! | | `scratchpad_bytes` | 0 | shared scratchpad need per core; 0 = none |
//! | | `ulibs` | 0 | 0..=9 custom-operator libraries; not staged off sunda |
//! | | `regions` | none | at most 32 further pieces of memory |
//! | | `inputs` | | 1..=16 tensors |
//! | | `outputs` | | 1..=16 tensors; output k carries input k mod the number of inputs |
//! | weights | `file` | | path relative to the deployment, 1..=4095 bytes |
//! | | `seed` | | any; see `nrt_appliance::weights` |
//! | | `bytes` | | 1.. |
//! | region | `usage` | | one of the names in [`Usage::NAMES`] |
//! | | `location` | `"device"` | `"device"`, or `"host"` (not for scratchpad, cc and scratchpad_not_shared) |
//! | | `channel` | the core's own | HBM channel: less than the channels of a device |
//! | | `align` | 0 | 0 or a power of two; 0 on host |
//! | | `bytes` | | 1.. |
//! | tensor | `name` | | unique among the inputs (outputs) of the model, 1..=63 bytes |
//! | | `bytes` | | 1.. |
//!
//! Every number is a whole number from 0 on, and every size at most [`MAX_BYTES`], so that no sum of sizes overflows. Names
//! and paths hold no control characters. The text has at most [`MAX_TEXT_BYTES`] bytes of UTF-8 without a byte order mark.

mod check;
mod error;
mod model;
mod parse;
mod reader;

use nrt_core::arch::Arch;

pub use error::{DeploymentError, Expected, Problem};
pub use model::{Location, Model, Name, Path, Region, Tensor, WeightSource};
pub use nrt_core::Usage;
pub use parse::parse_into;

/// Most models in a deployment.
pub const MAX_MODELS: usize = 64;
/// Most regions of a model.
pub const MAX_REGIONS: usize = 32;
/// Most inputs, and most outputs, of a model.
pub const MAX_TENSORS: usize = 16;
/// Longest name in bytes.
pub const MAX_NAME_BYTES: usize = 63;
/// Longest file path in bytes.
pub const MAX_PATH_BYTES: usize = 4095;
/// Most devices.
pub const MAX_DEVICES: u64 = 32;
/// Most serving threads.
pub const MAX_THREADS: u64 = 16;
/// Most custom-operator libraries of a model.
pub const MAX_ULIBS: u64 = 9;
/// Largest size in bytes that any key takes: 1 TiB.
pub const MAX_BYTES: u64 = 1 << 40;
/// Longest deployment text in bytes.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// Weight chunk in bytes when nothing is said: 1 MiB.
pub const DEFAULT_WEIGHT_CHUNK_BYTES: u64 = 1 << 20;

/// A parsed and checked deployment.
///
/// About half a megabyte of which only the pages of the models in use are touched: place it in a static. Every byte of
/// [`Deployment::new`] is zero, so it costs no space in the program file.
#[derive(Debug)]
pub struct Deployment {
    /// Number of the architecture, 0 while nothing is parsed.
    arch: u32,
    /// Devices, 1..=32.
    pub devices: u32,
    /// Physical cores of a logical core, 1 or 2.
    pub logical_core_size: u32,
    /// Whether the scratchpad is asked for in one piece.
    pub contiguous_scratchpad: bool,
    /// Threads that serve requests, 1..=16.
    pub threads: u32,
    /// Requests in total.
    pub requests: u64,
    /// Completed requests between two reloads; 0 = never.
    pub reload_every: u64,
    count: usize,
    models: [Model; MAX_MODELS],
}

impl Deployment {
    /// A deployment without models; every byte is zero.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            arch: 0,
            devices: 0,
            logical_core_size: 0,
            threads: 0,
            requests: 0,
            reload_every: 0,
            contiguous_scratchpad: false,
            count: 0,
            models: [const { Model::new() }; MAX_MODELS],
        }
    }

    /// Architecture; cayman while nothing is parsed.
    #[must_use]
    pub fn arch(&self) -> Arch {
        Arch::from_number(self.arch).unwrap_or(Arch::Cayman)
    }

    /// Models in the order of the text.
    #[must_use]
    pub fn models(&self) -> &[Model] {
        &self.models[..self.count]
    }

    /// Number of logical cores: devices x cores per device / logical core size.
    #[must_use]
    pub fn logical_cores(&self) -> u32 {
        self.devices * self.arch().cores_per_device() / self.logical_core_size.max(1)
    }

    /// Forgets everything but the memory; the bytes of the models stay as they are.
    fn clear(&mut self) {
        self.arch = 0;
        self.devices = 1;
        self.logical_core_size = 0;
        self.threads = 1;
        self.requests = 0;
        self.reload_every = 0;
        self.contiguous_scratchpad = false;
        self.count = 0;
    }
}

impl Default for Deployment {
    fn default() -> Self {
        Self::new()
    }
}
