//! Replays recorded answers of the real driver, a line at a time, through any door to it: the model in process, or the
//! device files of a supervised program.
#![allow(dead_code, unused_imports, reason = "each test program uses a part")]

mod calls;
pub(crate) mod in_process;
mod layout;
mod observed;
mod outputs;
pub(crate) mod random;
mod translate;

use serde_json::Value;

pub(crate) use calls::Process;

/// Result of a call: what it returned, and errno when that is −1.
pub(crate) type Raw = (i64, i64);

/// A line answers as the recording says, or it is not for this door.
pub(crate) type Compared = Result<(), &'static str>;

/// Registers and semaphores of engines, and what the engine does inside.
pub(crate) const ENGINE: &str = "inside of the copy engine";
/// Lines recorded as root, replayed as somebody else.
pub(crate) const CAPABILITY: &str = "needs the raw-I/O capability";

/// Reasons that a line is not compared.
pub(crate) const REASONS: [&str; 2] = [ENGINE, CAPABILITY];

/// One process that uses a device.
pub(crate) trait Door {
    /// Process id as the driver knows it.
    fn pid(&self) -> u32;
    /// Opens the device.
    fn open(&mut self, flags: i32) -> Raw;
    /// Closes a descriptor.
    fn close(&mut self, fd: i32) -> Raw;
    /// Copies a descriptor.
    fn dup(&mut self, fd: i32) -> Raw;
    /// Makes a request; `Err` with the signal that ends the process.
    fn ioctl(&mut self, fd: i32, number: u32, address: u64) -> Result<Raw, i32>;
    /// Maps device memory and returns the address.
    fn mmap(&mut self, fd: i32, length: u64, writes: bool, private: bool, offset: u64) -> Raw;
    /// Unmaps.
    fn munmap(&mut self, address: u64, length: u64) -> Raw;
    /// `mprotect` with all permissions.
    fn allow_writes(&mut self, address: u64, length: u64) -> Raw;
    /// `mremap` to a greater length.
    fn grow(&mut self, address: u64, from: u64, to: u64) -> Raw;
    /// Reads a byte; `Err` with the signal of the fault.
    fn peek(&self, address: u64) -> Result<u8, i32>;
    /// Writes a byte; `Err` with the signal of the fault.
    fn poke(&mut self, address: u64, value: u8) -> Result<(), i32>;
    /// Text of a file in sysfs; `Err` with an errno.
    fn attribute(&self, path: &str) -> Result<String, i32>;
    /// Everything below the directory of the devices: `./neuron0/dev`.
    fn listing(&self) -> Vec<String>;
    /// Goes on as somebody without capabilities.
    fn drop_privileges(&mut self);
    /// Whether raw device memory may be mapped.
    fn is_privileged(&self) -> bool;
}

/// A text of a line, empty when missing.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

/// A number of a line, 0 when missing.
pub(crate) fn number(value: &Value, key: &str) -> u64 {
    let number =
        |number: &Value| number.as_u64().or(number.as_i64().map(|value| value as u64)).or(number.as_bool().map(u64::from));
    value.get(key).and_then(number).unwrap_or(0)
}

/// A recorded file.
pub(crate) struct Recording {
    pub(crate) scenario: String,
    pub(crate) lines: Vec<Value>,
}

impl Recording {
    /// Parses a file.
    pub(crate) fn new(text: &str) -> Self {
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        Self { scenario: self::text(&lines[0], "scenario").to_owned(), lines }
    }

    /// The request after which a process of a hazard recording is dead, and the signal that ended it. The recording only
    /// tells that in notes.
    pub(crate) fn end_of_process(&self, line: &Value) -> Option<(&'static str, LastRequest)> {
        let note = text(line, "note");
        let killed = note.starts_with("child killed by signal");
        let console = note.starts_with("guest console");
        let (fd, number, fields, signal): (_, _, &'static [(usize, u64)], _) = match &*self.scenario {
            "hz0" if killed => ("f", 0x8038_4E66, &[(0, 4096), (32, 9)], 11),
            "hz1" if killed => ("m", 0x8008_4E6A, &[(0, 64)], 11),
            "hz2" if console => ("f", 0xC028_4E18, &[(0, 1), (16, 16)], 9),
            "hz3" if console => ("f", 0x8008_4E16, &[(0, 1)], 9),
            "hz4" if killed => ("f", 0xC028_4E7C, &[(0, 1), (16, 0)], 9),
            _ => return None,
        };
        Some(("C", LastRequest { fd, number, fields, signal }))
    }

    /// The process that makes an observation: the one of the call before, or a child that was just forked.
    pub(crate) fn observer(&self, index: usize) -> &str {
        if text(&self.lines[index], "obs") == "read parent mapping in child" {
            return "C";
        }
        self.lines[..index].iter().rev().map(|line| text(line, "who")).find(|who| !who.is_empty()).unwrap_or("A")
    }
}

/// The last request of a process: words of the argument by offset.
#[derive(Clone, Copy)]
pub(crate) struct LastRequest {
    pub(crate) fd: &'static str,
    pub(crate) number: u32,
    pub(crate) fields: &'static [(usize, u64)],
    pub(crate) signal: i32,
}
