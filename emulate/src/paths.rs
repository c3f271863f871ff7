//! System calls with a path: `/dev/neuronN`, and what the driver shows in `/sys`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

use crate::arguments::{Arguments, Asked, arguments};
use crate::files::Told;
use crate::inject::{Failure, Stopped};
use crate::nodes::{self, Node};
use crate::process;
use crate::remote;
use crate::resolve;
use crate::seccomp::{Answer, Notification};
use crate::stat::{owner, stat};
use crate::supervisor::Supervisor;

/// What memory files are called in `/proc`, in front of their names and behind them.
const MEMORY_FILE: (&str, &str) = ("/memfd:", " (deleted)");

impl Supervisor {
    /// Answers a call with a path, or lets the kernel do so.
    pub(crate) fn path(&mut self, call: &Notification, pid: u32, start: Instant) {
        let answer = self.about(call, pid, start);
        if let Some(answer) = answer {
            self.listener.answer(call.id, answer);
        }
    }

    /// Answers a call with a path that is one of ours; gives back what is to be said otherwise.
    fn about(&mut self, call: &Notification, pid: u32, start: Instant) -> Option<Answer> {
        let Some(arguments) = arguments(call) else { return Some(Answer::Continue) };
        let text = remote::read_text(call.tid, arguments.path);
        if arguments.empty && (arguments.path == 0 || text.as_ref().is_some_and(Vec::is_empty)) {
            // About the descriptor itself.
            let fd = arguments.directory;
            let may_be_ours = self.processes.low || self.tree.is_used() || fd >= self.processes.first;
            let answer = if may_be_ours { self.stat_descriptor(call, pid, fd, arguments.asked) } else { None };
            return Some(answer.unwrap_or(Answer::Continue));
        }
        let led = text.filter(|text| !text.is_empty()).and_then(|text| self.leads_to(call, pid, &arguments, &text));
        // What was read may be another process's memory by now, unless the thread still waits.
        if !self.listener.still_valid(call.id) {
            return None;
        }
        let path = match led {
            None => return Some(Answer::Continue),
            Some(Err(errno)) => return Some(Answer::Errno(errno)),
            Some(Ok(path)) => path,
        };
        if let Asked::Link { to, size } = arguments.asked
            && path.starts_with("/proc")
        {
            return Some(self.link_in_proc(call, &path, to, size).unwrap_or(Answer::Continue));
        }
        let Some(path) = path.to_str() else { return Some(Answer::Continue) };
        if let (Asked::Open { .. }, Some(device)) = (arguments.asked, nodes::told_by(path)) {
            self.settle(device, None);
        }
        let Some(node) = nodes::node(&self.world, path) else { return Some(Answer::Continue) };
        let Some(told) = self.tell(call, pid, &arguments, path, &node) else { return Some(Answer::Continue) };
        let device = if let Node::Device(device) = node { Some(device) } else { None };
        let fields = if let Asked::Open { flags } = arguments.asked { vec![("flags", flags as u64)] } else { vec![] };
        self.answered(call, pid, device, (arguments.asked.name(), Some(path)), fields, told, start);
        None
    }

    /// What is told about a node; `None` when the kernel knows it.
    fn tell(&mut self, call: &Notification, pid: u32, arguments: &Arguments, path: &str, node: &Node) -> Option<Told> {
        let answer = match (arguments.asked, node) {
            // Only what is in it is ours.
            (asked, _) if path == nodes::DRIVERS && !reads(asked) => return None,
            (Asked::Open { flags }, _) => return self.open(call, pid, path, node, flags),
            (Asked::Enter, _) => return self.enter_directory(call, pid, path, node),
            (_, Node::Shared(_)) => return None,
            (Asked::Stat { .. } | Asked::Statx { .. }, _) => stat(call.tid, path, node, arguments.asked)?,
            (_, Node::Missing) => Answer::Errno(libc::ENOENT),
            (Asked::Access { mode }, _) => access(pid, node, mode),
            (Asked::Link { to, size }, Node::Link(target)) => write_text(call.tid, to, size, target),
            (Asked::Link { .. }, _) => Answer::Errno(libc::EINVAL),
            (Asked::Attribute, _) => Answer::Errno(libc::ENODATA),
            (Asked::Attributes, _) => Answer::Value(0),
        };
        Some((Some(answer), None))
    }

