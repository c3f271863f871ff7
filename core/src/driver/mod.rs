//! The only door to the kernel driver.
//!
//! Dispatch is static. Every request names a [`DeviceRange`], the documented 64-byte `ndl_mem_info_t` that lives beside
//! the node it belongs to; the core never passes a raw handle plus an offset, so an implementation that carves ranges
//! out of larger chunks can add its own offset (fact sheets `driver-abi` §§9–13, `nrt-api` §8).

mod call;
mod errno;
mod fault;
mod forward;

pub use call::Call;
pub use errno::Errno;
pub use fault::FaultInjector;
pub use forward::ForwardDriver;

use core::ptr::NonNull;

use crate::abi::driver::neuron_ioctl_mem_chunk_info;
use crate::abi::{ndl_mem_info_t, nrt_tensor_batch_op_t};

/// A piece of device or pinned host memory as the driver library describes it.
///
/// `driver_handle`, `pa`, `mmap_offset` and `size` are the driver's answers; `size` is the size the driver reserved
/// (rounded up to its granule). `device` is opaque to implementations.
pub type DeviceRange = ndl_mem_info_t;

/// A chunk of memory in the driver's list: address, bytes, category.
pub type ChunkInfo = neuron_ioctl_mem_chunk_info;

/// One piece of a batch: offset, bytes, and the host memory they come from or go to.
pub type BatchOperation = nrt_tensor_batch_op_t;

/// Architecture number of the C interface: SUNDA 2, CAYMAN 3, MARIANA 4.
pub use crate::arch::Arch;

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

/// The pieces of a batch that concern one range.
#[derive(Clone, Copy, Debug)]
pub struct CopyBatch<'a> {
    /// The range.
    pub range: &'a DeviceRange,
    /// Where in the range the operations count from, in bytes.
    pub offset: u64,
    /// The pieces, in order; their sizes are not 0.
    pub operations: &'a [BatchOperation],
}

/// The kernel driver, or something that behaves like it.
///
/// A driver that passes requests on to another one implements [`ForwardDriver`] instead.
///
/// # Safety
/// The core builds on these guarantees:
/// * a range that [`alloc`](Driver::alloc) filled names memory no other live range overlaps, until [`free`](Driver::free)
///   returned `Ok`;
/// * a mapping that [`map`](Driver::map) returned spans all `range.size` bytes, readable and writable, until
///   [`unmap`](Driver::unmap) of it returned `Ok`;
/// * [`read`](Driver::read), [`write`](Driver::write), their zero-copy forms and
///   [`copy_batches`](Driver::copy_batches) touch nothing outside the buffers they are given;
/// * a copy that [`copy_start`](Driver::copy_start) started touches no memory any more after a
///   [`copy_wait`](Driver::copy_wait) with its handle answered `Ok`, or [`Errno::EINVAL`] (there is no such copy).
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
    /// range and for host memory with an alignment; [`Errno::ENOENT`] when the handle table is full;
    /// [`Errno::ENOTSUPP`] when this driver cannot align at all: the core then aligns by itself.
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

    /// Copies a buffer of this process into a range of device memory without a bounce buffer. Writes of at most
    /// `window_bytes` may go through the PCI window instead of DMA. `bytes` is never empty.
    ///
    /// # Errors
    /// [`Errno::ENOTSUPP`] when this driver has no such request; else as [`copy`](Driver::copy), [`Errno::EFAULT`] and
    /// [`Errno::ENOMEM`] when the pages cannot be pinned. Part of the bytes may have been copied then.
    fn zero_copy_write(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &[u8], window_bytes: u32)
    -> DriverResult<()>;

    /// Copies from a range into a buffer of this process without a bounce buffer. `bytes` is never empty.
    ///
    /// # Errors
    /// As [`zero_copy_write`](Driver::zero_copy_write).
    fn zero_copy_read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()>;

    /// Copies many pieces without a bounce buffer, in order, between ranges of one device and buffers of this process: into
    /// the ranges if `to_device`, else out of them (the polarity of the driver's own field, errata 24). Not atomic.
    ///
    /// # Errors
    /// [`Errno::ENOTSUPP`] when this driver has no such request, [`Errno::EINVAL`] when a piece is empty or not inside its
    /// range; else as [`zero_copy_write`](Driver::zero_copy_write). Some pieces may have been copied then.
    ///
    /// # Safety
    /// The buffer of each operation is valid for its size during the call, for reads if `to_device` and else for writes
    /// that nothing else observes.
    unsafe fn copy_batches(&self, device: u32, batches: &[CopyBatch<'_>], to_device: bool, window_bytes: u16)
    -> DriverResult<()>;

    /// Lists the chunks of an HBM in the order of their addresses, those of other processes and of the firmware included,
    /// and gives their number. When that is more than `chunks` has room for, what was written there means nothing.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] when the driver does not know the request.
    fn chunks(&self, device: u32, channel: u32, chunks: &mut [ChunkInfo]) -> DriverResult<u32>;
}
