//! System calls with a path: `/dev/neuronN`, and what the driver shows in `/sys`.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Instant;

use nrt_sim::sysfs;

use crate::files::Told;
use crate::nodes::{self, Node};
use crate::process::DeviceFile;
use crate::remote;
use crate::seccomp::{Answer, Notification};
use crate::supervisor::Supervisor;

/// Longest text of a device link.
const LINK: usize = 64;

/// Directories that exist for as long as the emulator runs, so that programs can list what is not there.
#[derive(Default)]
pub(crate) struct Tree {
    root: RefCell<Option<PathBuf>>,
}

impl Tree {
    /// A directory with these entries, which stands for `path`.
    fn directory(&self, path: &str, names: &[String]) -> io::Result<OwnedFd> {
        let mut root = self.root.borrow_mut();
        if root.is_none() {
            let template = std::env::temp_dir().join("nrt-emulate-XXXXXX");
            let mut template = std::ffi::CString::new(template.as_os_str().as_bytes())?.into_bytes_with_nul();
            // SAFETY: a writable C string that ends in the six characters the call replaces.
            if unsafe { libc::mkdtemp(template.as_mut_ptr().cast()) }.is_null() {
                return Err(io::Error::last_os_error());
            }
            template.pop();
            *root = Some(PathBuf::from(std::ffi::OsStr::from_bytes(&template)));
        }
        let Some(root) = &*root else { return Err(io::ErrorKind::NotFound.into()) };
        let directory = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(&directory)?;
        for name in names {
            let place = directory.join(name.trim_end_matches('/'));
            if name.ends_with('/') {
                fs::create_dir_all(place)?;
            } else if !place.exists() {
                fs::write(place, [])?;
            }
        }
        Ok(fs::File::open(directory)?.into())
    }

    /// The path that a file of the tree stands for.
    fn shown(&self, path: &str) -> Option<String> {
        let root = self.root.borrow();
        let rest = path.strip_prefix(root.as_ref()?.to_str()?)?;
        Some(if rest.is_empty() { "/".to_owned() } else { rest.to_owned() })
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if let Some(root) = self.root.borrow().as_ref() {
            // A directory that cannot be removed is left where temporary files are.
            let _ = fs::remove_dir_all(root);
        }
    }
}

/// Makes a path absolute and plain: no `.`, `..` or double slashes.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Where the arguments of a call are.
struct Arguments {
    name: &'static str,
    directory: RawFd,
    path: u64,
    /// The call's own other arguments begin here.
    rest: [u64; 3],
    /// Whether an empty path means the directory descriptor itself.
    empty: bool,
}

/// Sorts the arguments of the calls with a path.
fn arguments(call: &Notification) -> Arguments {
    let [a, b, c, d, e, _] = call.args;
    let here = libc::AT_FDCWD;
    let at = a as RawFd;
    let (name, directory, path, rest) = match call.nr {
        libc::SYS_open => ("open", here, a, [b, c, 0]),
        libc::SYS_creat => ("open", here, a, [(libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC) as u64, 0, 0]),
        libc::SYS_openat => ("open", at, b, [c, d, 0]),
        libc::SYS_openat2 => ("open", at, b, [c, d, 1]),
        libc::SYS_stat | libc::SYS_lstat => ("stat", here, a, [b, 0, 0]),
        libc::SYS_newfstatat => ("stat", at, b, [c, d, 0]),
        libc::SYS_statx => ("statx", at, b, [e, 0, 0]),
        libc::SYS_access => ("access", here, a, [b, 0, 0]),
        libc::SYS_faccessat | libc::SYS_faccessat2 => ("access", at, b, [c, 0, 0]),
        libc::SYS_readlink => ("readlink", here, a, [b, c, 0]),
        _ => ("readlink", at, b, [c, d, 0]),
    };
    let empty = match call.nr {
        libc::SYS_newfstatat => d,
        libc::SYS_statx => c,
        _ => 0,
    };
    Arguments { name, directory, path, rest, empty: empty as i32 & libc::AT_EMPTY_PATH != 0 }
}

