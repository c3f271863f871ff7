//! The memory behind the modelled devices: sparse, and not counted as this program's own.
#![allow(unsafe_code)]

use core::mem;
use core::ptr::NonNull;

use nrt_linux::memory::SharedRegion;
use nrt_sim::{Backing, Region};

/// Gives every region a mapping of its own.
pub(super) struct SparseMemory;

// SAFETY: `SharedRegion::new` maps `bytes` readable, writable, zeroed bytes at an address where nothing was mapped, aligned
// to a page of 4096 bytes. Its owner is forgotten, so nobody unmaps it before the process ends, and only the model learns
// the address.
unsafe impl Backing for SparseMemory {
    fn region(&self, _region: Region, bytes: u64) -> Option<NonNull<u8>> {
        let region = SharedRegion::new(c"modelled device memory", usize::try_from(bytes).ok()?).ok()?;
        let base = region.base();
        mem::forget(region);
        Some(base)
    }
}
