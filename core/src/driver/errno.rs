//! The driver's answers that are not success.

use core::fmt;

/// A positive Linux error number. The driver's positive return values (bytes not copied) arrive here as
/// [`Errno::SHORT`], 524 unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// Operation not permitted; a DMA failure or time-out inside the driver.
    pub const EPERM: Self = Self(1);
    /// No such entry: the handle table is exhausted.
    pub const ENOENT: Self = Self(2);
    /// Interrupted.
    pub const EINTR: Self = Self(4);
    /// Input or output error.
    pub const EIO: Self = Self(5);
    /// Out of device or pinned host memory.
    pub const ENOMEM: Self = Self(12);
    /// The process is not attached to the device.
    pub const EACCES: Self = Self(13);
    /// Bad address.
    pub const EFAULT: Self = Self(14);
    /// Busy.
    pub const EBUSY: Self = Self(16);
    /// No such device.
    pub const ENODEV: Self = Self(19);
    /// Bad handle, range, channel, core, alignment, or an unknown request.
    pub const EINVAL: Self = Self(22);
    /// The request does not exist in this driver.
    pub const ENOTSUPP: Self = Self(524);
    /// The request returned a positive number: some bytes could not be copied.
    pub const SHORT: Self = Self(i32::MAX);
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::EPERM => "EPERM",
            Self::ENOENT => "ENOENT",
            Self::EINTR => "EINTR",
            Self::EIO => "EIO",
            Self::ENOMEM => "ENOMEM",
            Self::EACCES => "EACCES",
            Self::EFAULT => "EFAULT",
            Self::EBUSY => "EBUSY",
            Self::ENODEV => "ENODEV",
            Self::EINVAL => "EINVAL",
            Self::ENOTSUPP => "ENOTSUPP",
            Self::SHORT => "positive return value",
            Self(number) => return write!(f, "errno {number}"),
        };
        f.write_str(name)
    }
}
