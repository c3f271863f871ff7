//! Listings of directories in which the driver has something: `getdents64`, for the descriptors that such directories get.
//!
//! The driver's names come first, while the kernel's own position is still 0; then the host's, by the kernel. How many of
//! the driver's names were given is kept by process and number, and told as a position that no directory of a host has.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::nodes::{self, Entry, Kind, Node};
use crate::process;
use crate::remote;
use crate::seccomp::{Answer, Notification};
use crate::stat::number_of;
use crate::supervisor::Supervisor;

/// Positions behind a name of the driver: this and how many were given.
const GIVEN: i64 = 1 << 62;
/// Most bytes given at a time; programs with more room ask again.
const MOST: usize = 64 << 10;
/// Offsets in a record of the kernel's.
const LENGTH: usize = 16;
const KIND: usize = 18;
const NAME: usize = 19;

/// One record.
fn record(inode: u64, position: i64, kind: Kind, name: &str) -> Vec<u8> {
    let length = (NAME + name.len() + 1).next_multiple_of(8);
    let kind = match kind {
        Kind::Device => libc::DT_CHR,
        Kind::Directory => libc::DT_DIR,
        Kind::File => libc::DT_REG,
        Kind::Link => libc::DT_LNK,
    };
    let mut all = Vec::with_capacity(length);
    all.extend(inode.to_le_bytes());
    all.extend(position.to_le_bytes());
    all.extend((length as u16).to_le_bytes());
    all.push(kind);
    all.extend(name.bytes());
    all.resize(length, 0);
    all
}

/// The records in what the kernel has given.
fn records(mut all: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_le_bytes([*all.get(LENGTH)?, *all.get(LENGTH + 1)?]));
        let (one, rest) = all.split_at_checked(length).filter(|_| length > NAME)?;
        all = rest;
        Some(one)
    })
}

