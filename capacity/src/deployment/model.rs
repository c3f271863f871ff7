//! One model of a deployment and what it is made of.

use heapless::{String, Vec};

use super::{DEFAULT_WEIGHT_CHUNK_BYTES, MAX_NAME_BYTES, MAX_PATH_BYTES, MAX_REGIONS, MAX_TENSORS};
use nrt_core::Usage;

/// Name of a model or tensor, at most [`MAX_NAME_BYTES`] bytes.
pub type Name = String<MAX_NAME_BYTES, u8>;

/// Path of a file, at most [`MAX_PATH_BYTES`] bytes.
pub type Path = String<MAX_PATH_BYTES, u16>;

/// Where the weights of a model come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightSource<'a> {
    /// A file, relative to the folder of the deployment.
    File(&'a str),
    /// Bytes of `nrt_appliance::weights`.
    Seed {
        /// Seed of the stream.
        seed: u64,
        /// Length in bytes, at least 1.
        bytes: u64,
    },
}

/// Which memory a region is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Location {
    /// HBM.
    Device = 0,
    /// Pinned host memory.
    Host = 1,
}

/// A further piece of memory that a model holds on each of its cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// What it is booked as.
    pub usage: Usage,
    /// Device or host.
    pub location: Location,
    /// HBM channel; `None` = the core's own.
    pub channel: Option<u8>,
    /// Alignment in bytes: 0 or a power of two.
    pub align: u64,
    /// Size in bytes, at least 1.
    pub bytes: u64,
    /// Offset of the channel's value in the text.
    pub(super) channel_at: u32,
}

impl Region {
    /// A region of which nothing is known yet.
    pub(super) const fn new() -> Self {
        Self { usage: Usage::Generic, location: Location::Device, channel: None, align: 0, bytes: 0, channel_at: 0 }
    }
}

/// An input or output of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Name, unique among the inputs or among the outputs of its model.
    pub name: Name,
    /// Size in bytes, at least 1.
    pub bytes: u64,
}

/// A model of the deployment.
#[derive(Debug)]
pub struct Model {
    /// Name, unique in the deployment.
    pub name: Name,
    /// Logical core it runs on.
    pub vnc: u32,
    /// Subgraphs: 1 or the logical core size.
    pub subgraphs: u32,
    /// Bytes of each weight allocation; the last may be shorter. At least 1.
    pub weight_chunk_bytes: u64,
    /// Instruction bytes on each core; 0 = none.
    pub code_bytes: u64,
    /// Spill bytes on each core; 0 = none.
    pub spill_bytes: u64,
    /// Need of shared scratchpad in bytes on each core; 0 = none.
    pub scratchpad_bytes: u64,
    /// Custom-operator libraries, 0..=9.
    pub ulibs: u32,
    /// Further pieces of memory.
    pub regions: Vec<Region, MAX_REGIONS, u8>,
    /// Inputs, at least one.
    pub inputs: Vec<Tensor, MAX_TENSORS, u8>,
    /// Outputs, at least one.
    pub outputs: Vec<Tensor, MAX_TENSORS, u8>,
    /// File of the weights; empty = from the seed.
    pub(super) weights_file: Path,
    pub(super) weights_seed: u64,
    pub(super) weights_bytes: u64,
    /// Offsets in the text of the object and of the values that are checked against other keys.
    pub(super) at: u32,
    pub(super) vnc_at: u32,
    pub(super) subgraphs_at: u32,
}

impl Model {
    /// A model of which nothing is known yet; every byte is zero.
    pub(super) const fn new() -> Self {
        Self {
            name: Name::new(),
            vnc: 0,
            subgraphs: 0,
            weight_chunk_bytes: 0,
            code_bytes: 0,
            spill_bytes: 0,
            scratchpad_bytes: 0,
            ulibs: 0,
            regions: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            weights_file: Path::new(),
            weights_seed: 0,
            weights_bytes: 0,
            at: 0,
            vnc_at: 0,
            subgraphs_at: 0,
        }
    }

    /// Puts the defaults in place, without a copy of the whole model over the stack.
    pub(super) fn clear(&mut self, at: u32) {
        self.name.clear();
        self.vnc = 0;
        self.subgraphs = 0;
        self.weight_chunk_bytes = DEFAULT_WEIGHT_CHUNK_BYTES;
        self.code_bytes = 0;
        self.spill_bytes = 0;
        self.scratchpad_bytes = 0;
        self.ulibs = 0;
        self.regions.clear();
        self.inputs.clear();
        self.outputs.clear();
        self.weights_file.clear();
        self.weights_seed = 0;
        self.weights_bytes = 0;
        self.at = at;
        self.vnc_at = 0;
        self.subgraphs_at = 0;
    }

    /// Where the weights come from.
    #[must_use]
    pub fn weights(&self) -> WeightSource<'_> {
        if self.weights_file.is_empty() {
            WeightSource::Seed { seed: self.weights_seed, bytes: self.weights_bytes }
        } else {
            WeightSource::File(&self.weights_file)
        }
    }

    /// Number of weight allocations for this many bytes of weights.
    #[must_use]
    pub fn weight_chunks(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.weight_chunk_bytes.max(1))
    }
}
