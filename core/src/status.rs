//! `NRT_STATUS` as a Rust enumeration (fact sheet `nrt-api` §1).

/// Result code of the C interface. The discriminants are the documented values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum Status {
    /// It worked.
    Success = 0,
    /// Unspecific failure.
    Failure = 1,
    /// Bad argument, bad plan, name or size mismatch, unsupported request.
    Invalid = 2,
    /// Bad, stale or unknown handle; also a duplicate model id.
    InvalidHandle = 3,
    /// Out of device memory, or a pool is full.
    Resource = 4,
    /// Timed out.
    Timeout = 5,
    /// Hardware failure.
    HwError = 6,
    /// Execution queue full.
    QueueFull = 7,
    /// Not enough cores.
    LoadNotEnoughNc = 9,
    /// Model format version.
    UnsupportedNeffVersion = 10,
    /// Out of pinned host memory. The public header calls it obsolete; the allocator still produces it.
    FailHostMemAlloc = 11,
    /// Called before init.
    Uninitialized = 13,
    /// Called after close.
    Closed = 14,
    /// Nothing to read.
    QueueEmpty = 15,
    /// The execution unit is dead until the next init.
    ExecUnitUnrecoverable = 101,
    /// Bad input of an execution.
    ExecBadInput = 1002,
    /// Finished, but numerical errors were produced.
    ExecCompletedWithNumErr = 1003,
    /// Finished with other errors.
    ExecCompletedWithErr = 1004,
    /// The core is held by another model or process.
    ExecNcBusy = 1005,
    /// Indirect access out of bounds.
    ExecOob = 1006,
    /// A collective is pending.
    CollPending = 1100,
    /// A collective is stuck.
    ExecHwErrCollectives = 1200,
    /// Unrepairable HBM error.
    ExecHwErrHbmUe = 1201,
    /// Parity error in a core's memory.
    ExecHwErrNcUe = 1202,
    /// DMA engine abort.
    ExecHwErrDmaAbort = 1203,
    /// A notification queue overflowed.
    ExecSwNqOverflow = 1204,
    /// Repairable HBM error.
    ExecHwErrRepairableHbmUe = 1205,
    /// Network proxy failure.
    NetworkProxyFailure = 1206,
}

impl Status {
    /// All codes, in the order of their values.
    pub const ALL: [Self; 28] = [
        Self::Success,
        Self::Failure,
        Self::Invalid,
        Self::InvalidHandle,
        Self::Resource,
        Self::Timeout,
        Self::HwError,
        Self::QueueFull,
        Self::LoadNotEnoughNc,
        Self::UnsupportedNeffVersion,
        Self::FailHostMemAlloc,
        Self::Uninitialized,
        Self::Closed,
        Self::QueueEmpty,
        Self::ExecUnitUnrecoverable,
        Self::ExecBadInput,
        Self::ExecCompletedWithNumErr,
        Self::ExecCompletedWithErr,
        Self::ExecNcBusy,
        Self::ExecOob,
        Self::CollPending,
        Self::ExecHwErrCollectives,
        Self::ExecHwErrHbmUe,
        Self::ExecHwErrNcUe,
        Self::ExecHwErrDmaAbort,
        Self::ExecSwNqOverflow,
        Self::ExecHwErrRepairableHbmUe,
        Self::NetworkProxyFailure,
    ];

    /// The value of the C enumeration.
    #[must_use]
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The name of the C enumerator.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "NRT_SUCCESS",
            Self::Failure => "NRT_FAILURE",
            Self::Invalid => "NRT_INVALID",
            Self::InvalidHandle => "NRT_INVALID_HANDLE",
            Self::Resource => "NRT_RESOURCE",
            Self::Timeout => "NRT_TIMEOUT",
            Self::HwError => "NRT_HW_ERROR",
            Self::QueueFull => "NRT_QUEUE_FULL",
            Self::LoadNotEnoughNc => "NRT_LOAD_NOT_ENOUGH_NC",
            Self::UnsupportedNeffVersion => "NRT_UNSUPPORTED_NEFF_VERSION",
            Self::FailHostMemAlloc => "NRT_FAIL_HOST_MEM_ALLOC",
            Self::Uninitialized => "NRT_UNINITIALIZED",
            Self::Closed => "NRT_CLOSED",
            Self::QueueEmpty => "NRT_QUEUE_EMPTY",
            Self::ExecUnitUnrecoverable => "NRT_EXEC_UNIT_UNRECOVERABLE",
            Self::ExecBadInput => "NRT_EXEC_BAD_INPUT",
            Self::ExecCompletedWithNumErr => "NRT_EXEC_COMPLETED_WITH_NUM_ERR",
            Self::ExecCompletedWithErr => "NRT_EXEC_COMPLETED_WITH_ERR",
            Self::ExecNcBusy => "NRT_EXEC_NC_BUSY",
            Self::ExecOob => "NRT_EXEC_OOB",
            Self::CollPending => "NRT_COLL_PENDING",
            Self::ExecHwErrCollectives => "NRT_EXEC_HW_ERR_COLLECTIVES",
            Self::ExecHwErrHbmUe => "NRT_EXEC_HW_ERR_HBM_UE",
            Self::ExecHwErrNcUe => "NRT_EXEC_HW_ERR_NC_UE",
            Self::ExecHwErrDmaAbort => "NRT_EXEC_HW_ERR_DMA_ABORT",
            Self::ExecSwNqOverflow => "NRT_EXEC_SW_NQ_OVERFLOW",
            Self::ExecHwErrRepairableHbmUe => "NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE",
            Self::NetworkProxyFailure => "NRT_NETWORK_PROXY_FAILURE",
        }
    }
}

impl core::fmt::Display for Status {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
