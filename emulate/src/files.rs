//! System calls on device descriptors: open, duplication, mapping.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use nrt_core::driver::Errno;
use nrt_sim::kernel::Shown;

use crate::inject::{Failure, Stopped};
use crate::process::{self, DeviceFile};
use crate::seccomp::{Answer, Notification};
use crate::supervisor::Supervisor;

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
        let Some(number) = self.number(pid, 0) else { return plain(Answer::Errno(libc::EMFILE)) };
        self.settle_for_open(pid, device);
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
        self.processes.enter(pid, number, file);
        self.latest = Some(number.into());
    }

    /// A copy of a descriptor. `None` when it is not any more what it was when it was looked at: another thread closed it.
    fn copy(&mut self, pid: u32, fd: RawFd, file: Option<DeviceFile>) -> Option<OwnedFd> {
        let copy = process::fetch(self.processes.get(pid)?, fd).ok()?;
        let found = process::inspect(&self.world.memory, std::process::id(), copy.as_raw_fd());
        (found == file).then_some(copy)
    }

    /// `dup` and `fcntl(F_DUPFD)`: the copy of a device, or of a directory whose listing is answered, gets a number of the
    /// window too.
    pub(crate) fn duplicate(&mut self, call: &Notification, pid: u32, at_least: RawFd, cloexec: bool) -> Told {
        let fd = call.args[0] as RawFd;
        let file = self.device_file(pid, fd);
        if file.is_none() && !self.is_listed(pid, fd) {
            return plain(Answer::Continue);
        }
        let Some(number) = self.number(pid, at_least) else { return plain(Answer::Errno(libc::EMFILE)) };
        let Some(copy) = self.copy(pid, fd, file) else { return plain(Answer::Errno(libc::EBADF)) };
        match self.listener.answer_fd(call.id, copy.as_fd(), Some(number), cloexec) {
            Ok(()) => {
                match file {
                    Some(file) => self.enter(pid, number, file),
                    None => self.latest = Some(number.into()),
                }
                if let Some(process) = self.processes.get(pid) {
                    process.copy_listed(fd, number);
                }
                (None, None)
            }
            Err(_) => plain(Answer::Errno(libc::EMFILE)),
        }
    }

    /// `dup2` and `dup3` of a device: to any number.
    pub(crate) fn duplicate_to(&mut self, call: &Notification, pid: u32) -> Told {
        let (from, to) = (call.args[0] as RawFd, call.args[1] as RawFd);
        let flags = if call.nr == libc::SYS_dup3 { call.args[2] as i32 } else { 0 };
        let Some(file) = self.device_file(pid, from) else { return plain(Answer::Continue) };
        if from == to || flags & !libc::O_CLOEXEC != 0 {
            return plain(Answer::Continue);
        }
        let Some(copy) = self.copy(pid, from, Some(file)) else { return plain(Answer::Errno(libc::EBADF)) };
        // Made here and not by the thread, so that it is there when the next call is looked at.
        let replaced = self.device_file(pid, to);
        if self.listener.answer_fd(call.id, copy.as_fd(), Some(to), flags & libc::O_CLOEXEC != 0).is_err() {
            return plain(Answer::Errno(libc::EBADF));
        }
        if replaced.is_some() {
            self.closed(pid, to, Some("replaced"));
        }
        self.enter(pid, to, file);
        (None, None)
    }

    /// Calls that the memory file would answer and the driver has no function for.
    pub(crate) fn positioned(&mut self, call: &Notification, pid: u32) -> Told {
        let Some(file) = self.device_file(pid, call.args[0] as RawFd) else {
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
        let concerned = [call.args[0], other].into_iter().any(|fd| self.device_file(pid, fd as RawFd).is_some());
        plain(if concerned { Answer::Errno(libc::EINVAL) } else { Answer::Continue })
    }

    /// `mmap`: the memfd is the address space of the device, so a mapping of it is right once it is allowed, with the
    /// driver's offset and protection.
    pub(crate) fn map(&mut self, call: &Notification, pid: u32) -> Told {
        let [_, length, access, flags, fd, offset] = call.args;
        let Some(file) = self.device_file(pid, fd as RawFd) else { return plain(Answer::Continue) };
        let writes = access as i32 & libc::PROT_WRITE != 0;
        let shared = flags as i32 & libc::MAP_TYPE != libc::MAP_PRIVATE;
        let refused_anyway = file.misc || !file.readable || (writes && shared && !file.writable);
        if refused_anyway || length == 0 || !offset.is_multiple_of(4096) {
            return plain(Answer::Continue);
        }
        if let Some(errno) = self.faults.errno("MMAP") {
            return (Some(Answer::Errno(errno)), Some("as asked for"));
        }
        self.settle(file.device, Some((pid, fd as RawFd)));
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
}
