//! What to load: a plain borrowed description, checked as a whole before anything is allocated.

use crate::abi::kbl_fmap_t;
use crate::arch::Arch;
use crate::arena::{MAX_FEATURE_MAPS, MAX_UCODE_FUNCTIONS, MEM_REF_NAME};
use crate::error::{Cause, Error, Pool, Result};
use crate::status::Status;
use crate::usage::{Location, Usage};

use super::Carveout;

/// Why a source could not deliver.
pub type SourceError = &'static str;

/// Where the bytes of a region come from.
pub trait ByteSource {
    /// Writes the bytes at `offset` of the source into all of `buffer`. The buffer may be the mapped bounce buffer of a core
    /// whose lock is held: the source must not copy through the same core, and sources of two cores must not copy through
    /// each other's. Reading a plain host tensor is fine.
    ///
    /// # Errors
    /// A short text; the load then fails and leaves nothing.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> core::result::Result<(), SourceError>;
}

/// How a region is cut into separate allocations, and which of the pieces belong here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Bytes of a piece; the last one of the region may be shorter.
    pub bytes: u64,
    /// Index of the first piece that belongs to this subgraph.
    pub first: u64,
    /// Every `step`-th piece belongs to it.
    pub step: u64,
}

/// Device or pinned host memory that a model owns.
#[derive(Clone, Copy)]
pub struct RegionPlan<'a> {
    /// Name, up to 63 bytes.
    pub name: &'a str,
    /// Variable id of the first piece; the following pieces of this subgraph count on from it.
    pub first_variable: u32,
    /// What for.
    pub usage: Usage,
    /// Where.
    pub location: Location,
    /// HBM channel; `None` = the default of the core.
    pub channel: Option<u32>,
    /// Alignment in bytes, 0 or a power of two.
    pub align: u64,
    /// Bytes of the whole region.
    pub bytes: u64,
    /// Cut into pieces; `None` = one piece.
    pub chunks: Option<Chunks>,
    /// Content; `None` leaves the memory as it comes.
    pub source: Option<&'a dyn ByteSource>,
}

/// One piece of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) variable: u32,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl RegionPlan<'_> {
    /// Number of pieces that belong to this subgraph; the chunks were checked.
    fn piece_count(&self) -> u64 {
        self.chunks.map_or(1, |chunks| self.bytes.div_ceil(chunks.bytes).saturating_sub(chunks.first).div_ceil(chunks.step))
    }

    /// The pieces that belong to this subgraph.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece> {
        let Self { bytes, first_variable, .. } = *self;
        let chunks = self.chunks.unwrap_or(Chunks { bytes, first: 0, step: 1 });
        let step = chunks.step.max(1);
        (0_u32..)
            .map_while(move |n| {
                let index = chunks.first.checked_add(u64::from(n).checked_mul(step)?)?;
                let offset = index.checked_mul(chunks.bytes)?;
                let variable = first_variable.checked_add(n)?;
                (offset < bytes).then(|| Piece { variable, offset, bytes: chunks.bytes.min(bytes - offset) })
            })
            .fuse()
    }
}

/// An input or output of a model: the contract a bound tensor must fulfil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoPlan<'a> {
    /// Name, up to 255 bytes.
    pub name: &'a str,
    /// Least size of the tensor in bytes.
    pub bytes: u64,
    /// Variable id.
    pub variable: u32,
}

/// A function of a microcode library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UcodeFunction<'a> {
    /// Name, up to 63 bytes.
    pub name: &'a str,
    /// Opcode that calls it.
    pub opcode: u8,
    /// Second half of the opcode.
    pub sub_opcode: u8,
}

/// A microcode library of a model (`kbin_ucode_lib`).
#[derive(Clone, Copy)]
pub struct UcodeLibrary<'a> {
    /// The image.
    pub content: &'a dyn ByteSource,
    /// Bytes of the image.
    pub bytes: u64,
    /// Flags; the low three bits reach the device.
    pub flags: u32,
    /// Processors that run it, 1 or 8.
    pub total_cpus: u8,
    /// What it offers, at most 28 functions.
    pub functions: &'a [UcodeFunction<'a>],
}

/// What one physical core gets of a model.
#[derive(Clone, Copy)]
pub struct SubgraphPlan<'a> {
    /// Memory the model owns there.
    pub regions: &'a [RegionPlan<'a>],
    /// Scratchpad bytes of this core alone.
    pub local_scratchpad_bytes: u64,
    /// Scratchpad bytes all subgraphs share; the largest counts.
    pub shared_scratchpad_bytes: u64,
    /// Microcode libraries, 0 to 9. Staged on SUNDA only.
    pub libraries: &'a [UcodeLibrary<'a>],
    /// Reserved spans of the state buffer. Checked on CAYMAN only.
    pub carveouts: &'a [Carveout],
    /// Inputs.
    pub inputs: &'a [IoPlan<'a>],
    /// Outputs.
    pub outputs: &'a [IoPlan<'a>],
}

/// A whole model.
#[derive(Clone, Copy)]
pub struct ModelPlan<'a> {
    /// Name, up to 255 bytes.
    pub name: &'a str,
    /// One subgraph, or one per physical core of the logical core.
    pub subgraphs: &'a [SubgraphPlan<'a>],
}

/// Largest number of libraries: the base and eight more.
const MAX_LIBRARIES: usize = 9;
const MAX_FUNCTION_NAME: usize = 63;

