//! Why a request was not made or not done.

use core::fmt;

use nrt_core::driver::Errno;

/// Bytes in 4 GiB, the first size 32 bits cannot hold.
pub(crate) const FOUR_GIB: u64 = 1 << 32;

/// A request that was never made, because the driver would do harm with it or cannot take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// This process is a fork of the one that connected. The driver would end it at its next allocation.
    Forked {
        /// Process that connected.
        owner: u32,
        /// Process that calls.
        caller: u32,
    },
    /// No device of this number is connected.
    NoSuchDevice(u32),
    /// The device is not open, or is being opened or closed.
    NotOpen(u32),
    /// The device is open already; a second descriptor's close would free the first one's memory.
    AlreadyOpen(u32),
    /// Requests are under way on the device that is to be closed.
    InUse(u32),
    /// Mappings remain on the device that is to be closed. They would come to show memory of somebody else.
    StillMapped {
        /// The device.
        device: u32,
        /// Number of mappings.
        mappings: u32,
    },
    /// A length of 0, which the driver reads as 64 KiB.
    ZeroLength,
    /// Memory of 0 bytes.
    ZeroSize,
    /// Offset and size leave the range.
    OutOfBounds {
        /// First byte.
        offset: u64,
        /// Bytes.
        size: u64,
        /// Bytes of the range.
        limit: u64,
    },
    /// This driver has no 64-bit requests, and the size does not fit 32 bits.
    NeedsSixtyFourBit {
        /// Bytes, alignment included.
        size: u64,
    },
    /// This driver cannot align, and over-allocation cannot stand in: not a power of two, or larger than 2^31 − 1.
    Alignment(u64),
    /// Host memory cannot be aligned beyond a page.
    HostAlignment(u64),
    /// The contiguous category in host memory: the driver dereferences null at its release.
    ContiguousInHostMemory,
    /// This driver does not have the contiguous category.
    NoContiguous,
    /// An asynchronous copy of more than 133,169,152 bytes: ring entries of the core would be lost to everybody.
    AsyncTooLarge {
        /// Bytes.
        size: u64,
    },
    /// This driver has no transfers without a bounce buffer.
    NoZeroCopy,
    /// A wait handle that is neither 1 nor 2.
    WaitHandle(i32),
    /// The chunk ends at the top of its HBM; drivers before 2.28 map it to a wrong place.
    MapsToWrongPlace {
        /// First byte behind the chunk.
        end: u64,
    },
}

impl Refusal {
    /// The number the driver answers, or would answer, if it checked.
    #[must_use]
    pub const fn errno(self) -> Errno {
        match self {
            Self::Forked { .. } => Errno::EACCES,
            Self::NotOpen(_) => Errno(9),
            Self::AlreadyOpen(_) => Errno(114),
            Self::InUse(_) | Self::StillMapped { .. } => Errno::EBUSY,
            Self::ZeroSize => Errno::ENOMEM,
            Self::NoZeroCopy => Errno::ENOTSUPP,
            _ => Errno::EINVAL,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Forked { owner, caller } => {
                write!(f, "process {caller} is a fork of process {owner}, which opened the devices; it has to connect by itself")
            }
            Self::NoSuchDevice(device) => write!(f, "there is no device {device}"),
            Self::NotOpen(device) => write!(f, "device {device} is not open"),
            Self::AlreadyOpen(device) => write!(f, "device {device} is open already"),
            Self::InUse(device) => write!(f, "device {device} has requests under way"),
            Self::StillMapped { device, mappings } => write!(f, "device {device} still has {mappings} mappings"),
            Self::ZeroLength => f.write_str("a copy or fill of 0 bytes"),
            Self::ZeroSize => f.write_str("an allocation of 0 bytes"),
            Self::OutOfBounds { offset, size, limit } => {
                write!(f, "{size} bytes at offset {offset} are not inside the {limit} bytes of the range")
            }
            Self::NeedsSixtyFourBit { size } => {
                write!(f, "{size} bytes need the 64-bit requests, which this driver does not have")
            }
            Self::Alignment(align) => write!(f, "this driver cannot align to {align} bytes, and neither can this client"),
            Self::HostAlignment(align) => write!(f, "host memory cannot be aligned to {align} bytes"),
            Self::ContiguousInHostMemory => f.write_str("contiguous scratchpad memory is never host memory"),
            Self::NoContiguous => f.write_str("this driver has no contiguous scratchpad memory"),
            Self::AsyncTooLarge { size } => {
                write!(f, "an asynchronous copy of {size} bytes, at most {} are possible", super::copy::ASYNC_BYTES)
            }
            Self::NoZeroCopy => f.write_str("this driver has no transfers without a bounce buffer"),
            Self::WaitHandle(handle) => write!(f, "no copy has the handle {handle}, expected 1 or 2"),
            Self::MapsToWrongPlace { end } => {
                write!(f, "the chunk ends at {end:#x}, the top of its HBM, where this driver maps a wrong place")
            }
        }
    }
}

/// Why a request was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It was not made.
    Refused(Refusal),
    /// The driver, or the system, said no.
    Driver {
        /// Request or system call.
        request: &'static str,
        /// Its answer, [`Errno::SHORT`] for a positive return value.
        errno: Errno,
    },
}

impl Fault {
    /// The number alone.
    #[must_use]
    pub const fn errno(self) -> Errno {
        match self {
            Self::Refused(refusal) => refusal.errno(),
            Self::Driver { errno, .. } => errno,
        }
    }

    /// What the number means where it came from (`driver-abi` §5).
    #[must_use]
    pub fn meaning(self) -> Option<&'static str> {
        let Self::Driver { request, errno } = self else { return None };
        Some(match (request, errno) {
            ("open", Errno::EBUSY) => "16 other processes are attached to the device",
            ("open", Errno::EINVAL) => "the device is in an invalid state",
            ("open", Errno::EINTR) => "a signal to end came while the device was resetting",
            ("open", Errno::EACCES) => "the device node may not be opened by this user",
            (name, Errno::ENOMEM) if name.starts_with("MEM_ALLOC") => "no room",
            (name, Errno::ENOMEM) if is_copy(name) => "the copy ring of the core has no free entries",
            (name, Errno::EPERM) if is_copy(name) => "the DMA failed or timed out",
            ("mmap", Errno::EPERM) => "not the start and length of a chunk",
            (name, Errno::ENOENT) if name.starts_with("MEM_ALLOC") => "the handle table is exhausted",
            (_, Errno::EACCES) => "the process is not attached to the device",
            (_, Errno::SHORT) => "the driver could not read or write all bytes",
            (_, Errno::ENOTSUPP) => "not supported on this architecture",
            _ => return None,
        })
    }
}

fn is_copy(name: &str) -> bool {
    name.starts_with("MEM_COPY") || name.starts_with("MEM_BUF") || name.starts_with("MEMSET")
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Driver { request, errno } => {
                write!(f, "{request}: {errno}")?;
                self.meaning().map_or(Ok(()), |meaning| write!(f, " ({meaning})"))
            }
        }
    }
}

impl core::error::Error for Fault {}
