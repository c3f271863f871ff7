//! The memory behind the modelled devices: sparse, and not counted as this program's own.
#![allow(unsafe_code, reason = "implements the unsafe trait of the driver model")]

use core::mem;
use core::ptr::NonNull;
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;

use nrt_linux::Errno;
use nrt_linux::memory::SharedRegion;
use nrt_sim::{Backing, Region};

/// Gives every region a mapping of its own, and keeps why the last one could not be made.
pub(super) struct SparseMemory {
    refused: AtomicI32,
}

impl SparseMemory {
    pub(super) const fn new() -> Self {
        Self { refused: AtomicI32::new(0) }
    }

    /// Why there was no memory, if there was none.
    pub(super) fn refused(&self) -> Option<Errno> {
        match self.refused.load(Relaxed) {
            0 => None,
            number => Some(Errno::from_raw_os_error(number)),
        }
    }
}

// SAFETY: `SharedRegion::new` maps `bytes` readable, writable, zeroed bytes at an address where nothing was mapped, aligned
// to a page of 4096 bytes. Its owner is forgotten, so nobody unmaps it before the process ends, and only the model learns
// the address.
unsafe impl Backing for SparseMemory {
    fn region(&self, _region: Region, bytes: u64) -> Option<NonNull<u8>> {
        let region = usize::try_from(bytes)
            .map_err(|_| Errno::FBIG)
            .and_then(|bytes| SharedRegion::new(c"modelled device memory", bytes))
            .inspect_err(|errno| self.refused.store(errno.raw_os_error(), Relaxed))
            .ok()?;
        let base = region.base();
        mem::forget(region);
        Some(base)
    }
}
