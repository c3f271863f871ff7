//! The supervised processes and the device files they hold.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::filter::WINDOW;
use crate::memory::Memory;

/// A descriptor of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceFile {
    pub(crate) device: u32,
    /// Opened with the write-only bit.
    pub(crate) misc: bool,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

impl DeviceFile {
    /// The kind of descriptor that these open flags make.
    pub(crate) fn new(device: u32, flags: i32) -> Self {
        let access = flags & libc::O_ACCMODE;
        Self {
            device,
            misc: flags & libc::O_WRONLY != 0,
            readable: access == libc::O_RDONLY || access == libc::O_RDWR,
            writable: access == libc::O_WRONLY || access == libc::O_RDWR,
        }
    }
}

/// A descriptor of a device, and how it is looked at.
pub(crate) struct Known {
    pub(crate) file: DeviceFile,
    /// Its `fdinfo`, which is read again at every look; `None` when it could not be opened or there is no room for it.
    info: Option<File>,
}

impl Known {
    /// `room`: the first number of a descriptor that is not for this.
    fn new(pid: u32, fd: RawFd, file: DeviceFile, room: RawFd) -> Self {
        let info = File::open(format!("/proc/{pid}/fdinfo/{fd}")).ok();
        Self { file, info: info.filter(|info| info.as_raw_fd() < room) }
    }

    /// Whether the descriptor still is this device.
    fn is_open(&self, memory: &Memory, pid: u32, fd: RawFd) -> bool {
        let mut text = [0; 256];
        let got = self.info.as_ref().and_then(|info| info.read_at(&mut text, 0).ok());
        match got {
            Some(length) => memory.is_told(&text[..length], self.file.device),
            None => !is_gone(memory, pid, fd, self.file.device),
        }
    }
}

/// One process.
pub(crate) struct Process {
    pid: u32,
    pub(crate) pidfd: OwnedFd,
    /// What is known of its device descriptors; one it inherited enters when it is used.
    pub(crate) files: BTreeMap<RawFd, Known>,
    /// Where the search for the next number starts: numbers are used in turn, so that one that is about to be closed is
    /// not given out again.
    next: RawFd,
    /// Whether it ever mapped device memory.
    pub(crate) mapped: bool,
    /// How many of the driver's names were given of a directory, by number.
    pub(crate) listed: BTreeMap<RawFd, usize>,
}

/// All processes.
pub(crate) struct Processes {
    all: HashMap<u32, Process>,
    /// Process of each thread seen.
    threads: HashMap<u32, u32>,
    /// First descriptor number for devices.
    pub(crate) first: RawFd,
    /// What is kept open to look at descriptors has numbers below, so that those above are left for the processes themselves.
    room: RawFd,
    /// Whether a device ever had a number below.
    pub(crate) low: bool,
    /// Most processes at a time, for the report.
    pub(crate) seen: u64,
}

/// The process of a thread, from the kernel.
fn process_of(tid: u32) -> Option<u32> {
    status(tid, "Tgid")?.parse().ok()
}

/// Whether `tid` is a thread of `pid` now.
fn belongs(pid: u32, tid: u32) -> bool {
    // SAFETY: signal 0 only asks.
    unsafe { libc::syscall(libc::SYS_tgkill, pid as libc::pid_t, tid as libc::pid_t, 0) == 0 }
}

