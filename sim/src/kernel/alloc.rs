//! Allocation and free (`driver-abi` §9, §10).

use nrt_core::driver::{AllocRequest, DriverResult, Errno};

use super::Kernel;
use crate::device::{Device, HOST_POOL, hbm_pools};
use crate::pool::{PAGE_SHIFT, Refusal};
use crate::record::{DEVICE_OWNED, Link, NONE};

/// Largest chunk of the small pool's own: 512 KiB in pages.
const SMALL_PAGES: u64 = (512 << 10) >> PAGE_SHIFT;
/// Largest chunk of host memory: 4 MiB in pages.
const HOST_PAGES: u64 = (4 << 20) >> PAGE_SHIFT;
/// Cores a request may name, on every architecture.
const CORE_LIMIT: u32 = 8;
/// Category of the contiguous scratchpad.
pub(crate) const CATEGORY_CONTIGUOUS: u32 = 19;

/// Arguments of the largest allocation request, `MEM_ALLOC_V2MT64`. The older forms are the same with fields missing:
/// alignment 0, category 0 (host) or 7 (device).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemAlloc {
    /// Bytes wanted.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Host memory instead of HBM.
    pub host: bool,
    /// HBM channel; also checked for host memory.
    pub channel: u32,
    /// Core for copies and accounting.
    pub nc_id: u32,
    /// Category; any number is accepted.
    pub category: u32,
}

impl MemAlloc {
    /// Category of a request form that has none.
    #[must_use]
    pub const fn unknown_category(host: bool) -> u32 {
        if host { 0 } else { 7 }
    }
}

impl From<&AllocRequest> for MemAlloc {
    fn from(request: &AllocRequest) -> Self {
        Self {
            size: request.size,
            align: request.align,
            host: request.host,
            channel: request.channel,
            nc_id: request.nc_id,
            category: request.category.into(),
        }
    }
}

impl Kernel {
    /// Allocates a chunk and answers its handle.
    ///
    /// When the handle cannot be delivered to the caller, [`free`](Self::free) undoes the allocation completely: the
    /// next request gets the same handle and place.
    ///
    /// # Errors
    /// In this order: [`Errno::EINVAL`] for a device that does not exist, a size above 2^63 − 1, a channel the
    /// architecture does not have, a core of 8 or more, host memory with an alignment, an alignment above 2^31 − 1;
    /// [`Errno::ENOMEM`] for size 0, host memory above 4 MiB, and no room; [`Errno::ENOENT`] when the handle table is
    /// full. [`Errno::EACCES`] when the process is not attached, before everything but the device: the real driver
    /// fails an assertion with a lock held.
    ///
    /// # Cost
    /// Logarithmic in the free runs of the pool; an alignment adds the misaligned runs that are skipped.
    pub fn alloc(&self, pid: u32, device: u32, request: &MemAlloc) -> DriverResult<u64> {
        let mut guard = self.device(device)?;
        let state = &mut *guard;
        let Some(slot) = state.slot_of(pid) else {
            state.hazards.unattached_alloc += 1;
            return Err(Errno::EACCES);
        };
        if request.size > i64::MAX as u64 {
            return Err(Errno::EINVAL);
        }
        let pages = request.size.div_ceil(1 << PAGE_SHIFT);
        if request.channel >= self.config.arch.channels_per_device() || request.nc_id >= CORE_LIMIT {
            return Err(Errno::EINVAL);
        }
        let found = if request.host { self.take_host(state, request, pages)? } else { self.take_hbm(state, request, pages)? };
        let link = found.map_err(|refusal| {
            state.hazards.out_of_records += u64::from(refusal == Refusal::Records);
            Errno::ENOMEM
        })?;
        self.tables.records.set_category(link, request.category);
        let Some(handle) = self.tables.issue_handle(state, device, link) else {
            self.give_back(state, link);
            return Err(Errno::ENOENT);
        };
        self.adopt(state, slot, link, handle, request);
        Ok(handle.into())
    }

    /// Frees a chunk, whoever allocated it.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for a device that does not exist or a handle that is not live, [`Errno::EACCES`] when the
    /// process is not attached.
    ///
    /// # Cost
    /// Logarithmic in the free runs of the pool.
    pub fn free(&self, pid: u32, device: u32, handle: u64) -> DriverResult<()> {
        let mut state = self.device(device)?;
        let slot = state.slot_of(pid).ok_or(Errno::EACCES)?;
        let link = self.tables.record_of(&state, device, handle).ok_or(Errno::EINVAL)?;
        if self.tables.records.tag(link).owner == DEVICE_OWNED {
            return Err(Errno::EINVAL);
        }
        self.free_chunk(&mut state, device, slot, link);
        Ok(())
    }

