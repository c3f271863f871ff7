//! The shared scratchpad of a core, paged mode (fact sheet `scratchpad`).
//!
//! Models that never run at the same time share pages: each model counts on the prefix of pages its arena needs, the arena
//! is as large as the largest model, not as the sum. Page counts are in the page record (errata 27), the pages themselves
//! in the core's GLOBAL heap.

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{dmem_t, physical_core_t, tdrv_scratchpad_cleanup_info_t, tdrv_scratchpad_info_t, tdrv_scratchpad_t};
use crate::arena::MAX_CORES_PER_VCORE;
use crate::context::ResolvedCore;
use crate::dmem::DmemRequest;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::status::Status;
use crate::sync;
use crate::system::System;
use crate::usage::{Location, Usage};

/// Pages of a core.
pub(crate) const MAX_PAGES: u32 = 1024;
/// Alignment asked of the driver for a page.
const PAGE_ALIGN: u64 = 4 << 20;
/// Alignment a page must have.
const REQUIRED_ALIGN: u64 = 4096;
/// Largest page size.
pub(crate) const MAX_PAGE_SIZE: u64 = 0xFFFF_FFFF;
/// Page size when none is configured.
pub(crate) const DEFAULT_PAGE_SIZE: u64 = 512 << 20;

/// What one subgraph needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Need {
    pub(crate) local: u64,
    pub(crate) shared: u64,
}

/// Where the slices of a model lie in the arenas of its cores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    /// Slice of each subgraph.
    pub(crate) local: [tdrv_scratchpad_info_t; MAX_CORES_PER_VCORE],
    /// Slice that all subgraphs share.
    pub(crate) shared: tdrv_scratchpad_info_t,
}

/// Places a slice behind `cursor` (`update_scratchpad_offset`): a slice that would cross the end of the current page starts
/// on the next one, so that the compiler's page-relative packing holds.
pub(crate) fn place(cursor: &mut u64, size: u64, page_size: u64) -> Result<u64> {
    let overflow = Error::invalid(Cause::ScratchpadSpan { offset: *cursor, size, page_size });
    let used = *cursor % page_size;
    let mut base = *cursor;
    if used != 0 && page_size - used < size {
        base = base.checked_add(page_size - used).ok_or(overflow)?;
    }
    *cursor = base.checked_add(size).ok_or(overflow)?;
    Ok(base)
}

