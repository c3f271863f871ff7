//! The only door to the kernel driver.
//!
//! Dispatch is static. Every request names a [`DeviceRange`], the documented 64-byte `ndl_mem_info_t` that lives beside
//! the node it belongs to; the core never passes a raw handle plus an offset, so an implementation that carves ranges
//! out of larger chunks can add its own offset (fact sheets `driver-abi` §§9–13, `nrt-api` §8).

mod fault;
mod shared;

pub use fault::FaultInjector;

use core::fmt;
use core::ptr::NonNull;

use crate::abi::ndl_mem_info_t;

/// A piece of device or pinned host memory as the driver library describes it.
///
/// `driver_handle`, `pa`, `mmap_offset` and `size` are the driver's answers; `size` is the size the driver reserved
/// (rounded up to its granule). `device` is opaque to implementations.
pub type DeviceRange = ndl_mem_info_t;

/// Architecture number of the C interface: SUNDA 2, CAYMAN 3, MARIANA 4.
pub use crate::arch::Arch;

/// Which request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum Call {
    /// [`Driver::probe`].
    Probe,
    /// [`Driver::open`].
    Open,
    /// [`Driver::close`].
    Close,
    /// [`Driver::routing_ids`].
    RoutingIds,
    /// [`Driver::alloc`].
    Alloc,
    /// [`Driver::free`].
    Free,
    /// [`Driver::map`].
    Map,
    /// [`Driver::unmap`].
    Unmap,
    /// [`Driver::copy`].
    Copy,
    /// [`Driver::copy_start`].
    CopyStart,
    /// [`Driver::copy_wait`].
    CopyWait,
    /// [`Driver::write`].
    Write,
    /// [`Driver::read`].
    Read,
    /// [`Driver::fill`].
    Fill,
}

impl Call {
    /// Every kind of request, in declaration order.
    pub const ALL: [Self; 14] = [
        Self::Probe,
        Self::Open,
        Self::Close,
        Self::RoutingIds,
        Self::Alloc,
        Self::Free,
        Self::Map,
        Self::Unmap,
        Self::Copy,
        Self::CopyStart,
        Self::CopyWait,
        Self::Write,
        Self::Read,
        Self::Fill,
    ];

    /// Name for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Open => "open",
            Self::Close => "close",
            Self::RoutingIds => "routing ids",
            Self::Alloc => "memory alloc",
            Self::Free => "memory free",
            Self::Map => "memory map",
            Self::Unmap => "memory unmap",
            Self::Copy => "copy",
            Self::CopyStart => "copy start",
            Self::CopyWait => "copy wait",
            Self::Write => "buffer copy-in",
            Self::Read => "buffer copy-out",
            Self::Fill => "memset",
        }
    }
}

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

/// Result of a driver request.
pub type DriverResult<T> = Result<T, Errno>;

/// Feature bits of the driver (`driver-abi` §7).
pub mod feature {
    /// Asynchronous handle-to-handle copies.
    pub const ASYNC_DMA: u64 = 1 << 1;
    /// Allocation with a category.
    pub const MEM_ALLOC_TYPE: u64 = 1 << 4;
    /// 64-bit sizes.
    pub const MEM_ALLOC64: u64 = 1 << 6;
    /// Category 19.
    pub const CONTIGUOUS_SCRATCHPAD: u64 = 1 << 7;
    /// Zero-copy transfers.
    pub const ZEROCOPY: u64 = 1 << 8;
}

/// What the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Architecture of all devices.
    pub arch: Arch,
    /// Board revision (PCI revision id).
    pub revision: u16,
    /// Number of devices this process can open, indices `0..devices`.
    pub devices: u32,
    /// Cores of each device.
    pub cores_per_device: u32,
    /// Feature bits, see [`feature`].
    pub features: u64,
}

/// What opening a device tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenedDevice {
    /// Index of the device on the host (containers renumber), or `u32::MAX` when unknown.
    pub host_device_id: u32,
    /// PCI bus, slot and function, or `None` when unknown.
    pub bdf: Option<(u8, u8, u8)>,
}

/// Arguments of one allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocRequest {
    /// Bytes wanted, before the driver rounds up.
    pub size: u64,
    /// Alignment of the physical address in bytes; 0 or 1 for none beyond the driver's granule.
    pub align: u64,
    /// Pinned host memory instead of HBM.
    pub host: bool,
    /// HBM channel.
    pub channel: u32,
    /// Core in the device used for copies and accounting.
    pub nc_id: u32,
    /// Driver category (`mem_alloc_category_t`).
    pub category: u8,
}

/// Routing ids by host device id (`context-tree` §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutingIds {
    /// `map[host_device_id]`.
    pub map: [u32; 64],
    /// Valid entries.
    pub count: u32,
}

