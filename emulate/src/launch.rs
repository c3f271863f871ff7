//! Starting the program under the filter.

use std::ffi::{CString, OsString};
use std::io::{self, Read};
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::ptr;

use libc::{c_char, c_int, c_ulong};

use crate::filter;
use crate::seccomp::Listener;

const NEW_LISTENER: c_ulong = 8;
/// A thread whose call was received is only disturbed by deadly signals. Before that, any signal can end the call with EINTR.
const WAIT_KILLABLE: c_ulong = 32;
/// Lowest and highest place for the window of device descriptors.
const PLACES: (u64, u64) = (1024, 4096);

/// The running program.
pub(crate) struct Child {
    pub(crate) pid: u32,
    pub(crate) listener: Listener,
    /// Tells an errno when the program cannot be executed; ends without a word when it can.
    pub(crate) failure: UnixStream,
}

/// Where device descriptors go, and the limit of descriptors that makes room for them.
pub(crate) fn window() -> io::Result<(RawFd, libc::rlimit)> {
    // SAFETY: all zero is a value of this plain struct.
    let mut limit: libc::rlimit = unsafe { zeroed() };
    // SAFETY: one struct is written.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let window = filter::WINDOW as u64;
    let mut first = limit.rlim_cur.clamp(PLACES.0, PLACES.1);
    if first + window > limit.rlim_max {
        // Little room: the top of what there is.
        first = limit.rlim_max.checked_sub(window).filter(|&first| first >= 256).ok_or_else(|| {
            io::Error::other(format!("the limit of open files is {}; {} are needed", limit.rlim_max, window + 256))
        })?;
    }
    limit.rlim_cur = limit.rlim_cur.max(first + window);
    Ok((first as RawFd, limit))
}

/// Lets this process have as many descriptors as it may: it has one for each that a program has of a device.
pub(crate) fn raise_limit(limit: &libc::rlimit) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: limit.rlim_max, ..*limit };
    // SAFETY: one struct is read.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Starts `program` with `arguments`.
pub(crate) fn launch(program: &OsString, arguments: &[OsString], first: RawFd, limit: &libc::rlimit) -> io::Result<Child> {
    let texts: Vec<CString> = std::iter::once(program)
        .chain(arguments)
        .map(|text| CString::new(text.clone().into_vec()).map_err(|_| io::ErrorKind::InvalidInput.into()))
        .collect::<io::Result<_>>()?;
    let mut pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
    pointers.push(ptr::null());
    let (ours, theirs) = UnixStream::pair()?;
    let program = filter::program(first);
    let code = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: the process has one thread; the child only makes system calls until it executes the program.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let errno = child(&pointers, &code, limit, theirs.as_raw_fd());
            // SAFETY: four bytes of an i32 go into the socket; then the child ends without running destructors.
            unsafe {
                libc::write(theirs.as_raw_fd(), (&raw const errno).cast(), 4);
                libc::_exit(125)
            }
        }
        _ => {
            drop(theirs);
            let listener = receive(&ours)?;
            Ok(Child { pid: pid as u32, listener, failure: ours })
        }
    }
}

/// The life of the child until it is the program; answers an errno when it does not become it.
fn child(arguments: &[*const c_char], code: &libc::sock_fprog, limit: &libc::rlimit, socket: RawFd) -> c_int {
    let errno = || io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    // SAFETY: plain system calls with numbers and pointers to values that live here; the signal mask is emptied because
    // the supervisor blocks signals.
    unsafe {
        let mut none: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        if libc::setrlimit(libc::RLIMIT_NOFILE, limit) < 0
            || libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
            || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0
        {
            return -errno();
        }
        // SECCOMP_SET_MODE_FILTER.
        let listener = libc::syscall(libc::SYS_seccomp, 1, NEW_LISTENER | WAIT_KILLABLE, code);
        if listener < 0 {
            return -errno();
        }
        if !send(socket, listener as RawFd) {
            return -errno();
        }
        libc::close(listener as RawFd);
        libc::execvp(arguments[0], arguments.as_ptr());
    }
    errno()
}

/// Room for one descriptor in a control message.
type Control = [u64; 4];

/// Sends a descriptor and one byte.
///
/// # Safety
/// Runs between fork and exec: it makes system calls only.
unsafe fn send(socket: RawFd, fd: RawFd) -> bool {
    let mut byte = [0_u8; 1];
    let mut control: Control = [0; 4];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: all zero is a value of this plain struct; the control buffer has room for the header and one descriptor,
    // which is what is written through the pointers computed from it.
    unsafe {
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as usize;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(4) as usize;
        libc::CMSG_DATA(header).cast::<c_int>().write_unaligned(fd);
        libc::sendmsg(socket, &raw const message, 0) == 1
    }
}

/// Receives the listener, or the reason why there is none.
fn receive(socket: &UnixStream) -> io::Result<Listener> {
    let mut bytes = [0_u8; 4];
    let mut control: Control = [0; 4];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: all zero is a value of this plain struct; the kernel writes into the two buffers, whose sizes it is told.
    let fd = unsafe {
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of::<Control>();
        let got = libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC);
        if got <= 0 {
            return Err(io::Error::other("the child ended before it was under supervision"));
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() { None } else { Some(libc::CMSG_DATA(header).cast::<c_int>().read_unaligned()) }
    };
    if let Some(fd) = fd {
        // SAFETY: just received, nobody else's.
        return Ok(Listener::new(unsafe { OwnedFd::from_raw_fd(fd) }));
    }
    let mut socket = socket;
    socket.read_exact(&mut bytes[1..])?;
    let errno = i32::from_ne_bytes(bytes);
    let reason = io::Error::from_raw_os_error(errno.abs());
    Err(io::Error::other(format!(
        "seccomp user notification is not available here: {reason} (it wants Linux 5.19 or later, and only one \
         supervisor for a tree of processes)"
    )))
}

/// The errno with which the program could not be executed, `None` when it runs.
pub(crate) fn failure(socket: &mut UnixStream) -> Option<i32> {
    let mut bytes = [0; 4];
    socket.set_nonblocking(false).ok()?;
    socket.read_exact(&mut bytes).ok().map(|()| i32::from_ne_bytes(bytes))
}
