//! Errors: a status for C, a cause for people.

mod display;
mod plan;
mod pool;

pub use plan::{PlanFault, PlanPart, PlanRule};
pub use pool::Pool;

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
    /// The driver did not tell the host id of the device.
    HostDeviceUnknown(u32),
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
    /// Another runtime of this process is open, see [`Config::side_by_side`](crate::Config::side_by_side).
    ProcessHasRuntime,
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
    /// The process asks for logical cores the machine does not have, or for none.
    CoreSelection {
        /// Number of the first one.
        first: u32,
        /// How many.
        count: u32,
        /// Logical cores of the machine.
        have: u32,
    },
    /// A count of logical cores that is neither one nor whole devices.
    WholeDevices {
        /// Logical cores asked for.
        count: u32,
        /// Physical cores of a logical core.
        size: u32,
        /// Physical cores of a device.
        cores_per_device: u32,
    },
    /// The machine has this logical core, but another process may own it: this one does not.
    LogicalCoreNotOwned {
        /// Number of the logical core.
        number: u32,
        /// Number of the first one this process owns.
        first: u32,
        /// How many it owns.
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
    /// A logical core size that this kind of instance does not have.
    InstanceCoreSize {
        /// The size asked for.
        size: u32,
        /// The one there is.
        only: u32,
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
    /// The plan of a model breaks a rule.
    Plan(PlanFault),
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
    /// A page of the contiguous scratchpad did not come directly below the one before.
    ScratchpadGap {
        /// Where it should be.
        expected: u64,
        /// Where it is.
        address: u64,
    },
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
    /// The tensor has no storage.
    NoStorage,
    /// The tensor has a size but no bytes.
    NoBytes,
    /// The tensor is not memory the driver knows, or not device memory where that is needed.
    NotDeviceMemory,
    /// Others hold the tensor: a run, or a second handle.
    TensorInUse,
    /// The set has no tensor of this name.
    UnknownTensor,
    /// A name with a NUL in it.
    NameWithNul,
    /// A tensor does not fit the slot it is bound to.
    Binding {
        /// An output, not an input.
        output: bool,
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
    /// The calling thread is inside an operation that this one would wait for.
    WaitsForItself,
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
}

impl Error {
    pub(crate) const fn new(status: Status, cause: Cause) -> Self {
        Self { status, cause }
    }

    /// `NRT_INVALID` with this cause.
    pub(crate) const fn invalid(cause: Cause) -> Self {
        Self::new(Status::Invalid, cause)
    }

    /// `NRT_INVALID`: a plan breaks a rule.
    pub(crate) const fn plan(fault: PlanFault) -> Self {
        Self::invalid(Cause::Plan(fault))
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

impl core::error::Error for Error {}
