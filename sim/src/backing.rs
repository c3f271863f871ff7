//! The memory behind the modelled devices, supplied by the platform.

use core::fmt;
use core::ptr::NonNull;

/// A contiguous piece of modelled physical memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// One HBM channel of a device.
    Hbm {
        /// Device index.
        device: u32,
        /// Channel index in the device.
        channel: u32,
    },
    /// The window of pinned host memory of a device.
    Host {
        /// Device index.
        device: u32,
    },
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Hbm { device, channel } => write!(f, "HBM {channel} of device {device}"),
            Self::Host { device } => write!(f, "the host window of device {device}"),
        }
    }
}

/// Gives the model the bytes of its regions.
///
/// One call per region, all of them while [`Sim::new`](crate::Sim::new) runs. A good implementation maps sparse,
/// lazily committed memory (an HBM is 16 to 36 GiB): for instance one `memfd` a region, grown to `bytes`, mapped
/// `MAP_SHARED | MAP_NORESERVE`.
///
/// # Safety
/// A returned pointer names a mapping that
/// * is aligned to 4 KiB, spans `bytes` bytes, is readable and writable, and reads as zero at first;
/// * stays mapped at that address until the process ends;
/// * overlaps no other region and no object of the program: only the model and those it gives a mapping to use it.
///
/// # Concurrency
/// Called from one thread.
pub unsafe trait Backing {
    /// The mapping behind `region`, or `None` when there is none to be had.
    fn region(&self, region: Region, bytes: u64) -> Option<NonNull<u8>>;
}