impl Supervisor {
    /// Answers a call with a path, or lets the kernel do so.
    pub(crate) fn path(&mut self, call: &Notification, pid: u32, start: Instant) {
        let arguments = arguments(call);
        if arguments.empty && (self.processes.low || arguments.directory >= self.processes.first) {
            // About the descriptor itself, if the path is empty.
            let text = remote::read_text(call.tid, arguments.path);
            let file = if text.is_some_and(|text| text.is_empty()) {
                self.processes.file(&self.world.memory, pid, arguments.directory)
            } else {
                None
            };
            if let Some(file) = file {
                let extended = arguments.name == "statx";
                let answer =
                    self.stat(call.tid, &device_path(file.device), &Node::Device(file.device), arguments.rest[0], extended);
                self.answered(call, pid, Some(file.device), (arguments.name, None), vec![], (Some(answer), None), start);
                return;
            }
        }
        let path = self.absolute(call, &arguments);
        // What was read may be another process's memory by now, unless the thread still waits.
        if !self.listener.still_valid(call.id) {
            return;
        }
        let Some(path) = path else {
            self.listener.answer(call.id, Answer::Continue);
            return;
        };
        if arguments.name == "readlink" && path.starts_with("/proc/") {
            self.link(call, pid, &path, &arguments);
            return;
        }
        let Some(node) = nodes::node(&self.world, &path) else {
            self.listener.answer(call.id, Answer::Continue);
            return;
        };
        let (told, fields): (Told, _) = match arguments.name {
            "open" => {
                let flags = open_flags(call, &arguments);
                (self.open(call, pid, &path, &node, flags), vec![("flags", flags as u64)])
            }
            "stat" => ((Some(self.stat(call.tid, &path, &node, arguments.rest[0], false)), None), vec![]),
            "statx" => ((Some(self.stat(call.tid, &path, &node, arguments.rest[0], true)), None), vec![]),
            "access" => ((Some(access(&node, arguments.rest[0] as i32)), None), vec![]),
            _ => ((Some(Answer::Errno(if node == Node::Missing { libc::ENOENT } else { libc::EINVAL })), None), vec![]),
        };
        let device = if let Node::Device(device) = node { Some(device) } else { None };
        self.answered(call, pid, device, (arguments.name, Some(&path)), fields, told, start);
    }

    /// `fstat` of a descriptor in the devices' range.
    pub(crate) fn stat_device(&mut self, call: &Notification, pid: u32) -> Told {
        let file = self.processes.file(&self.world.memory, pid, call.args[0] as RawFd);
        let answer = file.map(|DeviceFile { device, .. }| {
            self.stat(call.tid, &device_path(device), &Node::Device(device), call.args[1], false)
        });
        (Some(answer.unwrap_or(Answer::Continue)), None)
    }

    /// Writes what is known about a node. A directory is the one that an open of it gives; everything else is numbered by
    /// its path.
    fn stat(&self, tid: u32, path: &str, node: &Node, address: u64, extended: bool) -> Answer {
        let identity = if let Node::Directory(names) = node {
            let found = self.tree.directory(path, names).and_then(|opened| fs::File::from(opened).metadata());
            match found {
                Ok(found) => (found.dev(), found.ino()),
                Err(error) => return Answer::Errno(error.raw_os_error().unwrap_or(libc::EIO)),
            }
        } else {
            (libc::makedev(0, if path.starts_with("/dev/") { 5 } else { 22 }), number_of(path))
        };
        stat(tid, node, identity, address, extended)
    }

    /// The path of a call as the program means it, if it may be one of ours.
    fn absolute(&self, call: &Notification, arguments: &Arguments) -> Option<String> {
        let text = String::from_utf8(remote::read_text(call.tid, arguments.path)?).ok()?;
        if text.starts_with('/') {
            let interesting = text.contains("neuron")
                || text.trim_end_matches('/') == "/dev"
                || (arguments.name == "readlink" && text.starts_with("/proc/") && text.contains("/fd/"));
            return interesting.then(|| plain(&text));
        }
        if text.is_empty() || (arguments.directory == libc::AT_FDCWD && !text.contains("neuron")) {
            return None;
        }
        let (tid, fd) = (call.tid, arguments.directory);
        let link = if fd == libc::AT_FDCWD { format!("/proc/{tid}/cwd") } else { format!("/proc/{tid}/fd/{fd}") };
        let base = fs::read_link(link).ok()?;
        let base = base.to_str()?;
        let base = self.tree.shown(base).unwrap_or_else(|| base.to_owned());
        Some(plain(&format!("{base}/{text}"))).filter(|path| path.contains("neuron"))
    }

    /// Opens what is ours.
    fn open(&mut self, call: &Notification, pid: u32, path: &str, node: &Node, flags: i32) -> Told {
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
        let opened = match node {
            Node::Device(_) if flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT | libc::O_EXCL => {
                return (Some(Answer::Errno(libc::EEXIST)), None);
            }
            Node::Device(_) if flags & libc::O_DIRECTORY != 0 => return (Some(Answer::Errno(libc::ENOTDIR)), None),
            Node::Device(device) => return self.open_device(call, pid, *device, flags),
            Node::Missing => return (Some(Answer::Errno(libc::ENOENT)), None),
            Node::File(_) if flags & libc::O_DIRECTORY != 0 => return (Some(Answer::Errno(libc::ENOTDIR)), None),
            Node::File(_) if writes => return (Some(Answer::Errno(libc::EACCES)), None),
            Node::Directory(_) if writes => return (Some(Answer::Errno(libc::EISDIR)), None),
            Node::File(text) => file(text),
            Node::Directory(names) => self.tree.directory(path, names),
        };
        let cloexec = flags & libc::O_CLOEXEC != 0;
        let given = opened.and_then(|opened| self.listener.answer_fd(call.id, opened.as_fd(), None, cloexec));
        match given {
            Ok(()) => (None, None),
            Err(error) => (Some(Answer::Errno(error.raw_os_error().unwrap_or(libc::EIO))), None),
        }
    }

