//! Offset in an arena → page (`tdrv_scratchpad_get_mem`, fact sheet `scratchpad` §6).

use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::dmem_t;
use crate::context::ResolvedCore;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::sync;
use crate::system::System;

/// How an arena is cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) page_size: u64,
    /// Pages that count: those of the model that asks, since in contiguous mode the index depends on them (errata 27).
    pub(super) pages: u32,
    pub(super) contiguous: bool,
}

/// Page and offset in the page of a span of an arena. In paged mode a span lies in one page; in contiguous mode it may cross
/// pages, and the index counts down from the last one, which has the lowest address.
pub(super) fn locate(offset: u64, size: u64, cut: Cut) -> Result<(u32, u64)> {
    let Cut { page_size, pages, contiguous } = cut;
    let miss = Error::invalid(Cause::ScratchpadSpan { offset, size, page_size });
    let (page, in_page) = (offset / page_size, offset % page_size);
    if page >= u64::from(pages) {
        return Err(miss);
    }
    let (start, limit) = if contiguous { (offset, page_size * u64::from(pages)) } else { (in_page, page_size) };
    match start.checked_add(size) {
        Some(end) if end <= limit => Ok((if contiguous { pages - 1 - page as u32 } else { page as u32 }, in_page)),
        _ => Err(miss),
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// The page that holds the start of a span of a core's arena, and the offset in it; `claimed` = bytes of the arena that
    /// the asking model counts on, `None` = the whole arena as it is now.
    ///
    /// # Errors
    /// `NRT_INVALID` when the claimed pages do not hold it: in paged mode one of them, in contiguous mode all together.
    ///
    /// # Concurrency
    /// The scratchpad lock of the core.
    pub(crate) fn scratchpad_span(
        &self,
        core: &ResolvedCore,
        claimed: Option<u64>,
        offset: u64,
        size: u64,
    ) -> Result<(NonNull<dmem_t>, u64)> {
        let (page_size, contiguous) = self.scratchpad_mode(core);
        let pad = self.scratchpad(core);
        // SAFETY: the lock and the page fields live in the core's record; pages are only touched under the lock.
        unsafe {
            let _held = sync::lock(&(*pad).lock, &self.hooks);
            let live = (*pad).num_pages.load(Relaxed);
            let pages = claimed.map_or(live, |bytes| (bytes.div_ceil(page_size) as u32).min(live));
            let (page, in_page) = locate(offset, size, Cut { page_size, pages, contiguous })?;
            let miss = Error::invalid(Cause::ScratchpadSpan { offset, size, page_size });
            Ok((NonNull::new((&(*pad).pages)[page as usize].mem.load(Relaxed)).ok_or(miss)?, in_page))
        }
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// The page above a page of a contiguous arena: where a span that leaves it goes on. `None` for the first page.
    ///
    /// # Errors
    /// Never for a live page.
    ///
    /// # Safety
    /// `page` is a live page that the caller counts on.
    pub(crate) unsafe fn scratchpad_page_above(&self, page: NonNull<dmem_t>) -> Result<Option<NonNull<dmem_t>>> {
        // SAFETY: live by contract; these fields are written before publication.
        let (core, address) = unsafe { (self.resolve((*page.as_ptr()).pcore)?, self.dmem_address(page, 0)) };
        let (page_size, contiguous) = self.scratchpad_mode(&core);
        let Some(first) = self.scratchpad_page_memory(&core, 0).filter(|_| contiguous) else { return Ok(None) };
        // SAFETY: the first page stays as long as any other does.
        let index = unsafe { self.dmem_address(first, 0) }.wrapping_sub(address) / page_size;
        Ok(u32::try_from(index)
            .ok()
            .and_then(|index| index.checked_sub(1))
            .and_then(|above| self.scratchpad_page_memory(&core, above)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// `scratchpad` §6, the vectors of the paged mode.
    #[test]
    fn spans_are_found_in_one_page_or_not_at_all() {
        let page = 512 * MIB;
        let cut = Cut { page_size: page, pages: 2, contiguous: false };
        assert_eq!(locate(page - 1, 1, cut).unwrap(), (0, page - 1));
        assert!(locate(page - 1, 2, cut).is_err());
        assert_eq!(locate(page, page, cut).unwrap(), (1, 0));
        assert!(locate(2 * page, 1, cut).is_err(), "behind the last page");
        assert!(locate(0, u64::MAX, cut).is_err());
    }

    /// `scratchpad` §6, the vectors of the contiguous mode.
    #[test]
    fn contiguous_pages_count_down_and_spans_cross_them() {
        let cut = Cut { page_size: 64 * MIB, pages: 4, contiguous: true };
        assert_eq!(locate(0, 1, cut).unwrap(), (3, 0));
        assert_eq!(locate(64 * MIB, 1, cut).unwrap(), (2, 0));
        assert_eq!(locate(200 * MIB, 56 * MIB, cut).unwrap(), (0, 8 * MIB));
        assert!(locate(200 * MIB, 56 * MIB + 1, cut).is_err());
        assert_eq!(locate(0, 256 * MIB, cut).unwrap(), (3, 0));
        assert!(locate(u64::MAX, 1, cut).is_err());
    }
}
