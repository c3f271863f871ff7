//! Copies and fills (`driver-abi` §13).
#![allow(unsafe_code, reason = "sends requests whose structs point to memory")]

use nrt_core::abi::neuron_memcpy_batch_t;
use nrt_core::driver::{BatchOperation, CopyBatch, DeviceRange, Errno};

use super::connect::LinuxDriver;
use super::fault::{FOUR_GIB, Fault, Refusal};
use super::slot::InUse;
use super::system::System;
use crate::request::{
    Buffer, ChunkCopy, MemBufCopy, MemBufCopy64, MemBufZerocopy64, MemBufZerocopy64Batches, MemCopy, MemCopy64, MemCopyAsync,
    MemCopyAsync64, MemCopyAsyncWait, Memset, Memset64, Pieces,
};

/// Bytes of one asynchronous copy at most: 2032 descriptors of 64 KiB.
pub const ASYNC_BYTES: u64 = 2032 * 65536;

/// Bytes of one buffer copy at most. The driver counts with 32 bits and would copy the size modulo 4 GiB.
const PIECE: usize = 1 << 30;
const _: () = assert!((PIECE as u64) < FOUR_GIB);

/// Writes of at most this many bytes go through the PCI window when they can (`lnc` §7, direct window writes).
const WINDOW_BYTES: u16 = 4096;

/// Pieces of one batch request.
const BATCH: usize = 32;

impl<S: System> LinuxDriver<S> {
    /// Start of an access in the chunk, if the access is inside the range. Drivers up to 2.25 do not notice when offset
    /// plus size wraps, so the check is here.
    fn inside(range: &DeviceRange, offset: u64, size: u64) -> Result<u64, Refusal> {
        let outside = Refusal::OutOfBounds { offset, size, limit: range.size };
        if offset.checked_add(size).is_none_or(|end| end > range.size) {
            return Err(outside);
        }
        Self::start(range).checked_add(offset).ok_or(outside)
    }

    /// A copy between two ranges, in the driver's terms.
    fn chunk_copy(
        (src, src_offset): (&DeviceRange, u64),
        (dst, dst_offset): (&DeviceRange, u64),
        size: u64,
    ) -> Result<ChunkCopy, Refusal> {
        let src_offset = Self::inside(src, src_offset, size)?;
        let dst_offset = Self::inside(dst, dst_offset, size)?;
        if size == 0 {
            return Err(Refusal::ZeroLength);
        }
        Ok(ChunkCopy { src: src.driver_handle, src_offset, dst: dst.driver_handle, dst_offset, size })
    }

    /// Copies between two ranges of one device; waits in the kernel, which polls and cannot be interrupted.
    ///
    /// # Errors
    /// [`Fault`]; `EPERM` means that the DMA failed or timed out, `ENOMEM` that the core's ring is full.
    pub fn copy_between(&self, device: u32, src: (&DeviceRange, u64), dst: (&DeviceRange, u64), size: u64) -> Result<(), Fault> {
        let copy = Self::chunk_copy(src, dst, size)?;
        let open = self.enter(device)?;
        self.copy_chunks(&open, &copy)
    }

    fn copy_chunks(&self, open: &InUse<'_>, copy: &ChunkCopy) -> Result<(), Fault> {
        if self.machine.forms.wide {
            return self.ask(open, MemCopy64::new(copy)).map(drop);
        }
        // Chunks of a driver with 32-bit requests are smaller than 4 GiB, so one request does; a size that 32 bits do
        // not hold is not truncated but refused.
        let request = MemCopy::new(copy).ok_or(Refusal::NeedsSixtyFourBit { size: copy.size })?;
        self.ask(open, request).map(drop)
    }

    /// Starts a copy, then waits for the earlier one that `wait` names (−1 none, 0 be synchronous, else 1 or 2), then
    /// stores the new handle. Without asynchronous copies in the driver, the copy is complete on return, and the handles
    /// go on as if it were not.
    ///
    /// # Errors
    /// [`Refusal::AsyncTooLarge`] beyond [`ASYNC_BYTES`], [`Refusal::WaitHandle`], else as
    /// [`copy_between`](Self::copy_between).
    ///
    /// # Concurrency
    /// The two contexts belong to the queue of the source's core (the destination's, if the source is host memory): one
    /// user of that core at a time, processes included.
    pub fn start_copy(
        &self,
        device: u32,
        src: (&DeviceRange, u64),
        dst: (&DeviceRange, u64),
        size: u64,
        prefetch: u64,
        wait: &mut i32,
    ) -> Result<(), Fault> {
        let copy = Self::chunk_copy(src, dst, size)?;
        if size > ASYNC_BYTES {
            return Err(Refusal::AsyncTooLarge { size }.into());
        }
        if !(-1..=2).contains(wait) {
            return Err(Refusal::WaitHandle(*wait).into());
        }
        let open = self.enter(device)?;
        let forms = &self.machine.forms;
        // −1 is the driver's 0xFFFF_FFFF.
        let earlier = *wait as u32;
        let handle = if !forms.asynchronous {
            self.copy_chunks(&open, &copy)?;
            match *wait {
                -1 | 2 => 1,
                1 => 2,
                _ => 0,
            }
        } else if forms.wide {
            self.ask(&open, MemCopyAsync64::new(&copy, prefetch, earlier))?.wait_handle
        } else {
            let request = MemCopyAsync::new(&copy, prefetch, earlier).ok_or(Refusal::NeedsSixtyFourBit { size: copy.size })?;
            self.ask(&open, request)?.wait_handle
        };
        *wait = handle as i32;
        Ok(())
    }