    /// `readlink` of a descriptor in `/proc`: a device is called by its name, not by that of the memfd.
    fn link(&mut self, call: &Notification, pid: u32, path: &str, arguments: &Arguments) {
        let parts: Vec<&str> = path.split('/').collect();
        let device = if let ["", "proc", process, .., "fd", number] = parts[..] {
            let owner = match process {
                "self" | "thread-self" => Some(pid),
                process => process.parse().ok(),
            };
            let (low, first) = (self.processes.low, self.processes.first);
            let number = number.parse().ok().filter(|&number: &RawFd| low || number >= first);
            owner.zip(number).and_then(|(owner, number)| crate::process::inspect(&self.world.memory, owner, number))
        } else {
            None
        };
        let answer = device.map_or(Answer::Continue, |file| {
            let text = format!("/dev/neuron{}", file.device);
            let length = text.len().min(arguments.rest[1] as usize).min(LINK);
            match remote::write(call.tid, arguments.rest[0], &text.as_bytes()[..length]) {
                0 => Answer::Value(length as i64),
                _ => Answer::Errno(libc::EFAULT),
            }
        });
        self.listener.answer(call.id, answer);
    }
}

/// Flags of an open, which one form has in memory.
fn open_flags(call: &Notification, arguments: &Arguments) -> i32 {
    if arguments.rest[2] == 0 {
        return arguments.rest[0] as i32;
    }
    let mut flags = [0; 8];
    remote::read(call.tid, arguments.rest[0], &mut flags);
    u64::from_le_bytes(flags) as i32
}

/// A file with a text in it.
fn file(text: &str) -> io::Result<OwnedFd> {
    // SAFETY: a C string and flags.
    let fd = unsafe { libc::memfd_create(c"neuron-attribute".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, nobody else's.
    let mut file = fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.write_all(text.as_bytes())?;
    Ok(fs::File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?.into())
}

/// Whether a program may do what `mode` says.
fn access(node: &Node, mode: i32) -> Answer {
    match node {
        Node::Missing => Answer::Errno(libc::ENOENT),
        Node::Device(_) if mode & libc::X_OK == 0 => Answer::Value(0),
        Node::File(_) if mode & (libc::X_OK | libc::W_OK) == 0 => Answer::Value(0),
        Node::Directory(_) if mode & libc::W_OK == 0 => Answer::Value(0),
        _ => Answer::Errno(libc::EACCES),
    }
}

/// Path of a device.
fn device_path(device: u32) -> String {
    format!("/dev/neuron{device}")
}

/// Inode number of what has this path: the same in every run, never 0.
fn number_of(path: &str) -> u64 {
    let hash = path.bytes().fold(0x811C_9DC5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    1 << 32 | u64::from(hash)
}

/// Writes what is known about a node with this device and inode number.
fn stat(tid: u32, node: &Node, identity: (u64, u64), address: u64, extended: bool) -> Answer {
    let (mode, device, size) = match node {
        Node::Missing => return Answer::Errno(libc::ENOENT),
        Node::Device(index) => (libc::S_IFCHR | 0o666, Some(*index), 0),
        Node::Directory(_) => (libc::S_IFDIR | 0o755, None, 0),
        Node::File(_) => (libc::S_IFREG | 0o444, None, 4096),
    };
    let missing = if extended {
        // SAFETY: all zero is a value of this plain struct.
        let mut found: libc::statx = unsafe { std::mem::zeroed() };
        (found.stx_mask, found.stx_nlink, found.stx_blksize) = (libc::STATX_BASIC_STATS, 1, 4096);
        (found.stx_mode, found.stx_size, found.stx_ino) = (mode as u16, size, identity.1);
        (found.stx_dev_major, found.stx_dev_minor) = (libc::major(identity.0), libc::minor(identity.0));
        if let Some(index) = device {
            (found.stx_rdev_major, found.stx_rdev_minor) = (sysfs::MAJOR, index);
        }
        // SAFETY: a plain struct of integers is read as bytes.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const found).cast(), size_of::<libc::statx>()) };
        remote::write(tid, address, bytes)
    } else {
        // SAFETY: all zero is a value of this plain struct.
        let mut found: libc::stat = unsafe { std::mem::zeroed() };
        (found.st_mode, found.st_nlink, found.st_blksize, found.st_size) = (mode, 1, 4096, size as i64);
        (found.st_dev, found.st_ino) = identity;
        if let Some(index) = device {
            found.st_rdev = libc::makedev(sysfs::MAJOR, index);
        }
        // SAFETY: a plain struct of integers is read as bytes.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const found).cast(), size_of::<libc::stat>()) };
        remote::write(tid, address, bytes)
    };
    if missing == 0 { Answer::Value(0) } else { Answer::Errno(libc::EFAULT) }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn paths_become_plain() {
        for (path, expected) in [("/dev//neuron0", "/dev/neuron0"), ("/dev/./x/../neuron1", "/dev/neuron1"), ("/", "/")] {
            assert_eq!(plain(path), expected);
        }
    }
}
