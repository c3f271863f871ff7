//! The loop that answers the supervised programs.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::faults::Faults;
use crate::files::Told;
use crate::launch;
use crate::output::Line;
use crate::process::Processes;
use crate::seccomp::{Answer, Listener, Notification};
use crate::tree::Tree;
use crate::world::World;

/// What the loop waits for; process ids are other numbers.
const LISTENER: u64 = u64::MAX;
const SIGNALS: u64 = u64::MAX - 1;

/// Cost of the calls of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) calls: u64,
    pub(crate) failures: u64,
    pub(crate) time: Duration,
}

/// The supervisor.
pub(crate) struct Supervisor {
    pub(crate) world: World,
    pub(crate) listener: Listener,
    pub(crate) processes: Processes,
    pub(crate) faults: Faults,
    pub(crate) tree: Tree,
    /// What a call that was answered on the way has given: a descriptor's number, an address.
    pub(crate) latest: Option<i64>,
    /// Calls that were received while another one was being answered.
    pub(crate) waiting: VecDeque<Notification>,
    pub(crate) costs: BTreeMap<&'static str, Cost>,
    epoll: OwnedFd,
    signals: OwnedFd,
    main: u32,
    failure: UnixStream,
    status: Option<i32>,
    not_executed: Option<io::Error>,
}

/// A new descriptor from a system call.
fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the caller just got it from the kernel.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Blocks the signals that are handled in the loop, and makes a descriptor for them.
pub(crate) fn signals() -> io::Result<OwnedFd> {
    // SAFETY: a set of our own; the calls read and write only it.
    let fd = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    owned(fd)
}

impl Supervisor {
    pub(crate) fn new(
        world: World,
        child: launch::Child,
        processes: Processes,
        faults: Faults,
        signals: OwnedFd,
    ) -> io::Result<Self> {
        // SAFETY: a flag.
        let epoll = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        let launch::Child { pid: main, listener, failure } = child;
        let mut supervisor = Self {
            world,
            listener,
            processes,
            faults,
            tree: Tree::default(),
            latest: None,
            waiting: VecDeque::new(),
            costs: BTreeMap::new(),
            epoll,
            signals,
            main,
            failure,
            status: None,
            not_executed: None,
        };
        supervisor.watch(supervisor.listener.as_raw_fd(), LISTENER)?;
        supervisor.watch(supervisor.signals.as_raw_fd(), SIGNALS)?;
        supervisor.process_of(main);
        Ok(supervisor)
    }

    fn watch(&self, fd: RawFd, key: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: key };
        // SAFETY: one struct is read.
        if unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// The process of a thread; a new one is watched from now on.
    fn process_of(&mut self, tid: u32) -> Option<u32> {
        let (pid, new) = self.processes.of_thread(&self.world.memory, tid)?;
        if new {
            let fd = self.processes.get(pid)?.pidfd.as_raw_fd();
            if self.watch(fd, pid.into()).is_err() {
                self.processes.remove(pid);
                return None;
            }
        }
        Some(pid)
    }

