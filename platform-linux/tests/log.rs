//! Output and log lines, through pipes: filter, atomicity, partial writes, long records.

use std::fmt::{self, Write as _};
use std::io::Read as _;
use std::os::fd::FromRawFd as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use nrt_core::hooks::{Hooks, Level};
use nrt_linux::fd::{AsFd as _, IntoRawFd as _, OwnedFd};
use nrt_linux::log::Log;
use nrt_linux::output::{self, Buffered};
use nrt_linux::{Errno, LinuxHooks};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

mod asleep;

/// The reading end as a file of std, and the writing end.
fn pipe(flags: PipeFlags) -> (std::fs::File, OwnedFd) {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    if flags.contains(PipeFlags::NONBLOCK) {
        rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
    }
    // SAFETY: the descriptor was just given up by its owner.
    (unsafe { std::fs::File::from_raw_fd(reader.into_raw_fd()) }, writer)
}

/// What arrives while `write` runs.
fn written(flags: PipeFlags, write: impl FnOnce(&OwnedFd) + Send) -> Vec<u8> {
    let (mut reader, writer) = pipe(flags);
    // The smallest pipe there is: long output cannot go in one piece.
    fcntl_setpipe_size(&writer, 4096).unwrap();
    let id = AtomicU64::new(0);
    thread::scope(|threads| {
        let id = &id;
        let all = threads.spawn(move || {
            id.store(LinuxHooks::new().thread_id(), Ordering::Release);
            write(&writer);
        });
        // It has written everything, or the pipe is full.
        while !all.is_finished() && !asleep::sleeps(id.load(Ordering::Acquire)) {
            thread::yield_now();
        }
        let mut bytes = Vec::new();
        // In small sips, so that writes are cut at odd places.
        let mut sip = [0; 777];
        loop {
            match reader.read(&mut sip).unwrap() {
                0 => return bytes,
                count => bytes.extend_from_slice(&sip[..count]),
            }
        }
    })
}

#[test]
fn records_are_filtered_by_level() {
    let text = written(PipeFlags::empty(), |fd| {
        let log = Log::new(fd.as_fd(), Some(Level::Warn));
        let all = [Level::Error, Level::Warn, Level::Info, Level::Trace];
        let record = |text: &str| all.map(|level| log.record(level, format_args!("{text}")));
        record("default");
        log.set_level(Some(Level::Trace));
        assert!(log.shows(Level::Trace));
        record("trace");
        log.set_level(None);
        record("none");
        assert!(!log.shows(Level::Error));
        log.set_level(Some(Level::Error));
        record("error");
    });
    let expected = "nrt error: default\nnrt warning: default\n\
                    nrt error: trace\nnrt warning: trace\nnrt info: trace\nnrt trace: trace\n\
                    nrt error: error\n";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn a_record_is_one_write() {
    // A packet pipe keeps the boundaries of writes.
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::DIRECT).unwrap();
    let log = Log::new(writer.as_fd(), Some(Level::Info));
    log.record(Level::Info, format_args!("{} of {:>3}", 1, 2));
    log.record(Level::Error, format_args!("several\nlines"));
    let mut buffer = [0; 8192];
    for expected in ["nrt info: 1 of   2\n", "nrt error: several\nlines\n"] {
        let count = rustix::io::read(&reader, &mut buffer).unwrap();
        assert_eq!(std::str::from_utf8(&buffer[..count]).unwrap(), expected);
    }
}

#[test]
fn long_records_arrive_whole() {
    let long: String = (0..30_000).map(|i| char::from(b'a' + (i % 26) as u8)).collect();
    for flags in [PipeFlags::empty(), PipeFlags::NONBLOCK] {
        let text = written(flags, |fd| {
            let log = Log::new(fd.as_fd(), Some(Level::Info));
            log.record(Level::Info, format_args!("{long}|{long}"));
        });
        assert_eq!(String::from_utf8(text).unwrap(), format!("nrt info: {long}|{long}\n"));
    }
}

#[test]
fn short_records_of_many_threads_do_not_mix() {
    let text = written(PipeFlags::empty(), |fd| {
        let log = Log::new(fd.as_fd(), Some(Level::Info));
        thread::scope(|threads| {
            for index in 0..4 {
                let log = &log;
                threads.spawn(move || {
                    for _ in 0..200 {
                        log.record(Level::Info, format_args!("{}", ["a", "b", "c", "d"][index].repeat(97)));
                    }
                });
            }
        });
    });
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.lines().count(), 800);
    for line in text.lines() {
        let body = line.strip_prefix("nrt info: ").unwrap();
        assert!(body.len() == 97 && body.bytes().all(|byte| byte == body.as_bytes()[0]), "{line}");
    }
}

struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("so far")?;
        Err(fmt::Error)
    }
}

#[test]
fn a_text_that_gives_up_is_marked() {
    let text = written(PipeFlags::empty(), |fd| {
        Log::new(fd.as_fd(), Some(Level::Error)).record(Level::Error, format_args!("{Broken}, and more"));
    });
    assert_eq!(text, b"nrt error: so far [record cut short by a formatting error]\n");
}

#[test]
fn the_first_error_stays() {
    let full = rustix::fs::open(c"/dev/full", rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty()).unwrap();
    assert_eq!(output::write_all(full.as_fd(), b"x"), Err(Errno::NOSPC));
    assert_eq!(output::write_all(full.as_fd(), b""), Ok(()));
    let mut buffered = Buffered::<4>::new(full.as_fd());
    assert!(buffered.write_str("1234").is_ok());
    assert!(buffered.write_str("5").is_err());
    assert_eq!(buffered.flush(), Err(Errno::NOSPC));
    assert_eq!(buffered.write_bytes(b"6"), Err(Errno::NOSPC));
    // A log there has nobody to tell.
    Log::new(full.as_fd(), Some(Level::Error)).record(Level::Error, format_args!("lost"));
}

#[test]
fn buffers_of_any_size_pass_everything_on() {
    let text = written(PipeFlags::empty(), |fd| {
        let mut small = Buffered::<1>::new(fd.as_fd());
        write!(small, "abc{}", 1).unwrap();
        small.write_bytes(&[0xff, 0]).unwrap();
        drop(small);
        let mut middle = Buffered::<5>::new(fd.as_fd());
        write!(middle, "0123456789").unwrap();
        middle.flush().unwrap();
        write!(middle, "!").unwrap();
    });
    assert_eq!(text, b"abc1\xff\x000123456789!");
}

#[test]
fn hooks_log_to_standard_error() {
    // Seen in the test's output only when it fails; what matters is that it goes through the trait.
    let hooks = LinuxHooks::default();
    assert!(hooks.log_settings().shows(Level::Warn) && !hooks.log_settings().shows(Level::Info));
    hooks.log(Level::Info, format_args!("not shown"));
    hooks.log_settings().set_level(None);
    hooks.log(Level::Error, format_args!("not shown"));
}
