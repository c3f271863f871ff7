//! System calls in the place of a thread: how a mapping gets what the kernel's own `mmap` of a memfd cannot give it.
//!
//! The thread waits for the answer to its system call. It is seized, answered, and stopped before it is back in the
//! program; there it makes other system calls through the same instruction, one step each, and then goes on with its
//! registers as they were and the result it is to see. A thread that is traced by somebody else cannot be seized.

use std::io;
use std::ptr::null_mut;

use libc::{c_int, c_uint, c_void, pid_t, user_regs_struct};

use crate::seccomp::{Answer, Listener, Notification};

/// `PTRACE_EVENT_STOP`, above the signal in a status.
const EVENT_STOP: c_int = 128;

/// Why a thread makes no calls for us.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It is traced by somebody else, or may not be traced. It still waits for its answer.
    Unable,
    /// It is gone, with this status if it told.
    Gone(Option<c_int>),
}

/// What a thread stopped for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The system call it was to make is over.
    Step,
    /// A signal, or its process was stopped or goes on: that is told before the end of a step.
    Other,
}

/// What the kernel leaves in `rax` when a signal interrupted a call that is to be made again.
const RESTART: [i64; 4] = [-512, -513, -514, -516];

/// A stopped thread.
pub(crate) struct Stopped {
    tid: pid_t,
    /// As they are right behind the system call it made.
    registers: user_regs_struct,
    /// Signals that arrived meanwhile.
    signals: Vec<c_int>,
}

