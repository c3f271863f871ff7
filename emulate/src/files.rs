//! System calls on device descriptors: open, close, duplication, mapping.

use std::os::fd::{AsFd, RawFd};
use std::time::{Duration, Instant};

use nrt_core::driver::Errno;

use crate::process::{self, DeviceFile};
use crate::resources;
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
        if flags & libc::O_PATH != 0 {
            return (Some(Answer::Errno(libc::EINVAL)), Some("a path descriptor of a device is not modelled"));
        }
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
            process.had_misc |= file.misc;
        }
        self.latest = Some(number);
    }

    /// What the driver does at every close of a descriptor, also of a copy. Tells whether the process was detached.
    pub(crate) fn flush(&mut self, pid: u32, file: DeviceFile) -> bool {
        if file.misc {
            self.world.kernel.unreserve_all(pid);
            return false;
        }
        let before = self.world.kernel.hazards(file.device);
        let detached = self.world.kernel.close(pid, file.device) == Ok(true);
        if detached {
            self.world.ledger.borrow_mut().closed(file.device, pid);
            self.world.resets.borrow_mut().remove(&(pid, file.device));
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

    /// `dup` and `fcntl(F_DUPFD)`: the copy gets a number of the window too.
    pub(crate) fn duplicate(&mut self, call: &Notification, pid: u32, at_least: RawFd, cloexec: bool) -> Told {
        let fd = call.args[0] as RawFd;
        let Some(file) = self.processes.file(&self.world.memory, pid, fd) else { return plain(Answer::Continue) };
        let Some(number) = self.processes.number(pid, at_least) else { return plain(Answer::Errno(libc::EMFILE)) };
        let copy = match self.processes.get(pid).map(|process| process::fetch(process, fd)) {
            Some(Ok(copy)) => copy,
            _ => return plain(Answer::Errno(libc::EBADF)),
        };
        match self.listener.answer_fd(call.id, copy.as_fd(), Some(number), cloexec) {
            Ok(()) => {
                self.enter(pid, number, file);
                (None, None)
            }
            Err(_) => plain(Answer::Errno(libc::EMFILE)),
        }
    }

    /// `dup2` and `dup3`: to a number of the window only, where the copy stays visible.
    pub(crate) fn duplicate_to(&mut self, call: &Notification, pid: u32) -> Told {
        let (from, to) = (call.args[0] as RawFd, call.args[1] as RawFd);
        if from == to {
            return plain(Answer::Continue);
        }
        let file = self.processes.file(&self.world.memory, pid, from);
        let window = self.processes.first..self.processes.first + crate::filter::WINDOW;
        if file.is_some() && !window.contains(&to) {
            return (
                Some(Answer::Errno(libc::EBUSY)),
                Some("a device descriptor cannot be copied to a number outside of the emulator's range"),
            );
        }
        let detached = self.drop_file(pid, to);
        if let Some(file) = file {
            self.enter(pid, to, file);
        }
        (self.go_on(call, detached), None)
    }

    /// `mmap`: the memfd is the address space of the device, so the kernel's own mapping is right once it is allowed.
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
        if let Ok(chunk) = self.world.kernel.mapping_at(file.device, offset, length) {
            if chunk.pa != offset {
                return (
                    Some(Answer::Errno(libc::EINVAL)),
                    Some("not modelled: the driver maps the whole chunk for an offset inside of it"),
                );
            }
            let foreign = chunk.pid.is_some_and(|owner| owner != pid);
            let remark = (foreign && writes && shared).then_some("foreign chunk: writes are not refused here");
            return (Some(Answer::Continue), remark);
        }
        let config = self.world.kernel.config();
        let special = resources::special(config);
        if let Some(special) = special.iter().find(|special| (special.offset, special.size) == (offset, length)) {
            return match special.resource {
                2 | 3 => plain(Answer::Continue),
                _ => (Some(Answer::Errno(libc::EPERM)), Some("not modelled: semaphores and registers")),
            };
        }
        if !process::has_capability(pid, RAW_IO) {
            return plain(Answer::Errno(libc::EPERM));
        }
        (Some(Answer::Continue), Some("raw device memory: allowed by the raw-I/O capability only"))
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
        if process.had_misc {
            self.world.kernel.unreserve_all(pid);
        }
        self.world.resets.borrow_mut().retain(|(owner, _)| *owner != pid);
    }
}
