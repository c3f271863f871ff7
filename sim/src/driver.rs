//! [`Driver`] for the in-process model.

use core::ptr::{self, NonNull};

use nrt_core::driver::{
    AllocRequest, ChunkInfo, CopyBatch, DeviceRange, Driver, DriverResult, Errno, OpenedDevice, Probe, RoutingIds, feature,
};

use crate::bytes;
use crate::kernel::Span;
use crate::sim::Sim;

/// `EBADF`: the device is not open.
const EBADF: Errno = Errno(9);

impl Sim {
    /// Moves the bytes of one span to another of the same length.
    fn move_bytes(&self, src: &Span, dst: &Span) -> DriverResult<()> {
        let (from, to) = (self.address(src)?, self.address(dst)?);
        let bytes = usize::try_from(src.bytes.min(dst.bytes)).map_err(|_| Errno::EINVAL)?;
        // SAFETY: both spans were bounded by the kernel model, so all their bytes lie in mapped regions of modelled
        // memory, which may be shared.
        unsafe { bytes::copy(from.as_ptr(), to.as_ptr(), bytes) };
        Ok(())
    }
}

impl Sim {
    /// Zero-copy requests came with 2.25, and with them their feature bit.
    fn has_zero_copy(&self) -> DriverResult<()> {
        let has = self.kernel().config().features() & feature::ZEROCOPY != 0;
        if has { Ok(()) } else { Err(Errno::ENOTSUPP) }
    }
}

// SAFETY:
// * Live chunks do not overlap: a pool's records partition it, a chunk is cut out of one free run under the device's
//   lock, and pools lie in disjoint parts of disjoint regions. A chunk becomes a free run only in `free` or `close`.
// * `map` answers the address of the chunk in a region that the backing keeps mapped for ever, and the chunk lies inside
//   the region with all its bytes.
// * `read` writes to the given slice only, exactly its length, and so does its zero-copy form; `write` writes to modelled
//   memory only; a batch touches the buffers of its operations only.
// * A started copy is complete when the start returns.
unsafe impl Driver for Sim {
    fn probe(&self) -> DriverResult<Probe> {
        let config = self.kernel().config();
        Ok(Probe {
            arch: config.arch,
            revision: config.revision,
            devices: config.devices,
            cores_per_device: config.cores_per_device,
            features: config.features(),
        })
    }

    fn routing_ids(&self) -> DriverResult<RoutingIds> {
        Ok(self.kernel().config().routing_ids())
    }

    fn open(&self, device: u32) -> DriverResult<OpenedDevice> {
        self.kernel().open(self.pid(), device)?;
        Ok(OpenedDevice { host_device_id: self.kernel().config().host_device_id(device), bdf: None })
    }

    fn close(&self, device: u32) -> DriverResult<()> {
        if !self.kernel().is_attached(self.pid(), device) {
            return Err(EBADF);
        }
        self.kernel().close(self.pid(), device).map(drop)
    }

