//! The system calls that talking to the kernel driver takes.
#![allow(unsafe_code, reason = "declares and makes the system calls")]

use core::ffi::CStr;
use core::fmt::Write as _;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, Ordering};

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir, open, readlinkat_raw, stat};
use rustix::io::{Errno, read};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::getpid;

use crate::request::{Reply, Request};

/// How a device node is opened; the driver looks at the write-only bit alone (`driver-abi` §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `O_WRONLY`: never waits, takes no process slot, serves discovery and core reservation.
    Misc,
    /// `O_RDWR`: waits while the device resets, attaches the process.
    Full,
}

/// A path of a kernel file system, built in place.
#[derive(Clone, Debug, Default)]
pub struct KernelPath {
    /// With a NUL at its end.
    text: heapless::String<192>,
}

impl KernelPath {
    /// The path; empty when it does not fit, which opens nothing.
    #[must_use]
    pub fn new(path: core::fmt::Arguments<'_>) -> Self {
        let mut this = Self::default();
        if this.text.write_fmt(path).and_then(|()| this.text.write_char('\0')).is_err() {
            this.text.clear();
        }
        this
    }

    /// The node of device `index`.
    #[must_use]
    pub fn node(index: u32) -> Self {
        Self::new(format_args!("/dev/neuron{index}"))
    }

    /// As the kernel takes it.
    #[must_use]
    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(self.text.as_bytes()).unwrap_or_default()
    }
}

/// The system as the driver's client sees it. [`Linux`] is the real one; a test can stand in for it.
///
/// # Safety
/// [`map`](Self::map) gives memory that nothing else of this process uses, readable and writable for all its bytes until
/// [`unmap`](Self::unmap). [`request`](Self::request) writes to nothing but what the request names.
pub unsafe trait System: Sync {
    /// Whether `/dev/neuron<index>` is a character device.
    fn present(&self, index: u32) -> bool;

    /// Opens `/dev/neuron<index>`, close-on-exec.
    ///
    /// # Errors
    /// What `open` answered; nothing is tried again.
    fn open(&self, index: u32, kind: Kind) -> Result<OwnedFd, Errno>;

    /// Makes a request.
    ///
    /// # Errors
    /// The error number of the driver. A positive answer is in the reply.
    ///
    /// # Safety
    /// `fd` is a descriptor of [`open`](Self::open).
    unsafe fn request<R: Request>(&self, fd: BorrowedFd<'_>, request: R) -> Result<Reply<R::Argument>, Errno>;

    /// Maps `bytes` bytes of the device at `offset`, shared, readable and writable.
    ///
    /// # Errors
    /// What `mmap` answered.
    fn map(&self, fd: BorrowedFd<'_>, offset: u64, bytes: usize) -> Result<NonNull<u8>, Errno>;

    /// Removes a mapping.
    ///
    /// # Errors
    /// What `munmap` answered.
    ///
    /// # Safety
    /// Address and length are those of one [`map`](Self::map), not unmapped yet, and nothing refers to the memory.
    unsafe fn unmap(&self, address: NonNull<u8>, bytes: usize) -> Result<(), Errno>;

    /// This process.
    fn pid(&self) -> u32;

    /// Reads the start of a file of `/sys` or `/proc` and gives the number of bytes.
    ///
    /// # Errors
    /// What `open` or `read` answered.
    fn text(&self, path: &CStr, buffer: &mut [u8]) -> Result<usize, Errno>;

    /// Passes the names of a directory to `visit` until it answers false.
    ///
    /// # Errors
    /// What opening or reading the directory answered.
    fn list(&self, path: &CStr, visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Errno>;

    /// Reads a symbolic link and gives the number of bytes.
    ///
    /// # Errors
    /// What `readlinkat` answered.
    fn link(&self, path: &CStr, buffer: &mut [u8]) -> Result<usize, Errno>;

    /// Claims the driver for one client of this process. Two would undo each other's core reservations: closing any misc
    /// descriptor drops all of the process (`driver-abi` §8).
    fn claim(&self) -> bool;

    /// Ends the claim.
    fn release(&self);
}

/// The system calls themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux;

static CLAIMED: AtomicBool = AtomicBool::new(false);

// SAFETY: without MAP_FIXED the kernel maps where nothing is mapped, for the rounded length; requests go to the kernel as
// they are.
unsafe impl System for Linux {
    fn present(&self, index: u32) -> bool {
        stat(KernelPath::node(index).as_c_str())
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice)
    }

    fn open(&self, index: u32, kind: Kind) -> Result<OwnedFd, Errno> {
        let access = match kind {
            Kind::Misc => OFlags::WRONLY,
            Kind::Full => OFlags::RDWR,
        };
        open(KernelPath::node(index).as_c_str(), access | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty())
    }

    unsafe fn request<R: Request>(&self, fd: BorrowedFd<'_>, request: R) -> Result<Reply<R::Argument>, Errno> {
        // SAFETY: the descriptor is of the driver whose request this is, by contract; the request vouches for itself.
        unsafe { rustix::ioctl::ioctl(fd, request) }
    }

    fn map(&self, fd: BorrowedFd<'_>, offset: u64, bytes: usize) -> Result<NonNull<u8>, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: without MAP_FIXED the kernel picks a range where nothing is mapped.
        let address = unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, fd, offset) }?;
        NonNull::new(address.cast()).ok_or(Errno::NOMEM)
    }