    /// Waits for the copy `wait` between the same two ranges.
    ///
    /// # Errors
    /// [`Refusal::WaitHandle`] when it is neither 1 nor 2, else [`Fault::Driver`].
    pub fn finish_copy(&self, device: u32, src: &DeviceRange, dst: &DeviceRange, wait: i32) -> Result<(), Fault> {
        if wait != 1 && wait != 2 {
            return Err(Refusal::WaitHandle(wait).into());
        }
        let open = self.enter(device)?;
        if !self.machine.forms.asynchronous {
            return Ok(());
        }
        self.ask(&open, MemCopyAsyncWait::new(src.driver_handle, dst.driver_handle, wait as u32)).map(drop)
    }

    /// Copies between a buffer and a range, in pieces of less than 4 GiB. An empty buffer is fine up to the end of the
    /// range; nothing is asked of the driver then.
    ///
    /// # Errors
    /// [`Fault`]; `SHORT` means that the buffer could not be read or written. Part of the bytes may have been copied.
    pub fn transfer(&self, device: u32, range: &DeviceRange, offset: u64, mut buffer: Buffer<'_>) -> Result<(), Fault> {
        let bytes = buffer.len();
        let start = Self::inside(range, offset, bytes as u64)?;
        let open = self.enter(device)?;
        for piece in (0..bytes).step_by(PIECE) {
            let at = start + piece as u64;
            if self.machine.forms.zero_copy && range.host_memory == 0 {
                let request = MemBufZerocopy64::new(range.driver_handle, at, buffer.piece(piece, PIECE), WINDOW_BYTES.into());
                match self.ask(&open, request) {
                    Ok(_) => continue,
                    // Pages that cannot be pinned, or a queue that refuses: the other way copies the same bytes.
                    Err(fault) if matches!(fault.errno(), Errno::EINVAL | Errno::ENOMEM | Errno::EFAULT | Errno::ENOENT) => {}
                    Err(fault) => return Err(fault),
                }
            }
            let piece = buffer.piece(piece, PIECE);
            if self.machine.forms.wide {
                self.ask(&open, MemBufCopy64::new(range.driver_handle, at, piece))?;
            } else {
                let size = piece.len() as u64;
                let request = MemBufCopy::new(range.driver_handle, at, piece).ok_or(Refusal::NeedsSixtyFourBit { size })?;
                self.ask(&open, request)?;
            }
        }
        Ok(())
    }

    /// Writes many pieces, in order: `(offset, bytes)` each. With one request per 32 pieces where the driver takes
    /// batches, else one by one. Not atomic.
    ///
    /// # Errors
    /// As [`transfer`](Self::transfer). All pieces are checked before the first is written.
    pub fn write_pieces(&self, device: u32, range: &DeviceRange, pieces: &[(u64, &[u8])]) -> Result<(), Fault> {
        for (offset, bytes) in pieces {
            Self::inside(range, *offset, bytes.len() as u64)?;
        }
        if !self.batches(range) {
            return pieces.iter().try_for_each(|(offset, bytes)| self.transfer(device, range, *offset, Buffer::In(bytes)));
        }
        for group in pieces.chunks(BATCH) {
            let mut batch = Pieces::<BATCH>::new(true);
            for (offset, bytes) in group {
                // Empty pieces are left out: the driver refuses them.
                let _ = batch.push(*offset, Buffer::In(bytes));
            }
            if let Err(fault) = self.send(device, range, &mut batch, true) {
                if fault.errno() != Errno::EINVAL {
                    return Err(fault);
                }
                group.iter().try_for_each(|(offset, bytes)| self.transfer(device, range, *offset, Buffer::In(bytes)))?;
            }
        }
        Ok(())
    }

    /// Reads many pieces, in order. As [`write_pieces`](Self::write_pieces).
    ///
    /// # Errors
    /// As [`write_pieces`](Self::write_pieces).
    pub fn read_pieces(&self, device: u32, range: &DeviceRange, pieces: &mut [(u64, &mut [u8])]) -> Result<(), Fault> {
        for (offset, bytes) in pieces.iter() {
            Self::inside(range, *offset, bytes.len() as u64)?;
        }
        for group in pieces.chunks_mut(BATCH) {
            if self.batches(range) {
                let mut batch = Pieces::<BATCH>::new(false);
                for (offset, bytes) in group.iter_mut() {
                    let _ = batch.push(*offset, Buffer::Out(bytes));
                }
                match self.send(device, range, &mut batch, false) {
                    Ok(()) => continue,
                    Err(fault) if fault.errno() == Errno::EINVAL => {}
                    Err(fault) => return Err(fault),
                }
            }
            for (offset, bytes) in group.iter_mut() {
                self.transfer(device, range, *offset, Buffer::Out(bytes))?;
            }
        }
        Ok(())
    }

