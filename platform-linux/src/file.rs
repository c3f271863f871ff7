//! Reading regular files at offsets.
//!
//! Files are read, not mapped: a file that shrinks while it is read gives an error instead of a signal.

use core::ffi::CStr;
use core::fmt;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::{Errno, pread};

/// A regular file, open for reading.
#[derive(Debug)]
pub struct File {
    fd: OwnedFd,
}

/// Why a read failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The file ended before the buffer was full.
    UnexpectedEnd {
        /// Offset in the file, in bytes, at which there was nothing more.
        offset: u64,
        /// Bytes of the buffer that were not filled.
        missing: usize,
    },
    /// The system refused.
    System {
        /// Offset in the file, in bytes, that was to be read next.
        offset: u64,
        /// Its answer; [`Errno::OVERFLOW`] when offset and length together exceed 2^63 − 1.
        errno: Errno,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnexpectedEnd { offset, missing } => {
                write!(f, "the file ends at offset {offset}, {missing} more bytes were expected")
            }
            Self::System { offset, errno } => write!(f, "reading at offset {offset} failed: {errno}"),
        }
    }
}

impl core::error::Error for ReadError {}

impl File {
    /// Opens a regular file.
    ///
    /// # Errors
    /// What `open` answered; [`Errno::ISDIR`] for a directory, [`Errno::SPIPE`] for a pipe or socket and
    /// [`Errno::INVAL`] for a device, none of which have offsets to read at.
    pub fn open(path: &CStr) -> Result<Self, Errno> {
        // NONBLOCK: a pipe without a writer must be refused below, not waited for. It means nothing to regular files.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let fd = loop {
            match open(path, flags, Mode::empty()) {
                Err(Errno::INTR) => {}
                answer => break answer?,
            }
        };
        match FileType::from_raw_mode(fstat(&fd)?.st_mode) {
            FileType::RegularFile => Ok(Self { fd }),
            FileType::Directory => Err(Errno::ISDIR),
            FileType::Fifo | FileType::Socket => Err(Errno::SPIPE),
            _ => Err(Errno::INVAL),
        }
    }

    /// Size in bytes at this moment.
    ///
    /// # Errors
    /// What `fstat` answered.
    pub fn size(&self) -> Result<u64, Errno> {
        Ok(fstat(&self.fd)?.st_size as u64)
    }

    /// Reads at `offset`, once, and returns how many bytes came: 0 at the end of the file, else 1 up to the length.
    ///
    /// # Errors
    /// What `pread` answered, [`Errno::INTR`] excepted.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        loop {
            match pread(&self.fd, &mut *buffer, offset) {
                Err(Errno::INTR) => {}
                answer => return answer,
            }
        }
    }

    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// [`ReadError::UnexpectedEnd`] when the file is or becomes too short, [`ReadError::System`] when a read fails. The
    /// buffer then holds the bytes before the offset that the error names.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), ReadError> {
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > i64::MAX as u64) {
            return Err(ReadError::System { offset, errno: Errno::OVERFLOW });
        }
        let mut offset = offset;
        let mut rest = buffer;
        while !rest.is_empty() {
            match self.read_at(rest, offset) {
                Ok(0) => return Err(ReadError::UnexpectedEnd { offset, missing: rest.len() }),
                Ok(count) => {
                    offset += count as u64;
                    rest = rest.get_mut(count..).unwrap_or_default();
                }
                Err(errno) => return Err(ReadError::System { offset, errno }),
            }
        }
        Ok(())
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Longest path the kernel takes, its NUL included.
const PATH_BYTES: usize = 4096;

/// A path as the kernel wants it, built without allocation.
#[derive(Clone)]
pub struct PathBuffer {
    bytes: [u8; PATH_BYTES],
    /// Bytes used, the NUL included.
    used: usize,
}

impl PathBuffer {
    /// `path` with a NUL behind it.
    ///
    /// # Errors
    /// [`Errno::NAMETOOLONG`] when it does not fit 4096 bytes, [`Errno::INVAL`] when it contains a NUL.
    pub fn new(path: &[u8]) -> Result<Self, Errno> {
        Self::joined(b"", path)
    }

    /// `name` as seen from the directory that holds `file`: itself when it starts with a slash, else behind everything
    /// of `file` up to its last slash.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn beside(file: &CStr, name: &[u8]) -> Result<Self, Errno> {
        let file = file.to_bytes();
        let directory = match file.iter().rposition(|&byte| byte == b'/') {
            Some(slash) if name.first() != Some(&b'/') => file.get(..=slash).unwrap_or_default(),
            _ => b"",
        };
        Self::joined(directory, name)
    }

    fn joined(directory: &[u8], name: &[u8]) -> Result<Self, Errno> {
        if directory.contains(&0) || name.contains(&0) {
            return Err(Errno::INVAL);
        }
        let length = directory.len() + name.len();
        if length >= PATH_BYTES {
            return Err(Errno::NAMETOOLONG);
        }
        let mut bytes = [0; PATH_BYTES];
        let (front, back) = bytes.split_at_mut(directory.len());
        front.copy_from_slice(directory);
        back[..name.len()].copy_from_slice(name);
        Ok(Self { bytes, used: length + 1 })
    }

    /// The path.
    #[must_use]
    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.bytes[..self.used]).unwrap_or_default()
    }
}

impl fmt::Debug for PathBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_c_str().fmt(f)
    }
}
