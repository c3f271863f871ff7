//! The inner program: goes through a file; other processes are forked and told which line is theirs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use serde_json::Value;

use crate::calls::Process;

/// What became of a line.
pub(crate) type Compared = Result<(), &'static str>;

/// A forked process that waits for lines.
struct Child {
    pid: i32,
    socket: UnixStream,
}

/// A text of a line, empty when missing.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

/// Reasons a child can give, by number.
const REASONS: [&str; 4] = ["not modelled", "mapping from inside of a chunk", "observation", "not replayable"];

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

    /// Lets it end, or kills it, and waits for it.
    fn end(self, kill: bool) {
        if kill {
            // SAFETY: a signal to a child that was not waited for.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
        }
        // Its siblings hold copies of the socket, so closing ours tells it nothing.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        // SAFETY: no status is asked for.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

/// Serves lines to the parent.
fn serve(mut process: Process, lines: &[Value], mut socket: UnixStream) {
    let mut index = [0; 8];
    while socket.read_exact(&mut index).is_ok() {
        let compared = process.line(&lines[u64::from_le_bytes(index) as usize]);
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

/// Replays a file; the last line of the output sums up.
pub(crate) fn run(path: &str) -> ExitCode {
    let file = fs::read_to_string(path).expect("a recording");
    let lines: Vec<Value> = file.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut own = Process::default();
    let mut children: BTreeMap<String, Child> = BTreeMap::new();
    let mut fillers = Vec::new();
    let (mut replayed, mut different) = (0, 0);
    let mut left_out: BTreeMap<&'static str, usize> = BTreeMap::new();
    for (index, line) in lines.iter().enumerate() {
        let who = text(line, "who");
        let compared = if text(line, "note") == "child killed by signal 9" {
            children.remove("K").expect("the child to kill").end(true);
            continue;
        } else if text(line, "obs") == "open by another process: errno" {
            let child = fork(|mut socket| {
                let errno = crate::calls::open_only();
                let _ = socket.write_all(&[errno as u8]);
                // Holds the device until the parent is done with it.
                let _ = socket.read(&mut [0]);
            });
            let mut errno = [0];
            (&child.socket).read_exact(&mut errno).expect("an answer");
            fillers.push(child);
            if Some(u64::from(errno[0])) == line["value"].as_u64() { Ok(Ok(())) } else { Err(format!("{errno:?}: {line}")) }
        } else if line.get("obs").is_some() {
            Ok(Err("observation"))
        } else if who.is_empty() {
            continue;
        } else if who == "A" {
            // The others have ended, except the one that is going to be killed.
            let ended: Vec<String> = children.keys().filter(|name| *name != "K").cloned().collect();
            for name in ended {
                children.remove(&name).expect("it is there").end(false);
            }
            let compared = own.line(line);
            if text(line, "op") == "open" && line["ret"] == -1 {
                fillers.drain(..).for_each(|child| child.end(false));
            }
            compared
        } else {
            if !children.contains_key(who) {
                let process = own.clone();
                children.insert(who.to_owned(), fork(|socket| serve(process, &lines, socket)));
            }
            let child = children.get_mut(who).expect("it is there");
            child.line(index).map_err(|()| format!("in process {who}: {line}"))
        };
        match compared {
            Ok(Ok(())) => replayed += 1,
            Ok(Err(reason)) => *left_out.entry(reason).or_default() += 1,
            Err(what) => {
                println!("DIFFERENT: {what}");
                different += 1;
            }
        }
    }
    let left_out: Vec<String> = left_out.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    println!("replayed {replayed}, left out: [{}]", left_out.join(", "));
    if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
