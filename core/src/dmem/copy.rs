//! Copies between this process and device memory, through the core's bounce buffer (fact sheet `dmem` §§10–13).
//!
//! Pinned host memory is copied by the driver directly. Device memory is staged: bytes go through the 2 MiB host buffer of
//! the core, one chunk at a time, each chunk moved by one synchronous handle-to-handle copy. The buffer's lock is held for
//! the whole transfer, so the transfers of one core follow each other.

use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{dmem_t, ndl_copy_buf_t, ndl_mem_info_t};
use crate::context::ResolvedCore;
use crate::driver::{Call, Driver};
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::sync;
use crate::system::System;

use super::{in_host_memory, range_of};

/// Bytes of the bounce buffer of a core (`NDL_COPY_BUF_SIZE`).
pub(crate) const BOUNCE_BYTES: u64 = 2 << 20;

/// Checks an access against the logical size of its object.
pub(crate) fn within(offset: u64, size: u64, limit: u64) -> Result<()> {
    if size == 0 {
        return Err(Error::invalid(Cause::ZeroSize));
    }
    match offset.checked_add(size) {
        Some(end) if end <= limit => Ok(()),
        _ => Err(Error::invalid(Cause::OutOfBounds { offset, size, limit })),
    }
}

/// What a transfer needs to know of its node.
struct Target<'a> {
    core: ResolvedCore,
    range: &'a ndl_mem_info_t,
    host: bool,
    /// Offset in the range: alignment offset plus the caller's.
    start: u64,
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// # Safety
    /// The caller holds a reference to `node` for as long as it uses the result.
    unsafe fn target<'a>(&self, node: NonNull<dmem_t>, offset: u64, size: u64) -> Result<Target<'a>> {
        // SAFETY: live by contract.
        unsafe {
            let raw = node.as_ptr();
            within(offset, size, (*raw).size as u64)?;
            Ok(Target {
                core: self.resolve((*raw).pcore)?,
                range: range_of(node),
                host: in_host_memory(node),
                start: offset + (*raw).align_offset as u64,
            })
        }
    }

    /// Copies `bytes` into a node at `offset`.
    ///
    /// # Errors
    /// `NRT_INVALID` when the span is empty or does not lie inside the node; `NRT_FAILURE` when the driver fails.
    ///
    /// # Concurrency
    /// The copy-buffer lock of the node's core, for the whole transfer; none for host memory.
    ///
    /// # Safety
    /// The caller holds a reference to `node`.
    pub(crate) unsafe fn dmem_copy_in(&self, node: NonNull<dmem_t>, offset: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: by contract.
        let target = unsafe { self.target(node, offset, bytes.len() as u64)? };
        if target.host {
            let device = target.core.device;
            return self
                .driver
                .write(device, target.range, target.start, bytes)
                .map_err(|errno| Error::driver(Call::Write, device, errno));
        }
        self.stage_in(&target, bytes.len() as u64, &mut |chunk, position| {
            chunk.copy_from_slice(&bytes[position as usize..][..chunk.len()]);
            Ok(())
        })
    }

    /// Copies `size` bytes into a node at `offset`; `fill(chunk, position)` provides them piece by piece, straight into
    /// the mapped bounce buffer. `fill` must not copy through the same core.
    ///
    /// # Errors
    /// As [`dmem_copy_in`](Self::dmem_copy_in), and what `fill` answers.
    ///
    /// # Safety
    /// The caller holds a reference to `node`.
    pub(crate) unsafe fn dmem_copy_in_from(
        &self,
        node: NonNull<dmem_t>,
        offset: u64,
        size: u64,
        fill: &mut dyn FnMut(&mut [u8], u64) -> Result<()>,
    ) -> Result<()> {
        // SAFETY: by contract.
        let target = unsafe { self.target(node, offset, size)? };
        if target.host {
            // SAFETY: the caller holds the reference; the mapping spans the node, and `offset + size` lies inside it. The
            // slice is this transfer's span of memory that only its owner writes.
            let bytes = unsafe {
                let base = self.dmem_va(node)?;
                core::slice::from_raw_parts_mut(base.as_ptr().add(offset as usize), size as usize)
            };
            return fill(bytes, 0);
        }
        self.stage_in(&target, size, fill)
    }

    /// Copies from a node at `offset` into `bytes`.
    ///
    /// # Errors
    /// As [`dmem_copy_in`](Self::dmem_copy_in); `bytes` may be partly written then.
    ///
    /// # Safety
    /// The caller holds a reference to `node`.
    pub(crate) unsafe fn dmem_copy_out(&self, node: NonNull<dmem_t>, offset: u64, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: by contract.
        let target = unsafe { self.target(node, offset, bytes.len() as u64)? };
        let device = target.core.device;
        if target.host {
            return self
                .driver
                .read(device, target.range, target.start, bytes)
                .map_err(|errno| Error::driver(Call::Read, device, errno));
        }
        self.stage_out(&target, bytes.len() as u64, &mut |chunk, position| {
            bytes[position as usize..][..chunk.len()].copy_from_slice(chunk);
        })
    }

    /// Copies `size` bytes from a node in device memory at `offset`; `take(chunk, position)` gets them piece by piece,
    /// straight out of the mapped bounce buffer. `take` must not copy through the same core.
    ///
    /// # Errors
    /// As [`dmem_copy_in`](Self::dmem_copy_in); some pieces may have been taken then.
    ///
    /// # Safety
    /// The caller holds a reference to `node`.
    pub(crate) unsafe fn dmem_copy_out_to(
        &self,
        node: NonNull<dmem_t>,
        offset: u64,
        size: u64,
        take: &mut dyn FnMut(&[u8], u64),
    ) -> Result<()> {
        // SAFETY: by contract.
        let target = unsafe { self.target(node, offset, size)? };
        debug_assert!(!target.host, "pinned host memory does not pass the bounce buffer");
        self.stage_out(&target, size, take)
    }

    fn stage_out(&self, target: &Target<'_>, size: u64, take: &mut dyn FnMut(&[u8], u64)) -> Result<()> {
        let device = target.core.device;
        self.with_bounce(&target.core, |bounce, range| {
            let mut done = 0;
            while done < size {
                let length = (size - done).min(BOUNCE_BYTES);
                self.driver
                    .copy(device, target.range, target.start + done, range, 0, length)
                    .map_err(|errno| Error::driver(Call::Copy, device, errno))?;
                take(&bounce[..length as usize], done);
                done += length;
            }
            Ok(())
        })
    }

    fn stage_in(&self, target: &Target<'_>, size: u64, fill: &mut dyn FnMut(&mut [u8], u64) -> Result<()>) -> Result<()> {
        let device = target.core.device;
        self.with_bounce(&target.core, |bounce, range| {
            let mut done = 0;
            while done < size {
                let length = (size - done).min(BOUNCE_BYTES);
                fill(&mut bounce[..length as usize], done)?;
                self.driver
                    .copy(device, range, 0, target.range, target.start + done, length)
                    .map_err(|errno| Error::driver(Call::Copy, device, errno))?;
                done += length;
            }
            Ok(())
        })
    }

    /// Runs `transfer` with the bounce buffer of a core, alone. A transfer that, through a callback, comes back to the
    /// same core is refused instead of waiting for itself.
    fn with_bounce(&self, core: &ResolvedCore, transfer: impl FnOnce(&mut [u8], &ndl_mem_info_t) -> Result<()>) -> Result<()> {
        let side = self.arenas.core(core.device, core.core);
        let this_thread = self.hooks.thread_id();
        if side.copying_thread.load(Relaxed) == this_thread {
            return Err(Error::invalid(Cause::Reentered));
        }
        // SAFETY: device records live for ever; the buffer's fields are written during init only. The reference to the
        // lock covers the lock alone.
        let (buffer, lock) = unsafe {
            let device = self.arenas.devices.add(core.device as usize).as_ptr();
            let buffer: *const ndl_copy_buf_t = &raw const (*device).device.cpy_bufs[core.core as usize];
            (buffer, &(*buffer).lock)
        };
        let _held = sync::lock(lock, &self.hooks);
        side.copying_thread.store(this_thread, Relaxed);
        // SAFETY: init mapped BOUNCE_BYTES there; whoever holds the lock has the bytes alone.
        let result = unsafe {
            let bytes = core::slice::from_raw_parts_mut((*buffer).mmap_va.cast::<u8>(), BOUNCE_BYTES as usize);
            let device = self.arenas.devices.add(core.device as usize).as_ptr();
            transfer(bytes, &(*device).bounce[core.core as usize])
        };
        side.copying_thread.store(0, Relaxed);
        result
    }

    /// Copies between two nodes of one device without passing through this process.
    ///
    /// # Errors
    /// `NRT_INVALID` when a span is empty or outside its node, or the nodes lie on different devices; `NRT_FAILURE` when
    /// the driver fails.
    ///
    /// # Safety
    /// The caller holds references to both nodes.
    pub(crate) unsafe fn dmem_copy(
        &self,
        src: NonNull<dmem_t>,
        src_offset: u64,
        dst: NonNull<dmem_t>,
        dst_offset: u64,
        size: u64,
    ) -> Result<()> {
        // SAFETY: by contract.
        let (from, to) = unsafe { (self.target(src, src_offset, size)?, self.target(dst, dst_offset, size)?) };
        if from.core.device != to.core.device {
            let (source, target) = (from.core.device, to.core.device);
            return Err(Error::invalid(Cause::DifferentDevices { source, target }));
        }
        self.driver
            .copy(from.core.device, from.range, from.start, to.range, to.start, size)
            .map_err(|errno| Error::driver(Call::Copy, from.core.device, errno))
    }

    /// Sets `size` bytes of a node to `value` (errata 25).
    ///
    /// # Errors
    /// As [`dmem_copy`](Self::dmem_copy).
    ///
    /// # Safety
    /// The caller holds a reference to `node`.
    pub(crate) unsafe fn dmem_fill(&self, node: NonNull<dmem_t>, offset: u64, value: u8, size: u64) -> Result<()> {
        // SAFETY: by contract.
        let target = unsafe { self.target(node, offset, size)? };
        self.driver
            .fill(target.core.device, target.range, target.start, value, size)
            .map_err(|errno| Error::driver(Call::Fill, target.core.device, errno))
    }
}