    /// A place in host memory. The window is searched like a pool; the real driver asks the kernel.
    fn take_host(&self, state: &mut Device, request: &MemAlloc, pages: u64) -> DriverResult<Result<Link, Refusal>> {
        if request.align != 0 {
            return Err(Errno::EINVAL);
        }
        if pages == 0 || pages > HOST_PAGES {
            return Err(Errno::ENOMEM);
        }
        if request.category == CATEGORY_CONTIGUOUS {
            state.hazards.contiguous_host += 1;
        }
        Ok(state.pools[usize::from(HOST_POOL)].take(&self.tables.records, pages, 0))
    }

    /// A place in HBM.
    fn take_hbm(&self, state: &mut Device, request: &MemAlloc, pages: u64) -> DriverResult<Result<Link, Refusal>> {
        if request.align > i32::MAX as u64 {
            return Err(Errno::EINVAL);
        }
        if pages == 0 {
            return Err(Errno::ENOMEM);
        }
        let records = &self.tables.records;
        let [main, small] = hbm_pools(request.channel).map(usize::from);
        if request.category == CATEGORY_CONTIGUOUS {
            let end = &mut state.contiguous_end[main / 2];
            let pages = u32::try_from(pages).map_err(|_| Errno::ENOMEM)?;
            let start = end.checked_sub(pages).ok_or(Errno::ENOMEM)?;
            let taken = state.pools[main].take_at(records, start, pages);
            if taken.is_ok() {
                *end = start;
            }
            return Ok(taken);
        }
        // Below 2^31 / 2^12; 0 and 1 both leave every page as it is.
        let mask = (request.align.div_ceil(1 << PAGE_SHIFT).saturating_sub(1)) as u32;
        let [first, second] = if pages <= SMALL_PAGES { [small, main] } else { [main, small] };
        Ok(match state.pools[first].take(records, pages, mask) {
            Err(Refusal::Full) => state.pools[second].take(records, pages, mask),
            other => other,
        })
    }

    /// Enters a new chunk in the books of its owner and of the device.
    fn adopt(&self, state: &mut Device, slot: usize, link: Link, handle: u32, request: &MemAlloc) {
        let records = &self.tables.records;
        let mut tag = records.tag(link);
        tag.core = request.nc_id as u8;
        tag.owner = slot as u8;
        records.set_tag(link, tag);
        records.set_handle(link, handle);
        let owner = &mut state.slots[slot];
        let older = owner.newest;
        records.set_older(link, older);
        if older != NONE {
            records.set_newer(older, link);
        }
        owner.newest = link;
        let bytes = u64::from(records.pages(link)) << PAGE_SHIFT;
        if request.host {
            owner.host_bytes += bytes;
        } else {
            owner.device_bytes += bytes;
        }
        state.count_alloc(request.category, request.host, request.nc_id, bytes);
    }

    /// Frees a live chunk for the process in `slot`: its own totals go down, not the owner's.
    pub(super) fn free_chunk(&self, state: &mut Device, device: u32, slot: usize, link: Link) {
        let records = &self.tables.records;
        let tag = records.tag(link);
        let bytes = u64::from(records.pages(link)) << PAGE_SHIFT;
        let host = tag.pool == HOST_POOL;
        let maps = records.maps(link);
        if maps != 0 {
            state.hazards.freed_while_mapped += 1;
            state.live.mappings -= u64::from(maps);
        }
        let (newer, older) = (records.newer(link), records.older(link));
        if newer != NONE {
            records.set_older(newer, older);
        } else if tag.owner != DEVICE_OWNED {
            state.slots[usize::from(tag.owner)].newest = older;
        }
        if older != NONE {
            records.set_newer(older, newer);
        }
        let books = &mut state.slots[slot];
        if host {
            books.host_bytes = books.host_bytes.saturating_sub(bytes);
        } else {
            books.device_bytes = books.device_bytes.saturating_sub(bytes);
        }
        state.count_free(records.category(link), host, tag.core.into(), bytes);
        self.tables.retire_handle(state, device, records.handle(link));
        self.give_back(state, link);
    }

    /// Returns the pages of a chunk to its pool.
    fn give_back(&self, state: &mut Device, link: Link) {
        let records = &self.tables.records;
        let pool = usize::from(records.tag(link).pool);
        if records.category(link) == CATEGORY_CONTIGUOUS && pool != usize::from(HOST_POOL) {
            let end = &mut state.contiguous_end[pool / 2];
            state.hazards.contiguous_order += u64::from(records.start(link) != *end);
            *end += records.pages(link);
        }
        state.pools[pool].free(records, link);
    }
}
