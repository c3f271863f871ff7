//! Errors: a status for C, a cause for people.

use core::fmt;

use crate::driver::{Call, Errno};
use crate::status::Status;
use crate::usage::{Location, Usage};

/// Result of the crate.
pub type Result<T> = core::result::Result<T, Error>;

/// Why an operation did not happen. The state of the runtime is as it was before the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What the C interface returns.
    pub status: Status,
    /// What happened, with the numbers.
    pub cause: Cause,
}

/// A fixed pool of the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pool {
    /// One node per live allocation.
    Nodes,
    /// One entry per allocation on a group list.
    GroupEntries,
    /// One record per model and core.
    Models,
    /// One record per placed variable.
    MemRefs,
    /// Tensor views.
    Tensors,
    /// Tensor backings.
    TensorStorages,
    /// Inputs plus outputs of one model on one core.
    FeatureMaps,
    /// Functions of the microcode library of one core.
    UcodeFunctions,
}

impl Pool {
    /// Name for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::GroupEntries => "group entries",
            Self::Models => "models",
            Self::MemRefs => "mem_refs",
            Self::Tensors => "tensors",
            Self::TensorStorages => "tensor storages",
            Self::FeatureMaps => "feature maps of a model",
            Self::UcodeFunctions => "functions of the microcode library",
        }
    }
}

/// A rule of the EVTACCEL carveout (`model-load` §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CarveoutRule {
    /// The first partition must be 0.
    PartitionStart,
    /// All 128 partitions.
    PartitionCount,
    /// Offset 0x37FF8 in each partition.
    Offset,
    /// 8 bytes.
    Size,
}