/// The kernel driver, or something that behaves like it.
///
/// # Safety
/// The core builds on these guarantees:
/// * a range that [`alloc`](Driver::alloc) filled names memory no other live range overlaps, until [`free`](Driver::free)
///   returned `Ok`;
/// * a mapping that [`map`](Driver::map) returned spans all `range.size` bytes, readable and writable, until
///   [`unmap`](Driver::unmap) of it returned `Ok`;
/// * [`read`](Driver::read) and [`write`](Driver::write) touch nothing outside the buffer they are given.
///
/// # Concurrency
/// Any method may be called from any thread at any time. The core never frees a range while another call on it runs.
pub unsafe trait Driver: Sync {
    /// Architecture, devices, features. The first request of a runtime.
    ///
    /// # Errors
    /// [`Errno::ENODEV`] when there is no device, else what the driver answered.
    fn probe(&self) -> DriverResult<Probe>;

    /// The host-device-id → routing-id map.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] when the driver does not know the request; the core then leaves the map empty.
    fn routing_ids(&self) -> DriverResult<RoutingIds>;

    /// Opens a device for this process.
    ///
    /// # Errors
    /// [`Errno::EBUSY`] when too many processes hold it, [`Errno::EINVAL`] when the index does not exist.
    fn open(&self, device: u32) -> DriverResult<OpenedDevice>;

    /// Closes a device. The driver then frees whatever this process still holds on it.
    ///
    /// # Errors
    /// What the driver answered.
    fn close(&self, device: u32) -> DriverResult<()>;

    /// Reserves memory on `device` and describes it in `range`. On failure `range` is left as it was.
    ///
    /// # Errors
    /// [`Errno::ENOMEM`] when there is no room or `size` is 0; [`Errno::EINVAL`] for a channel, core or alignment out of
    /// range and for host memory with an alignment; [`Errno::ENOENT`] when the handle table is full.
    fn alloc(&self, device: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()>;

    /// Gives a range back. Its mapping is gone by then.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] when the handle is not live; anything else means that the driver still holds the range.
    fn free(&self, device: u32, range: &DeviceRange) -> DriverResult<()>;

    /// Maps the whole range into this process.
    ///
    /// # Errors
    /// What the driver answered; nothing is mapped then.
    fn map(&self, device: u32, range: &DeviceRange) -> DriverResult<NonNull<u8>>;

    /// Removes a mapping of [`map`](Driver::map).
    ///
    /// # Errors
    /// What the driver answered; the mapping may remain then.
    ///
    /// # Safety
    /// `address` is the result of one `map` call for this range that has not been unmapped, and nothing refers to it.
    unsafe fn unmap(&self, device: u32, range: &DeviceRange, address: NonNull<u8>) -> DriverResult<()>;

    /// Copies `size` bytes between two ranges of one device, synchronously. `size` is never 0.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] when an offset plus `size` lies beyond a range, [`Errno::EPERM`] when the DMA failed.
    fn copy(
        &self,
        device: u32,
        src: &DeviceRange,
        src_offset: u64,
        dst: &DeviceRange,
        dst_offset: u64,
        size: u64,
    ) -> DriverResult<()>;

    /// Starts a copy, then waits for the earlier one that `*wait` names, then stores the new one's handle in `*wait`.
    /// −1 = nothing to wait for; 0 = synchronous. At most two copies of one core are in flight, the caller serialises.
    ///
    /// # Errors
    /// As [`copy`](Driver::copy); which of the two copies failed is not told.
    #[expect(clippy::too_many_arguments, reason = "the request of the driver has these fields")]
    fn copy_start(
        &self,
        device: u32,
        src: &DeviceRange,
        src_offset: u64,
        dst: &DeviceRange,
        dst_offset: u64,
        size: u64,
        prefetch: u64,
        wait: &mut i32,
    ) -> DriverResult<()>;

    /// Waits for the copy `wait` between the same two ranges.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] when `wait` is neither 1 nor 2, [`Errno::EPERM`] when the DMA failed.
    fn copy_wait(&self, device: u32, src: &DeviceRange, dst: &DeviceRange, wait: i32) -> DriverResult<()>;

    /// Copies a buffer of this process into a range.
    ///
    /// # Errors
    /// As [`copy`](Driver::copy); [`Errno::SHORT`] when the buffer could not be read.
    fn write(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &[u8]) -> DriverResult<()>;

    /// Copies from a range into a buffer of this process.
    ///
    /// # Errors
    /// As [`copy`](Driver::copy); [`Errno::SHORT`] when the buffer could not be written.
    fn read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()>;

    /// Sets `size` bytes to `value`. `size` is never 0.
    ///
    /// # Errors
    /// As [`copy`](Driver::copy).
    fn fill(&self, device: u32, range: &DeviceRange, offset: u64, value: u8, size: u64) -> DriverResult<()>;
}