/// A descriptor by which the kernel tells the end of a process.
pub(crate) fn pidfd(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: two numbers; the result is a new descriptor or an error.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, nobody else's; descriptors fit.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

impl Process {
    /// Adds those of its descriptors that were closed to `gone`. The look at them ends when `enough` are found open.
    pub(crate) fn look(
        &self,
        memory: &Memory,
        which: impl Fn(RawFd, &DeviceFile) -> bool,
        enough: usize,
        gone: &mut Vec<(u32, RawFd)>,
    ) {
        let mut open = 0;
        for (&fd, known) in self.files.iter().filter(|&(&fd, known)| which(fd, &known.file)) {
            if open == enough {
                return;
            }
            if known.is_open(memory, self.pid, fd) {
                open += 1;
            } else {
                gone.push((self.pid, fd));
            }
        }
    }

    /// The copy of a directory goes on where that one is; a number may have been another one's before.
    pub(crate) fn copy_listed(&mut self, from: RawFd, to: RawFd) {
        match self.listed.get(&from).copied() {
            Some(given) => self.listed.insert(to, given),
            None => self.listed.remove(&to),
        };
    }
}

impl Processes {
    /// For devices from the descriptor number `first` on, by a supervisor that may have `limit` descriptors itself.
    pub(crate) fn new(first: RawFd, limit: u64) -> Self {
        let room = RawFd::try_from(limit / 2).unwrap_or(RawFd::MAX);
        Self { all: HashMap::new(), threads: HashMap::new(), first, room, low: false, seen: 0 }
    }

    /// The process of a thread that waits for an answer, and whether it is new here. `None`: it has just died. A new one
    /// may have inherited descriptors.
    pub(crate) fn of_thread(&mut self, memory: &Memory, tid: u32) -> Option<(u32, bool)> {
        if let Some(&pid) = self.threads.get(&tid)
            && self.all.contains_key(&pid)
            && belongs(pid, tid)
        {
            return Some((pid, false));
        }
        let pid = process_of(tid)?;
        let new = !self.all.contains_key(&pid);
        if new {
            let pidfd = pidfd(pid).ok()?;
            let process = Process { pid, pidfd, files: BTreeMap::new(), next: 0, mapped: false, listed: BTreeMap::new() };
            self.all.insert(pid, process);
            self.seen += 1;
            let first = if self.low { 0 } else { self.first };
            for fd in open_numbers(pid).into_iter().filter(|&fd| fd >= first) {
                if let Some(file) = inspect(memory, pid, fd) {
                    self.enter(pid, fd, file);
                }
            }
        }
        self.threads.insert(tid, pid);
        Some((pid, new))
    }

    pub(crate) fn get(&mut self, pid: u32) -> Option<&mut Process> {
        self.all.get_mut(&pid)
    }

    /// Every process in the books.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.all.keys().copied().collect()
    }

    /// The same, as they are.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &Process)> {
        self.all.iter().map(|(&pid, process)| (pid, process))
    }

    /// Enters a descriptor of a device.
    pub(crate) fn enter(&mut self, pid: u32, fd: RawFd, file: DeviceFile) {
        if let Some(process) = self.all.get_mut(&pid) {
            process.files.insert(fd, Known::new(pid, fd, file, self.room));
            self.low |= fd < self.first;
        }
    }

    /// Whether more than one thread made calls.
    pub(crate) fn has_threads(&self) -> bool {
        self.threads.len() > 1
    }

    /// Kills them all.
    pub(crate) fn kill(&self) {
        for process in self.all.values() {
            let fd = process.pidfd.as_raw_fd();
            // SAFETY: numbers, and no information about the signal. A process that is gone already is fine.
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, std::ptr::null::<libc::siginfo_t>(), 0) };
        }
    }

    /// Forgets an ended process.
    pub(crate) fn remove(&mut self, pid: u32) -> Option<Process> {
        self.threads.retain(|_, owner| *owner != pid);
        self.all.remove(&pid)
    }

    /// A number for a new device descriptor of a process, `None` when all are taken.
    pub(crate) fn number(&mut self, pid: u32, at_least: RawFd) -> Option<RawFd> {
        let first = self.first.max(at_least);
        let end = self.first + WINDOW;
        let process = self.all.get_mut(&pid)?;
        let start = process.next.max(first);
        let free = |number: &RawFd| !process.files.contains_key(number) && !is_open(pid, *number);
        let number = (start..end).chain(first..start.min(end)).find(free)?;
        process.next = if number + 1 < end { number + 1 } else { first };
        Some(number)
    }

    /// The device behind a descriptor of a process: from the books, else from the kernel, because children inherit
    /// descriptors that their parent was given. An error: what is in the books was closed.
    pub(crate) fn file(&mut self, memory: &Memory, pid: u32, fd: RawFd) -> Result<Option<DeviceFile>, Closed> {
        let Some(process) = self.all.get(&pid) else { return Ok(None) };
        if let Some(known) = process.files.get(&fd) {
            return if known.is_open(memory, pid, fd) { Ok(Some(known.file)) } else { Err(Closed) };
        }
        let found = inspect(memory, pid, fd);
        if let Some(file) = found {
            self.enter(pid, fd, file);
        }
        Ok(found)
    }
}

