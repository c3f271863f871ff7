//! Pages of the contiguous scratchpad (`dmem_alloc_contiguous_scratchpad_page`, fact sheet `dmem` §6.2).

use core::ptr::NonNull;

use crate::abi::{dmem_t, mem_alloc_category_t};
use crate::arena::NodeSlot;
use crate::context::ResolvedCore;
use crate::driver::{AllocRequest, Driver};
use crate::error::{Cause, Error, Pool, Result};
use crate::hooks::Hooks;
use crate::observer::{Operation, Subject, observed};
use crate::system::System;
use crate::usage::{Location, Usage};

use super::allocate::{EMPTY_RANGE, refused};
use super::{DmemRequest, range_of};

/// The driver puts these at the top of the main pool, each directly below the one before.
const CATEGORY: u8 = mem_alloc_category_t::NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE.0 as u8;

/// What a page is called in the books.
const HINT: &str = "scratchpad";

impl<D: Driver, H: Hooks> System<D, H> {
    /// One page in the GLOBAL heap of a core, booked as scratchpad. All or nothing. `reach` = bytes from its start to the end
    /// of the page that was allocated first: the driver reaches and maps them through the handle of this page.
    ///
    /// # Errors
    /// `NRT_RESOURCE` when a pool is full or the place below the last page is taken; `NRT_FAILURE` when the driver answers
    /// anything else.
    ///
    /// # Concurrency
    /// The memory lock of the core, once, and no lock of this layer while the driver works.
    pub(crate) fn dmem_alloc_contiguous_page(&self, core: &ResolvedCore, size: u64, reach: u64) -> Result<NonNull<dmem_t>> {
        let subject = Subject::on(core, size, Some(Usage::Scratchpad), HINT);
        observed(&self.hooks, Operation::Allocate, subject, || self.contiguous_page(core, size, reach))
    }

    fn contiguous_page(&self, core: &ResolvedCore, size: u64, reach: u64) -> Result<NonNull<dmem_t>> {
        if self.no_node_is_free() {
            return Err(Error::pool_full(Pool::Nodes));
        }
        let channel = self.settings.arch.default_channel(core.core);
        let request = DmemRequest {
            size,
            align: 0,
            location: Location::Device,
            channel,
            usage: Usage::Scratchpad,
            hint: HINT,
            group: None,
        };
        let arguments = AllocRequest { size, align: 0, host: false, channel, nc_id: core.core, category: CATEGORY };
        let mut range = EMPTY_RANGE;
        // SAFETY: a place inside the live device record.
        range.device = unsafe { (*core.mla.as_ptr()).device.cast() };
        let allocator = self.global_allocator(core);
        if let Err(errno) = self.driver.alloc(core.device, &arguments, &mut range) {
            let error = refused(core, &request, errno);
            if let Cause::OutOfMemory(oom) = error.cause {
                // SAFETY: the GLOBAL allocator of an owned core is live.
                unsafe { self.oom_record(core, allocator, &request, oom) };
            }
            return Err(error);
        }
        range.size = range.size.max(reach);
        // SAFETY: as above; the range is fresh.
        unsafe { self.dmem_publish(allocator, core, &request, size as usize, &range) }
    }

    /// Bytes of a node that the driver holds for it: a page of the contiguous scratchpad reaches further than it is large.
    ///
    /// # Safety
    /// `node` is a live or quarantined node.
    pub(super) unsafe fn held_bytes(&self, node: NonNull<dmem_t>) -> u64 {
        // SAFETY: by contract; both are written before publication.
        unsafe {
            let size = range_of(node).size;
            let asked = (*node.cast::<NodeSlot>().as_ptr()).dmem.allocated_size as u64;
            size.min(asked.next_multiple_of(super::allocate::DRIVER_GRANULE))
        }
    }
}
