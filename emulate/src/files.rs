//! System calls on device descriptors: open, close, duplication, mapping.

use std::os::fd::{AsFd, RawFd};
use std::time::{Duration, Instant};

use nrt_core::driver::Errno;
use nrt_sim::kernel::Shown;

use crate::inject::{Failure, Stopped};
use crate::process::{self, DeviceFile, Processes};
use crate::seccomp::{Answer, Notification};
use crate::supervisor::Supervisor;

/// How long the close takes that detaches a process.
const DETACH: Duration = Duration::from_millis(10);
/// Bit of the capability that allows raw device memory.
const RAW_IO: u32 = 17;

/// What is told about a call that is not a request.
pub(crate) type Told = (Option<Answer>, Option<&'static str>);

/// An answer without a remark.
fn plain(answer: Answer) -> Told {
    (Some(answer), None)
}

impl Supervisor {
    /// Opens a device.
    pub(crate) fn open_device(&mut self, call: &Notification, pid: u32, device: u32, flags: i32) -> Told {
        if let Some(errno) = self.faults.errno("OPEN") {
            return (Some(Answer::Errno(errno)), Some("as asked for"));
        }
        let file = DeviceFile::new(device, flags);
        let Some(number) = self.processes.number(pid, 0) else { return plain(Answer::Errno(libc::EMFILE)) };
        let opened = match self.world.memory.open(device, flags) {
            Ok(opened) => opened,
            Err(error) => return plain(Answer::Errno(error.raw_os_error().unwrap_or(libc::EIO))),
        };
        if !file.misc
            && let Err(Errno(errno)) = self.world.kernel.open(pid, device)
        {
            return plain(Answer::Errno(errno));
        }
        match self.listener.answer_fd(call.id, opened.as_fd(), Some(number), flags & libc::O_CLOEXEC != 0) {
            Ok(()) => {
                self.enter(pid, number, file);
                (None, None)
            }
            Err(error) => {
                if !file.misc {
                    self.flush(pid, file);
                }
                // The limit was lowered below the window: no descriptor is left for devices.
                let errno = if error.raw_os_error() == Some(libc::EBADF) { libc::EMFILE } else { libc::EINTR };
                plain(Answer::Errno(errno))
            }
        }
    }

    /// Enters a descriptor in the books.
    fn enter(&mut self, pid: u32, number: RawFd, file: DeviceFile) {
        if let Some(process) = self.processes.get(pid) {
            process.files.insert(number, file);
        }
        self.latest = Some(number.into());
    }

    /// What the driver does at every close of a descriptor, also of a copy. Tells whether the process was detached.
    pub(crate) fn flush(&mut self, pid: u32, file: DeviceFile) -> bool {
        let before = self.world.kernel.hazards(file.device);
        let left = if file.misc { Vec::new() } else { self.world.ledger.borrow().left(&self.world.kernel, pid, file.device) };
        let detached = self.world.kernel.flush(pid, file.device, file.misc) == Ok(true);
        if detached {
            self.world.ledger.borrow_mut().closed(&left);
            self.world.hazards_since(pid, file.device, &before);
        }
        detached
    }

    /// Forgets a descriptor that is being closed, and does what the driver does.
    fn drop_file(&mut self, pid: u32, fd: RawFd) -> bool {
        let Some(file) = self.processes.file(&self.world.memory, pid, fd) else { return false };
        if let Some(process) = self.processes.get(pid) {
            process.files.remove(&fd);
        }
        self.flush(pid, file)
    }

    /// Lets the kernel go on, after a while if the process was detached.
    fn go_on(&mut self, call: &Notification, detached: bool) -> Option<Answer> {
        if !detached {
            return Some(Answer::Continue);
        }
        self.deferred.push((Instant::now() + DETACH, call.id));
        None
    }

    /// `close`.
    pub(crate) fn close(&mut self, call: &Notification, pid: u32) -> Told {
        let detached = self.drop_file(pid, call.args[0] as RawFd);
        (self.go_on(call, detached), None)
    }

    /// `close_range`, which may also only mark descriptors.
    pub(crate) fn close_range(&mut self, call: &Notification, pid: u32) -> Told {
        let (first, last) = (call.args[0] as u32, call.args[1] as u32);
        if call.args[2] as u32 & libc::CLOSE_RANGE_CLOEXEC != 0 {
            return plain(Answer::Continue);
        }
        let mut detached = false;
        for fd in process::open_numbers(pid).into_iter().filter(|&fd| (first..=last).contains(&(fd as u32))) {
            if fd >= self.processes.first {
                detached |= self.drop_file(pid, fd);
            }
        }
        (self.go_on(call, detached), None)
    }

    /// `dup` and `fcntl(F_DUPFD)`: the copy of a device, or of a directory whose listing is answered, gets a number of the
    /// window too.
    pub(crate) fn duplicate(&mut self, call: &Notification, pid: u32, at_least: RawFd, cloexec: bool) -> Told {
        let fd = call.args[0] as RawFd;
        let file = self.processes.file(&self.world.memory, pid, fd);
        let Some(number) = self.processes.number(pid, at_least) else { return plain(Answer::Errno(libc::EMFILE)) };
        let copy = match self.processes.get(pid).map(|process| process::fetch(process, fd)) {
            Some(Ok(copy)) => copy,
            _ => return plain(Answer::Errno(libc::EBADF)),
        };
        match self.listener.answer_fd(call.id, copy.as_fd(), Some(number), cloexec) {
            Ok(()) => {
                match file {
                    Some(file) => self.enter(pid, number, file),
                    None => self.latest = Some(number.into()),
                }
                (None, None)
            }
            Err(_) => plain(Answer::Errno(libc::EMFILE)),
        }
    }

    /// `dup2` and `dup3`: to any number. Outside of the window the copy's close is noticed at the next trapped call.
    pub(crate) fn duplicate_to(&mut self, call: &Notification, pid: u32) -> Told {
        let (from, to) = (call.args[0] as RawFd, call.args[1] as RawFd);
        if from == to {
            return plain(Answer::Continue);
        }
        let flags = if call.nr == libc::SYS_dup3 { call.args[2] as i32 } else { 0 };
        if flags & !libc::O_CLOEXEC != 0 || !process::is_open(pid, from) {
            return plain(Answer::Continue);
        }
        let Some(file) = self.processes.file(&self.world.memory, pid, from) else {
            let detached = self.drop_file(pid, to);
            return (self.go_on(call, detached), None);
        };
        let copy = match self.processes.get(pid).map(|process| process::fetch(process, from)) {
            Some(Ok(copy)) => copy,
            _ => return plain(Answer::Errno(libc::EBADF)),
        };
        // Made here and not by the thread, so that it is there when the next call is looked at.
        let replaced = self.processes.file(&self.world.memory, pid, to);
        if self.listener.answer_fd(call.id, copy.as_fd(), Some(to), flags & libc::O_CLOEXEC != 0).is_err() {
            return plain(Answer::Errno(libc::EBADF));
        }
        if let Some(replaced) = replaced {
            self.flush(pid, replaced);
        }
        self.processes.low |= to < self.processes.first;
        self.enter(pid, to, file);
        (None, None)
    }

    /// Notices what was closed below the window, where the filter does not look. That is before every other answer, so
    /// nobody sees the difference.
    pub(crate) fn follow_low(&mut self) {
        for (pid, fd, file) in self.processes.low_files() {
            if !process::is_device(&self.world.memory, pid, fd, file.device)
                && let Some(process) = self.processes.get(pid)
            {
                process.files.remove(&fd);
                self.flush(pid, file);
            }
        }
    }

    /// Calls that the memory file would answer and the driver has no function for.
    pub(crate) fn positioned(&mut self, call: &Notification, pid: u32) -> Told {
        let Some(file) = self.processes.file(&self.world.memory, pid, call.args[0] as RawFd) else {
            let answer = if call.nr == libc::SYS_lseek { self.seek(call, pid) } else { None };
            return plain(answer.unwrap_or(Answer::Continue));
        };
        let allowed = match call.nr {
            libc::SYS_pread64 | libc::SYS_preadv | libc::SYS_preadv2 => file.readable,
            libc::SYS_lseek | libc::SYS_ftruncate | libc::SYS_fchmod | libc::SYS_fchown => true,
            _ => file.writable,
        };
        let errno = match call.nr {
            _ if !allowed => libc::EBADF,
            libc::SYS_lseek => libc::ESPIPE,
            libc::SYS_fchmod | libc::SYS_fchown => libc::EPERM,
            libc::SYS_fallocate => libc::ENODEV,
            _ => libc::EINVAL,
        };
        plain(Answer::Errno(errno))
    }

    /// Calls that move bytes between the first descriptor and another one, which the driver has no functions for.
    pub(crate) fn moved(&mut self, call: &Notification, pid: u32, other: u64) -> Told {
        let is_device = |fd: u64, all: &mut Processes| all.file(&self.world.memory, pid, fd as RawFd).is_some();
        let concerned = [call.args[0], other].into_iter().any(|fd| is_device(fd, &mut self.processes));
        plain(if concerned { Answer::Errno(libc::EINVAL) } else { Answer::Continue })
    }

    /// `mmap`: the memfd is the address space of the device, so a mapping of it is right once it is allowed, with the
    /// driver's offset and protection.
    pub(crate) fn map(&mut self, call: &Notification, pid: u32) -> Told {
        let [_, length, access, flags, fd, offset] = call.args;
        let Some(file) = self.processes.file(&self.world.memory, pid, fd as RawFd) else { return plain(Answer::Continue) };
        let writes = access as i32 & libc::PROT_WRITE != 0;
        let shared = flags as i32 & libc::MAP_TYPE != libc::MAP_PRIVATE;
        let refused_anyway = file.misc || !file.readable || (writes && shared && !file.writable);
        if refused_anyway || length == 0 || !offset.is_multiple_of(4096) {
            return plain(Answer::Continue);
        }
        if let Some(errno) = self.faults.errno("MMAP") {
            return (Some(Answer::Errno(errno)), Some("as asked for"));
        }
        let raw_io = || process::has_capability(pid, RAW_IO);
        let mapping = match self.world.kernel.show(pid, file.device, offset, length, raw_io) {
            Ok(mapping) => mapping,
            Err(Errno(errno)) => return plain(Answer::Errno(errno)),
        };
        let remark = match mapping.shown {
            Shown::Chunk { foreign: true, .. } if writes => Some("foreign chunk: without the permission to write"),
            Shown::Chunk { inside: true, .. } => Some("from the start of the chunk"),
            Shown::Chunk { .. } | Shown::Window => None,
            Shown::Registers => Some("read-only; registers are not modelled"),
            Shown::Raw => Some("raw device memory: allowed by the raw-I/O capability only"),
        };
        let access = if mapping.read_only { access & !(libc::PROT_WRITE as u64) } else { access };
        self.show(call, pid, access, mapping.pa, remark)
    }

    /// Maps device memory into the process that asked for it: not inherited by its children, not in its core dumps.
    fn show(&mut self, call: &Notification, pid: u32, access: u64, offset: u64, remark: Option<&'static str>) -> Told {
        let [address, length, asked_access, flags, fd, asked_offset] = call.args;
        if let Some(process) = self.processes.get(pid) {
            process.mapped = true;
        }
        let mut others = Vec::new();
        let result = Stopped::new(&self.listener, call).and_then(|mut stopped| {
            let arguments = [address, length, access, flags, fd, offset];
            let mapped = stopped.call(&self.listener, libc::SYS_mmap, arguments, true, &mut others)?;
            if mapped >= 0 {
                for advice in [libc::MADV_DONTFORK, libc::MADV_DONTDUMP] {
                    let arguments = [mapped as u64, length, advice as u64, 0, 0, 0];
                    stopped.call(&self.listener, libc::SYS_madvise, arguments, false, &mut others)?;
                }
            }
            stopped.release(pid, mapped)?;
            Ok(mapped)
        });
        self.waiting.extend(others);
        match result {
            Ok(mapped) => {
                self.latest = Some(mapped);
                (None, remark)
            }
            Err(Failure::Gone(status)) => {
                self.gone(call.tid, status);
                (None, Some("the thread ended meanwhile"))
            }
            Err(Failure::Unable) if (access, offset) == (asked_access, asked_offset) => {
                (Some(Answer::Continue), Some("traced by another program: children will inherit the mapping"))
            }
            Err(Failure::Unable) => {
                (Some(Answer::Errno(libc::EINVAL)), Some("traced by another program: only the plain mapping is possible"))
            }
        }
    }

    /// `mremap`: mappings of device memory cannot grow.
    pub(crate) fn remap(&mut self, call: &Notification, pid: u32) -> Answer {
        let [address, before, after, ..] = call.args;
        let ours = self.processes.get(pid).is_some_and(|process| process.mapped) && after > before;
        let mapping = if ours { process::mapping(pid, address) } else { None };
        match mapping.and_then(|mapping| self.world.memory.device_of(mapping.file)) {
            Some(_) => Answer::Errno(libc::EFAULT),
            None => Answer::Continue,
        }
    }

    /// Descriptors that vanished when a process replaced its program. `returned`: the thread that replaces it makes
    /// another call, so it either failed or is through.
    pub(crate) fn follow_exec(&mut self, pid: u32, returned: bool) {
        let Some(process) = self.processes.get(pid) else { return };
        let known: Vec<(RawFd, DeviceFile)> = process.files.iter().map(|(&fd, &file)| (fd, file)).collect();
        let gone: Vec<_> = known.into_iter().filter(|(fd, _)| process::inspect(&self.world.memory, pid, *fd).is_none()).collect();
        if let Some(process) = self.processes.get(pid)
            && (returned || !gone.is_empty())
        {
            process.exec = None;
            for (fd, _) in &gone {
                process.files.remove(fd);
            }
        }
        for (_, file) in gone {
            self.flush(pid, file);
        }
    }

    /// `execve`: whether it succeeds shows in the descriptors that are to be closed by it.
    pub(crate) fn replace(&mut self, call: &Notification, pid: u32) -> Told {
        if let Some(process) = self.processes.get(pid)
            && process.files.keys().any(|&fd| process::closes_on_exec(pid, fd))
        {
            process.exec = Some(call.tid);
        }
        plain(Answer::Continue)
    }

    /// A process has ended: the kernel has closed its descriptors.
    pub(crate) fn ended(&mut self, pid: u32) {
        let Some(process) = self.processes.remove(pid) else { return };
        for device in 0..self.world.kernel.config().devices {
            let full = DeviceFile { device, misc: false, readable: true, writable: true };
            while self.world.kernel.is_attached(pid, device) {
                self.flush(pid, full);
            }
        }
        let has_misc = process.files.values().any(|file| file.misc);
        self.world.kernel.end(pid, has_misc);
    }
}
