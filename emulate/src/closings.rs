//! Closings of device descriptors.
//!
//! The kernel closes them by itself, on whatever way: `close`, `close_range`, a copy of another file over them, a program that
//! is replaced. A trapped `close` could end with `EINTR` before it was received here, and leave the descriptor open, which no
//! close on a device ever does. So closings are noticed afterwards, by a look at the descriptors that are known: before the
//! answer to any call that depends on them. Nobody can tell the difference, as no answer depends on them in between.
//!
//! A process stays attached to a device as long as fewer descriptors were closed than it has opens. So a look goes on only
//! until enough are found open: at one where there are no copies.

use std::os::fd::RawFd;
use std::time::Instant;

use crate::output::Line;
use crate::process::{Closed, DeviceFile};
use crate::supervisor::Supervisor;

impl Supervisor {
    /// The device behind a descriptor of a process, which is looked at.
    pub(crate) fn device_file(&mut self, pid: u32, fd: RawFd) -> Option<DeviceFile> {
        let memory = &self.world.memory;
        self.processes.file(memory, pid, fd).unwrap_or_else(|Closed| {
            self.closed(pid, fd, None);
            // Something else may have the number.
            self.processes.file(&self.world.memory, pid, fd).ok().flatten()
        })
    }

    /// A number for a new descriptor of a process, `None` when all are taken.
    pub(crate) fn number(&mut self, pid: u32, at_least: RawFd) -> Option<RawFd> {
        let number = self.processes.number(pid, at_least);
        if number.is_some() {
            return number;
        }
        self.look(|owner, _| owner == pid);
        self.processes.number(pid, at_least)
    }

    /// Notices the closings that the state of a device depends on. `open`: a descriptor that was just looked at.
    pub(crate) fn settle(&mut self, device: u32, open: Option<(u32, RawFd)>) {
        let mut gone = Vec::new();
        for (pid, process) in self.processes.all() {
            let opens = self.world.kernel.opens(pid, device) as usize;
            // What closes in a process that is not attached is none of the driver's business.
            if opens == 0 {
                continue;
            }
            let counts = |file: &DeviceFile| file.device == device && !file.misc;
            let known = process.files.values().filter(|known| counts(&known.file)).count();
            let seen = open.filter(|(owner, fd)| *owner == pid && process.files.get(fd).is_some_and(|known| counts(&known.file)));
            let enough = (known + 1).saturating_sub(opens).max(1) - usize::from(seen.is_some());
            let which = |fd, file: &DeviceFile| counts(file) && seen != Some((pid, fd));
            process.look(&self.world.memory, which, enough, &mut gone);
        }
        self.all_closed(gone);
    }

    /// Notices the closings that come before an open: those of a process that is not attached mean nothing to the driver only
    /// as long as it is not.
    pub(crate) fn settle_for_open(&mut self, pid: u32, device: u32) {
        if !self.world.kernel.is_attached(pid, device) {
            self.look(|owner, file| owner == pid && file.device == device && !file.misc);
        }
        self.settle(device, None);
    }

    /// Notices the closings that the reservations of cores depend on: any of a write-only descriptor.
    pub(crate) fn settle_cores(&mut self) {
        self.look(|_, file| file.misc);
    }

    /// Notices every closing, for a trace.
    pub(crate) fn settle_all(&mut self) {
        self.look(|_, _| true);
    }

    /// Notices every closing of these descriptors.
    fn look(&mut self, which: impl Fn(u32, &DeviceFile) -> bool) {
        let mut gone = Vec::new();
        for (pid, process) in self.processes.all() {
            process.look(&self.world.memory, |_, file| which(pid, file), usize::MAX, &mut gone);
        }
        self.all_closed(gone);
    }

    fn all_closed(&mut self, gone: Vec<(u32, RawFd)>) {
        for (pid, fd) in gone {
            self.closed(pid, fd, None);
        }
    }

    /// A descriptor was closed: it is forgotten, and what the driver does is done.
    pub(crate) fn closed(&mut self, pid: u32, fd: RawFd, remark: Option<&'static str>) {
        let known = self.processes.get(pid).and_then(|process| process.files.remove(&fd));
        if let Some(known) = known {
            self.close(pid, fd, known.file, remark);
        }
    }

    /// What is done about a descriptor that was closed.
    fn close(&mut self, pid: u32, fd: RawFd, file: DeviceFile, remark: Option<&'static str>) {
        let start = Instant::now();
        self.flush(pid, file);
        self.count("close", 0, start);
        self.world.output.trace(&Line {
            pid,
            // Nobody knows which thread it was.
            tid: pid,
            device: Some(file.device),
            name: "close",
            fields: vec![("fd", fd as u64)],
            outputs: &[],
            path: None,
            result: 0,
            remark,
            time: start.elapsed(),
        });
    }

    /// What the driver does at every close of a descriptor, also of a copy.
    pub(crate) fn flush(&mut self, pid: u32, file: DeviceFile) {
        let before = self.world.kernel.hazards(file.device);
        let left = if file.misc { Vec::new() } else { self.world.ledger.borrow().left(&self.world.kernel, pid, file.device) };
        if self.world.kernel.flush(pid, file.device, file.misc) == Ok(true) {
            self.world.ledger.borrow_mut().closed(&left);
            self.world.hazards_since(pid, file.device, &before);
        }
    }

    /// A process has ended: the kernel has closed its descriptors.
    pub(crate) fn ended(&mut self, pid: u32) {
        let Some(process) = self.processes.remove(pid) else { return };
        for (&fd, known) in &process.files {
            self.close(pid, fd, known.file, Some("at the end of the process, or before"));
        }
        for device in 0..self.world.kernel.config().devices {
            let full = DeviceFile { device, misc: false, readable: true, writable: true };
            while self.world.kernel.is_attached(pid, device) {
                self.flush(pid, full);
            }
        }
        self.world.kernel.end(pid, process.files.values().any(|known| known.file.misc));
    }
}
