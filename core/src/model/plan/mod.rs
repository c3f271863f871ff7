//! What to load: a plain borrowed description, checked as a whole before anything is allocated.

mod check;
mod library;
mod variable;

pub use library::{LibrarySupport, UcodeFunction, UcodeImage, UcodeLibrary, UcodeQueue};
pub use variable::{Arena, VariableKind, VariablePlan};

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
///
/// It comes from the heap its usage belongs to: notifications, scratchpad, tensors, standard output and collectives from
/// the GLOBAL heap of the core, everything else from the heap of the model. It goes with the model either way.
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
    /// Whether its pieces count as temporaries, not as constants.
    pub(crate) const fn is_temporary(&self) -> bool {
        matches!(self.usage, Usage::ScratchpadNotShared | Usage::DramSpill)
    }

    /// Whether it comes from the heap of the core and not from that of the model (`dmem` §18).
    pub(crate) const fn is_global(&self) -> bool {
        matches!(self.usage, Usage::Notification | Usage::Scratchpad | Usage::Tensor | Usage::PoolStdio | Usage::Cc | Usage::XtCc)
    }

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

/// What one physical core gets of a model.
///
/// Start from [`EMPTY`](Self::EMPTY) and name what there is.
#[derive(Clone, Copy)]
pub struct SubgraphPlan<'a> {
    /// Memory the model owns there.
    pub regions: &'a [RegionPlan<'a>],
    /// Variables as the compiled model plans them, beside those of the regions, inputs and outputs.
    pub variables: &'a [VariablePlan<'a>],
    /// Scratchpad bytes of this core alone.
    pub local_scratchpad_bytes: u64,
    /// Scratchpad bytes all subgraphs share; the largest counts.
    pub shared_scratchpad_bytes: u64,
    /// Microcode libraries, 0 to 9. Staged on SUNDA only.
    pub libraries: &'a [UcodeLibrary<'a>],
    /// What the libraries need besides their images.
    pub library_support: LibrarySupport<'a>,
    /// Reserved spans of the state buffer. Checked on CAYMAN only.
    pub carveouts: &'a [Carveout],
    /// Whether the FP8 configuration is programmed for the model; noted in its record for whoever drives the engines.
    pub program_fp8_config: bool,
    /// Inputs.
    pub inputs: &'a [IoPlan<'a>],
    /// Outputs.
    pub outputs: &'a [IoPlan<'a>],
}

impl SubgraphPlan<'_> {
    /// Needs nothing.
    pub const EMPTY: Self = Self {
        regions: &[],
        variables: &[],
        local_scratchpad_bytes: 0,
        shared_scratchpad_bytes: 0,
        libraries: &[],
        library_support: LibrarySupport::NONE,
        carveouts: &[],
        program_fp8_config: false,
        inputs: &[],
        outputs: &[],
    };
}

/// A whole model.
#[derive(Clone, Copy)]
pub struct ModelPlan<'a> {
    /// Name, up to 255 bytes.
    pub name: &'a str,
    /// One subgraph, or one per physical core of the logical core.
    pub subgraphs: &'a [SubgraphPlan<'a>],
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