    /// Serves until no supervised process is left; answers the exit status.
    pub(crate) fn run(&mut self) -> io::Result<i32> {
        loop {
            let mut events = [libc::epoll_event { events: 0, u64: 0 }; 32];
            let (at, room) = (events.as_mut_ptr(), events.len() as i32);
            let patience = if self.waiting.is_empty() { -1 } else { 0 };
            // SAFETY: the buffer has room for that many events.
            let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), at, room, patience) };
            let ready = &events[..usize::try_from(count).unwrap_or(0)];
            // The dead first: what they leave is free for the calls that follow.
            for event in ready.iter().filter(|event| { event.u64 } < SIGNALS) {
                self.bury(event.u64 as u32);
            }
            for event in ready {
                match event.u64 {
                    SIGNALS => self.forward_signals(),
                    LISTENER if event.events & libc::EPOLLIN as u32 != 0 => {
                        let mut received = self.listener.receive()?;
                        while let Some(call) = received {
                            self.waiting.push_back(call);
                            // Received, a call is not interrupted any more.
                            let others = self.processes.has_threads();
                            received = if others { self.listener.receive_within(0)? } else { None };
                        }
                    }
                    LISTENER => return Ok(self.finish()),
                    _ => {}
                }
            }
            // One at a time, so that the ends of processes are seen before the calls that follow them.
            if let Some(call) = self.waiting.pop_front() {
                self.serve(&call);
            }
        }
    }

    /// A process has ended.
    fn bury(&mut self, pid: u32) {
        if pid == self.main && self.status.is_none() {
            self.reap();
        }
        self.ended(pid);
    }

    /// Takes the exit status of the program.
    fn reap(&mut self) {
        let mut raw = 0;
        // SAFETY: one integer is written.
        let pid = unsafe { libc::waitpid(self.main as libc::pid_t, &raw mut raw, 0) };
        if pid == self.main as libc::pid_t {
            self.gone(self.main, Some(raw));
        }
    }

    /// A thread has ended with this status; that of the program counts.
    pub(crate) fn gone(&mut self, tid: u32, status: Option<i32>) {
        if let Some(raw) = status.filter(|_| tid == self.main) {
            let signalled = libc::WIFSIGNALED(raw);
            self.status = Some(if signalled { 128 + libc::WTERMSIG(raw) } else { libc::WEXITSTATUS(raw) });
        }
    }

    /// The exit status once nobody is left.
    fn finish(&mut self) -> i32 {
        if self.status.is_none() {
            self.reap();
        }
        // The listener may tell of the last end before the descriptors of the processes do.
        for pid in self.processes.pids() {
            self.ended(pid);
        }
        match launch::failure(&mut self.failure) {
            Some(errno) => {
                self.not_executed = Some(io::Error::from_raw_os_error(errno.abs()));
                match errno {
                    libc::ENOENT => 127,
                    1.. => 126,
                    _ => 125,
                }
            }
            None => self.status.unwrap_or(125),
        }
    }

    /// Why the program could not be executed.
    pub(crate) fn not_executed(&self) -> Option<&io::Error> {
        self.not_executed.as_ref()
    }

    /// A terminal signals the program itself; what is meant for the emulator goes to the program, and ends what it left
    /// behind once it has ended.
    fn forward_signals(&self) {
        // SAFETY: all zero is a value of this plain struct.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer has the size that is told.
        while unsafe { libc::read(self.signals.as_raw_fd(), (&raw mut info).cast(), size) } == size as isize {
            let signal = info.ssi_signo as i32;
            if self.status.is_some() {
                // What the program left behind is all there is to wait for.
                self.processes.kill();
            } else if signal == libc::SIGTERM || signal == libc::SIGHUP || info.ssi_pid != 0 {
                // SAFETY: the child was not waited for, so its id is its own.
                unsafe { libc::kill(self.main as libc::pid_t, signal) };
            }
        }
    }

    /// Answers one call.
    fn serve(&mut self, call: &Notification) {
        let start = Instant::now();
        let Some(pid) = self.process_of(call.tid) else {
            // It has died, or there is no descriptor left to watch it with: nothing may wait for ever.
            self.listener.answer(call.id, Answer::Errno(libc::ENFILE));
            return;
        };
        if self.world.traced {
            self.settle_all();
        }
        if call.nr == libc::SYS_ioctl {
            self.request(call, pid, start);
            return;
        }
        if self.is_ordinary(call, pid) {
            self.listener.answer(call.id, Answer::Continue);
            return;
        }
        let fd = call.args[0] as RawFd;
        let (name, told): (&'static str, Told) = match call.nr {
            libc::SYS_dup => ("dup", self.duplicate(call, pid, 0, false)),
            libc::SYS_fcntl => {
                let cloexec = call.args[1] as i32 == libc::F_DUPFD_CLOEXEC;
                ("dup", self.duplicate(call, pid, call.args[2] as RawFd, cloexec))
            }
            libc::SYS_dup2 | libc::SYS_dup3 => ("dup2", self.duplicate_to(call, pid)),
            libc::SYS_mmap => ("mmap", self.map(call, pid)),
            libc::SYS_mremap => {
                let answer = self.remap(call, pid);
                self.listener.answer(call.id, answer);
                return;
            }
            libc::SYS_getdents64 | libc::SYS_getdents => {
                let answer = self.list(call, pid);
                self.listener.answer(call.id, answer);
                return;
            }
            libc::SYS_getcwd => {
                let answer = self.current_directory(call);
                self.listener.answer(call.id, answer);
                return;
            }
            libc::SYS_lseek => ("lseek", self.positioned(call, pid)),
            libc::SYS_pread64 | libc::SYS_preadv | libc::SYS_preadv2 => ("pread", self.positioned(call, pid)),
            libc::SYS_pwrite64 | libc::SYS_pwritev | libc::SYS_pwritev2 => ("pwrite", self.positioned(call, pid)),
            libc::SYS_fallocate => ("fallocate", self.positioned(call, pid)),
            libc::SYS_ftruncate => ("ftruncate", self.positioned(call, pid)),
            libc::SYS_fchmod => ("fchmod", self.positioned(call, pid)),
            libc::SYS_fchown => ("fchown", self.positioned(call, pid)),
            libc::SYS_sendfile => ("sendfile", self.moved(call, pid, call.args[1])),
            libc::SYS_splice => ("splice", self.moved(call, pid, call.args[2])),
            libc::SYS_copy_file_range => ("copy_file_range", self.moved(call, pid, call.args[2])),
            libc::SYS_fstat => ("fstat", self.stat_open(call, pid)),
            _ => {
                self.path(call, pid, start);
                return;
            }
        };
        let fields = match call.nr {
            libc::SYS_mmap => vec![
                ("length", call.args[1]),
                ("prot", call.args[2]),
                ("flags", call.args[3]),
                ("fd", call.args[4]),
                ("offset", call.args[5]),
            ],
            _ => vec![("fd", fd as u64)],
        };
        self.answered(call, pid, None, (name, None), fields, told, start);
    }

    /// Whether a call that makes a copy of a descriptor or maps one has nothing to do with what is ours.
    fn is_ordinary(&mut self, call: &Notification, pid: u32) -> bool {
        let [from, .., mapped, _] = call.args;
        let fd = match call.nr {
            libc::SYS_dup | libc::SYS_fcntl | libc::SYS_dup2 | libc::SYS_dup3 => from,
            libc::SYS_mmap => mapped,
            _ => return false,
        };
        let duplicated = matches!(call.nr, libc::SYS_dup | libc::SYS_fcntl);
        self.device_file(pid, fd as RawFd).is_none() && !(duplicated && self.is_listed(pid, from as RawFd))
    }

    /// Gives the answer, if it was not given, and tells about it.
    #[allow(clippy::too_many_arguments, reason = "what a line of the trace is made of")]
    pub(crate) fn answered(
        &mut self,
        call: &Notification,
        pid: u32,
        device: Option<u32>,
        (name, path): (&'static str, Option<&str>),
        fields: Vec<(&str, u64)>,
        (answer, remark): Told,
        start: Instant,
    ) {
        let given = self.latest.take();
        let result = match answer {
            Some(Answer::Value(value)) => value,
            Some(Answer::Errno(errno)) => -i64::from(errno),
            Some(Answer::Continue) | None => given.unwrap_or(0),
        };
        if let Some(answer) = answer {
            self.listener.answer(call.id, answer);
        }
        self.count(name, result, start);
        let time = start.elapsed();
        let line = Line { pid, tid: call.tid, device, name, path, fields, outputs: &[], result, remark, time };
        self.world.output.trace(&line);
    }

    pub(crate) fn count(&mut self, name: &'static str, result: i64, start: Instant) {
        let cost = self.costs.entry(name).or_default();
        cost.calls += 1;
        cost.failures += u64::from(result < 0);
        cost.time += start.elapsed();
    }
}
