//! Seccomp user notification: the kernel stops a thread at chosen system calls and asks us what to answer.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use libc::{c_int, c_ulong};

const RECEIVE: c_ulong = 0xC050_2100;
const SEND: c_ulong = 0xC018_2101;
const STILL_VALID: c_ulong = 0x4008_2102;
const ADD_FD: c_ulong = 0x4018_2103;
/// Install at the number given, and answer the call with it.
const ADD_FD_SET: u32 = 1;
const ADD_FD_SEND: u32 = 2;
/// Let the kernel do the call as if there were no filter.
const CONTINUE: u32 = 1;

#[repr(C)]
struct RawData {
    nr: c_int,
    arch: u32,
    instruction: u64,
    args: [u64; 6],
}

#[repr(C)]
struct RawNotification {
    id: u64,
    pid: u32,
    flags: u32,
    data: RawData,
}

#[repr(C)]
struct RawAnswer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

#[repr(C)]
struct RawAddFd {
    id: u64,
    flags: u32,
    source: u32,
    number: u32,
    number_flags: u32,
}

const _: () = assert!(size_of::<RawNotification>() == 80 && size_of::<RawAnswer>() == 24 && size_of::<RawAddFd>() == 24);

/// A system call that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notification {
    /// Names the call in answers.
    pub(crate) id: u64,
    /// Thread that made it.
    pub(crate) tid: u32,
    /// Number of the system call.
    pub(crate) nr: i64,
    /// Its arguments.
    pub(crate) args: [u64; 6],
}

/// What the thread gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This return value.
    Value(i64),
    /// −1 and this errno.
    Errno(i32),
    /// The kernel's own answer.
    Continue,
}

/// The end of the filter where notifications arrive.
pub(crate) struct Listener(OwnedFd);

impl Listener {
    /// A listener the kernel gave to the child.
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// The next waiting call, `None` when it went away meanwhile.
    pub(crate) fn receive(&self) -> io::Result<Option<Notification>> {
        // SAFETY: all zero is a value of this plain struct; the kernel wants it zero.
        let mut raw: RawNotification = unsafe { zeroed() };
        // SAFETY: the request reads and writes one `RawNotification`, whose size is asserted above.
        if unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE, &raw mut raw) } < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EINTR | libc::ENOENT) => Ok(None),
                _ => Err(error),
            };
        }
        Ok(Some(Notification { id: raw.id, tid: raw.pid, nr: raw.data.nr.into(), args: raw.data.args }))
    }

    /// The next waiting call, `None` when there is none within some milliseconds.
    pub(crate) fn receive_within(&self, milliseconds: c_int) -> io::Result<Option<Notification>> {
        let mut ready = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one struct is read and written.
        let count = unsafe { libc::poll(&raw mut ready, 1, milliseconds) };
        if count > 0 && ready.revents & libc::POLLIN != 0 { self.receive() } else { Ok(None) }
    }

    /// Whether nobody is left who could make a call.
    pub(crate) fn is_abandoned(&self) -> bool {
        let mut ready = libc::pollfd { fd: self.0.as_raw_fd(), events: 0, revents: 0 };
        // SAFETY: one struct is read and written.
        unsafe { libc::poll(&raw mut ready, 1, 0) > 0 && ready.revents & libc::POLLHUP != 0 }
    }

    /// Whether the thread still waits: only then is what was read of its memory and its files its own.
    pub(crate) fn still_valid(&self, id: u64) -> bool {
        // SAFETY: the request reads one u64.
        unsafe { libc::ioctl(self.0.as_raw_fd(), STILL_VALID, &raw const id) == 0 }
    }

    /// Answers a call. Tells whether the thread was still there.
    pub(crate) fn answer(&self, id: u64, answer: Answer) -> bool {
        let raw = match answer {
            Answer::Value(value) => RawAnswer { id, value, error: 0, flags: 0 },
            Answer::Errno(errno) => RawAnswer { id, value: 0, error: -errno, flags: 0 },
            Answer::Continue => RawAnswer { id, value: 0, error: 0, flags: CONTINUE },
        };
        // SAFETY: the request reads one `RawAnswer`, whose size is asserted above.
        unsafe { libc::ioctl(self.0.as_raw_fd(), SEND, &raw const raw) == 0 }
    }

    /// Gives the thread a copy of `source`, at `number` or at the lowest free one, and answers its call with that number.
    pub(crate) fn answer_fd(&self, id: u64, source: BorrowedFd<'_>, number: Option<RawFd>, cloexec: bool) -> io::Result<()> {
        let flags = ADD_FD_SEND | if number.is_some() { ADD_FD_SET } else { 0 };
        self.install(id, source, number.unwrap_or(0), flags, cloexec)
    }

    /// Gives the process a copy of `source` at `number`, and leaves the call without an answer.
    pub(crate) fn add_fd(&self, id: u64, source: BorrowedFd<'_>, number: RawFd) -> io::Result<()> {
        self.install(id, source, number, ADD_FD_SET, true)
    }

    fn install(&self, id: u64, source: BorrowedFd<'_>, number: RawFd, flags: u32, cloexec: bool) -> io::Result<()> {
        let raw = RawAddFd {
            id,
            flags,
            source: source.as_raw_fd() as u32,
            number: number as u32,
            number_flags: if cloexec { libc::O_CLOEXEC as u32 } else { 0 },
        };
        // SAFETY: the request reads one `RawAddFd`, whose size is asserted above.
        if unsafe { libc::ioctl(self.0.as_raw_fd(), ADD_FD, &raw const raw) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
