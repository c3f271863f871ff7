//! Writing to descriptors: every byte, and formatted text without allocation.
#![allow(unsafe_code, reason = "borrows the standard descriptors")]

use core::fmt;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;

/// Bytes that one write to a pipe transfers without being mixed with others' (`PIPE_BUF`).
pub const ATOMIC_BYTES: usize = 4096;

/// Standard output.
///
/// A write to a pipe whose reader has gone ends a program without a libc by `SIGPIPE`, as it does a C program.
#[must_use]
pub const fn stdout() -> BorrowedFd<'static> {
    // SAFETY: descriptor 1 belongs to the process as a whole and is never closed by this crate; that it is open for as
    // long as the process lives is the convention that std rests on too (see process::open_standard_descriptors).
    unsafe { BorrowedFd::borrow_raw(1) }
}

/// Standard error.
#[must_use]
pub const fn stderr() -> BorrowedFd<'static> {
    // SAFETY: as for descriptor 1 in `stdout`.
    unsafe { BorrowedFd::borrow_raw(2) }
}

/// Writes all of `bytes`, going on after short writes and signals, and waiting where the descriptor does not block.
///
/// # Errors
/// What `write` answered; some of the bytes may have been written. [`Errno::IO`] when it keeps accepting nothing.
pub fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(fd, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => bytes = bytes.get(count..).unwrap_or(&[]),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => match poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::OUT)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            },
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Text gathered in a buffer of `BYTES` bytes and written when the buffer is full, on [`flush`](Self::flush), and at
/// the end of its life.
///
/// Text that fits leaves in one write; longer text goes on in further writes and nothing is dropped.
pub struct Buffered<'fd, const BYTES: usize = ATOMIC_BYTES> {
    fd: BorrowedFd<'fd>,
    buffer: [u8; BYTES],
    used: usize,
    failed: Option<Errno>,
}

impl<'fd, const BYTES: usize> Buffered<'fd, BYTES> {
    /// An empty buffer in front of `fd`.
    #[must_use]
    pub const fn new(fd: BorrowedFd<'fd>) -> Self {
        const { assert!(BYTES > 0, "a buffer needs room for one byte") };
        Self { fd, buffer: [0; BYTES], used: 0, failed: None }
    }

    /// Adds bytes, text or not.
    ///
    /// # Errors
    /// The first error a write of this buffer met; nothing more is written after it.
    pub fn write_bytes(&mut self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            if self.used == BYTES {
                self.flush()?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(BYTES - self.used));
            self.buffer[self.used..self.used + now.len()].copy_from_slice(now);
            self.used += now.len();
            bytes = later;
        }
        self.failed.map_or(Ok(()), Err)
    }

    /// Writes what has been gathered.
    ///
    /// # Errors
    /// The first error a write of this buffer met; nothing more is written after it.
    pub fn flush(&mut self) -> Result<(), Errno> {
        if let Some(errno) = self.failed {
            self.used = 0;
            return Err(errno);
        }
        let result = write_all(self.fd, &self.buffer[..self.used]);
        self.used = 0;
        self.failed = result.err();
        result
    }
}

impl<const BYTES: usize> fmt::Write for Buffered<'_, BYTES> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes()).map_err(|_| fmt::Error)
    }
}

impl<const BYTES: usize> Drop for Buffered<'_, BYTES> {
    fn drop(&mut self) {
        // A caller who wants to know calls flush.
        let _ = self.flush();
    }
}

impl<const BYTES: usize> fmt::Debug for Buffered<'_, BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffered").field("fd", &self.fd).field("used", &self.used).field("failed", &self.failed).finish()
    }
}
