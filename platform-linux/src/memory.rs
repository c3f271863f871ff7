//! Mappings with an owner.
#![allow(unsafe_code, reason = "maps and unmaps memory")]

use core::ffi::{CStr, c_void};
use core::ptr::{self, NonNull};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// Readable and writable memory, zeroed at first, aligned to a page, unmapped at the end of its life.
///
/// The owner hands out the address and never touches the memory itself: what may be done with it when is a matter of
/// those who use it.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread; the owner has an address and a length and accesses nothing.
unsafe impl Send for Mapping {}
// SAFETY: shared access to the owner only copies the address and the length.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Private memory of this process.
    ///
    /// # Errors
    /// [`Errno::INVAL`] when `bytes` is 0, [`Errno::NOMEM`] when there is no room.
    pub fn anonymous(bytes: usize) -> Result<Self, Errno> {
        Self::private(bytes, MapFlags::PRIVATE)
    }

    /// Private memory of which only the touched pages are ever accounted, for sparse use.
    ///
    /// # Errors
    /// As [`anonymous`](Self::anonymous).
    pub fn sparse(bytes: usize) -> Result<Self, Errno> {
        Self::private(bytes, MapFlags::PRIVATE | MapFlags::NORESERVE)
    }

    fn private(bytes: usize, flags: MapFlags) -> Result<Self, Errno> {
        // SAFETY: without MAP_FIXED the kernel picks a range where nothing is mapped.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags) }?;
        Self::from_kernel(base, bytes)
    }

    fn from_kernel(base: *mut c_void, bytes: usize) -> Result<Self, Errno> {
        // The kernel never places a mapping at address 0 of its own accord.
        Ok(Self { base: NonNull::new(base.cast()).ok_or(Errno::NOMEM)?, bytes })
    }

    /// First byte.
    #[must_use]
    pub const fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Length in bytes as asked for; the mapping itself extends to the end of the page.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives up the owner; the memory stays mapped until [`from_raw`](Self::from_raw) takes it back or for ever.
    #[must_use]
    pub fn into_raw(self) -> (NonNull<u8>, usize) {
        let raw = (self.base, self.bytes);
        core::mem::forget(self);
        raw
    }

    /// Takes back what [`into_raw`](Self::into_raw) gave up.
    ///
    /// # Safety
    /// `base` and `bytes` come from one `into_raw`, are taken back once, and nothing else unmaps the memory.
    #[must_use]
    pub const unsafe fn from_raw(base: NonNull<u8>, bytes: usize) -> Self {
        Self { base, bytes }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped when this owner was made and has no other owner. Whoever uses the address
        // beyond the owner's life does so through an unsafe access that this ends the permission for.
        let _ = unsafe { unmap(self.base, self.bytes) };
    }
}

/// Removes a mapping.
///
/// # Safety
/// The range was mapped by this module, has no owner any more, and nothing refers to it.
pub(crate) unsafe fn unmap(base: NonNull<u8>, bytes: usize) -> Result<(), Errno> {
    // SAFETY: the caller's promise is the requirement of munmap.
    unsafe { munmap(base.as_ptr().cast(), bytes) }
}

/// Memory behind a descriptor: sparse, shareable with other processes, gone with the last holder.
///
/// Pages become resident when first touched and count as shared, not as anonymous memory. Any size the address space
/// has room for can be made; running out of memory later shows as a signal at the access, as with every sparse memory.
#[derive(Debug)]
pub struct SharedRegion {
    mapping: Mapping,
    fd: OwnedFd,
}

impl SharedRegion {
    /// Makes a region of `bytes` zeroed bytes and maps it whole; `name` shows up in `/proc/self/maps`.
    ///
    /// # Errors
    /// [`Errno::INVAL`] when `bytes` is 0 or `name` is longer than 249 bytes; [`Errno::FBIG`] when `bytes` is larger
    /// than a file can be; [`Errno::MFILE`] when the process has too many descriptors; [`Errno::NOMEM`] when the address
    /// space has no room.
    pub fn new(name: &CStr, bytes: usize) -> Result<Self, Errno> {
        if bytes == 0 {
            return Err(Errno::INVAL);
        }
        if bytes > i64::MAX as usize {
            return Err(Errno::FBIG);
        }
        let fd = memfd_create(name, MemfdFlags::CLOEXEC)?;
        ftruncate(&fd, bytes as u64)?;
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        // SAFETY: without MAP_FIXED the kernel picks a range where nothing is mapped.
        let base = unsafe { mmap(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags, &fd, 0) }?;
        Ok(Self { mapping: Mapping::from_kernel(base, bytes)?, fd })
    }

    /// First byte.
    #[must_use]
    pub const fn base(&self) -> NonNull<u8> {
        self.mapping.base()
    }

    /// Length in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.mapping.bytes()
    }
}

impl AsFd for SharedRegion {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
