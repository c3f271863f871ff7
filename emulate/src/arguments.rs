//! The arguments of the system calls with a path.

use std::os::fd::RawFd;

use crate::remote;
use crate::seccomp::Notification;

/// What is asked for about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Open { flags: i32 },
    Stat { to: u64 },
    Statx { to: u64 },
    Access { mode: i32 },
    Link { to: u64, size: u64 },
    Enter,
    Attribute,
    Attributes,
}

impl Asked {
    /// Name in the trace.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::Stat { .. } => "stat",
            Self::Statx { .. } => "statx",
            Self::Access { .. } => "access",
            Self::Link { .. } => "readlink",
            Self::Enter => "chdir",
            Self::Attribute => "getxattr",
            Self::Attributes => "listxattr",
        }
    }
}

/// How far a path may lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Not out of the directory it starts in.
    pub(crate) beneath: bool,
    /// The directory is the root.
    pub(crate) root: bool,
    /// Not over links.
    pub(crate) no_links: bool,
}

/// Arguments of a call with a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments {
    pub(crate) asked: Asked,
    pub(crate) directory: RawFd,
    /// Where the path is.
    pub(crate) path: u64,
    /// Whether an empty path means the directory descriptor itself.
    pub(crate) empty: bool,
    /// Whether a link at the end is followed.
    pub(crate) follow: bool,
    pub(crate) scope: Scope,
}

/// `struct open_how`: flags, mode, and what the path may lead over.
const HOW: usize = 24;

/// Flags, and how far the path may lead, of an `openat2`.
fn how(tid: u32, address: u64, size: u64) -> Option<(i32, Scope)> {
    let mut how = [0; HOW];
    if size < HOW as u64 || remote::read(tid, address, &mut how) != 0 {
        return None;
    }
    let word = |index: usize| u64::from_le_bytes(how[8 * index..8 * index + 8].try_into().unwrap_or_default());
    let resolve = word(2);
    let scope = Scope {
        beneath: resolve & libc::RESOLVE_BENEATH != 0,
        root: resolve & libc::RESOLVE_IN_ROOT != 0,
        no_links: resolve & libc::RESOLVE_NO_SYMLINKS != 0,
    };
    Some((i32::try_from(word(0)).ok()?, scope))
}

/// Sorts the arguments of a call. `None`: one cannot be used, as the kernel will say.
pub(crate) fn arguments(call: &Notification) -> Option<Arguments> {
    let [a, b, c, d, e, _] = call.args;
    let here = libc::AT_FDCWD;
    let at = a as RawFd;
    let mut scope = Scope::default();
    let (asked, directory, path) = match call.nr {
        libc::SYS_open => (Asked::Open { flags: b as i32 }, here, a),
        libc::SYS_creat => (Asked::Open { flags: libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC }, here, a),
        libc::SYS_openat => (Asked::Open { flags: c as i32 }, at, b),
        libc::SYS_openat2 => {
            let flags;
            (flags, scope) = how(call.tid, c, d)?;
            (Asked::Open { flags }, at, b)
        }
        libc::SYS_stat | libc::SYS_lstat => (Asked::Stat { to: b }, here, a),
        libc::SYS_newfstatat => (Asked::Stat { to: c }, at, b),
        libc::SYS_statx => (Asked::Statx { to: e }, at, b),
        libc::SYS_access => (Asked::Access { mode: b as i32 }, here, a),
        libc::SYS_faccessat | libc::SYS_faccessat2 => (Asked::Access { mode: c as i32 }, at, b),
        libc::SYS_readlink => (Asked::Link { to: b, size: c }, here, a),
        libc::SYS_readlinkat => (Asked::Link { to: c, size: d }, at, b),
        libc::SYS_chdir => (Asked::Enter, here, a),
        libc::SYS_getxattr | libc::SYS_lgetxattr => (Asked::Attribute, here, a),
        _ => (Asked::Attributes, here, a),
    };
    let flags = match call.nr {
        libc::SYS_newfstatat | libc::SYS_faccessat2 => d as i32,
        libc::SYS_statx => c as i32,
        libc::SYS_lstat | libc::SYS_readlink | libc::SYS_readlinkat | libc::SYS_lgetxattr | libc::SYS_llistxattr => {
            libc::AT_SYMLINK_NOFOLLOW
        }
        _ => 0,
    };
    let exclusive = libc::O_CREAT | libc::O_EXCL;
    let follow = match asked {
        Asked::Open { flags } => flags & libc::O_NOFOLLOW == 0 && flags & exclusive != exclusive,
        _ => flags & libc::AT_SYMLINK_NOFOLLOW == 0,
    };
    let empty = flags & libc::AT_EMPTY_PATH != 0 || call.nr == libc::SYS_readlinkat;
    Some(Arguments { asked, directory, path, empty, follow, scope })
}
