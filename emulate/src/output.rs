//! Where trace, diagnoses and report go.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use nrt_sim::request::{Call, Outcome, Request};

/// How the trace looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Style {
    /// A line for people.
    Text,
    /// An object a line.
    Json,
}

/// The way out.
pub(crate) struct Output {
    to: RefCell<Box<dyn Write>>,
    style: Option<Style>,
}

/// A line of the trace.
pub(crate) struct Line<'a> {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) device: Option<u32>,
    pub(crate) name: &'a str,
    pub(crate) fields: Vec<(&'a str, u64)>,
    /// What was written through pointers in the argument.
    pub(crate) outputs: &'a [(&'static str, u64)],
    /// Path of a call that has one.
    pub(crate) path: Option<&'a str>,
    pub(crate) result: i64,
    pub(crate) remark: Option<&'a str>,
    pub(crate) time: Duration,
}

impl Output {
    /// To a file, or to standard error.
    pub(crate) fn new(path: Option<&Path>, style: Option<Style>) -> io::Result<Self> {
        let to: Box<dyn Write> = match path {
            Some(path) => Box::new(File::create(path)?),
            None => Box::new(io::stderr()),
        };
        Ok(Self { to: RefCell::new(to), style })
    }

    /// Writes a line; nobody is served by an emulator that ends because its trace has no reader any more.
    pub(crate) fn line(&self, text: &str) {
        let _ = writeln!(self.to.borrow_mut(), "{text}");
    }

    /// A mistake of the program.
    pub(crate) fn diagnosis(&self, pid: u32, what: &str) {
        if self.style == Some(Style::Json) {
            self.line(&json!({ "pid": pid, "diagnosis": what }).to_string());
        } else {
            self.line(&format!("nrt-emulate: [{pid}] HAZARD: {what}"));
        }
    }

    /// The end of a program that the real driver would not have survived either.
    pub(crate) fn fatal(&self, pid: u32, signal: i32, what: &str) {
        if self.style == Some(Style::Json) {
            self.line(&json!({ "pid": pid, "diagnosis": what, "signal": signal }).to_string());
        } else {
            self.line(&format!("nrt-emulate: [{pid}] FATAL, signal {signal}: {what}"));
        }
    }

    /// One call, if there is a trace.
    pub(crate) fn trace(&self, line: &Line<'_>) {
        match self.style {
            Some(Style::Text) => self.line(&line.text()),
            Some(Style::Json) => self.line(&line.json().to_string()),
            None => {}
        }
    }
}

/// Name of an errno.
pub(crate) fn errno_name(errno: i32) -> String {
    ERRNOS.iter().find(|(_, number)| *number == errno).map_or_else(|| errno.to_string(), |(name, _)| (*name).to_owned())
}

/// Errno by name or number.
pub(crate) fn errno_number(text: &str) -> Option<i32> {
    let named = ERRNOS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|&(_, number)| number);
    named.or_else(|| text.parse().ok().filter(|number| (1..4096).contains(number)))
}

const ERRNOS: [(&str, i32); 25] = [
    ("EPERM", libc::EPERM),
    ("ENOENT", libc::ENOENT),
    ("ESRCH", libc::ESRCH),
    ("EINTR", libc::EINTR),
    ("EIO", libc::EIO),
    ("ENXIO", libc::ENXIO),
    ("E2BIG", libc::E2BIG),
    ("EBADF", libc::EBADF),
    ("EAGAIN", libc::EAGAIN),
    ("ENOMEM", libc::ENOMEM),
    ("EACCES", libc::EACCES),
    ("EFAULT", libc::EFAULT),
    ("EBUSY", libc::EBUSY),
    ("EEXIST", libc::EEXIST),
    ("ENODEV", libc::ENODEV),
    ("EINVAL", libc::EINVAL),
    ("ENFILE", libc::ENFILE),
    ("EMFILE", libc::EMFILE),
    ("ENOTTY", libc::ENOTTY),
    ("ENOSPC", libc::ENOSPC),
    ("ENOSYS", libc::ENOSYS),
    ("EALREADY", libc::EALREADY),
    ("ETIMEDOUT", libc::ETIMEDOUT),
    ("EPROTONOSUPPORT", libc::EPROTONOSUPPORT),
    ("ENOTSUPP", 524),
];

impl Line<'_> {
    fn text(&self) -> String {
        let device = self.device.map(|device| format!(" neuron{device}")).unwrap_or_default();
        let fields: Vec<String> = self
            .fields
            .iter()
            .map(|(name, value)| if *value > 0xFFFF { format!("{name}={value:#x}") } else { format!("{name}={value}") })
            .collect();
        let result = if self.result < 0 { format!("-1 {}", errno_name(-self.result as i32)) } else { self.result.to_string() };
        let outputs: String = self.outputs.iter().map(|(name, value)| format!(" {name}={value:#x}")).collect();
        let remark = self.remark.map(|remark| format!(" ({remark})")).unwrap_or_default();
        let path = self.path.map(|path| format!(" {path}")).unwrap_or_default();
        let (pid, name, micros) = (self.pid, self.name, self.time.as_micros());
        format!("[{pid}]{device} {name}{path}({}) = {result}{outputs}{remark} {micros} us", fields.join(", "))
    }

    fn json(&self) -> Value {
        let fields: Map<String, Value> =
            self.fields.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        let errno = if self.result < 0 { -self.result } else { 0 };
        let mut line = json!({
            "pid": self.pid,
            "tid": self.tid,
            "call": self.name,
            "args": fields,
            "ret": if self.result < 0 { -1 } else { self.result },
            "errno": errno,
            "us": self.time.as_secs_f64() * 1e6,
        });
        if let Some(device) = self.device {
            line["device"] = device.into();
        }
        if !self.outputs.is_empty() {
            let outputs = self.outputs.iter().map(|&(name, value)| (name.to_owned(), Value::from(value)));
            line["out"] = Value::Object(outputs.collect());
        }
        if let Some(path) = self.path {
            line["path"] = path.into();
        }
        if let Some(remark) = self.remark {
            line["remark"] = remark.into();
        }
        line
    }
}

/// The fields of a request as they are now: what the program gave, and what it gets.
pub(crate) fn fields(request: &Request, call: &Call<'_>) -> Vec<(&'static str, u64)> {
    let bytes = call.argument();
    let value = |offset: usize, size: usize| {
        let mut word = [0; 8];
        if let Some(found) = bytes.get(offset..offset + size) {
            word[..size].copy_from_slice(found);
        }
        u64::from_le_bytes(word)
    };
    request.fields.iter().map(|&(name, offset, size)| (name, value(offset, size))).collect()
}

/// What a trace says besides the result.
pub(crate) fn remark(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Refused(what) | Outcome::Fatal { what, .. } => Some(what),
        Outcome::Value(1..) => Some("positive: a failure"),
        Outcome::Value(_) | Outcome::Errno(_) => None,
    }
}
