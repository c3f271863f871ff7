//! The driver's requests: numbers, layouts, and the functions that answer them.

mod alloc;
mod copy;
mod cores;
mod info;
mod query;
mod table;
mod zerocopy;

use std::fmt::Write as _;

use nrt_core::driver::{DriverResult, Errno};

use crate::remote;
use crate::world::World;

pub(crate) use table::{Request, find, named};

/// What a request ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The return value: 0, or a positive number, which is a failure too.
    Value(i64),
    /// −1 and an errno.
    Errno(i32),
    /// The model has no such thing: `EINVAL`, and the trace says so.
    NotModelled(&'static str),
}

impl Outcome {
    /// What the program gets.
    pub(crate) fn raw(self) -> i64 {
        match self {
            Self::Value(value) => value,
            Self::Errno(errno) => -i64::from(errno),
            Self::NotModelled(_) => -i64::from(libc::EINVAL),
        }
    }
}

impl From<DriverResult<()>> for Outcome {
    fn from(result: DriverResult<()>) -> Self {
        match result {
            Ok(()) => Self::Value(0),
            Err(Errno(errno)) => Self::Errno(errno),
        }
    }
}

impl From<Errno> for Outcome {
    fn from(Errno(errno): Errno) -> Self {
        Self::Errno(errno)
    }
}

/// Largest argument that is read here.
const LARGEST: usize = 280;

/// One request being answered.
pub(crate) struct Call<'a> {
    pub(crate) world: &'a World,
    /// Process that makes it.
    pub(crate) pid: u32,
    /// Thread of the process.
    pub(crate) tid: u32,
    pub(crate) device: u32,
    /// Address of the argument.
    pub(crate) address: u64,
    bytes: [u8; LARGEST],
    length: usize,
    /// What the request wrote elsewhere, for the trace.
    pub(crate) outputs: String,
}

impl<'a> Call<'a> {
    pub(crate) fn new(world: &'a World, pid: u32, tid: u32, device: u32, address: u64) -> Self {
        Self { world, pid, tid, device, address, bytes: [0; LARGEST], length: 0, outputs: String::new() }
    }

    /// Answers a request: reads its argument and calls its function.
    pub(crate) fn run(&mut self, request: &Request, misc: bool) -> Outcome {
        if misc && !request.misc {
            return Outcome::Errno(libc::EINVAL);
        }
        if request.attached && !self.world.kernel.is_attached(self.pid, self.device) {
            return Outcome::Errno(libc::EACCES);
        }
        self.length = request.bytes;
        let missing = remote::read(self.tid, self.address, &mut self.bytes[..request.bytes]);
        if missing != 0 {
            return if request.fault_is_access { Outcome::Errno(libc::EACCES) } else { Outcome::Value(missing as i64) };
        }
        (request.answer)(self)
    }

    /// A field of four bytes.
    pub(crate) fn u32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|index| self.bytes[offset + index]))
    }

    /// A field of eight bytes.
    pub(crate) fn u64(&self, offset: usize) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|index| self.bytes[offset + index]))
    }

    /// The bytes of the argument as they are now.
    pub(crate) fn argument(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(crate) fn put_u32(&mut self, offset: usize, value: u32) {
        self.bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn put_u64(&mut self, offset: usize, value: u64) {
        self.bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// Writes the argument back; missing bytes become the result.
    pub(crate) fn write_back(&self) -> Outcome {
        Outcome::Value(remote::write(self.tid, self.address, self.argument()) as i64)
    }

    /// Writes through a pointer inside the argument and answers the missing bytes.
    pub(crate) fn write_u64(&mut self, name: &str, address: u64, value: u64) -> u64 {
        let missing = remote::write(self.tid, address, &value.to_le_bytes());
        if missing == 0 && self.world.traced {
            // Writing to a String does not fail.
            let _ = write!(self.outputs, "{}{name}={value:#x}", if self.outputs.is_empty() { "" } else { " " });
        }
        missing
    }
}