    /// Opens what is ours.
    fn open(&mut self, call: &Notification, pid: u32, path: &str, node: &Node, flags: i32) -> Option<Told> {
        let only_path = flags & libc::O_PATH != 0;
        let writes = !only_path && flags & (libc::O_ACCMODE | libc::O_TRUNC) != libc::O_RDONLY;
        let exclusive = flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT | libc::O_EXCL;
        let refused = |errno, why| Some((Some(Answer::Errno(errno)), why));
        let opened = match node {
            Node::Shared(_) if only_path || writes || flags & (libc::O_CREAT | libc::O_TMPFILE) & !libc::O_DIRECTORY != 0 => {
                return None;
            }
            Node::Shared(_) => open_directory(&format!("/proc/{}/root{path}", call.tid), flags),
            Node::Missing => return refused(libc::ENOENT, None),
            _ if exclusive => return refused(libc::EEXIST, None),
            Node::Link(_) => return refused(libc::ELOOP, None),
            Node::Device(_) | Node::File(..) if flags & libc::O_DIRECTORY != 0 => return refused(libc::ENOTDIR, None),
            Node::Device(device) if only_path => self.world.memory.open(*device, libc::O_RDONLY),
            Node::Device(device) => return Some(self.open_device(call, pid, *device, flags)),
            Node::File(..) if writes => return refused(libc::EACCES, Some("writing attributes is not modelled")),
            Node::File(_, mode) if !only_path && !permits(pid, *mode, libc::R_OK as u32) => return refused(libc::EACCES, None),
            Node::File(text, _) => file(path, text),
            Node::Directory(_) if writes => return refused(libc::EISDIR, None),
            Node::Directory(_) => self.tree.directory(path),
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => return refused(error.raw_os_error().unwrap_or(libc::EIO), None),
        };
        if only_path && !matches!(node, Node::Directory(_)) {
            return Some(self.open_path_only(call, pid, &opened, flags));
        }
        let Some(number) = self.number(pid, 0) else { return refused(libc::EMFILE, None) };
        match self.listener.answer_fd(call.id, opened.as_fd(), Some(number), flags & libc::O_CLOEXEC != 0) {
            Ok(()) => {
                if let Some(process) = self.processes.get(pid) {
                    process.listed.remove(&number);
                }
                self.latest = Some(number.into());
                Some((None, None))
            }
            Err(_) => refused(libc::EMFILE, None),
        }
    }

    /// `chdir`: the thread goes to the directory that stands for the driver's.
    fn enter_directory(&mut self, call: &Notification, pid: u32, path: &str, node: &Node) -> Option<Told> {
        let refused = |errno, why| Some((Some(Answer::Errno(errno)), why));
        match node {
            Node::Shared(_) => return None,
            Node::Missing => return refused(libc::ENOENT, None),
            Node::Directory(_) => {}
            _ => return refused(libc::ENOTDIR, None),
        }
        let traced = || refused(libc::EACCES, Some("traced by another program: it cannot be taken there"));
        if process::is_traced(call.tid) {
            return traced();
        }
        let number = self.number(pid, 0);
        let directory = match self.tree.directory(path) {
            Ok(directory) => directory,
            Err(error) => return refused(error.raw_os_error().unwrap_or(libc::EIO), None),
        };
        let Some(number) = number.filter(|&number| self.listener.add_fd(call.id, directory.as_fd(), number).is_ok()) else {
            return refused(libc::EMFILE, None);
        };
        let mut others = Vec::new();
        let result = Stopped::new(&self.listener, call).and_then(|mut stopped| {
            let arguments = [number as u64, 0, 0, 0, 0, 0];
            let result = stopped.call(&self.listener, libc::SYS_fchdir, arguments, false, &mut others)?;
            stopped.call(&self.listener, libc::SYS_close, arguments, false, &mut others)?;
            stopped.release(pid, result)
        });
        self.waiting.extend(others);
        match result {
            Ok(()) => Some((None, None)),
            Err(Failure::Unable) => traced(),
            Err(Failure::Gone(status)) => {
                self.gone(call.tid, status);
                Some((None, Some("the thread ended meanwhile")))
            }
        }
    }

