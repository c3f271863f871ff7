//! Memory behind the model for tests.
#![allow(dead_code, reason = "each test program uses a part")]

use std::os::fd::OwnedFd;
use std::ptr::NonNull;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};

use nrt_core::driver::{AllocRequest, DeviceRange, Driver, Errno};
use nrt_sim::{Backing, Region};

/// Sparse shared memory: one memfd a region.
pub(crate) struct Sparse;

// SAFETY: each call maps a file of its own, new and therefore zero, of `bytes` bytes, shared and writable, at an address
// the kernel chooses apart from everything else; it is never unmapped.
unsafe impl Backing for Sparse {
    fn region(&self, region: Region, bytes: u64) -> Option<NonNull<u8>> {
        let file = memfd(&region.to_string(), bytes)?;
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        // SAFETY: a new mapping at no particular address.
        let address = unsafe {
            mmap(std::ptr::null_mut(), usize::try_from(bytes).ok()?, ProtFlags::READ | ProtFlags::WRITE, flags, &file, 0)
        };
        NonNull::new(address.ok()?.cast())
    }
}

/// A backing with nothing in it.
pub(crate) struct Nothing;

// SAFETY: it never answers a pointer.
unsafe impl Backing for Nothing {
    fn region(&self, _: Region, _: u64) -> Option<NonNull<u8>> {
        None
    }
}

/// Bytes of one tile of [`Mirrored`].
pub(crate) const TILE: usize = 64 << 20;

/// Sparse memory whose middle is the same tile again and again, so that copies of many gigabytes need no gigabytes.
/// The first tile of each region and its last `own` tiles are memory of their own.
pub(crate) struct Mirrored {
    /// Tiles at the top of a region that are not mirrored.
    pub(crate) own: usize,
}

// SAFETY: as `Sparse` in extent, access and lifetime. It is zero at first. The middle of a region is one piece of memory
// at many addresses: a test that uses it knows that.
unsafe impl Backing for Mirrored {
    fn region(&self, region: Region, bytes: u64) -> Option<NonNull<u8>> {
        let Region::Hbm { .. } = region else { return Sparse.region(region, bytes) };
        let bytes = usize::try_from(bytes).ok()?;
        let shared = MapFlags::SHARED | MapFlags::NORESERVE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at no particular address.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, shared) }.ok()?;
        let tile = memfd(&region.to_string(), TILE as u64)?;
        for index in 1..bytes / TILE - self.own {
            // SAFETY: the tile lies inside the mapping made above, which nobody uses yet.
            unsafe { mmap(base.byte_add(index * TILE), TILE, access, shared | MapFlags::FIXED, &tile, 0) }.ok()?;
        }
        NonNull::new(base.cast())
    }
}

/// A sparse file in memory.
fn memfd(name: &str, bytes: u64) -> Option<OwnedFd> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC).ok()?;
    ftruncate(&file, bytes).ok()?;
    Some(file)
}

/// A range nobody has filled.
pub(crate) fn no_range() -> DeviceRange {
    DeviceRange {
        device: std::ptr::null_mut(),
        driver_handle: 0,
        pa: 0,
        mmap_offset: 0,
        size: 0,
        align: 0,
        pad_2c: 0,
        mmap_va: std::ptr::null_mut(),
        host_memory: 0,
        nc_id: 0,
    }
}

/// A request for `size` bytes of HBM 0 for tensors.
pub(crate) fn hbm(size: u64) -> AllocRequest {
    AllocRequest { size, align: 0, host: false, channel: 0, nc_id: 0, category: 9 }
}

/// A request for `size` bytes of host memory.
pub(crate) fn host(size: u64) -> AllocRequest {
    AllocRequest { host: true, category: 2, ..hbm(size) }
}

/// Allocates on device 0.
pub(crate) fn alloc(driver: &impl Driver, request: &AllocRequest) -> Result<DeviceRange, Errno> {
    let mut range = no_range();
    driver.alloc(0, request, &mut range).map(|()| range)
}

/// A generator of numbers, the same ones in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
