//! The process as a whole: leaving it, its standard descriptors, signals, limits, resident memory.
#![allow(unsafe_code, reason = "ends the process, opens the standard descriptors, ignores signals")]

use core::ffi::CStr;

use rustix::fd::{AsRawFd as _, BorrowedFd, IntoRawFd as _};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, fcntl_getfd, read};
use rustix::process::{Resource, getrlimit};

use crate::raw;

/// Ends the process with all its threads.
///
/// Nothing is flushed and no destructor runs. In a program with a libc, leave through the libc instead.
pub fn exit(status: i32) -> ! {
    loop {
        // SAFETY: exit_group writes no memory and does not return.
        let _ = unsafe { raw::syscall(raw::EXIT_GROUP, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Opens `/dev/null` in the place of each standard descriptor that the parent left closed, so that no later file can
/// take the number and receive the log; where there is no `/dev/null`, a descriptor that can neither be read nor
/// written. To be called once, before the program opens anything.
///
/// # Errors
/// What opening the root directory answered, when even that did not open.
pub fn open_standard_descriptors() -> Result<(), Errno> {
    for number in 0..3 {
        // SAFETY: the borrow lasts for one query of the descriptor's flags, which is harmless on any number: if it is
        // not open, the answer is EBADF.
        let state = fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) });
        if state == Err(Errno::BADF) {
            let place = open(c"/dev/null", OFlags::RDWR, Mode::empty())
                .or_else(|_| open(c"/", OFlags::PATH | OFlags::DIRECTORY, Mode::empty()))?;
            // The kernel gives the lowest free number, and all below this one are taken; should another thread have
            // been quicker, the descriptor is not needed.
            if place.as_raw_fd() == number {
                let _ = place.into_raw_fd();
            }
        }
    }
    Ok(())
}

/// A write beyond the limit on the size of files (`ulimit -f`).
pub const SIGXFSZ: u32 = 25;

/// A write to a pipe that nobody reads.
pub const SIGPIPE: u32 = 13;

/// Ignores a signal of this process from now on: what raises it then fails with an error number instead.
///
/// # Errors
/// [`Errno::INVAL`] for a number that is no signal, and for those that cannot be ignored.
pub fn ignore(signal: u32) -> Result<(), Errno> {
    /// The kernel's `SIG_IGN`.
    const IGNORE: usize = 1;
    // Handler, flags, restorer, mask: the kernel's own struct, of four words on x86-64.
    let action = [IGNORE, 0, 0, 0];
    let arguments = [signal as usize, action.as_ptr().expose_provenance(), 0, size_of::<u64>(), 0, 0];
    // SAFETY: rt_sigaction reads the four words and, with a null third argument, writes nothing. No handler is installed,
    // so no code of this process runs at a time of the kernel's choosing.
    unsafe { raw::syscall(raw::RT_SIGACTION, arguments) }.map(drop)
}

/// Bytes that the stack of the main thread may grow to, `None` for any number.
#[must_use]
pub fn stack_limit() -> Option<u64> {
    getrlimit(Resource::Stack).current
}

/// Anonymous memory of this process that is resident, in bytes: stacks, `.data`, `.bss` and private mappings, but
/// neither program text nor files nor [`crate::memory::SharedRegion`]s.
///
/// Taken from `/proc/self/smaps_rollup`, which is exact and visits every page; else from the kernel's running counter
/// in `/proc/self/status`, which may lag by some hundred kilobytes.
///
/// # Errors
/// What opening or reading `/proc` answered; [`Errno::NODATA`] when the figure is not in the text.
pub fn resident_anonymous_bytes() -> Result<u64, Errno> {
    figure(c"/proc/self/smaps_rollup", b"Anonymous:").or_else(|_| figure(c"/proc/self/status", b"RssAnon:"))
}

fn figure(path: &CStr, key: &[u8]) -> Result<u64, Errno> {
    let fd = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = [0; 4096];
    let mut used = 0;
    while used < text.len() {
        match read(&fd, &mut text[used..]) {
            Ok(0) => break,
            Ok(count) => used += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    kilobytes(&text[..used], key).ok_or(Errno::NODATA)
}

/// Finds the line `<key> <number> kB` and returns the number in bytes.
#[must_use]
pub fn kilobytes(text: &[u8], key: &[u8]) -> Option<u64> {
    let line = text.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(key))?;
    let number = line.trim_ascii().strip_suffix(b" kB")?.trim_ascii_end();
    core::str::from_utf8(number).ok()?.parse::<u64>().ok()?.checked_mul(1024)
}
