//! The shared scratchpad of a core (fact sheet `scratchpad`).
//!
//! Models that never run at the same time share pages: each model counts on the prefix of pages its arena needs, the arena
//! is as large as the largest model, not as the sum. Page counts are in the page record (errata 27), the pages themselves
//! in the core's GLOBAL heap.
//!
//! In *paged* mode a page is any piece of device memory, and nothing crosses from one to the next. In *contiguous* mode the
//! driver puts each page directly below the one before, so that the arena of a model is one piece from its last page
//! upwards, and what is planned in it may cross pages.
//!
//! | file | holds |
//! | --- | --- |
//! | [`sizing`] | where the slices of a model lie in the arenas of its cores; the claim of a model |
//! | [`pages`] | growing, counting, giving back |
//! | [`resolve`] | offset in an arena → page |
//! | [`advice`] | variables that fit no page, and the page size that would hold them |

mod advice;
mod pages;
mod resolve;
mod sizing;

pub use advice::PageAdvice;
pub(crate) use sizing::{Need, Placement};

use core::sync::atomic::Ordering::Relaxed;

use crate::abi::tdrv_scratchpad_t;
use crate::arch::Arch;
use crate::context::ResolvedCore;
use crate::driver::{Driver, feature};
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::system::System;

/// Pages of a core.
pub(crate) const MAX_PAGES: u32 = 1024;
/// Alignment asked of the driver for a page.
const PAGE_ALIGN: u64 = 4 << 20;
/// Alignment a page must have, and a variable in it.
pub(crate) const REQUIRED_ALIGN: u64 = 4096;
/// Largest page size.
pub(crate) const MAX_PAGE_SIZE: u64 = 0xFFFF_FFFF;
/// Page size when none is configured.
pub(crate) const DEFAULT_PAGE_SIZE: u64 = 512 << 20;
/// Page size of the contiguous mode, whatever is configured.
pub(crate) const CONTIGUOUS_PAGE_SIZE: u64 = 64 << 20;

/// Whether a machine can have the contiguous mode; `Err` says why not (`scratchpad` §3, errata 26).
pub(crate) fn contiguous_gate(arch: Arch, logical_core_size: u32, features: u64) -> core::result::Result<(), &'static str> {
    if arch as u32 > Arch::Sunda as u32 && logical_core_size == 1 {
        return Err("a logical core has one core");
    }
    if features & feature::CONTIGUOUS_SCRATCHPAD == 0 {
        return Err("the driver does not have it");
    }
    Ok(())
}

impl<D: Driver, H: Hooks> System<D, H> {
    #[inline]
    fn scratchpad(&self, core: &ResolvedCore) -> *mut tdrv_scratchpad_t {
        // SAFETY: a place inside the core's live record.
        unsafe { &raw mut (*core.tpb.as_ptr()).scratchpad }
    }

    /// Writes the empty scratchpad of a core; reserves nothing (`scratchpad` §3).
    ///
    /// # Errors
    /// `NRT_INVALID` when the page size is 0 or above 0xFFFF_FFFF.
    ///
    /// # Safety
    /// Nobody uses the core yet.
    pub(crate) unsafe fn scratchpad_initialise(&self, core: &ResolvedCore) -> Result<()> {
        let page_size = self.settings.scratchpad_page_size;
        if page_size == 0 || page_size > MAX_PAGE_SIZE {
            return Err(Error::invalid(Cause::ScratchpadPageSize(page_size)));
        }
        let contiguous = self.settings.contiguous_scratchpad;
        let pad = self.scratchpad(core);
        // SAFETY: exclusive by contract. Pages behind `num_pages` are written when they are reserved.
        unsafe {
            (*pad).lock.word.store(0, Relaxed);
            (*pad).page_size = if contiguous { CONTIGUOUS_PAGE_SIZE } else { page_size };
            (*pad).num_pages.store(0, Relaxed);
            (*pad).is_contiguous = contiguous;
        }
        Ok(())
    }

    /// Bytes of a page of a core.
    pub(crate) fn scratchpad_page_bytes(&self, core: &ResolvedCore) -> u64 {
        self.scratchpad_mode(core).0
    }

    /// Bytes of a page, and whether pages follow each other.
    fn scratchpad_mode(&self, core: &ResolvedCore) -> (u64, bool) {
        // SAFETY: both are written during init only.
        unsafe { ((*self.scratchpad(core)).page_size, (*self.scratchpad(core)).is_contiguous) }
    }
}
