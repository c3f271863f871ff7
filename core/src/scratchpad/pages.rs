//! Pages of an arena: growing, counting, giving back (fact sheet `scratchpad` §§5, 7, 9).

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{dmem_t, tdrv_scratchpad_t};
use crate::context::ResolvedCore;
use crate::dmem::DmemRequest;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::{Hooks, Level};
use crate::status::Status;
use crate::sync;
use crate::system::System;
use crate::usage::{Location, Usage};

use super::{MAX_PAGES, PAGE_ALIGN, REQUIRED_ALIGN};

impl<D: Driver, H: Hooks> System<D, H> {
    /// Counts the caller on the first `size` bytes of a core's arena, growing it where needed. Gives the number of pages
    /// that were counted.
    ///
    /// With `soft`, a contiguous arena that the device has no room to grow is used as far as it goes (errata 29).
    ///
    /// # Errors
    /// `NRT_RESOURCE` when more than 1,024 pages are needed; what page allocation answers; `NRT_FAILURE` when a page is not
    /// 4 KiB aligned. Pages added by this call are gone then.
    ///
    /// # Concurrency
    /// The scratchpad lock of the core; the memory lock inside it.
    pub(super) fn scratchpad_reserve(&self, core: &ResolvedCore, size: u64, soft: bool) -> Result<u32> {
        let (page_size, contiguous) = self.scratchpad_mode(core);
        let pad = self.scratchpad(core);
        let need = size.div_ceil(page_size);
        if need > u64::from(MAX_PAGES) {
            return Err(Error::new(Status::Resource, Cause::ScratchpadPages { need, limit: MAX_PAGES }));
        }
        // SAFETY: the lock and the page fields live in the core's record; pages are only touched under the lock.
        unsafe {
            let _held = sync::lock(&(*pad).lock, &self.hooks);
            let have = (*pad).num_pages.load(Relaxed) as usize;
            let mut need = need as usize;
            for page in have..need {
                match self.scratchpad_page(core, pad, page, contiguous) {
                    Ok(memory) => {
                        let record = &raw const (*pad).pages[page];
                        (*record).mem.store(memory.as_ptr(), Relaxed);
                        (*record).refs.store(0, Relaxed);
                    }
                    Err(error) if contiguous && soft && error.status == Status::Resource => {
                        let ceiling = page as u64 * page_size;
                        self.hooks.log(
                            Level::Warn,
                            format_args!(
                                "Could not grow contiguous scratchpad beyond {ceiling} bytes on ND{}:NC{}: {error}",
                                core.device, core.core
                            ),
                        );
                        need = page;
                        break;
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
            Ok(need as u32)
        }
    }

    /// Page number `page` of an arena, from the core's GLOBAL heap.
    ///
    /// # Safety
    /// The caller holds the scratchpad lock; all pages before this one are there.
    unsafe fn scratchpad_page(
        &self,
        core: &ResolvedCore,
        pad: *const tdrv_scratchpad_t,
        page: usize,
        contiguous: bool,
    ) -> Result<NonNull<dmem_t>> {
        // SAFETY: the GLOBAL allocator of an owned core is live; the page table is read under its lock.
        unsafe {
            let size = (*pad).page_size;
            let memory = if contiguous {
                // Through the handle of a page the driver reaches all pages above it: that is what is mapped.
                self.dmem_alloc_contiguous_page(core, size, (page as u64 + 1) * size)?
            } else {
                let request = DmemRequest {
                    size,
                    align: PAGE_ALIGN,
                    location: Location::Device,
                    channel: self.settings.arch.default_channel(core.core),
                    usage: Usage::Scratchpad,
                    hint: "scratchpad",
                    group: None,
                };
                self.dmem_alloc(self.global_allocator(core), &request)?
            };
            let address = self.dmem_address(memory, 0);
            let mut refused = None;
            if !address.is_multiple_of(REQUIRED_ALIGN) {
                refused = Some(Error::new(Status::Failure, Cause::ScratchpadPageAddress(address)));
            }
            if contiguous && let Some(above) = page.checked_sub(1) {
                let above = NonNull::new((&(*pad).pages)[above].mem.load(Relaxed));
                let expected = above.map_or(0, |above| self.dmem_address(above, 0).wrapping_sub(size));
                if expected != address {
                    refused = Some(Error::new(Status::Resource, Cause::ScratchpadGap { expected, address }));
                }
            }
            match refused {
                None => Ok(memory),
                Some(error) => {
                    self.dmem_free(memory);
                    Err(error)
                }
            }
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

    /// Stops counting on the first `size` bytes; pages nobody counts on are freed from the end, which is the order the driver
    /// wants for contiguous ones.
    pub(super) fn scratchpad_release(&self, core: &ResolvedCore, size: u64) {
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

    /// Maps the first `pages` pages of a contiguous arena, which the caller counts on, in one piece: byte 0 of the mapping is
    /// byte 0 of the arena. Models with equally many pages have the same mapping.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the driver refuses.
    pub(super) fn scratchpad_map(&self, core: &ResolvedCore, pages: u32) -> Result<NonNull<u8>> {
        let lowest = self.scratchpad_page_memory(core, pages - 1).ok_or(Error::invalid(Cause::StaleHandle))?;
        // SAFETY: the caller counts on the page, so it stays.
        unsafe { self.dmem_va(lowest) }
    }

    /// Memory of a page.
    pub(super) fn scratchpad_page_memory(&self, core: &ResolvedCore, page: u32) -> Option<NonNull<dmem_t>> {
        let pad = self.scratchpad(core);
        // SAFETY: as in `scratchpad_reserve`.
        unsafe {
            let _held = sync::lock(&(*pad).lock, &self.hooks);
            let live = page < (*pad).num_pages.load(Relaxed);
            live.then(|| NonNull::new((&(*pad).pages)[page as usize].mem.load(Relaxed))).flatten()
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
