//! Queries and mappings (`driver-abi` §11, §12).

use nrt_core::driver::{DriverResult, Errno};

use super::alloc::CATEGORY_CONTIGUOUS;
use super::{Kernel, Span};
use crate::backing::Region;
use crate::device::{Device, HOST_POOL, hbm_pools};
use crate::pool::{PAGE_SHIFT, Pool};
use crate::record::{DEVICE_OWNED, Link, NONE};

/// A live chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Handle, 0 for chunks of the driver.
    pub handle: u64,
    /// Physical address, which is the mmap offset too; host memory has the host bit.
    pub pa: u64,
    /// Bytes, rounded up to 4 KiB.
    pub size: u64,
    /// Whether it is host memory.
    pub host: bool,
    /// Process that allocated it, `None` for chunks of the driver.
    pub pid: Option<u32>,
    /// Core for copies and accounting.
    pub nc_id: u32,
    /// Category as asked for.
    pub category: u32,
    /// Mappings counted.
    pub mappings: u32,
    /// Where its bytes are.
    pub span: Span,
}

/// One line of `DUMP_MEM_CHUNKS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkEntry {
    /// Physical address.
    pub pa: u64,
    /// Bytes.
    pub size: u64,
    /// Category.
    pub category: u32,
}

/// The array of a dump was too small; the driver answers `EAGAIN` and still tells how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSmall {
    /// Entries needed.
    pub needed: u64,
}

impl Chunk {
    /// Whether it is the combination that the real driver cannot free: category 19 in host memory.
    pub(crate) const fn is_contiguous_host(&self) -> bool {
        self.host && self.category == CATEGORY_CONTIGUOUS
    }
}

impl Kernel {
    /// Describes the chunk a handle names.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for a device that does not exist or a handle that is not live. (`MEM_GET_EXTENDED_INFO`
    /// reports that as a positive 22.)
    pub fn chunk(&self, device: u32, handle: u64) -> DriverResult<Chunk> {
        let state = self.device(device)?;
        let link = self.tables.record_of(&state, device, handle).ok_or(Errno::EINVAL)?;
        Ok(self.describe(&state, device, link))
    }

    /// The chunk that holds a physical address, those of the driver included.
    ///
    /// # Cost
    /// Linear in the chunks between the address and the free run below it.
    #[must_use]
    pub fn chunk_at(&self, device: u32, pa: u64) -> Option<Chunk> {
        let state = self.device(device).ok()?;
        let pool = state.pools.iter().find(|pool| pool.base() <= pa && pa - pool.base() < pool.bytes())?;
        // Inside the pool, so the page fits.
        let page = ((pa - pool.base()) >> PAGE_SHIFT) as u32;
        let link = pool.holder(&self.tables.records, page)?;
        Some(self.describe(&state, device, link))
    }

    /// As [`chunk_at`](Self::chunk_at), but with a handle also for chunks of the driver, which get one for good.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for a device that does not exist, [`Errno::ENOMEM`] when no chunk is there, [`Errno::ENOENT`]
    /// when the handle table is full.
    pub fn handle_at(&self, device: u32, pa: u64) -> DriverResult<Chunk> {
        let chunk = self.chunk_at(device, pa).ok_or(Errno::ENOMEM)?;
        if chunk.handle != 0 {
            return Ok(chunk);
        }
        let mut guard = self.device(device)?;
        let state = &mut *guard;
        let pool = state.pools.iter().find(|pool| pool.base() <= chunk.pa && chunk.pa - pool.base() < pool.bytes());
        let records = &self.tables.records;
        let page = |pool: &Pool| ((chunk.pa - pool.base()) >> PAGE_SHIFT) as u32;
        let link = pool.and_then(|pool| pool.holder(records, page(pool))).ok_or(Errno::ENOMEM)?;
        if records.handle(link) == 0 {
            let handle = self.tables.issue_handle(state, device, link).ok_or(Errno::ENOENT)?;
            records.set_handle(link, handle);
        }
        Ok(self.describe(state, device, link))
    }

    /// The chunk that a mapping of `bytes` at offset `pa` shows, always from the chunk's start.
    ///
    /// # Errors
    /// [`Errno::EPERM`] when the length is not that of the chunk (for the contiguous scratchpad: when it goes beyond
    /// the main pool), or no chunk is there. With the raw-I/O capability the real driver then maps device memory as it
    /// is, which this model leaves to its user.
    pub fn mapping_at(&self, device: u32, pa: u64, bytes: u64) -> DriverResult<Chunk> {
        let chunk = self.chunk_at(device, pa).ok_or(Errno::EPERM)?;
        let length = bytes.checked_next_multiple_of(1 << PAGE_SHIFT).ok_or(Errno::EPERM)?;
        let contiguous = chunk.category == CATEGORY_CONTIGUOUS && length <= chunk.span.bytes;
        (length == chunk.size || (contiguous && length != 0)).then_some(chunk).ok_or(Errno::EPERM)
    }

