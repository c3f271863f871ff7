//! Messages for the person at the terminal, on standard error.

use core::fmt::{self, Write as _};

use nrt_linux::Errno;
use nrt_linux::file::ReadError;
use nrt_linux::output::{Buffered, stderr};

/// Writes a line `nrt-appliance: <text>`.
///
/// There is nobody to tell that standard error cannot be written: such errors are passed over.
pub(super) fn say(text: fmt::Arguments<'_>) {
    let mut line: Buffered<'_> = Buffered::new(stderr());
    let _ = writeln!(line, "nrt-appliance: {text}");
}

/// Why the system refused, in words.
pub(super) struct Reason(pub(super) Errno);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Errno::NOENT => "there is no such file",
            Errno::ACCESS | Errno::PERM => "permission denied",
            Errno::ISDIR => "this is a directory, expected a file",
            Errno::NOTDIR => "a part of the path is not a directory",
            Errno::SPIPE => "this is a pipe or a socket, expected a file",
            Errno::INVAL => "this is not a regular file",
            Errno::NAMETOOLONG => "the path is too long",
            Errno::LOOP => "too many symbolic links",
            Errno::MFILE | Errno::NFILE => "too many open files",
            Errno::IO => "input or output error",
            Errno::NOMEM => "the system has no memory",
            Errno::AGAIN => "the system has no room for another thread",
            Errno::NOSPC => "no space left",
            Errno::FBIG => "larger than a file may be (ulimit -f)",
            Errno::BADF => "it is closed",
            Errno::BUSY => "16 other processes have it open",
            Errno::PIPE => "nobody reads the pipe",
            other => return write!(f, "error number {}", other.raw_os_error()),
        })
    }
}

/// Why a file could not be read, in words.
pub(super) struct Unread(pub(super) ReadError);

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ReadError::System { offset, errno } => write!(f, "reading at offset {offset} failed: {}", Reason(errno)),
            ref end @ ReadError::UnexpectedEnd { .. } => end.fmt(f),
        }
    }
}
