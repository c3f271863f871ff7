//! What is known about a node, in the kernel's structs.

use std::os::fd::RawFd;

use nrt_sim::sysfs;

use crate::arguments::Asked;
use crate::files::Told;
use crate::nodes::{self, Kind, Node};
use crate::remote;
use crate::seccomp::{Answer, Notification};
use crate::supervisor::Supervisor;

/// Inode number of what has this path: the same in every run, never 0.
pub(crate) fn number_of(path: &str) -> u64 {
    let hash = path.bytes().fold(0x811C_9DC5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    1 << 32 | u64::from(hash)
}

/// Who owns what the driver shows in `/sys`: whoever runs the emulator, as root runs the driver.
pub(crate) fn owner() -> (u32, u32) {
    // SAFETY: these only ask.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// The bytes of a plain struct of integers.
fn bytes<T>(found: &T) -> &[u8] {
    // SAFETY: used for the two structs below, which were all zero before fields were set: every byte is initialised.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(found).cast(), size_of::<T>()) }
}

/// Writes what is known about the node with this path; `None` when the kernel knows it.
pub(crate) fn stat(tid: u32, path: &str, node: &Node, asked: Asked) -> Option<Answer> {
    let own = owner();
    let (mode, device, size, links, (user, group)) = match node {
        Node::Missing => return Some(Answer::Errno(libc::ENOENT)),
        Node::Shared(_) => return None,
        Node::Device(index) => (libc::S_IFCHR | 0o666, Some(*index), 0, 1, (0, 0)),
        Node::Directory(entries) => {
            let below = entries.iter().filter(|entry| entry.kind == Kind::Directory).count() as u32;
            (libc::S_IFDIR | 0o755, None, 0, 2 + below, own)
        }
        Node::File(_, mode) => (libc::S_IFREG | mode, None, 4096, 1, own),
        Node::Link(target) => (libc::S_IFLNK | 0o777, None, target.len() as u64, 1, own),
    };
    let (major, inode) = (if path.starts_with("/dev/") { 5 } else { 22 }, number_of(path));
    let missing = if let Asked::Statx { to } = asked {
        // SAFETY: all zero is a value of this plain struct.
        let mut found: libc::statx = unsafe { std::mem::zeroed() };
        (found.stx_mask, found.stx_nlink, found.stx_blksize) = (libc::STATX_BASIC_STATS, links, 4096);
        (found.stx_mode, found.stx_size, found.stx_ino) = (mode as u16, size, inode);
        (found.stx_dev_major, found.stx_dev_minor) = (0, major);
        (found.stx_uid, found.stx_gid) = (user, group);
        if let Some(index) = device {
            (found.stx_rdev_major, found.stx_rdev_minor) = (sysfs::MAJOR, index);
        }
        remote::write(tid, to, bytes(&found))
    } else {
        let Asked::Stat { to } = asked else { return None };
        // SAFETY: all zero is a value of this plain struct.
        let mut found: libc::stat = unsafe { std::mem::zeroed() };
        (found.st_mode, found.st_nlink, found.st_blksize, found.st_size) = (mode, links.into(), 4096, size as i64);
        (found.st_dev, found.st_ino) = (libc::makedev(0, major), inode);
        (found.st_uid, found.st_gid) = (user, group);
        if let Some(index) = device {
            found.st_rdev = libc::makedev(sysfs::MAJOR, index);
        }
        remote::write(tid, to, bytes(&found))
    };
    Some(if missing == 0 { Answer::Value(0) } else { Answer::Errno(libc::EFAULT) })
}

impl Supervisor {
    /// What a descriptor is about, if it is one of ours.
    pub(crate) fn stat_descriptor(&self, call: &Notification, pid: u32, fd: RawFd, asked: Asked) -> Option<Answer> {
        let name = self.name_of(pid, fd)?;
        stat(call.tid, &name, &nodes::node(&self.world, &name)?, asked)
    }

    /// `fstat` of a descriptor in the window.
    pub(crate) fn stat_open(&mut self, call: &Notification, pid: u32) -> Told {
        let answer = self.stat_descriptor(call, pid, call.args[0] as RawFd, Asked::Stat { to: call.args[1] });
        (Some(answer.unwrap_or(Answer::Continue)), None)
    }
}