    /// Counts a mapping of a chunk and describes it.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] when the handle is not live, [`Errno::ENOMEM`] when the count is full.
    pub fn map(&self, device: u32, handle: u64) -> DriverResult<Chunk> {
        let mut state = self.device(device)?;
        let link = self.tables.record_of(&state, device, handle).ok_or(Errno::EINVAL)?;
        let maps = self.tables.records.maps(link).checked_add(1).ok_or(Errno::ENOMEM)?;
        self.tables.records.set_maps(link, maps);
        state.live.mappings += 1;
        Ok(self.describe(&state, device, link))
    }

    /// Takes a mapping of a chunk back.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] when the handle is not live or the chunk is not mapped.
    pub fn unmap(&self, device: u32, handle: u64) -> DriverResult<()> {
        let mut state = self.device(device)?;
        let link = self.tables.record_of(&state, device, handle).ok_or(Errno::EINVAL)?;
        let maps = self.tables.records.maps(link).checked_sub(1).ok_or(Errno::EINVAL)?;
        self.tables.records.set_maps(link, maps);
        state.live.mappings -= 1;
        Ok(())
    }

    /// Lists the chunks of an HBM by address, the firmware carve-out included, and tells how many there are. A channel
    /// or device that does not exist has none.
    ///
    /// # Errors
    /// [`TooSmall`] when `out` cannot hold them all; it then holds the first ones.
    ///
    /// # Cost
    /// Linear in the chunks and free runs of the channel, under the device's lock.
    pub fn dump_chunks(&self, device: u32, channel: u32, out: &mut [ChunkEntry]) -> Result<usize, TooSmall> {
        let count = self.for_each_chunk(device, channel, |index, entry| {
            if let Some(place) = out.get_mut(index) {
                *place = entry;
            }
        });
        if count > out.len() { Err(TooSmall { needed: count as u64 }) } else { Ok(count) }
    }

    /// Shows the chunks of an HBM by address, numbered from 0, and tells how many there are. `visit` runs under the
    /// device's lock.
    pub(crate) fn for_each_chunk(&self, device: u32, channel: u32, mut visit: impl FnMut(usize, ChunkEntry)) -> usize {
        let (Ok(state), true) = (self.device(device), channel < self.config.arch.channels_per_device()) else {
            return 0;
        };
        let mut count = 0;
        for pool in hbm_pools(channel) {
            let mut link = state.pools[usize::from(pool)].lowest();
            while link != NONE {
                if !self.tables.records.is_free(link) {
                    let chunk = self.describe(&state, device, link);
                    visit(count, ChunkEntry { pa: chunk.pa, size: chunk.size, category: chunk.category });
                    count += 1;
                }
                link = self.tables.records.next(link);
            }
        }
        count
    }

    /// Everything about a live chunk.
    pub(super) fn describe(&self, state: &Device, device: u32, link: Link) -> Chunk {
        let records = &self.tables.records;
        let tag = records.tag(link);
        let pool = &state.pools[usize::from(tag.pool)];
        let offset = u64::from(records.start(link)) << PAGE_SHIFT;
        let size = u64::from(records.pages(link)) << PAGE_SHIFT;
        let host = tag.pool == HOST_POOL;
        let category = records.category(link);
        // Copies and mappings of the contiguous scratchpad may run to the end of the main pool.
        let reach = if category == CATEGORY_CONTIGUOUS && !host { pool.bytes() - offset } else { size };
        Chunk {
            handle: records.handle(link).into(),
            pa: pool.base() + offset,
            size,
            host,
            pid: (tag.owner != DEVICE_OWNED).then(|| state.slots[usize::from(tag.owner)].pid),
            nc_id: tag.core.into(),
            category,
            mappings: records.maps(link),
            span: self.place(state, device, tag.pool, pool, offset, reach),
        }
    }

    /// Bytes of a pool as bytes of their region.
    fn place(&self, state: &Device, device: u32, id: u8, pool: &Pool, offset: u64, bytes: u64) -> Span {
        if id == HOST_POOL {
            return Span { region: Region::Host { device }, offset, bytes };
        }
        let [main, _] = hbm_pools(u32::from(id / 2));
        let below = pool.base() - state.pools[usize::from(main)].base();
        Span { region: Region::Hbm { device, channel: u32::from(id / 2) }, offset: below + offset, bytes }
    }
}
