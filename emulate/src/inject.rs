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
        ptrace(libc::PTRACE_SEIZE, tid, null_mut(), null_mut()).map_err(|_| Failure::Unable)?;
        // SAFETY: all zero is a value of this plain struct.
        let mut stopped = Self { tid, registers: unsafe { std::mem::zeroed() }, signals: Vec::new() };
        let interrupted = ptrace(libc::PTRACE_INTERRUPT, tid, null_mut(), null_mut());
        // Nothing sees this errno: the thread stops before it is back in the program.
        let there = listener.answer(call.id, Answer::Errno(libc::EAGAIN));
        if interrupted.is_err() || !there {
            // It died while it was being seized; its end is waited for like any other stop.
            return Err(stopped.wait().err().unwrap_or(Failure::Gone(None)));
        }
        stopped.wait()?;
        stopped.registers = stopped.read()?;
        Ok(stopped)
    }

    /// Waits for the next stop and keeps signals for later.
    fn wait(&mut self) -> Result<(), Failure> {
        let mut status = 0;
        loop {
            // SAFETY: one integer is written.
            let waited = unsafe { libc::waitpid(self.tid, &raw mut status, libc::__WALL) };
            if waited == self.tid {
                break;
            }
            if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                return Err(Failure::Gone(None));
            }
        }
        if !libc::WIFSTOPPED(status) {
            return Err(Failure::Gone(Some(status)));
        }
        let signal = libc::WSTOPSIG(status);
        if status >> 16 != EVENT_STOP && signal != libc::SIGTRAP {
            self.signals.push(signal);
        }
        Ok(())
    }

    fn read(&self) -> Result<user_regs_struct, Failure> {
        // SAFETY: all zero is a value of this plain struct.
        let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
        let place: *mut user_regs_struct = &raw mut registers;
        ptrace(libc::PTRACE_GETREGS, self.tid, null_mut(), place.cast()).map_err(|_| Failure::Gone(None))?;
        Ok(registers)
    }

    fn write(&self, registers: &user_regs_struct) -> Result<(), Failure> {
        let place = std::ptr::from_ref(registers).cast_mut();
        ptrace(libc::PTRACE_SETREGS, self.tid, null_mut(), place.cast()).map_err(|_| Failure::Gone(None))
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
            ptrace(libc::PTRACE_SINGLESTEP, self.tid, null_mut(), null_mut()).map_err(|_| Failure::Gone(None))?;
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
            self.wait()?;
            let now = self.read()?;
            if now.rip == self.registers.rip {
                return Ok(now.rax as i64);
            }
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
        ptrace(libc::PTRACE_DETACH, self.tid, null_mut(), null_mut()).map_err(|_| Failure::Gone(None))
    }

    /// Lets the thread go on with a result.
    pub(crate) fn release(self, pid: u32, result: i64) -> Result<(), Failure> {
        self.write(&user_regs_struct { rax: result as u64, orig_rax: u64::MAX, ..self.registers })?;
        ptrace(libc::PTRACE_DETACH, self.tid, null_mut(), null_mut()).map_err(|_| Failure::Gone(None))?;
        for signal in self.signals {
            // SAFETY: numbers; the thread was there a moment ago.
            unsafe { libc::syscall(libc::SYS_tgkill, pid as pid_t, self.tid, signal) };
        }
        Ok(())
    }
}