/// A descriptor that is known was closed.
pub(crate) struct Closed;

/// Whether a descriptor of a process is open.
fn is_open(pid: u32, fd: RawFd) -> bool {
    fs::symlink_metadata(format!("/proc/{pid}/fd/{fd}")).is_ok()
}

/// Whether no thread of a process has this device at this number any more: the first thread may have ended before the others.
/// What nobody may look at is not gone: the end of the process will be told. A process that has ended has nothing open,
/// even if its end was not told yet: its parent may know.
fn is_gone(memory: &Memory, pid: u32, fd: RawFd, device: u32) -> bool {
    let nothing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let threads = match fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(threads) => threads,
        Err(error) => return nothing(&error),
    };
    let mut gone = false;
    for thread in threads {
        match thread.and_then(|thread| fs::metadata(thread.path().join(format!("fd/{fd}")))) {
            Ok(metadata) if memory.device_of((metadata.dev(), metadata.ino())) == Some(device) => return false,
            Err(error) if !nothing(&error) => {}
            _ => gone = true,
        }
    }
    gone
}

/// What the kernel says about a descriptor of a process.
pub(crate) fn inspect(memory: &Memory, pid: u32, fd: RawFd) -> Option<DeviceFile> {
    let metadata = fs::metadata(format!("/proc/{pid}/fd/{fd}")).ok()?;
    let device = memory.device_of((metadata.dev(), metadata.ino()))?;
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).ok()?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = i32::from_str_radix(flags.trim(), 8).ok()?;
    // One for the path only is no open file: the kernel refuses what is asked of it.
    (flags & libc::O_PATH == 0).then(|| DeviceFile::new(device, flags))
}

/// A copy of a process's descriptor.
pub(crate) fn fetch(process: &Process, fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: numbers only; the result is a new descriptor or an error.
    let copy = unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.pidfd.as_raw_fd(), fd, 0) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, nobody else's; descriptors fit.
    Ok(unsafe { OwnedFd::from_raw_fd(copy as RawFd) })
}

/// Numbers of all open descriptors of a process.
pub(crate) fn open_numbers(pid: u32) -> Vec<RawFd> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A line of what the kernel tells about a process or thread.
fn status(pid: u32, key: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(|value| value.trim().to_owned())
}

/// Whether a thread is traced.
pub(crate) fn is_traced(tid: u32) -> bool {
    status(tid, "TracerPid").is_some_and(|tracer| tracer != "0")
}

/// The user that files are looked at as: the last of four.
pub(crate) fn file_user(pid: u32) -> Option<u32> {
    status(pid, "Uid")?.split_ascii_whitespace().nth(3)?.parse().ok()
}

/// Whether a process has a capability now.
pub(crate) fn has_capability(pid: u32, bit: u32) -> bool {
    let effective = status(pid, "CapEff");
    effective.is_some_and(|set| u64::from_str_radix(set.trim(), 16).is_ok_and(|set| set >> bit & 1 != 0))
}

/// A piece of a process's address space that shows a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Device and inode number of the file.
    pub(crate) file: (u64, u64),
    /// Offset in the file.
    pub(crate) offset: u64,
}

/// What is mapped at an address of a process.
pub(crate) fn mapping(pid: u32, address: u64) -> Option<Mapping> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    maps.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (first, last) = fields.next()?.split_once('-')?;
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        let (first, last) = (hexadecimal(first)?, hexadecimal(last)?);
        if !(first..last).contains(&address) {
            return None;
        }
        let offset = hexadecimal(fields.nth(1)?)?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let device = libc::makedev(hexadecimal(major)? as u32, hexadecimal(minor)? as u32);
        let inode = fields.next()?.parse().ok()?;
        Some(Mapping { file: (device, inode), offset: offset + (address - first) })
    })
}
