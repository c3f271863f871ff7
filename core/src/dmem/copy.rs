//! Copies between this process and device memory: which way a transfer goes (fact sheet `dmem` §§10, 13).
//!
//! | direction | order of tests | way |
//! | --- | --- | --- |
//! | in | pinned host memory? zero-copy? else staged | buffer copy, zero-copy, bounce buffer |
//! | out | zero-copy? pinned host memory? else staged | zero-copy, buffer copy, bounce buffer |
//! | between nodes of one device | | handle to handle |
//!
//! Every way adds the node's alignment offset. With zero-copy on, pinned host memory is written directly but read through
//! DMA, as in the original. Bytes that come from or go to a callback have no address, so they are staged.

use core::ptr::NonNull;

use crate::abi::{dmem_t, ndl_mem_info_t};
use crate::context::ResolvedCore;
use crate::driver::{Call, Driver, DriverResult, Errno};
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::observer::{Operation, Subject, observed};
use crate::system::System;
use crate::text;
use crate::usage::Usage;

use super::{in_host_memory, range_of};

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
pub(super) struct Target<'a> {
    pub(super) core: ResolvedCore,
    pub(super) range: &'a ndl_mem_info_t,
    pub(super) host: bool,
    /// Offset in the range: alignment offset plus the caller's.
    pub(super) start: u64,
}

/// What an observer is told about a copy.
///
/// # Safety
/// The caller holds a reference to `node` for as long as it uses the result.
unsafe fn subject<'a>(core: &ResolvedCore, node: NonNull<dmem_t>, bytes: u64) -> Subject<'a> {
    // SAFETY: live by contract; both fields are written before publication.
    let (usage, hint) = unsafe { ((*node.as_ptr()).mem_usage_type.0, &(*node.as_ptr()).spare_44_hint) };
    Subject::on(core, bytes, Usage::from_number(usage), text::from_nul_terminated(hint))
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// # Safety
    /// The caller holds a reference to `node` for as long as it uses the result.
    pub(super) unsafe fn target<'a>(&self, node: NonNull<dmem_t>, offset: u64, size: u64) -> Result<Target<'a>> {
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
    /// `NRT_INVALID` when the span is empty or does not lie inside the node, or a source of bytes copies through the core that
    /// waits for it; `NRT_FAILURE` when the driver fails.
    ///
    /// # Concurrency
    /// The copy-buffer lock of the node's core, for the whole transfer; none for host memory.
    ///
    /// # Safety
    /// The caller holds a reference to `node`.
    pub(crate) unsafe fn dmem_copy_in(&self, node: NonNull<dmem_t>, offset: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: by contract.
        let target = unsafe { self.target(node, offset, bytes.len() as u64)? };
        // SAFETY: by contract.
        let subject = unsafe { subject(&target.core, node, bytes.len() as u64) };
        observed(&self.hooks, Operation::CopyIn, subject, || {
            if target.host {
                let device = target.core.device;
                return self
                    .driver
                    .write(device, target.range, target.start, bytes)
                    .map_err(|errno| Error::driver(Call::Write, device, errno));
            }
            let window = self.settings.window_bytes;
            let straight = |driver: &D| driver.zero_copy_write(target.core.device, target.range, target.start, bytes, window);
            if let Some(answer) = self.without_bounce(target.core.device, Call::ZeroCopyWrite, straight) {
                return answer;
            }
            self.stage_in(&target, bytes.len() as u64, &mut |chunk, position| {
                chunk.copy_from_slice(&bytes[position as usize..][..chunk.len()]);
                Ok(())
            })
        })
    }

    /// Copies `size` bytes into a node at `offset`; `fill(chunk, position)` provides them piece by piece, straight into
    /// the mapped bounce buffer (into host memory: in one piece, through its mapping). `fill` must not copy through the same core.
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
        // SAFETY: by contract.
        let subject = unsafe { subject(&target.core, node, size) };
        observed(&self.hooks, Operation::CopyIn, subject, || {
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
        })
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
        // SAFETY: by contract.
        let subject = unsafe { subject(&target.core, node, bytes.len() as u64) };
        observed(&self.hooks, Operation::CopyOut, subject, || {
            let device = target.core.device;
            let straight = |driver: &D| driver.zero_copy_read(device, target.range, target.start, bytes);
            if let Some(answer) = self.without_bounce(device, Call::ZeroCopyRead, straight) {
                return answer;
            }
            if target.host {
                return self
                    .driver
                    .read(device, target.range, target.start, bytes)
                    .map_err(|errno| Error::driver(Call::Read, device, errno));
            }
            self.stage_out(&target, bytes.len() as u64, bytes.as_ptr().expose_provenance() as u64, &mut |chunk, position| {
                bytes[position as usize..][..chunk.len()].copy_from_slice(chunk);
            })
        })
    }

    /// Copies `size` bytes from a node in device memory at `offset`; `take(chunk, position)` gets them piece by piece, straight
    /// out of the mapped bounce buffer. `take` must not copy through the same core. Host memory is read in one piece, by
    /// [`dmem_copy_out`](Self::dmem_copy_out).
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
        // SAFETY: by contract.
        let subject = unsafe { subject(&target.core, node, size) };
        debug_assert!(!target.host, "pinned host memory needs no bounce buffer");
        observed(&self.hooks, Operation::CopyOut, subject, || self.stage_out(&target, size, 0, take))
    }

    /// Tries the zero-copy way; `None` when it is off or this driver does not have it after all.
    fn without_bounce(&self, device: u32, call: Call, request: impl FnOnce(&D) -> DriverResult<()>) -> Option<Result<()>> {
        if !self.settings.zero_copy {
            return None;
        }
        match request(&self.driver) {
            Err(Errno::ENOTSUPP) => None,
            answer => Some(answer.map_err(|errno| Error::driver(call, device, errno))),
        }
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