fn ptrace(request: c_uint, tid: pid_t, address: *mut c_void, data: *mut c_void) -> io::Result<()> {
    // SAFETY: the callers pass what the request wants: nothing, a number, or a struct of theirs.
    if unsafe { libc::ptrace(request, tid, address, data) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Stopped {
    /// Stops the thread of a call, which is answered by that.
    pub(crate) fn new(listener: &Listener, call: &Notification) -> Result<Self, Failure> {
        let tid = call.tid as pid_t;
        // Without the supervisor it would go on in the middle of nowhere.
        let with = libc::PTRACE_O_EXITKILL as usize as *mut c_void;
        ptrace(libc::PTRACE_SEIZE, tid, null_mut(), with).map_err(|_| Failure::Unable)?;
        // SAFETY: all zero is a value of this plain struct.
        let mut stopped = Self { tid, registers: unsafe { std::mem::zeroed() }, signals: Vec::new() };
        let interrupted = ptrace(libc::PTRACE_INTERRUPT, tid, null_mut(), null_mut());
        // Nothing sees this errno: the thread stops before it is back in the program.
        let there = listener.answer(call.id, Answer::Errno(libc::EAGAIN));
        if interrupted.is_err() || !there {
            // It died while it was being seized; its end is waited for like any other stop.
            return Err(stopped.gone());
        }
        stopped.wait()?;
        stopped.registers = stopped.read()?;
        Ok(stopped)
    }

    /// Waits for the next stop and keeps signals for later.
    fn wait(&mut self) -> Result<Stop, Failure> {
        let status = self.status().ok_or(Failure::Gone(None))?;
        if !libc::WIFSTOPPED(status) {
            return Err(Failure::Gone(Some(status)));
        }
        let signal = libc::WSTOPSIG(status);
        if status >> 16 == EVENT_STOP {
            return Ok(Stop::Other);
        }
        if signal == libc::SIGTRAP && self.is_step()? {
            return Ok(Stop::Step);
        }
        // As the kernel does, ordinary signals are kept once.
        if signal >= libc::SIGRTMIN() || !self.signals.contains(&signal) {
            self.signals.push(signal);
        }
        Ok(Stop::Other)
    }

    /// The next status; `None` when there is nobody to wait for.
    fn status(&self) -> Option<c_int> {
        let mut status = 0;
        loop {
            // SAFETY: one integer is written.
            let waited = unsafe { libc::waitpid(self.tid, &raw mut status, libc::__WALL) };
            if waited == self.tid {
                return Some(status);
            }
            if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                return None;
            }
        }
    }

    /// Whether the SIGTRAP is the kernel's own, for the end of a step, and not one that somebody sent.
    fn is_step(&self) -> Result<bool, Failure> {
        // SAFETY: all zero is a value of this plain struct.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let place: *mut libc::siginfo_t = &raw mut info;
        ptrace(libc::PTRACE_GETSIGINFO, self.tid, null_mut(), place.cast()).map_err(|_| self.gone())?;
        Ok(info.si_code > 0)
    }

    /// A request about a stopped thread failed: it was killed. Its end is waited for; as long as nobody does, its parent is
    /// not told.
    fn gone(&self) -> Failure {
        match self.status() {
            Some(status) if libc::WIFSTOPPED(status) => {
                // Not killed after all: it goes on by itself.
                let _ = ptrace(libc::PTRACE_DETACH, self.tid, null_mut(), null_mut());
                Failure::Gone(None)
            }
            status => Failure::Gone(status),
        }
    }

    fn read(&self) -> Result<user_regs_struct, Failure> {
        // SAFETY: all zero is a value of this plain struct.
        let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
        let place: *mut user_regs_struct = &raw mut registers;
        ptrace(libc::PTRACE_GETREGS, self.tid, null_mut(), place.cast()).map_err(|_| self.gone())?;
        Ok(registers)
    }

    fn write(&self, registers: &user_regs_struct) -> Result<(), Failure> {
        let place = std::ptr::from_ref(registers).cast_mut();
        ptrace(libc::PTRACE_SETREGS, self.tid, null_mut(), place.cast()).map_err(|_| self.gone())
    }

    /// Makes a system call. `trapped`: the filter will ask about it; calls of other threads that come first are put into
    /// `others`.
    pub(crate) fn call(
        &mut self,
        listener: &Listener,
        number: i64,
        arguments: [u64; 6],
        trapped: bool,
        others: &mut Vec<Notification>,
    ) -> Result<i64, Failure> {
        let [rdi, rsi, rdx, r10, r8, r9] = arguments;
        // The instruction is two bytes long. Without a number of its own there is nothing to be restarted.
        let (rip, orig_rax) = (self.registers.rip - 2, u64::MAX);
        let registers = user_regs_struct { rax: number as u64, orig_rax, rip, rdi, rsi, rdx, r10, r8, r9, ..self.registers };
        self.write(&registers)?;
        let mut ask = trapped;
        loop {
            ptrace(libc::PTRACE_SINGLESTEP, self.tid, null_mut(), null_mut()).map_err(|_| self.gone())?;
            while ask && !self.stopped_early() {
                match listener.receive_within(1) {
                    Ok(Some(call)) if call.tid as pid_t == self.tid => {
                        listener.answer(call.id, Answer::Continue);
                        ask = false;
                    }
                    Ok(Some(call)) => others.push(call),
                    Ok(None) => {}
                    Err(_) => return Err(Failure::Gone(None)),
                }
            }
            // Whatever else it stops for, the end of the step is still to come: going on before would leave it to the program.
            if self.wait()? == Stop::Other {
                continue;
            }
            let now = self.read()?;
            if now.rip != self.registers.rip {
                continue;
            }
            let result = now.rax as i64;
            if !RESTART.contains(&result) {
                return Ok(result);
            }
            // A signal came before the call was asked about.
            self.write(&registers)?;
            ask = trapped;
        }
    }

    /// Whether the thread has stopped or ended without asking.
    fn stopped_early(&self) -> bool {
        // SAFETY: all zero is a value of this plain struct; the call writes to it only.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let flags = libc::WSTOPPED | libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
            libc::waitid(libc::P_PID, self.tid as libc::id_t, &raw mut info, flags) == 0 && info.si_pid() == self.tid
        }
    }

    /// Lets the thread go on where nothing is: its process ends as by a fault of its own.
    pub(crate) fn crash(self) -> Result<(), Failure> {
        self.write(&user_regs_struct { rip: 0, orig_rax: u64::MAX, ..self.registers })?;
        ptrace(libc::PTRACE_DETACH, self.tid, null_mut(), null_mut()).map_err(|_| self.gone())
    }

    /// Lets the thread go on with a result.
    pub(crate) fn release(self, pid: u32, result: i64) -> Result<(), Failure> {
        self.write(&user_regs_struct { rax: result as u64, orig_rax: u64::MAX, ..self.registers })?;
        ptrace(libc::PTRACE_DETACH, self.tid, null_mut(), null_mut()).map_err(|_| self.gone())?;
        for signal in self.signals {
            // SAFETY: numbers; the thread was there a moment ago.
            unsafe { libc::syscall(libc::SYS_tgkill, pid as pid_t, self.tid, signal) };
        }
        Ok(())
    }
}