    unsafe fn unmap(&self, address: NonNull<u8>, bytes: usize) -> Result<(), Errno> {
        // SAFETY: the caller's promise is the requirement of munmap.
        unsafe { munmap(address.as_ptr().cast(), bytes) }
    }

    fn pid(&self) -> u32 {
        getpid().as_raw_pid() as u32
    }

    fn text(&self, path: &CStr, buffer: &mut [u8]) -> Result<usize, Errno> {
        let fd = retried(|| open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))?;
        let mut used = 0;
        while used < buffer.len() {
            match retried(|| read(&fd, &mut buffer[used..]))? {
                0 => break,
                count => used += count,
            }
        }
        Ok(used)
    }

    fn list(&self, path: &CStr, visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Errno> {
        let fd = retried(|| open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY, Mode::empty()))?;
        let mut buffer = [MaybeUninit::uninit(); 2048];
        let mut names = RawDir::new(fd, &mut buffer);
        while let Some(entry) = names.next() {
            if !visit(entry?.file_name().to_bytes()) {
                break;
            }
        }
        Ok(())
    }

    fn link(&self, path: &CStr, buffer: &mut [u8]) -> Result<usize, Errno> {
        readlinkat_raw(CWD, path, buffer)
    }

    fn claim(&self) -> bool {
        !CLAIMED.swap(true, Ordering::Acquire)
    }

    fn release(&self) {
        CLAIMED.store(false, Ordering::Release);
    }
}

// SAFETY: everything goes to the system behind the reference unchanged, whose guarantees hold.
unsafe impl<T: System> System for &T {
    fn present(&self, index: u32) -> bool {
        (**self).present(index)
    }
    fn open(&self, index: u32, kind: Kind) -> Result<OwnedFd, Errno> {
        (**self).open(index, kind)
    }
    unsafe fn request<R: Request>(&self, fd: BorrowedFd<'_>, request: R) -> Result<Reply<R::Argument>, Errno> {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).request(fd, request) }
    }
    fn map(&self, fd: BorrowedFd<'_>, offset: u64, bytes: usize) -> Result<NonNull<u8>, Errno> {
        (**self).map(fd, offset, bytes)
    }
    unsafe fn unmap(&self, address: NonNull<u8>, bytes: usize) -> Result<(), Errno> {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).unmap(address, bytes) }
    }
    fn pid(&self) -> u32 {
        (**self).pid()
    }
    fn text(&self, path: &CStr, buffer: &mut [u8]) -> Result<usize, Errno> {
        (**self).text(path, buffer)
    }
    fn list(&self, path: &CStr, visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Errno> {
        (**self).list(path, visit)
    }
    fn link(&self, path: &CStr, buffer: &mut [u8]) -> Result<usize, Errno> {
        (**self).link(path, buffer)
    }
    fn claim(&self) -> bool {
        (**self).claim()
    }
    fn release(&self) {
        (**self).release();
    }
}

/// Does it again as long as a signal interrupts it. Only for files of the system: a device's own calls are not repeated.
fn retried<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            answer => return answer,
        }
    }
}