    fn alloc(&self, device: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()> {
        let chunk = self.allocate(device, request)?;
        range.driver_handle = chunk.handle;
        range.pa = chunk.pa;
        range.mmap_offset = chunk.pa;
        range.size = chunk.size;
        // The driver refuses larger ones than 2^31 - 1.
        range.align = request.align as u32;
        range.mmap_va = ptr::null_mut();
        range.host_memory = chunk.host.into();
        range.nc_id = chunk.nc_id as i32;
        Ok(())
    }

    fn free(&self, device: u32, range: &DeviceRange) -> DriverResult<()> {
        let handle = self.handle(device, range)?;
        self.kernel().free(self.pid(), device, handle)
    }

    fn map(&self, device: u32, range: &DeviceRange) -> DriverResult<NonNull<u8>> {
        let handle = self.handle(device, range)?;
        let chunk = self.kernel().map(device, handle)?;
        self.address(&chunk.span)
    }

    unsafe fn unmap(&self, device: u32, range: &DeviceRange, address: NonNull<u8>) -> DriverResult<()> {
        let handle = self.handle(device, range)?;
        if self.address(&self.kernel().chunk(device, handle)?.span)? != address {
            return Err(Errno::EINVAL);
        }
        self.kernel().unmap(device, handle)
    }

    fn copy(
        &self,
        device: u32,
        src: &DeviceRange,
        src_offset: u64,
        dst: &DeviceRange,
        dst_offset: u64,
        size: u64,
    ) -> DriverResult<()> {
        let (from, to) = (self.handle(device, src)?, self.handle(device, dst)?);
        let (from, to) = self.kernel().copy(device, (from, src_offset), (to, dst_offset), size)?;
        self.move_bytes(&from, &to)
    }

    /// The copy is complete on return; only the protocol of starting and waiting is that of an asynchronous one.
    fn copy_start(
        &self,
        device: u32,
        src: &DeviceRange,
        src_offset: u64,
        dst: &DeviceRange,
        dst_offset: u64,
        size: u64,
        _prefetch: u64,
        wait: &mut i32,
    ) -> DriverResult<()> {
        let (from, to) = (self.handle(device, src)?, self.handle(device, dst)?);
        let started = self.kernel().copy_start(device, (from, src_offset), (to, dst_offset), size, *wait)?;
        self.move_bytes(&started.src, &started.dst)?;
        *wait = started.wait;
        Ok(())
    }

    fn copy_wait(&self, device: u32, src: &DeviceRange, dst: &DeviceRange, wait: i32) -> DriverResult<()> {
        let (from, to) = (self.handle(device, src)?, self.handle(device, dst)?);
        self.kernel().copy_wait(device, from, to, wait)
    }

    fn write(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &[u8]) -> DriverResult<()> {
        let handle = self.handle(device, range)?;
        let span = self.kernel().access(device, handle, offset, bytes.len() as u64)?;
        let to = self.address(&span)?;
        // SAFETY: the slice is readable and not written by others; the span was bounded to the slice's length by the
        // kernel model and lies in modelled memory.
        unsafe { bytes::copy(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        let handle = self.handle(device, range)?;
        let span = self.kernel().access(device, handle, offset, bytes.len() as u64)?;
        let from = self.address(&span)?;
        // SAFETY: the slice is exclusively ours for its length; the span was bounded to that length by the kernel model
        // and lies in modelled memory.
        unsafe { bytes::copy(from.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn fill(&self, device: u32, range: &DeviceRange, offset: u64, value: u8, size: u64) -> DriverResult<()> {
        let handle = self.handle(device, range)?;
        let span = self.kernel().fill(device, handle, offset, size)?;
        let to = self.address(&span)?;
        let size = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
        // SAFETY: the span was bounded by the kernel model and lies in modelled memory.
        unsafe { bytes::fill(to.as_ptr(), value, size) };
        Ok(())
    }

    fn zero_copy_write(
        &self,
        device: u32,
        range: &DeviceRange,
        offset: u64,
        bytes: &[u8],
        window_bytes: u32,
    ) -> DriverResult<()> {
        self.has_zero_copy()?;
        let handle = self.handle(device, range)?;
        let size = bytes.len() as u64;
        let span = self.kernel().zero_copy(device, handle, offset, size, true, window_bytes.into())?;
        let to = self.address(&span)?;
        // SAFETY: as in `write`.
        unsafe { bytes::copy(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn zero_copy_read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        self.has_zero_copy()?;
        let handle = self.handle(device, range)?;
        let span = self.kernel().zero_copy(device, handle, offset, bytes.len() as u64, false, 0)?;
        let from = self.address(&span)?;
        // SAFETY: as in `read`.
        unsafe { bytes::copy(from.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// In order, until one fails, as the driver does it.
    unsafe fn copy_batches(
        &self,
        device: u32,
        batches: &[CopyBatch<'_>],
        to_device: bool,
        window_bytes: u16,
    ) -> DriverResult<()> {
        self.has_zero_copy()?;
        if batches.is_empty() {
            return Err(Errno::EINVAL);
        }
        for batch in batches {
            let handle = self.handle(device, batch.range)?;
            if batch.operations.is_empty() {
                return Err(Errno::EINVAL);
            }
            for operation in batch.operations {
                let offset = batch.offset.wrapping_add(operation.offset);
                let span = self.kernel().zero_copy(device, handle, offset, operation.size, to_device, window_bytes.into())?;
                let memory = self.address(&span)?.as_ptr();
                let buffer = operation.buffer.cast::<u8>();
                if buffer.is_null() {
                    return Err(Errno::EINVAL);
                }
                let (from, to) = if to_device { (buffer, memory) } else { (memory, buffer) };
                // SAFETY: the span was bounded by the kernel model and lies in modelled memory; the caller promises the
                // buffer, whose size therefore fits `usize`.
                unsafe { bytes::copy(from, to, operation.size as usize) };
            }
        }
        Ok(())
    }

    fn chunks(&self, device: u32, channel: u32, chunks: &mut [ChunkInfo]) -> DriverResult<u32> {
        let count = self.kernel().for_each_chunk(device, channel, |index, entry| {
            if let Some(chunk) = chunks.get_mut(index) {
                *chunk = ChunkInfo { pa: entry.pa, size: entry.size, mem_type: entry.category, pad_14: [0; 4] };
            }
        });
        u32::try_from(count).map_err(|_| Errno::EINVAL)
    }
}
