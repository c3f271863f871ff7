//! The device-memory allocator: one GLOBAL heap per core, one MODEL heap per model (fact sheet `dmem`).
//!
//! A *node* (`dmem_t`) describes one piece of device or pinned host memory. It lives in a pool slot next to the driver's
//! description of the range, hangs on the sentinel-bracketed list of its allocator in order of allocation, and is freed
//! when its last reference goes.

mod allocate;
mod batch;
mod bounce;
mod contiguous;
mod copy;
mod group;
mod release;
mod staging;

pub(crate) use allocate::{DmemRequest, EMPTY_RANGE};
pub(crate) use batch::DmemBatch;
pub(crate) use bounce::BOUNCE_BYTES;
pub(crate) use copy::within;

use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::abi::{dmem_allocator_t, dmem_allocator_type_t, dmem_t, ndl_mem_info_t, physical_core_t};
use crate::arena::NodeSlot;
use crate::driver::{Call, Driver};
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::system::System;
use crate::usage::{Location, Usage};

/// The driver's description of a node's memory.
///
/// # Safety
/// `node` is a live node.
#[inline]
pub(crate) unsafe fn range_of<'a>(node: NonNull<dmem_t>) -> &'a ndl_mem_info_t {
    // SAFETY: nodes are the first member of their slot and their pointers carry the provenance of the slot array; the
    // range is written before the node is published and only read afterwards.
    unsafe { &(*node.cast::<NodeSlot>().as_ptr()).range }
}

/// Whether a node is pinned host memory, which the driver copies without a bounce buffer.
///
/// # Safety
/// `node` is a live node.
#[inline]
pub(crate) unsafe fn in_host_memory(node: NonNull<dmem_t>) -> bool {
    // SAFETY: live by contract; written before publication.
    unsafe { (*node.as_ptr()).mem_type.0 == Location::Host as u32 }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Writes an empty allocator: sentinels linked, nothing between them (`dmem` §5).
    ///
    /// # Safety
    /// Nobody uses `allocator`; it lives for ever and its pointer covers it whole; `pcore` lives for ever.
    pub(crate) unsafe fn allocator_create(
        &self,
        allocator: NonNull<dmem_allocator_t>,
        pcore: NonNull<physical_core_t>,
        kind: dmem_allocator_type_t,
    ) {
        let raw = allocator.as_ptr();
        // SAFETY: exclusive by contract; field by field.
        unsafe {
            (*raw).r#type = kind;
            (*raw).pcore = pcore.as_ptr();
            (*raw).lock.word.store(0, Relaxed);
            (*raw).largest_oversized_scratchpad_var.store(0, Relaxed);
            let (head, tail) = (&raw mut (*raw).dummy_head, &raw mut (*raw).dummy_tail);
            (*head).prev.store(null_mut(), Relaxed);
            (*head).next.store(tail, Relaxed);
            (*tail).prev.store(head, Relaxed);
            (*tail).next.store(null_mut(), Relaxed);
        }
    }

    /// Frees every node of an allocator whatever its references, then detaches it.
    ///
    /// The original only detaches the nodes, so that memory whose owner forgot it is lost until the process ends
    /// (errata 19); here the nodes are freed first. Gives the number of nodes that were still there.
    ///
    /// # Safety
    /// `allocator` was written by [`allocator_create`](Self::allocator_create), nobody allocates from it any more, and
    /// nobody uses its nodes.
    pub(crate) unsafe fn allocator_destroy(&self, allocator: NonNull<dmem_allocator_t>) -> u32 {
        let mut left = 0;
        // SAFETY: by contract; the sentinel is never freed.
        unsafe {
            let raw = allocator.as_ptr();
            let tail = &raw mut (*raw).dummy_tail;
            loop {
                let first = (*raw).dummy_head.next.load(Acquire);
                if core::ptr::eq(first, tail) {
                    break;
                }
                left += 1;
                self.dmem_discard(NonNull::new_unchecked(first));
            }
            (*raw).dummy_head.next.store(null_mut(), Relaxed);
            (*raw).dummy_tail.prev.store(null_mut(), Relaxed);
        }
        left
    }

    /// Charged bytes of an allocator by usage, host and device memory together, and the number of its nodes.
    ///
    /// # Safety
    /// `allocator` is live.
    ///
    /// # Cost
    /// A visit to every node, under the memory lock of the core.
    pub(crate) unsafe fn allocator_usage(&self, allocator: NonNull<dmem_allocator_t>) -> Result<([u64; Usage::COUNT], u32)> {
        let mut bytes = [0; Usage::COUNT];
        let mut nodes = 0;
        // SAFETY: by contract; the list only changes under the lock held here.
        unsafe {
            let raw = allocator.as_ptr();
            let core = self.resolve((*raw).pcore)?;
            let _held = self.memory_lock(&core);
            let tail = &raw const (*raw).dummy_tail;
            let mut node = (*raw).dummy_head.next.load(Acquire).cast_const();
            while !node.is_null() && !core::ptr::eq(node, tail) {
                bytes[(*node).mem_usage_type.0 as usize] += (*node).allocated_size as u64;
                nodes += 1;
                node = (*node).next.load(Acquire);
            }
        }
        Ok((bytes, nodes))
    }

    /// One more reference (`dmem` §8).
    ///
    /// # Safety
    /// The caller holds a reference to `node`.
    #[inline]
    pub(crate) unsafe fn dmem_acquire(&self, node: NonNull<dmem_t>) -> NonNull<dmem_t> {
        // SAFETY: live by contract.
        unsafe { (*node.as_ptr()).ref_count.fetch_add(1, Relaxed) };
        node
    }

    /// Device address of byte `offset`: base, alignment offset, offset (`dmem` §6.1).
    ///
    /// # Safety
    /// `node` is live.
    #[inline]
    pub(crate) unsafe fn dmem_address(&self, node: NonNull<dmem_t>, offset: u64) -> u64 {
        // SAFETY: live by contract; both fields are written before publication.
        unsafe { (*node.as_ptr())._pa.wrapping_add((*node.as_ptr()).align_offset as u64).wrapping_add(offset) }
    }

    /// Address of the memory in this process, mapped on first use.
    ///
    /// Two threads that map at the same time end up with one mapping: the loser's is removed again.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the driver refuses.
    ///
    /// # Safety
    /// The caller holds a reference to `node`.
    pub(crate) unsafe fn dmem_va(&self, node: NonNull<dmem_t>) -> Result<NonNull<u8>> {
        // SAFETY: live by contract.
        unsafe {
            let raw = node.as_ptr();
            let mut base = (*raw)._va.load(Acquire);
            if base.is_null() {
                let core = self.resolve((*raw).pcore)?;
                let (device, range) = (core.device, range_of(node));
                let mine = self.driver.map(device, range).map_err(|errno| Error::driver(Call::Map, device, errno))?;
                match (*raw)._va.compare_exchange(null_mut(), mine.as_ptr().cast::<c_void>(), AcqRel, Acquire) {
                    Ok(_) => base = mine.as_ptr().cast(),
                    Err(winner) => {
                        // A refusal leaves a mapping whose address nobody has: it goes with the process, and close tells of it.
                        if let Err(errno) = self.driver.unmap(device, range, mine) {
                            self.arenas.core(core.device, core.core).lost_mappings.fetch_add(1, Relaxed);
                            self.log_lost_mapping(&core, range.size, errno);
                        }
                        base = winner;
                    }
                }
            }
            NonNull::new(base.cast::<u8>().wrapping_add((*raw).align_offset)).ok_or(Error::invalid(Cause::StaleHandle))
        }
    }
}