/// The facts of an allocation that found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes asked for.
    pub size: u64,
    /// Alignment asked for; 0 = none.
    pub align: u64,
    /// What for.
    pub usage: Usage,
    /// Where.
    pub location: Location,
    /// Device index.
    pub device: u32,
    /// Core of the device.
    pub core: u32,
    /// HBM channel.
    pub channel: u32,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A pool of the storage is full.
    PoolFull(Pool),
    /// The driver has no room.
    OutOfMemory(OutOfMemory),
    /// A request of the driver failed.
    Driver {
        /// Which.
        call: Call,
        /// On which device.
        device: u32,
        /// With what.
        errno: Errno,
    },
    /// The platform has no host memory.
    HostMemory {
        /// Bytes asked for.
        size: u64,
    },
    /// The usage is not allowed at this location.
    UsageNotAllowed {
        /// The usage.
        usage: Usage,
        /// The location.
        location: Location,
    },
    /// No such usage number.
    UsageOutOfRange(u32),
    /// A size of 0 where bytes are needed.
    ZeroSize,
    /// The alignment is not a power of two.
    Alignment(u64),
    /// Pinned host memory cannot be aligned beyond a page.
    HostAlignment(u64),
    /// No such HBM channel on this architecture.
    ChannelOutOfRange {
        /// The channel.
        channel: u32,
        /// Channels the device has.
        channels: u32,
    },
    /// An access does not lie inside the object.
    OutOfBounds {
        /// First byte of the access.
        offset: u64,
        /// Length of the access.
        size: u64,
        /// Length of the object.
        limit: u64,
    },
    /// No context tree is installed.
    TreeUnset,
    /// A context tree is installed already.
    TreeSet,
    /// No such device index.
    DeviceOutOfRange(u32),
    /// The device is not in use by this process.
    DeviceNotInUse(u32),
    /// No such core index.
    CoreOutOfRange(u32),
    /// The core is not owned by this process.
    CoreNotMapped {
        /// Device index.
        device: u32,
        /// Core of the device.
        core: u32,
    },
    /// The runtime is not open.
    NotOpen,
    /// The storage is claimed already.
    StorageInUse,
    /// The storage is smaller than what is asked of it.
    Capacity {
        /// The pool.
        pool: Pool,
        /// Slots asked for.
        need: u64,
        /// Slots there are.
        have: u64,
    },
    /// The driver reported geometry this build cannot hold.
    Geometry {
        /// What.
        what: &'static str,
        /// How many.
        found: u32,
        /// At most.
        limit: u32,
    },
    /// No such logical core.
    VncOutOfRange {
        /// The index.
        vnc: u32,
        /// Logical cores this runtime owns.
        count: u32,
    },
    /// The logical core size does not fit this machine.
    LogicalCoreSize {
        /// The size asked for.
        size: u32,
        /// Cores of a device.
        cores_per_device: u32,
        /// The largest this machine takes.
        largest: u32,
    },
    /// No model of this id is resident on the core.
    UnknownModel(u32),
    /// A model of this id is resident on the core already.
    DuplicateModel(u32),
    /// The handle is 0, stale, or was never given out.
    StaleHandle,
    /// A tensor in pinned host memory on an architecture that refuses it.
    HostTensor,
    /// Subgraphs do not fit the logical core.
    Subgraphs {
        /// Subgraphs of the plan.
        subgraphs: u32,
        /// Physical cores of the logical core.
        cores: u32,
    },
    /// A name is longer than its field.
    NameTooLong {
        /// Bytes of the name.
        length: usize,
        /// Bytes of the field.
        limit: usize,
    },
    /// The plan repeats a variable id.
    DuplicateVariable(u32),
    /// The pieces of a region count variable ids beyond the last one.
    VariableRange {
        /// Id of the first piece.
        first: u32,
        /// Number of pieces.
        count: u64,
    },
    /// The model has no such variable, or the variable has no memory.
    UnknownVariable(u32),
    /// Scratchpad page size outside 1..=0xFFFF_FFFF.
    ScratchpadPageSize(u64),
    /// More scratchpad pages than a core can have.
    ScratchpadPages {
        /// Pages asked for.
        need: u64,
        /// Pages a core can have.
        limit: u32,
    },
    /// A scratchpad page came out of the driver without 4 KiB alignment.
    ScratchpadPageAddress(u64),
    /// No page holds this span of the arena.
    ScratchpadSpan {
        /// Offset in the arena.
        offset: u64,
        /// Length.
        size: u64,
        /// Page size.
        page_size: u64,
    },
    /// Single-core scratchpad placement needs every core of the HBM.
    ScratchpadNeedsHbm {
        /// Cores owned.
        owned: u32,
        /// Cores that share the HBM.
        needed: u32,
    },
    /// The EVTACCEL carveout breaks a rule.
    Carveout(CarveoutRule),
    /// A microcode library is not acceptable.
    Ucode(&'static str),
    /// A tensor does not fit the slot it is bound to.
    Binding {
        /// Index of the slot.
        index: u32,
        /// Bytes the model needs.
        need: u64,
        /// Bytes the tensor has, or 0 when it is missing.
        have: u64,
    },
    /// A tensor belongs to another logical core than the model.
    WrongCore {
        /// Logical core of the tensor.
        tensor: i32,
        /// Logical core of the model.
        model: u32,
    },
    /// A device-to-device copy between HBM channels.
    DifferentHbm {
        /// Channel of the source.
        source: u32,
        /// Channel of the target.
        target: u32,
    },
    /// A device-to-device copy between devices.
    DifferentDevices {
        /// Device of the source.
        source: u32,
        /// Device of the target.
        target: u32,
    },
    /// An executor or a source called back into the core that waits for it.
    Reentered,
    /// A wait ran into its deadline.
    TimedOut(&'static str),
    /// Operations or references are still out.
    Busy {
        /// Operations inside the runtime.
        operations: u64,
        /// Models with references.
        models: u32,
    },
    /// The source of the bytes failed.
    Source(&'static str),
    /// An environment variable cannot be what it is; the parser's own error says more.
    Config {
        /// Name of the variable.
        variable: &'static str,
        /// Offset of the first bad character.
        position: usize,
    },
    /// This part is not built yet.
    NotBuilt(&'static str),
}

impl Error {
    pub(crate) const fn new(status: Status, cause: Cause) -> Self {
        Self { status, cause }
    }

    /// `NRT_INVALID` with this cause.
    pub(crate) const fn invalid(cause: Cause) -> Self {
        Self::new(Status::Invalid, cause)
    }

    /// A pool is full: the status the original gives when `calloc` fails.
    pub(crate) const fn pool_full(pool: Pool) -> Self {
        Self::new(Status::Resource, Cause::PoolFull(pool))
    }

    /// A driver request failed: `NRT_FAILURE` unless the caller knows better.
    pub(crate) const fn driver(call: Call, device: u32, errno: Errno) -> Self {
        Self::new(Status::Failure, Cause::Driver { call, device, errno })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.cause)
    }
}

impl core::error::Error for Error {}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PoolFull(pool) => write!(f, "the pool of {} is full", pool.name()),
            Self::OutOfMemory(oom) => oom.fmt(f),
            Self::Driver { call, device, errno } => {
                write!(f, "driver request \"{}\" on ND {device} failed: {errno}", call.name())
            }
            Self::HostMemory { size } => write!(f, "no {size} bytes of host memory"),
            Self::UsageNotAllowed { usage, location } => {
                write!(f, "usage {} is not allowed in {} memory", usage.name(), location.name())
            }
            Self::UsageOutOfRange(usage) => write!(f, "usage {usage} does not exist, expected 0 to 21"),
            Self::ZeroSize => f.write_str("the size is 0"),
            Self::Alignment(align) => write!(f, "alignment {align} is not a power of two"),
            Self::HostAlignment(align) => write!(f, "alignment {align} in host memory, expected none"),
            Self::ChannelOutOfRange { channel, channels } => {
                write!(f, "HBM channel {channel} does not exist, the device has {channels}")
            }
            Self::OutOfBounds { offset, size, limit } => {
                write!(f, "{size} bytes at offset {offset} do not lie inside {limit} bytes")
            }
            Self::TreeUnset => f.write_str("no context tree is installed"),
            Self::TreeSet => f.write_str("a context tree is installed already"),
            Self::DeviceOutOfRange(device) => write!(f, "device index {device} does not exist"),
            Self::DeviceNotInUse(device) => write!(f, "device {device} is not in use by this process"),
            Self::CoreOutOfRange(core) => write!(f, "core index {core} does not exist"),
            Self::CoreNotMapped { device, core } => write!(f, "ND{device}:NC{core} is not owned by this process"),
            Self::NotOpen => f.write_str("the runtime is not open"),
            Self::StorageInUse => f.write_str("the storage is claimed by another runtime"),
            Self::Capacity { pool, need, have } => {
                write!(f, "{need} {} are needed, the storage has {have}: take a larger Storage", pool.name())
            }
            Self::Geometry { what, found, limit } => write!(f, "the driver reports {found} {what}, expected 1 to {limit}"),
            Self::VncOutOfRange { vnc, count } => write!(f, "logical core {vnc} does not exist, this process has {count}"),
            Self::LogicalCoreSize { size, cores_per_device, largest } => write!(
                f,
                "logical core size {size} is not possible, expected a power of two from 1 to {largest} that divides {cores_per_device} cores per device"
            ),
            Self::UnknownModel(id) => write!(f, "no model {id} is resident on this core"),
            Self::DuplicateModel(id) => write!(f, "model {id} is resident on this core already"),
            Self::StaleHandle => f.write_str("the handle is stale or was never given out"),
            Self::HostTensor => f.write_str("tensors in pinned host memory are not possible on this architecture"),
            Self::Subgraphs { subgraphs, cores } => {
                write!(f, "{subgraphs} subgraphs on a logical core of {cores} cores, expected 1 or {cores}")
            }
            Self::NameTooLong { length, limit } => write!(f, "a name of {length} bytes, expected at most {limit}"),
            Self::DuplicateVariable(id) => write!(f, "variable {id} occurs twice in the plan"),
            Self::VariableRange { first, count } => {
                write!(f, "{count} pieces from variable {first} on, expected ids up to 4294967295")
            }
            Self::UnknownVariable(id) => write!(f, "the model has no memory for a variable {id}"),
            Self::ScratchpadPageSize(bytes) => write!(f, "scratchpad page size {bytes}, expected 1 to 4294967295"),
            Self::ScratchpadPages { need, limit } => write!(f, "{need} scratchpad pages are needed, a core can have {limit}"),
            Self::ScratchpadPageAddress(pa) => {
                write!(f, "the driver placed a scratchpad page at {pa:#x}, expected a multiple of 4096")
            }
            Self::ScratchpadSpan { offset, size, page_size } => {
                write!(f, "no page of {page_size} bytes holds {size} bytes at arena offset {offset}")
            }
            Self::ScratchpadNeedsHbm { owned, needed } => {
                write!(f, "single-core scratchpad needs the {needed} cores of the HBM, this process owns {owned}")
            }
            Self::Carveout(rule) => match rule {
                CarveoutRule::PartitionStart => f.write_str("EVTACCEL carveout: the partition start must be 0"),
                CarveoutRule::PartitionCount => f.write_str("EVTACCEL carveout: the partition count must be 128"),
                CarveoutRule::Offset => f.write_str("EVTACCEL carveout: the offset must be 0x37ff8"),
                CarveoutRule::Size => f.write_str("EVTACCEL carveout: the size must be 8"),
            },
            Self::Ucode(what) => write!(f, "microcode library: {what}"),
            Self::Binding { index, need, have } => {
                write!(f, "slot {index} needs a tensor of at least {need} bytes, bound are {have}")
            }
            Self::WrongCore { tensor, model } => write!(f, "the tensor lives on logical core {tensor}, the model on {model}"),
            Self::DifferentHbm { source, target } => {
                write!(f, "a device copy from HBM {source} to HBM {target}, expected one HBM")
            }
            Self::DifferentDevices { source, target } => {
                write!(f, "a device copy from ND {source} to ND {target}, expected one device")
            }
            Self::Reentered => f.write_str("an executor or a source of bytes called back into the core that waits for it"),
            Self::TimedOut(what) => write!(f, "timed out waiting for {what}"),
            Self::Busy { operations, models } => write!(f, "{operations} operations and {models} models are still in use"),
            Self::Source(what) => write!(f, "the source of the bytes failed: {what}"),
            Self::Config { variable, position } => write!(f, "{variable}: bad value at character {}", position + 1),
            Self::NotBuilt(what) => write!(f, "not implemented in this version: {what}"),
        }
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no room for {} bytes (alignment: ", self.size)?;
        if self.align > 1 {
            write!(f, "{}", self.align)?;
        } else {
            f.write_str("none")?;
        }
        write!(f, ", usage: {}) in {} memory on ND{}:NC{}", self.usage.name(), self.location.name(), self.device, self.core)?;
        if self.location == Location::Device { write!(f, ", HBM {}", self.channel) } else { Ok(()) }
    }
}