    /// `getcwd`: a directory that stands for one of the driver's is called by that one's name.
    pub(crate) fn current_directory(&self, call: &Notification) -> Answer {
        let [to, size, ..] = call.args;
        let shown = fs::read_link(format!("/proc/{}/cwd", call.tid)).ok().and_then(|place| self.tree.shown(&place));
        let Some(mut path) = shown.map(|path| path.into_os_string().into_encoded_bytes()) else { return Answer::Continue };
        path.push(0);
        if (size as usize) < path.len() {
            return Answer::Errno(libc::ERANGE);
        }
        if remote::write(call.tid, to, &path) == 0 { Answer::Value(path.len() as i64) } else { Answer::Errno(libc::EFAULT) }
    }

    /// `readlink` in `/proc`: what is ours is called by its name there too.
    fn link_in_proc(&self, call: &Notification, path: &Path, to: u64, size: u64) -> Option<Answer> {
        let name = if let Some((owner, fd)) = resolve::descriptor(path) {
            self.name_of(owner, fd)?
        } else {
            let place = fs::read_link(format!("/proc/{}/cwd", resolve::current_directory(path)?)).ok()?;
            self.tree.shown(&place)?.to_str()?.to_owned()
        };
        Some(write_text(call.tid, to, size, &name))
    }

    /// The path of what a descriptor of a process was opened as, if it is one of ours.
    pub(crate) fn name_of(&self, pid: u32, fd: RawFd) -> Option<String> {
        if pid == std::process::id() {
            // The memory files of the devices are no open devices.
            return None;
        }
        let place = format!("/proc/{pid}/fd/{fd}");
        let link = fs::read_link(&place).ok()?;
        if let Some(shown) = self.tree.shown(&link) {
            return shown.to_str().map(str::to_owned);
        }
        let name = link.to_str()?.strip_prefix(MEMORY_FILE.0)?.strip_suffix(MEMORY_FILE.1)?;
        if name.starts_with("/sys/") || name == nodes::DRIVERS {
            return Some(name.to_owned());
        }
        let metadata = fs::metadata(place).ok()?;
        self.world.memory.device_of((metadata.dev(), metadata.ino())).map(|device| format!("/dev/neuron{device}"))
    }
}

/// Whether a file is opened to be read.
fn reads(asked: Asked) -> bool {
    matches!(asked, Asked::Open { flags } if flags & (libc::O_ACCMODE | libc::O_PATH | libc::O_TRUNC) == libc::O_RDONLY)
}

/// Writes the text of a link.
fn write_text(tid: u32, to: u64, size: u64, text: &str) -> Answer {
    let length = text.len().min(size as u32 as usize);
    match remote::write(tid, to, &text.as_bytes()[..length]) {
        _ if size as i32 <= 0 => Answer::Errno(libc::EINVAL),
        0 => Answer::Value(length as i64),
        _ => Answer::Errno(libc::EFAULT),
    }
}

/// Opens a directory of the host's for a program.
fn open_directory(path: &str, flags: i32) -> io::Result<OwnedFd> {
    let kept = flags & (libc::O_NONBLOCK | libc::O_NOATIME);
    Ok(OpenOptions::new().read(true).custom_flags(kept | libc::O_DIRECTORY).open(path)?.into())
}

/// A file with a text in it, which tells by its name whose it is.
fn file(path: &str, text: &str) -> io::Result<OwnedFd> {
    let name = std::ffi::CString::new(path)?;
    // SAFETY: a C string and flags.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, nobody else's.
    let mut file = fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.write_all(text.as_bytes())?;
    let place = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(fs::File::open(place)?.into())
}

/// Whether a process may do to an attribute what the bits say, as the kernel decides it.
fn permits(pid: u32, mode: u32, bits: u32) -> bool {
    /// Capabilities to read whatever the permissions say, and to write too.
    const READS: u32 = 2;
    const ALL: u32 = 1;
    let granted = if process::file_user(pid) == Some(owner().0) { mode >> 6 } else { mode };
    let capable = |bit| process::has_capability(pid, bit);
    bits & !granted & 7 == 0 || (bits & libc::X_OK as u32 == 0 && (capable(ALL) || (bits == libc::R_OK as u32 && capable(READS))))
}

/// Whether a program may do what `mode` says.
fn access(pid: u32, node: &Node, mode: i32) -> Answer {
    let permitted = match node {
        Node::Device(_) => mode & libc::X_OK == 0,
        Node::File(_, permissions) => permits(pid, *permissions, mode as u32 & 7),
        Node::Directory(_) => mode & libc::W_OK == 0,
        _ => true,
    };
    if permitted { Answer::Value(0) } else { Answer::Errno(libc::EACCES) }
}
