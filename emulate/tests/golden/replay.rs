//! The inner program: goes through a file; other processes are forked and told which line is theirs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use crate::door::Kernel;
use crate::replay::{Compared, Door, Process, REASONS, Recording, text};

/// A forked process that waits for lines.
struct Child {
    pid: i32,
    socket: UnixStream,
}

/// Runs a function in a forked process that ends after it.
fn fork(body: impl FnOnce(UnixStream)) -> Child {
    let (ours, theirs) = UnixStream::pair().expect("sockets");
    // SAFETY: this program has one thread, so the child may do whatever the parent could.
    match unsafe { libc::fork() } {
        0 => {
            drop(ours);
            body(theirs);
            std::process::exit(0);
        }
        pid => {
            assert!(pid > 0, "fork");
            Child { pid, socket: ours }
        }
    }
}

impl Child {
    /// Has a line done; the child answers 0 for equal, 255 for different, else a reason.
    fn line(&mut self, index: usize) -> Result<Compared, ()> {
        self.socket.write_all(&(index as u64).to_le_bytes()).map_err(drop)?;
        let mut answer = [0];
        self.socket.read_exact(&mut answer).map_err(drop)?;
        match answer[0] {
            0 => Ok(Ok(())),
            255 => Err(()),
            reason => Ok(Err(REASONS[usize::from(reason) - 1])),
        }
    }

    /// Lets it end, or kills it, and waits for it; answers the signal that ended it.
    fn end(self, kill: bool) -> i32 {
        if kill {
            // SAFETY: a signal to a child that was not waited for.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
        }
        // Its siblings hold copies of the socket, so closing ours tells it nothing.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let mut status = 0;
        // SAFETY: one integer is written.
        unsafe { libc::waitpid(self.pid, &raw mut status, 0) };
        if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 }
    }
}

/// Serves lines to the parent.
fn serve(mut process: Process<Kernel>, recording: &Recording, mut socket: UnixStream) {
    let mut index = [0; 8];
    while socket.read_exact(&mut index).is_ok() {
        let line = &recording.lines[u64::from_le_bytes(index) as usize];
        let compared = match recording.end_of_process(line) {
            Some((_, last)) => {
                process.last_request(&last);
                Err(format!("survived: {line}"))
            }
            None => process.line(line),
        };
        let answer = match compared {
            Ok(Ok(())) => 0,
            Ok(Err(reason)) => REASONS.iter().position(|known| *known == reason).map_or(255, |at| at as u8 + 1),
            Err(what) => {
                println!("DIFFERENT: {what}");
                255
            }
        };
        if socket.write_all(&[answer]).is_err() {
            break;
        }
    }
}

/// The processes of a recording.
struct Crowd<'a> {
    recording: &'a Recording,
    own: Process<Kernel>,
    children: BTreeMap<String, Child>,
    /// Processes that attached only to fill the slots.
    fillers: Vec<Child>,
}

impl Crowd<'_> {
    /// A process other than the first.
    fn child(&mut self, who: &str) -> &mut Child {
        if !self.children.contains_key(who) {
            let mut process = self.own.fork(Kernel);
            let child = fork(|socket| {
                process.start(who);
                serve(process, self.recording, socket);
            });
            self.children.insert(who.to_owned(), child);
        }
        self.children.get_mut(who).expect("it is there")
    }

    /// Another process attaches only to take a slot.
    fn filler(&mut self) -> u8 {
        let child = fork(|mut socket| {
            let _ = socket.write_all(&[Kernel.open(libc::O_RDWR).1 as u8]);
            // Holds the device until the parent is done with it.
            let _ = socket.read(&mut [0]);
        });
        let mut errno = [0];
        (&child.socket).read_exact(&mut errno).expect("an answer");
        self.fillers.push(child);
        errno[0]
    }

    /// Does a line; `None` for remarks.
    fn line(&mut self, index: usize) -> Option<Result<Compared, String>> {
        let line = &self.recording.lines[index];
        if let Some((who, last)) = self.recording.end_of_process(line) {
            let survived = self.child(who).line(index).is_ok();
            let signal = self.children.remove(who).map_or(0, |child| child.end(false));
            let same = !survived && signal == last.signal;
            return Some(if same { Ok(Ok(())) } else { Err(format!("ended by {signal}: {line}")) });
        }
        if text(line, "note").starts_with("child killed by signal") {
            self.children.remove("K").expect("the child to kill").end(true);
            return None;
        }
        if text(line, "obs") == "open by another process: errno" {
            let errno = self.filler();
            return Some(if line["value"] == errno { Ok(Ok(())) } else { Err(format!("{errno}: {line}")) });
        }
        let own = text(line, "who");
        if own.is_empty() && line.get("obs").is_none() && line.get("sysfs").is_none() {
            return None;
        }
        let who = if own.is_empty() { self.recording.observer(index) } else { own };
        if own == "A" {
            // The others have ended, except the one that is going to be killed.
            let ended: Vec<String> = self.children.keys().filter(|who| *who != "K").cloned().collect();
            for child in ended.iter().filter_map(|who| self.children.remove(who)) {
                child.end(false);
            }
        }
        if who != "A" {
            return Some(self.child(who).line(index).map_err(|()| format!("in process {who}: {line}")));
        }
        let compared = self.own.line(line);
        if text(line, "op") == "open" && line["ret"] == -1 {
            self.fillers.drain(..).for_each(|child| {
                child.end(false);
            });
        }
        Some(compared)
    }
}

/// Replays a file; the last line of the output sums up.
pub(crate) fn run(path: &str) -> ExitCode {
    let recording = Recording::new(&fs::read_to_string(path).expect("a recording"));
    let own = Process::new(Kernel, &recording.scenario);
    let mut crowd = Crowd { recording: &recording, own, children: BTreeMap::new(), fillers: Vec::new() };
    let (mut equal, mut different) = (0, 0);
    let mut left_out: BTreeMap<&'static str, usize> = BTreeMap::new();
    for index in 0..recording.lines.len() {
        match crowd.line(index) {
            None => {}
            Some(Ok(Ok(()))) => equal += 1,
            Some(Ok(Err(reason))) => *left_out.entry(reason).or_default() += 1,
            Some(Err(what)) => {
                println!("DIFFERENT: {what}");
                different += 1;
            }
        }
    }
    let left_out: Vec<String> = left_out.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    println!("equal {equal}, left out: [{}]", left_out.join(", "));
    if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