/// Name in a record.
fn name(record: &[u8]) -> &[u8] {
    record[NAME..].split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Makes records those of the older call, which has the kind at their ends.
fn age(all: &mut [u8]) {
    let mut at = 0;
    while at < all.len() {
        let length = usize::from(u16::from_le_bytes([all[at + LENGTH], all[at + LENGTH + 1]]));
        let one = &mut all[at..at + length];
        let kind = one[KIND];
        one.copy_within(NAME.., KIND);
        one[length - 1] = kind;
        at += length;
    }
}

/// The position of an open directory.
fn position(directory: &OwnedFd) -> i64 {
    // SAFETY: a descriptor and numbers.
    unsafe { libc::lseek(directory.as_raw_fd(), 0, libc::SEEK_CUR) }
}

/// What the host has, without what the driver would have there. `None`: nothing is left.
fn host(directory: &OwnedFd, room: usize, own: &[Entry]) -> io::Result<Option<Vec<u8>>> {
    let mut all = vec![0_u8; room];
    loop {
        // SAFETY: the buffer has the size that is told.
        let got = unsafe { libc::syscall(libc::SYS_getdents64, directory.as_raw_fd(), all.as_mut_ptr(), all.len()) };
        let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        if got == 0 {
            return Ok(None);
        }
        let devices = own.iter().any(|entry| entry.kind == Kind::Device);
        let is_ours = |name: &[u8]| {
            std::str::from_utf8(name)
                .is_ok_and(|name| (devices && nodes::index(name).is_some()) || own.iter().any(|entry| entry.name == name))
        };
        let kept: Vec<u8> = records(&all[..got]).filter(|one| !is_ours(name(one))).flatten().copied().collect();
        if !kept.is_empty() {
            return Ok(Some(kept));
        }
    }
}

impl Supervisor {
    /// What an open directory is a directory of, if the driver has something there: path, names, and whether the host has
    /// others.
    fn directory_of(&self, pid: u32, fd: RawFd) -> Option<(String, Vec<Entry>, bool)> {
        let place = fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
        let shown = self.tree.shown(&place);
        let path = match &shown {
            Some(shown) => shown.to_str()?.to_owned(),
            None => {
                let root = fs::read_link(format!("/proc/{pid}/root")).ok()?;
                format!("/{}", place.strip_prefix(&root).ok()?.to_str()?)
            }
        };
        match nodes::node(&self.world, &path)? {
            Node::Directory(entries) if shown.is_some() => Some((path, entries, false)),
            Node::Shared(entries) => Some((path, entries, shown.is_none())),
            _ => None,
        }
    }

    /// Whether a descriptor is a directory whose listing is answered.
    pub(crate) fn is_listed(&self, pid: u32, fd: RawFd) -> bool {
        fd >= self.processes.first && self.directory_of(pid, fd).is_some()
    }

    /// `getdents64` and `getdents` of a descriptor in the window.
    pub(crate) fn list(&mut self, call: &Notification, pid: u32) -> Answer {
        let [fd, address, room, ..] = call.args;
        let fd = fd as RawFd;
        let Some((path, entries, shared)) = self.directory_of(pid, fd) else { return Answer::Continue };
        let Some(process) = self.processes.get(pid) else { return Answer::Continue };
        let Ok(directory) = process::fetch(process, fd) else { return Answer::Continue };
        let before = position(&directory);
        let first = if before == 0 { process.listed.get(&fd).copied().unwrap_or(0) } else { usize::MAX };
        let room = (room as u32 as usize).min(MOST);
        let dots = if shared { 0 } else { 2 };
        let total = dots + entries.len();
        let (mut all, mut given) = (Vec::new(), first);
        while given < total {
            let (kind, name) = match given.checked_sub(dots) {
                Some(index) => (entries[index].kind, &*entries[index].name),
                None => (Kind::Directory, [".", ".."][given]),
            };
            let inode = match name {
                "." => number_of(&path),
                ".." => number_of(path.rsplit_once('/').map_or("/", |(above, _)| above)),
                name => number_of(&format!("{path}/{name}")),
            };
            let one = record(inode, GIVEN + given as i64 + 1, kind, name);
            if all.len() + one.len() > room {
                break;
            }
            all.extend(one);
            given += 1;
        }
        if given < total && all.is_empty() {
            return Answer::Errno(libc::EINVAL);
        }
        if shared && given >= total {
            match host(&directory, room - all.len(), &entries) {
                Ok(more) => all.extend(more.unwrap_or_default()),
                // The rest of the room is too small for the next.
                Err(_) if !all.is_empty() => {}
                Err(error) => return Answer::Errno(error.raw_os_error().unwrap_or(libc::EIO)),
            }
        }
        if call.nr == libc::SYS_getdents {
            age(&mut all);
        }
        if remote::write(call.tid, address, &all) != 0 {
            // SAFETY: a descriptor and numbers.
            unsafe { libc::lseek(directory.as_raw_fd(), before, libc::SEEK_SET) };
            return Answer::Errno(libc::EFAULT);
        }
        if before == 0
            && let Some(process) = self.processes.get(pid)
        {
            process.listed.insert(fd, given);
        }
        Answer::Value(all.len() as i64)
    }

    /// `lseek` of such a directory or an attribute; `None` when the kernel does it right.
    pub(crate) fn seek(&mut self, call: &Notification, pid: u32) -> Option<Answer> {
        let [fd, offset, whence, ..] = call.args;
        let (fd, offset) = (fd as RawFd, offset as i64);
        if [libc::SEEK_DATA, libc::SEEK_HOLE].contains(&(whence as i32)) {
            // Attributes are not as long as they say, which is no hole.
            return self.name_of(pid, fd).map(|_| Answer::Errno(libc::EINVAL));
        }
        self.directory_of(pid, fd)?;
        let process = self.processes.get(pid)?;
        match whence as i32 {
            libc::SEEK_SET if offset >= GIVEN => {
                let directory = process::fetch(process, fd).ok()?;
                // SAFETY: a descriptor and numbers.
                unsafe { libc::lseek(directory.as_raw_fd(), 0, libc::SEEK_SET) };
                process.listed.insert(fd, (offset - GIVEN) as usize);
                Some(Answer::Value(offset))
            }
            libc::SEEK_SET if offset == 0 => {
                process.listed.remove(&fd);
                None
            }
            libc::SEEK_CUR if offset == 0 => {
                let given = process.listed.get(&fd).copied().filter(|&given| given > 0)?;
                let directory = process::fetch(process, fd).ok()?;
                (position(&directory) == 0).then_some(Answer::Value(GIVEN + given as i64))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_the_kernels() {
        let mut all = [record(7, 1, Kind::Device, "neuron0"), record(8, 2, Kind::Directory, "a-longer-name")].concat();
        let names: Vec<&[u8]> = records(&all).map(name).collect();
        assert_eq!(names, [&b"neuron0"[..], b"a-longer-name"]);
        let second = usize::from(all[LENGTH]);
        age(&mut all);
        assert_eq!((&all[KIND..KIND + 8], all[second - 1]), (&b"neuron0\0"[..], libc::DT_CHR));
        assert_eq!((&all[second + KIND..second + KIND + 14], all[all.len() - 1]), (&b"a-longer-name\0"[..], libc::DT_DIR));
    }
}