impl ModelPlan<'_> {
    /// Checks everything that can be checked without allocating.
    ///
    /// # Errors
    /// `NRT_INVALID` for the first thing that is wrong; `NRT_FAILURE` for more than nine libraries (the documented code);
    /// `NRT_RESOURCE` when the inputs and outputs of a core exceed 32.
    pub(crate) fn check(&self, arch: Arch, cores: u32) -> Result<()> {
        check_name(self.name, size_of_val(&EMPTY_NAME) - 1)?;
        let subgraphs = self.subgraphs.len() as u32;
        if subgraphs != 1 && subgraphs != cores {
            return Err(Error::invalid(Cause::Subgraphs { subgraphs, cores }));
        }
        self.subgraphs.iter().try_for_each(|subgraph| subgraph.check(arch))
    }
}

const EMPTY_NAME: [u8; 256] = [0; 256];

impl SubgraphPlan<'_> {
    fn check(&self, arch: Arch) -> Result<()> {
        self.regions.iter().try_for_each(|region| region.check(arch))?;
        let maps = self.inputs.len() + self.outputs.len();
        if maps > MAX_FEATURE_MAPS {
            return Err(Error::pool_full(Pool::FeatureMaps));
        }
        for io in self.inputs.iter().chain(self.outputs) {
            check_name(io.name, core::mem::offset_of!(kbl_fmap_t, size) - 1)?;
            if io.bytes == 0 {
                return Err(Error::invalid(Cause::ZeroSize));
            }
        }
        if self.libraries.len() > MAX_LIBRARIES {
            return Err(Error::new(Status::Failure, Cause::Ucode("more than 9 libraries")));
        }
        self.libraries.iter().try_for_each(UcodeLibrary::check)?;
        if arch == Arch::Sunda && self.libraries.len() > 1 {
            return Err(Error::new(Status::Failure, Cause::NotBuilt("models with 2 to 9 microcode libraries")));
        }
        if arch == Arch::Cayman {
            super::carveout::check_evtaccel(self.carveouts)?;
        }
        Ok(())
    }
}

impl RegionPlan<'_> {
    fn check(&self, arch: Arch) -> Result<()> {
        check_name(self.name, MEM_REF_NAME - 1)?;
        let (usage, location) = (self.usage, self.location);
        usage.category(location).ok_or(Error::invalid(Cause::UsageNotAllowed { usage, location }))?;
        if self.bytes == 0 || self.chunks.is_some_and(|chunks| chunks.bytes == 0 || chunks.step == 0) {
            return Err(Error::invalid(Cause::ZeroSize));
        }
        if self.align != 0 && !self.align.is_power_of_two() {
            return Err(Error::invalid(Cause::Alignment(self.align)));
        }
        let count = self.piece_count();
        if count.saturating_sub(1) > u64::from(u32::MAX - self.first_variable) {
            return Err(Error::invalid(Cause::VariableRange { first: self.first_variable, count }));
        }
        let channels = arch.channels_per_device();
        match self.channel {
            Some(channel) if channel >= channels => Err(Error::invalid(Cause::ChannelOutOfRange { channel, channels })),
            _ => Ok(()),
        }
    }
}

impl UcodeLibrary<'_> {
    /// `ulib` §§2, 4, 7.
    fn check(&self) -> Result<()> {
        let refuse = |what| Err(Error::invalid(Cause::Ucode(what)));
        if self.total_cpus != 1 && self.total_cpus != 8 {
            return refuse("total_cpus must be 1 or 8");
        }
        if self.bytes == 0 {
            return refuse("the image is empty");
        }
        if self.functions.len() > MAX_UCODE_FUNCTIONS {
            return refuse("more than 28 functions");
        }
        self.functions.iter().try_for_each(|function| check_name(function.name, MAX_FUNCTION_NAME))
    }
}

fn check_name(name: &str, limit: usize) -> Result<()> {
    if name.len() > limit || name.as_bytes().contains(&0) {
        return Err(Error::invalid(Cause::NameTooLong { length: name.len(), limit }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn region(bytes: u64, chunks: Option<Chunks>) -> RegionPlan<'static> {
        RegionPlan {
            name: "w",
            first_variable: 7,
            usage: Usage::Weight,
            location: Location::Device,
            channel: None,
            align: 0,
            bytes,
            chunks,
            source: None,
        }
    }

    #[test]
    fn pieces_are_dealt_round_robin_and_the_last_is_shorter() {
        let of = |first| region(10, Some(Chunks { bytes: 4, first, step: 2 })).pieces().collect::<Vec<_>>();
        assert_eq!(of(0), [Piece { variable: 7, offset: 0, bytes: 4 }, Piece { variable: 8, offset: 8, bytes: 2 }]);
        assert_eq!(of(1), [Piece { variable: 7, offset: 4, bytes: 4 }]);
        assert_eq!(of(5), []);
        assert_eq!(region(10, None).pieces().collect::<Vec<_>>(), [Piece { variable: 7, offset: 0, bytes: 10 }]);
    }

    #[test]
    fn pieces_end_where_numbers_do() {
        let huge = region(u64::MAX, Some(Chunks { bytes: u64::MAX - 1, first: 0, step: u64::MAX }));
        assert_eq!(huge.pieces().count(), 1);
    }
}
