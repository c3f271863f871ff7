//! Host memory of any size for what a load keeps: lists and tables of variables, functions of microcode libraries.
//!
//! A buddy allocator over blocks of 256 bytes: a request takes a power of two of blocks, at the cost of one step for each
//! power. Everything is in the storage; links of free runs are in the free blocks themselves, so untouched blocks stay
//! untouched.

use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicU32};

use crate::abi::pthread_mutex_t;
use crate::error::{Error, Pool, Result};
use crate::hooks::Hooks;
use crate::sync;

/// Bytes of a block.
pub(crate) const TABLE_BLOCK: usize = 256;
/// Bytes of a pointer table for each of its variables: address, id, mark.
pub(crate) const POINTER_TABLE_ENTRY: usize = size_of::<u64>() + size_of::<u32>() + size_of::<bool>();

/// Blocks that `bytes` bytes take: a power of two, none for no bytes, since nobody takes those.
pub(super) const fn blocks(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes.div_ceil(TABLE_BLOCK).next_power_of_two() }
}

/// Powers of two of blocks a request can take.
const ORDERS: usize = 25;

/// One block. Free ones carry the links of their run.
#[repr(C, align(64))]
pub(crate) struct TableBlock([u8; TABLE_BLOCK]);

/// Links of a free run: index + 1 of its neighbours on the list of its size, or 0.
#[repr(C)]
struct Links {
    before: u32,
    after: u32,
}

/// State of the allocator. Zeroed = never set up.
#[repr(C, align(64))]
pub(crate) struct TableWords {
    lock: pthread_mutex_t,
    heads: [AtomicU32; ORDERS],
    live: AtomicU32,
}

/// First block of a free run of 2^n blocks: `FREE + n`. Of a taken one: `TAKEN + n`. Any other block: 0.
const FREE: u8 = 0x40;
const TAKEN: u8 = 0x80;

/// The allocator over one array of blocks.
pub(crate) struct Tables {
    words: &'static TableWords,
    blocks: NonNull<TableBlock>,
    tags: NonNull<AtomicU8>,
    len: u32,
}

// SAFETY: blocks, tags and words are only touched under the lock in the words, apart from blocks that were handed out.
unsafe impl Sync for Tables {}
// SAFETY: as above; the arrays are 'static and not tied to a thread.
unsafe impl Send for Tables {}

impl Tables {
    /// # Safety
    /// `blocks` and `tags` each point to `len` elements (less than 2^24) that live for ever, are valid when zeroed and belong
    /// to this allocator and `words` alone.
    pub(crate) unsafe fn new(blocks: NonNull<TableBlock>, tags: NonNull<AtomicU8>, len: u32, words: &'static TableWords) -> Self {
        Self { words, blocks, tags, len }
    }

    /// Makes every block free. `used` = some were handed out before. Only the owner of the storage calls this, alone.
    pub(crate) fn reset(&self, used: bool) {
        self.words.heads.iter().for_each(|head| head.store(0, Relaxed));
        self.words.live.store(0, Relaxed);
        if used {
            (0..self.len).for_each(|block| self.tag(block).store(0, Relaxed));
        }
        // The largest runs that start at a multiple of their size and end inside.
        let mut start = 0;
        while start < self.len {
            let fits = (self.len - start).ilog2();
            let order = if start == 0 { fits } else { fits.min(start.trailing_zeros()) };
            self.push(start, order);
            start += 1 << order;
        }
    }

    fn tag(&self, block: u32) -> &AtomicU8 {
        debug_assert!(block < self.len);
        // SAFETY: in bounds.
        unsafe { self.tags.add(block as usize).as_ref() }
    }

    fn links(&self, block: u32) -> *mut Links {
        debug_assert!(block < self.len);
        // SAFETY: in bounds; only the address is computed. A block is large and aligned enough for links.
        unsafe { self.blocks.add(block as usize).as_ptr().cast() }
    }

    /// Enters a free run. Under the lock.
    fn push(&self, block: u32, order: u32) {
        let head = &self.words.heads[order as usize];
        let after = head.load(Relaxed);
        // SAFETY: both runs are free, so their first bytes are this allocator's, and the lock is held.
        unsafe {
            *self.links(block) = Links { before: 0, after };
            if let Some(after) = after.checked_sub(1) {
                (*self.links(after)).before = block + 1;
            }
        }
        head.store(block + 1, Relaxed);
        self.tag(block).store(FREE + order as u8, Relaxed);
    }

    /// Takes a free run off its list. Under the lock.
    fn unlink(&self, block: u32, order: u32) {
        // SAFETY: as in `push`.
        unsafe {
            let Links { before, after } = self.links(block).read();
            if let Some(after) = after.checked_sub(1) {
                (*self.links(after)).before = before;
            }
            match before.checked_sub(1) {
                Some(before) => (*self.links(before)).after = after,
                None => self.words.heads[order as usize].store(after, Relaxed),
            }
        }
        self.tag(block).store(0, Relaxed);
    }

    /// `bytes` bytes, aligned to 64; not zeroed.
    ///
    /// # Errors
    /// `NRT_RESOURCE` when no run is large enough.
    ///
    /// # Cost
    /// At most one step for each power of two, under the lock of the allocator.
    pub(crate) fn take<H: Hooks>(&self, hooks: &H, bytes: usize) -> Result<NonNull<u8>> {
        let full = Error::pool_full(Pool::Tables);
        let order = bytes.div_ceil(TABLE_BLOCK).max(1).checked_next_power_of_two().ok_or(full)?.ilog2();
        let _held = sync::lock(&self.words.lock, hooks);
        let found = (order..ORDERS as u32).find(|order| self.words.heads[*order as usize].load(Relaxed) != 0).ok_or(full)?;
        let block = self.words.heads[found as usize].load(Relaxed) - 1;
        self.unlink(block, found);
        // What is more than asked for goes back in halves.
        for half in (order..found).rev() {
            self.push(block + (1 << half), half);
        }
        self.tag(block).store(TAKEN + order as u8, Relaxed);
        self.words.live.store(self.words.live.load(Relaxed) + 1, Relaxed);
        // SAFETY: in bounds.
        Ok(unsafe { self.blocks.add(block as usize).cast() })
    }

    /// Gives memory of [`take`](Self::take) back.
    pub(crate) fn give<H: Hooks>(&self, hooks: &H, memory: NonNull<u8>) {
        let mut block = ((memory.addr().get() - self.blocks.addr().get()) / TABLE_BLOCK) as u32;
        let _held = sync::lock(&self.words.lock, hooks);
        let tag = self.tag(block).swap(0, Relaxed);
        debug_assert!(tag & TAKEN != 0, "memory that was handed out");
        let mut order = u32::from(tag & !TAKEN);
        // A run and its neighbour of the same size, at the other half of the next larger one, become one.
        while order + 1 < ORDERS as u32 {
            let buddy = block ^ (1 << order);
            if buddy >= self.len || self.tag(buddy).load(Relaxed) != FREE + order as u8 {
                break;
            }
            self.unlink(buddy, order);
            block = block.min(buddy);
            order += 1;
        }
        self.push(block, order);
        self.words.live.store(self.words.live.load(Relaxed) - 1, Relaxed);
    }

    /// Pieces of memory handed out.
    pub(crate) fn live(&self) -> u32 {
        self.words.live.load(Relaxed)
    }
}

#[cfg(test)]
mod tests;
