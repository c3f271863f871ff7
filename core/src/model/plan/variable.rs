//! Variables as the compiled model plans them (`kbin_mem_ref_t`, fact sheet `model-load` §4).

use super::ByteSource;
use crate::abi::{backing_buf, mr_type};

/// Arena a scratchpad variable is planned in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arena {
    /// The slice of its own core.
    Local,
    /// The slice all subgraphs share.
    Shared,
    /// A slice split over cores. How is not described: such a plan is refused.
    Sharded,
    /// The main arena. What it is is not described: such a plan is refused.
    Main,
}

impl Arena {
    /// Its number in a compiled model.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Local => backing_buf::LOCAL.0,
            Self::Shared => backing_buf::SHARED.0,
            Self::Sharded => backing_buf::SHARDED.0,
            Self::Main => backing_buf::MAIN.0,
        }
    }

    /// Name for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Shared => "shared",
            Self::Sharded => "sharded",
            Self::Main => "main",
        }
    }
}

/// What a variable is, which decides where it is placed.
#[derive(Clone, Copy)]
pub enum VariableKind<'a> {
    /// The on-chip state buffer of the core: a fixed address, nothing is allocated.
    StateBuffer,
    /// A constant that was staged elsewhere. Recorded without an address: the bulk staging passes it over.
    StagedBuffer,
    /// A constant, in device memory of its own.
    Buffer {
        /// Content; `None` leaves the memory as it comes.
        source: Option<&'a dyn ByteSource>,
    },
    /// A temporary in device memory of its own.
    Temporary {
        /// Content; `None` leaves the memory as it comes.
        source: Option<&'a dyn ByteSource>,
    },
    /// A temporary in the scratchpad; one that fits no page gets device memory of its own.
    VirtualTemporary {
        /// Arena.
        arena: Arena,
        /// Offset in the slice of the arena, in bytes.
        offset: u64,
    },
    /// A word of device memory that holds the address of another variable.
    Pointer {
        /// Variable pointed to.
        target: u32,
        /// Whether that variable is an input or output, whose address is known when a tensor is bound.
        io: bool,
    },
    /// A list of variables, on the host.
    List {
        /// Their ids.
        variables: &'a [u32],
    },
    /// A table of pointers to variables, on the host: addresses for those placed at load, a mark for inputs and outputs.
    PointerTable {
        /// Their ids.
        variables: &'a [u32],
    },
    /// A variable that another subgraph of the model owns; its memory is borrowed.
    Remote {
        /// Subgraph that owns it, relative to the first.
        subgraph: u32,
        /// Id of the variable there.
        variable: u32,
    },
}

impl VariableKind<'_> {
    /// Its number in a compiled model.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.raw().0
    }

    pub(crate) const fn raw(self) -> mr_type {
        match self {
            Self::StateBuffer => mr_type::SB,
            Self::StagedBuffer => mr_type::BUFFER_STAGED,
            Self::Buffer { .. } => mr_type::BUFFER,
            Self::Temporary { .. } => mr_type::TMP_BUF,
            Self::VirtualTemporary { .. } => mr_type::VIRTUAL_TMP_BUF,
            Self::Pointer { .. } => mr_type::PTR,
            Self::List { .. } => mr_type::LIST,
            Self::PointerTable { .. } => mr_type::PTR_TABLE,
            Self::Remote { .. } => mr_type::REMOTE,
        }
    }
}

/// One variable of a subgraph.
#[derive(Clone, Copy)]
pub struct VariablePlan<'a> {
    /// Id, unique in the subgraph.
    pub variable: u32,
    /// Name, up to 63 bytes.
    pub name: &'a str,
    /// What it is.
    pub kind: VariableKind<'a>,
    /// Bytes. Not 0 where it takes memory; without meaning for pointers, lists and tables.
    pub bytes: u64,
    /// Alignment in bytes of memory of its own, 0 or a power of two.
    pub align: u64,
    /// Element type, up to 15 bytes.
    pub element_type: &'a str,
    /// Extent of each dimension, at most 8.
    pub shape: &'a [u64],
}

impl VariablePlan<'_> {
    /// A variable without name, size, type or shape, to start from.
    pub const EMPTY: Self =
        Self { variable: 0, name: "", kind: VariableKind::StagedBuffer, bytes: 0, align: 0, element_type: "", shape: &[] };
}