    const fn batches(&self, range: &DeviceRange) -> bool {
        self.machine.forms.zero_copy && range.host_memory == 0
    }

    fn send(&self, device: u32, range: &DeviceRange, pieces: &mut Pieces<'_, BATCH>, into_device: bool) -> Result<(), Fault> {
        if pieces.is_empty() {
            return Ok(());
        }
        let open = self.enter(device)?;
        let mut batch = pieces.batch(range.driver_handle, Self::start(range), WINDOW_BYTES);
        // SAFETY: `pieces` is borrowed exclusively until the request is over, and it borrows the buffers it names, shared
        // when they are read and exclusively when they are written.
        let request = unsafe { MemBufZerocopy64Batches::new(core::slice::from_mut(&mut batch), into_device) };
        self.ask(&open, request).map(drop)
    }

    /// Copies between a buffer and a range of device memory without a bounce buffer, in pieces of 1 GiB. Writes of at most
    /// `window_bytes` may go through the PCI window.
    ///
    /// # Errors
    /// [`Refusal::NoZeroCopy`] on a driver without it, [`Refusal::ZeroLength`]; else [`Fault::Driver`], and part of the bytes
    /// may have been copied.
    pub fn transfer_zero_copy(
        &self,
        device: u32,
        range: &DeviceRange,
        offset: u64,
        mut buffer: Buffer<'_>,
        window_bytes: u32,
    ) -> Result<(), Fault> {
        let start = Self::inside(range, offset, buffer.len() as u64)?;
        if buffer.is_empty() {
            return Err(Refusal::ZeroLength.into());
        }
        if !self.machine.forms.zero_copy {
            return Err(Refusal::NoZeroCopy.into());
        }
        let open = self.enter(device)?;
        for piece in (0..buffer.len()).step_by(PIECE) {
            let (at, bytes) = (start + piece as u64, buffer.piece(piece, PIECE));
            self.ask(&open, MemBufZerocopy64::new(range.driver_handle, at, bytes, window_bytes))?;
        }
        Ok(())
    }

    /// Copies the pieces of many ranges, in order, with one request per 32 ranges. Not atomic.
    ///
    /// # Errors
    /// [`Refusal::NoZeroCopy`] on a driver without batches; [`Refusal::OutOfBounds`] or [`Refusal::ZeroLength`] for any piece,
    /// found before the first is copied; else [`Fault::Driver`], and part of the pieces may have been copied.
    ///
    /// # Safety
    /// As [`Driver::copy_batches`](nrt_core::driver::Driver::copy_batches).
    pub unsafe fn transfer_batches(
        &self,
        device: u32,
        batches: &[CopyBatch<'_>],
        into_device: bool,
        window_bytes: u16,
    ) -> Result<(), Fault> {
        if !self.machine.forms.zero_copy {
            return Err(Refusal::NoZeroCopy.into());
        }
        for batch in batches {
            for &BatchOperation { offset, size, .. } in batch.operations {
                let outside = Refusal::OutOfBounds { offset, size, limit: batch.range.size };
                Self::inside(batch.range, batch.offset.checked_add(offset).ok_or(outside)?, size)?;
                if size == 0 {
                    return Err(Refusal::ZeroLength.into());
                }
            }
        }
        let open = self.enter(device)?;
        for group in batches.chunks(BATCH) {
            let mut native: heapless::Vec<neuron_memcpy_batch_t, BATCH> = group
                .iter()
                .filter(|batch| !batch.operations.is_empty())
                .map(|batch| neuron_memcpy_batch_t {
                    mem_handle: batch.range.driver_handle,
                    mem_handle_offset: Self::start(batch.range) + batch.offset,
                    ops_ptr: batch.operations.as_ptr().cast_mut(),
                    num_ops: batch.operations.len() as u32,
                    bar4_wr_threshold: window_bytes,
                    flags: 0,
                    context: core::ptr::null_mut(),
                })
                .collect();
            if native.is_empty() {
                continue;
            }
            // SAFETY: the driver only reads the operations, which are borrowed until the request is over; their buffers are
            // the caller's promise.
            let request = unsafe { MemBufZerocopy64Batches::new(&mut native, into_device) };
            self.ask(&open, request)?;
        }
        Ok(())
    }

    /// Sets `size` bytes to `value`.
    ///
    /// # Errors
    /// As [`copy_between`](Self::copy_between).
    pub fn set(&self, device: u32, range: &DeviceRange, offset: u64, value: u8, size: u64) -> Result<(), Fault> {
        let start = Self::inside(range, offset, size)?;
        if size == 0 {
            return Err(Refusal::ZeroLength.into());
        }
        let open = self.enter(device)?;
        if self.machine.forms.wide {
            return self.ask(&open, Memset64::new(range.driver_handle, start, value, size)).map(drop);
        }
        let request = Memset::new(range.driver_handle, start, value, size).ok_or(Refusal::NeedsSixtyFourBit { size })?;
        self.ask(&open, request).map(drop)
    }
}
