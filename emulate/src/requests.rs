//! Requests to the driver: found by number, answered by the model, told in the trace.

use std::os::fd::RawFd;
use std::time::Instant;

use nrt_core::driver::Errno;
use nrt_sim::request::{self, Call, Outcome};

use crate::inject::{Failure, Stopped};
use crate::output::{self, Line};
use crate::program::Program;
use crate::seccomp::{Answer, Notification};
use crate::supervisor::Supervisor;

/// What the names of requests about reserved cores begin with.
const RESERVATION: &str = "CRWL_NC_RANGE";

impl Supervisor {
    /// A request to the driver.
    pub(crate) fn request(&mut self, call: &Notification, pid: u32, start: Instant) {
        let (fd, number) = (call.args[0] as RawFd, call.args[1] as u32);
        // These are the kernel's own on every descriptor.
        let generic = [libc::FIOCLEX as u32, libc::FIONCLEX as u32, libc::FIONBIO as u32, libc::FIOASYNC as u32];
        let file = if generic.contains(&number) { None } else { self.device_file(pid, fd) };
        let Some(file) = file else {
            self.listener.answer(call.id, Answer::Continue);
            return;
        };
        let Some(request) = request::find(self.world.kernel.config().version, number) else {
            let told = (Some(Answer::Errno(libc::EINVAL)), Some("this driver has no such request"));
            self.answered(call, pid, Some(file.device), ("ioctl", None), vec![("request", number.into())], told, start);
            return;
        };
        self.settle(file.device, Some((pid, fd)));
        if request.name.starts_with(RESERVATION) {
            self.settle_cores();
        }
        let world = &self.world;
        let (checked, device) = (world.kernel.config().strict || world.traced, file.device);
        let before = checked.then(|| world.kernel.hazards(device));
        let program = Program { world, pid, tid: call.tid };
        let mut answering = Call::new(&world.kernel, &program, pid, device, call.args[2]);
        let fault = self.faults.errno(request.name);
        let outcome = match fault {
            Some(errno) => {
                // For the trace; what cannot be read is told as zero.
                answering.fetch(request);
                Outcome::Errno(Errno(errno))
            }
            // The argument was read from memory that may be another process's by now, unless the thread still waits.
            None if !self.listener.still_valid(call.id) => return,
            None => answering.run(request, file.misc),
        };
        let result = outcome.raw();
        let answer = if result < 0 { Answer::Errno(-result as i32) } else { Answer::Value(result) };
        if let Some(before) = before {
            world.hazards_since(pid, device, &before);
        }
        if world.traced {
            let remark = if fault.is_some() { Some("as asked for") } else { output::remark(outcome) };
            world.output.trace(&Line {
                pid,
                tid: call.tid,
                device: Some(device),
                name: request.name,
                fields: output::fields(request, &answering),
                outputs: answering.outputs(),
                path: None,
                result,
                remark,
                time: start.elapsed(),
            });
        }
        if let Outcome::Fatal { signal, what } = outcome {
            self.kill(call, pid, signal, what);
        } else {
            self.listener.answer(call.id, answer);
        }
        self.count(request.name, if result == 0 { 0 } else { -1 }, start);
    }

    /// Ends a program that the real driver would not have survived either.
    fn kill(&mut self, call: &Notification, pid: u32, signal: i32, what: &str) {
        self.world.output.fatal(pid, signal, what);
        if signal == libc::SIGSEGV {
            match Stopped::new(&self.listener, call).and_then(Stopped::crash) {
                Ok(()) => return,
                Err(Failure::Gone(status)) => return self.gone(call.tid, status),
                // Somebody else traces it: the plain signal has to do.
                Err(Failure::Unable) => {}
            }
        }
        // SAFETY: numbers; the process waits for an answer, so its id is its own.
        unsafe { libc::kill(pid as libc::pid_t, signal) };
        self.listener.answer(call.id, Answer::Errno(libc::EFAULT));
    }
}
