//! What is wrong with a plan: where, and which rule.

use core::fmt;

use crate::model::Arena;
use crate::usage::{Location, Usage};

/// The part of a plan that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanPart {
    /// The model as a whole.
    Model,
    /// A subgraph as a whole.
    Subgraph,
    /// A variable, an input or an output, or a region by the id of its first piece.
    Variable(u32),
    /// A microcode library, by its place in the list.
    Library(u32),
}

/// A rule that a plan breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanRule {
    /// Bytes are needed.
    ZeroSize,
    /// An alignment is 0 or a power of two.
    Alignment(u64),
    /// The usage is possible at the location.
    Usage {
        /// The usage.
        usage: Usage,
        /// The location.
        location: Location,
    },
    /// The device has the HBM channel.
    Channel {
        /// The channel.
        channel: u32,
        /// Channels the device has.
        channels: u32,
    },
    /// A name fits its field.
    Name {
        /// Bytes of the name.
        length: usize,
        /// Bytes it may have.
        limit: usize,
    },
    /// A name has no NUL inside.
    NameWithNul,
    /// Two inputs, or two outputs, have different names; the other one is this variable.
    SameName(u32),
    /// An element type fits its field.
    ElementType {
        /// Bytes of the type.
        length: usize,
        /// Bytes it may have.
        limit: usize,
    },
    /// At most 8 dimensions.
    Dimensions(usize),
    /// An id occurs once in a subgraph.
    Duplicate,
    /// The pieces of a region have ids.
    IdRange {
        /// Number of pieces.
        count: u64,
    },
    /// The state buffer has 32 MiB.
    StateBuffer(u64),
    /// The arena is one whose rules are known.
    Arena(Arena),
    /// A scratchpad variable lies inside the slice that the plan reserves.
    OutsideArena {
        /// Offset in the slice.
        offset: u64,
        /// Bytes of the variable.
        bytes: u64,
        /// Bytes of the slice.
        limit: u64,
    },
    /// A scratchpad variable starts at a multiple of 4 KiB.
    ArenaAddress(u64),
    /// The subgraph of a remote variable exists.
    NoSubgraph {
        /// The subgraph.
        subgraph: u32,
        /// Subgraphs the model has.
        count: u32,
    },
    /// The variable that is named exists, in its subgraph.
    NoTarget(u32),
    /// The variable that is named has an address when the model is loaded.
    TargetWithoutAddress(u32),
    /// The variable that is named as an input or output is one, and the other way round.
    TargetKind {
        /// The variable.
        target: u32,
        /// It is named as an input or output.
        io: bool,
    },
    /// A remote variable is not larger than its source.
    RemoteSize {
        /// Bytes of the variable.
        bytes: u64,
        /// Bytes of the source.
        source: u64,
    },
    /// At most 9 libraries.
    Libraries(usize),
    /// A library runs on 1 or 8 processors.
    Processors(u8),
    /// A library starts at a processor from 0 to 7, a custom one at 0.
    Processor {
        /// The processor.
        cpu_id: u8,
        /// It is a custom library.
        custom: bool,
    },
    /// The table has 97 rows.
    Rows(usize),
    /// A processor has 28 functions.
    Functions(usize),
}

/// A plan that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanFault {
    /// Subgraph; 0 where the whole model is meant.
    pub subgraph: u32,
    /// Which part of it.
    pub part: PlanPart,
    /// The rule.
    pub rule: PlanRule,
}

impl fmt::Display for PlanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subgraph = self.subgraph;
        match self.part {
            PlanPart::Model => f.write_str("plan of the model: ")?,
            PlanPart::Subgraph => write!(f, "plan of subgraph {subgraph}: ")?,
            PlanPart::Variable(id) => write!(f, "plan of subgraph {subgraph}, variable {id}: ")?,
            PlanPart::Library(index) => write!(f, "plan of subgraph {subgraph}, library {index}: ")?,
        }
        self.rule.fmt(f)
    }
}

impl fmt::Display for PlanRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ZeroSize => f.write_str("the size is 0"),
            Self::Alignment(align) => write!(f, "alignment {align} is not a power of two"),
            Self::Usage { usage, location } => write!(f, "usage {} is not allowed in {} memory", usage.name(), location.name()),
            Self::Channel { channel, channels } => {
                write!(f, "HBM channel {channel} does not exist, the device has {channels}")
            }
            Self::Name { length, limit } => write!(f, "a name of {length} bytes, expected at most {limit}"),
            Self::NameWithNul => f.write_str("a name with a NUL inside"),
            Self::SameName(other) => write!(f, "it has the name of variable {other}"),
            Self::ElementType { length, limit } => {
                write!(f, "an element type of {length} bytes, expected at most {limit} without NUL")
            }
            Self::Dimensions(count) => write!(f, "{count} dimensions, expected at most 8"),
            Self::Duplicate => f.write_str("the id occurs twice"),
            Self::IdRange { count } => write!(f, "{count} pieces from here on, expected ids up to 4294967295"),
            Self::StateBuffer(bytes) => write!(f, "{bytes} bytes of state buffer, expected at most 33554432"),
            Self::Arena(arena) => {
                write!(f, "the rules of the {} arena are not known, expected the local or the shared one", arena.name())
            }
            Self::OutsideArena { offset, bytes, limit } => {
                write!(f, "{bytes} bytes at offset {offset} do not lie inside the {limit} bytes that the plan reserves")
            }
            Self::ArenaAddress(address) => write!(f, "it starts at {address:#x} in the scratchpad, expected a multiple of 4096"),
            Self::NoSubgraph { subgraph, count } => write!(f, "subgraph {subgraph} does not exist, the model has {count}"),
            Self::NoTarget(target) => write!(f, "variable {target} does not exist there"),
            Self::TargetWithoutAddress(target) => write!(f, "variable {target} has no address when the model is loaded"),
            Self::TargetKind { target, io: true } => write!(f, "variable {target} is no input or output"),
            Self::TargetKind { target, io: false } => {
                write!(f, "variable {target} is an input or output, expected one with an address")
            }
            Self::RemoteSize { bytes, source } => write!(f, "{bytes} bytes of a variable that has {source}"),
            Self::Libraries(count) => write!(f, "{count} microcode libraries, expected at most 9"),
            Self::Processors(count) => write!(f, "a microcode library for {count} processors, expected 1 or 8"),
            Self::Processor { cpu_id, custom: true } => write!(f, "a custom library for processor {cpu_id}, expected 0"),
            Self::Processor { cpu_id, custom: false } => write!(f, "a library for processor {cpu_id}, expected 0 to 7"),
            Self::Rows(count) => write!(f, "{count} functions in all libraries, expected at most 97"),
            Self::Functions(count) => write!(f, "{count} functions on processor 0, expected at most 28"),
        }
    }
}