/// Page and offset in the page of a span of the arena; a span never crosses a page.
pub(crate) fn locate(offset: u64, size: u64, page_size: u64, pages: u32) -> Result<(u32, u64)> {
    let miss = Error::invalid(Cause::ScratchpadSpan { offset, size, page_size });
    let (page, in_page) = (offset / page_size, offset % page_size);
    match in_page.checked_add(size) {
        Some(end) if end <= page_size && page < u64::from(pages) => Ok((page as u32, in_page)),
        _ => Err(miss),
    }
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
        let pad = self.scratchpad(core);
        // SAFETY: exclusive by contract. Pages behind `num_pages` are written when they are reserved.
        unsafe {
            (*pad).lock.word.store(0, Relaxed);
            (*pad).page_size = page_size;
            (*pad).num_pages.store(0, Relaxed);
            (*pad).is_contiguous = false;
        }
        Ok(())
    }

    /// Sizes and reserves the arenas of a model on logical core `vnc` (`tdrv_scratchpad_model_init`). On success the cleanup
    /// record of each core in `cleanup` names what the model holds there.
    ///
    /// # Errors
    /// `NRT_INVALID` for a need that cannot be placed; `NRT_RESOURCE` when more than 1,024 pages are needed or the device
    /// has no room; what page allocation answers. Nothing is held then.
    ///
    /// # Safety
    /// Each pointer in `cleanup` is a live record of the caller's.
    pub(crate) unsafe fn scratchpad_model_init(
        &self,
        vnc: u32,
        needs: &[Need],
        cleanup: &[NonNull<tdrv_scratchpad_cleanup_info_t>],
    ) -> Result<Placement> {
        let page_size = self.settings.scratchpad_page_size;
        let single = self.settings.scratchpad_on_single_core;
        let mut cursor = [0_u64; MAX_CORES_PER_VCORE];
        let home = |subgraph: usize| if single { 0 } else { subgraph };
        if single && needs.iter().any(|need| need.local != 0 || need.shared != 0) {
            self.check_whole_hbm(vnc)?;
        }
        let slice = |relative: usize, size: u64, offset: u64| tdrv_scratchpad_info_t {
            pcore: self.pcore(vnc, relative as u32).as_ptr(),
            size,
            offset,
        };
        let empty = slice(0, 0, 0);
        // The shared slice sits first on the sharing core, charged once with the largest need.
        let shared_size = needs.iter().map(|need| need.shared).max().unwrap_or(0);
        let mut placement = Placement { local: [empty; MAX_CORES_PER_VCORE], shared: empty };
        let offset = place(&mut cursor[0], shared_size, page_size)?;
        placement.shared = slice(0, shared_size, offset);
        for (subgraph, need) in needs.iter().enumerate() {
            let relative = home(subgraph);
            let offset = place(&mut cursor[relative], need.local, page_size)?;
            placement.local[subgraph] = slice(relative, need.local, offset);
        }
        // SAFETY: the records are the caller's; each names one core and is complete before the next reservation can fail.
        unsafe {
            for (relative, record) in cleanup.iter().enumerate() {
                let record = record.as_ptr();
                (*record).pcores = [self.pcore(vnc, relative as u32).as_ptr(), null_mut()];
                (*record).sizes = [cursor[relative], 0];
                (*record).num_entries = 0;
                (*record).contiguous_scratchpad_va = null_mut();
            }
            for (relative, record) in cleanup.iter().enumerate() {
                let reserved = self.core(vnc, relative as u32).and_then(|core| self.scratchpad_reserve(&core, cursor[relative]));
                if let Err(error) = reserved {
                    cleanup[..relative].iter().for_each(|record| self.scratchpad_cleanup(*record));
                    return Err(error);
                }
                (*record.as_ptr()).num_entries = 1;
            }
        }
        Ok(placement)
    }

    /// Single-core placement lets one core's arena serve the whole HBM, so the process must own all of it (errata 28).
    fn check_whole_hbm(&self, vnc: u32) -> Result<()> {
        let needed = self.settings.arch.cores_per_hbm();
        let first = self.core(vnc, 0)?;
        let start = first.core - first.core % needed;
        let owned = (start..start + needed).filter(|core| self.tree.resolve(first.device, *core).is_ok()).count() as u32;
        if owned == needed { Ok(()) } else { Err(Error::invalid(Cause::ScratchpadNeedsHbm { owned, needed })) }
    }

    /// Counts the caller on the first `size` bytes of a core's arena, growing it where needed.
    ///
    /// # Errors
    /// `NRT_RESOURCE` when more than 1,024 pages are needed; what page allocation answers; `NRT_FAILURE` when a page is not
    /// 4 KiB aligned. Pages added by this call are gone then.
    ///
    /// # Concurrency
    /// The scratchpad lock of the core; the memory lock inside it.
    fn scratchpad_reserve(&self, core: &ResolvedCore, size: u64) -> Result<()> {
        let pad = self.scratchpad(core);
        // SAFETY: written during init only.
        let page_size = unsafe { (*pad).page_size };
        let need = size.div_ceil(page_size);
        if need > u64::from(MAX_PAGES) {
            return Err(Error::new(Status::Resource, Cause::ScratchpadPages { need, limit: MAX_PAGES }));
        }
        let need = need as usize;
        // SAFETY: the lock and the page fields live in the core's record; pages are only touched under the lock.
        unsafe {
            let _held = sync::lock(&(*pad).lock, &self.hooks);
            let have = (*pad).num_pages.load(Relaxed) as usize;
            for page in have..need {
                match self.scratchpad_page(core, page_size) {
                    Ok(memory) => {
                        let record = &raw const (*pad).pages[page];
                        (*record).mem.store(memory.as_ptr(), Relaxed);
                        (*record).refs.store(0, Relaxed);
                    }
                    Err(error) => {
                        for page in (have..page).rev() {
                            self.scratchpad_free_page(pad, page);
                        }
                        return Err(error);
                    }
                }
            }
            // The listing assigns `need`; a smaller later model would then orphan pages (errata 27).
            (*pad).num_pages.store(have.max(need) as u32, Relaxed);
            for page in 0..need {
                let refs = &(*pad).pages[page].refs;
                refs.store(refs.load(Relaxed) + 1, Relaxed);
            }
        }
        Ok(())
    }

    /// One page of device memory from the core's GLOBAL heap.
    fn scratchpad_page(&self, core: &ResolvedCore, page_size: u64) -> Result<NonNull<dmem_t>> {
        let request = DmemRequest {
            size: page_size,
            align: PAGE_ALIGN,
            location: Location::Device,
            channel: self.settings.arch.default_channel(core.core),
            usage: Usage::Scratchpad,
            hint: "scratchpad",
            group: None,
        };
        // SAFETY: the GLOBAL allocator of an owned core is live.
        unsafe {
            let page = self.dmem_alloc(self.global_allocator(core), &request)?;
            let address = self.dmem_address(page, 0);
            if !address.is_multiple_of(REQUIRED_ALIGN) {
                self.dmem_free(page);
                return Err(Error::new(Status::Failure, Cause::ScratchpadPageAddress(address)));
            }
            Ok(page)
        }
    }

    /// # Safety
    /// The caller holds the scratchpad lock; nobody counts on the page.
    unsafe fn scratchpad_free_page(&self, pad: *const tdrv_scratchpad_t, page: usize) {
        // SAFETY: by contract.
        unsafe {
            if let Some(memory) = NonNull::new((&(*pad).pages)[page].mem.swap(null_mut(), Relaxed)) {
                self.dmem_free(memory);
            }
        }
    }

    /// Drops what a cleanup record names; used for roll-back and for unload. The record is empty afterwards.
    ///
    /// # Safety
    /// `record` is a live record written by [`scratchpad_model_init`](Self::scratchpad_model_init), handled by this caller
    /// alone.
    pub(crate) unsafe fn scratchpad_cleanup(&self, record: NonNull<tdrv_scratchpad_cleanup_info_t>) {
        // SAFETY: by contract.
        unsafe {
            let record = record.as_ptr();
            for entry in 0..(*record).num_entries as usize {
                if let Ok(core) = self.resolve((*record).pcores[entry].cast::<physical_core_t>()) {
                    self.scratchpad_release(&core, (*record).sizes[entry]);
                }
            }
            (*record).num_entries = 0;
        }
    }

    /// Stops counting on the first `size` bytes; pages nobody counts on are freed from the end.
    fn scratchpad_release(&self, core: &ResolvedCore, size: u64) {
        let pad = self.scratchpad(core);
        // SAFETY: as in `scratchpad_reserve`.
        unsafe {
            let _held = sync::lock(&(*pad).lock, &self.hooks);
            let have = (*pad).num_pages.load(Relaxed) as usize;
            let held = (size.div_ceil((*pad).page_size) as usize).min(have);
            for page in 0..held {
                let refs = &(*pad).pages[page].refs;
                debug_assert!(refs.load(Relaxed) > 0);
                refs.store(refs.load(Relaxed).saturating_sub(1), Relaxed);
            }
            // Counts do not grow with the index, so what is free is at the end.
            let mut live = have;
            while live > 0 && (&(*pad).pages)[live - 1].refs.load(Relaxed) == 0 {
                live -= 1;
                self.scratchpad_free_page(pad, live);
            }
            (*pad).num_pages.store(live as u32, Relaxed);
        }
    }

    /// The page that holds a span of a core's arena, and the offset in it (`tdrv_scratchpad_get_mem`).
    ///
    /// # Errors
    /// `NRT_INVALID` when no single live page holds it.
    pub(crate) fn scratchpad_span(&self, core: &ResolvedCore, offset: u64, size: u64) -> Result<(NonNull<dmem_t>, u64)> {
        let pad = self.scratchpad(core);
        // SAFETY: as in `scratchpad_reserve`.
        unsafe {
            let _held = sync::lock(&(*pad).lock, &self.hooks);
            let (page, in_page) = locate(offset, size, (*pad).page_size, (*pad).num_pages.load(Relaxed))?;
            let memory = (&(*pad).pages)[page as usize].mem.load(Relaxed);
            let miss = Error::invalid(Cause::ScratchpadSpan { offset, size, page_size: (*pad).page_size });
            Ok((NonNull::new(memory).ok_or(miss)?, in_page))
        }
    }

    /// Pages a core's arena has now, and how many models count on each of the first `refs.len()`.
    pub(crate) fn scratchpad_pages(&self, core: &ResolvedCore, refs: &mut [u32]) -> u32 {
        let pad = self.scratchpad(core);
        // SAFETY: as in `scratchpad_reserve`.
        unsafe {
            let _held = sync::lock(&(*pad).lock, &self.hooks);
            let live = (*pad).num_pages.load(Relaxed);
            for (page, refs) in refs.iter_mut().enumerate().take(live as usize) {
                *refs = (&(*pad).pages)[page].refs.load(Relaxed);
            }
            live
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scratchpad` §4, the vectors of the paged mode.
    #[test]
    fn slices_do_not_cross_a_page_they_did_not_start() {
        for (cursor, size, base, after) in [(30, 70, 30, 100), (30, 71, 100, 171), (100, 250, 100, 350), (0, 0, 0, 0)] {
            let mut at = cursor;
            assert_eq!(place(&mut at, size, 100).unwrap(), base);
            assert_eq!(at, after);
        }
        let mut at = u64::MAX - 10;
        assert!(place(&mut at, 100, 100).is_err());
        assert_eq!(at, u64::MAX - 10);
    }

    /// `scratchpad` §6, the vectors of the paged mode.
    #[test]
    fn spans_are_found_in_one_page_or_not_at_all() {
        const MIB: u64 = 1 << 20;
        let page = 512 * MIB;
        assert_eq!(locate(page - 1, 1, page, 2).unwrap(), (0, page - 1));
        assert!(locate(page - 1, 2, page, 2).is_err());
        assert_eq!(locate(page, page, page, 2).unwrap(), (1, 0));
        assert!(locate(2 * page, 1, page, 2).is_err(), "behind the last page");
        assert!(locate(0, u64::MAX, page, 2).is_err());
    }
}
