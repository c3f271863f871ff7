//! The driver's requests as programs make them: numbers, layouts of arguments, and the functions that answer them.
//!
//! A request is answered by [`Call::run`], the same function in process and behind the supervisor of `nrt-emulate`.
//! What differs is the [`Environment`]: whose memory the argument and its pointers are in, and where device memory is.
//! The answers are raw, as from the kernel: positive return values are failures too (`driver-abi` §5).

mod alloc;
mod copy;
mod cores;
mod info;
mod query;
mod table;
mod zerocopy;

use nrt_core::driver::{DriverResult, Errno};

use crate::kernel::{Chunk, Kernel, Span};

pub use table::{Field, REQUESTS, Request, find, named};

/// `EINVAL` for what the driver has and the model does not.
const EINVAL: i32 = Errno::EINVAL.0;
/// A signal that a failed assertion of the driver ends in.
const SIGSEGV: i32 = 11;
/// The signal of a process that dies inside the kernel.
const SIGKILL: i32 = 9;

/// What a request ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The return value: 0, or a positive number, which is a failure too.
    Value(i64),
    /// −1 and an errno.
    Errno(Errno),
    /// The model has no such thing: `EINVAL`, and this is why.
    Refused(&'static str),
    /// The real driver dies here and takes the calling process along.
    Fatal {
        /// Signal that ends the process.
        signal: i32,
        /// What the process did.
        what: &'static str,
    },
}

impl Outcome {
    /// What the program gets: the return value, or an errno as a negative number.
    #[must_use]
    pub const fn raw(self) -> i64 {
        match self {
            Self::Value(value) => value,
            Self::Errno(Errno(errno)) => -(errno as i64),
            Self::Refused(_) | Self::Fatal { .. } => -(EINVAL as i64),
        }
    }

    /// The same outcome without positive values, as the release notes of driver 2.29 describe it: bytes that could not
    /// be copied are `EFAULT`, a bad handle is `EINVAL`, a reset that is pending `EBUSY` (`driver-abi` §19, §21a).
    #[must_use]
    pub fn precise(self, request: &Request) -> Self {
        let Self::Value(value @ 1..) = self else { return self };
        Self::Errno(match (request.name, value) {
            ("MEM_GET_EXTENDED_INFO", 22) => Errno::EINVAL,
            ("NC_RESET", 1) => Errno::EBUSY,
            _ => Errno::EFAULT,
        })
    }
}

impl From<DriverResult<()>> for Outcome {
    fn from(result: DriverResult<()>) -> Self {
        match result {
            Ok(()) => Self::Value(0),
            Err(errno) => Self::Errno(errno),
        }
    }
}

impl From<Errno> for Outcome {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// Where a request comes from: the memory of the program that makes it, and the bytes of the devices.
///
/// Spans are those the kernel model answered, so they lie inside their regions.
pub trait Environment {
    /// Copies memory of the program, and answers how many bytes at the end could not be read.
    fn read_user(&self, address: u64, to: &mut [u8]) -> u64;

    /// Copies to memory of the program, and answers how many bytes at the end could not be written.
    fn write_user(&self, address: u64, from: &[u8]) -> u64;

    /// Copies memory of the program into a span, and answers the missing bytes. In HBM only whole pieces of 64 KiB
    /// arrive, and what is missing is counted in the piece.
    fn user_to_device(&self, address: u64, span: &Span) -> u64;

    /// Copies a span to memory of the program, with missing bytes counted as in
    /// [`user_to_device`](Self::user_to_device).
    fn device_to_user(&self, address: u64, span: &Span) -> u64;

    /// Copies between two spans of the same length, which may overlap.
    fn copy(&self, from: &Span, to: &Span);

    /// Sets a span to one byte.
    fn fill(&self, span: &Span, value: u8);

    /// Device and physical address behind an address of the program, `None` when no device memory is mapped there.
    fn mapped(&self, address: u64) -> Option<(u32, u64)>;

    /// Tells about a mistake that a real driver does not report, and that [`Hazards`](crate::Hazards) do not count.
    fn hazard(&self, what: &'static str) {
        let _ = what;
    }

    /// A chunk was allocated.
    fn allocated(&self, chunk: &Chunk) {
        let _ = chunk;
    }

    /// A chunk is freed.
    fn freed(&self, chunk: &Chunk) {
        let _ = chunk;
    }
}

/// Largest argument.
const LARGEST: usize = 280;
/// Most outputs of a request outside of its argument.
const OUTPUTS: usize = 2;

/// One request being answered.
pub struct Call<'a> {
    kernel: &'a Kernel,
    environment: &'a dyn Environment,
    pid: u32,
    device: u32,
    address: u64,
    bytes: [u8; LARGEST],
    length: usize,
    outputs: [(&'static str, u64); OUTPUTS],
    written: usize,
}

impl<'a> Call<'a> {
    /// A request of process `pid` on a device, with its argument at `address`.
    pub const fn new(kernel: &'a Kernel, environment: &'a dyn Environment, pid: u32, device: u32, address: u64) -> Self {
        Self {
            kernel,
            environment,
            pid,
            device,
            address,
            bytes: [0; LARGEST],
            length: 0,
            outputs: [("", 0); OUTPUTS],
            written: 0,
        }
    }

    /// Answers a request on a full descriptor, or on a `misc` one, opened write-only.
    pub fn run(&mut self, request: &Request, misc: bool) -> Outcome {
        let outcome = self.answer(request, misc);
        if self.kernel.config().precise_errnos { outcome.precise(request) } else { outcome }
    }

    fn answer(&mut self, request: &Request, misc: bool) -> Outcome {
        if misc && !request.misc {
            return Outcome::Errno(Errno::EINVAL);
        }
        if request.attached && !self.kernel.is_attached(self.pid, self.device) {
            return Outcome::Errno(Errno::EACCES);
        }
        // The real driver lets most of these through: the memory and the queues are those of the process that opened.
        if self.kernel.config().strict && !request.misc && !self.kernel.is_attached(self.pid, self.device) {
            self.environment.hazard("use after fork: this process has not opened the device, its descriptor is another's");
            return Outcome::Errno(Errno::EACCES);
        }
        let missing = self.fetch(request);
        if missing != 0 {
            return if request.fault_is_access { Outcome::Errno(Errno::EACCES) } else { Outcome::Value(missing as i64) };
        }
        match request.refusal {
            Some(why) => Outcome::Refused(why),
            None => (request.answer)(self),
        }
    }

    /// Reads the argument and answers nothing, for a request that is made to fail; gives the bytes that are not readable.
    pub fn fetch(&mut self, request: &Request) -> u64 {
        self.length = request.bytes;
        self.environment.read_user(self.address, &mut self.bytes[..request.bytes])
    }

    /// The argument as it is now: what the program gave, and what it gets.
    #[must_use]
    pub fn argument(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// What the request wrote through pointers in its argument, by name.
    #[must_use]
    pub fn outputs(&self) -> &[(&'static str, u64)] {
        &self.outputs[..self.written]
    }

    /// A field of four bytes.
    fn u32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(core::array::from_fn(|index| self.bytes[offset + index]))
    }

    /// A field of eight bytes.
    fn u64(&self, offset: usize) -> u64 {
        u64::from_le_bytes(core::array::from_fn(|index| self.bytes[offset + index]))
    }

    fn put_u32(&mut self, offset: usize, value: u32) {
        self.bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn put_u64(&mut self, offset: usize, value: u64) {
        self.bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// Writes the argument back; missing bytes become the result.
    fn write_back(&self) -> Outcome {
        Outcome::Value(self.environment.write_user(self.address, self.argument()) as i64)
    }

    /// Writes through a pointer inside the argument and answers the missing bytes.
    fn write_u64(&mut self, name: &'static str, address: u64, value: u64) -> u64 {
        let missing = self.environment.write_user(address, &value.to_le_bytes());
        if missing == 0
            && let Some(output) = self.outputs.get_mut(self.written)
        {
            *output = (name, value);
            self.written += 1;
        }
        missing
    }

    /// What becomes of a request that the real driver does not survive: strict models refuse it.
    fn fatal(&self, signal: i32, what: &'static str) -> Outcome {
        if self.kernel.config().strict {
            self.environment.hazard(what);
            return Outcome::Refused(what);
        }
        Outcome::Fatal { signal, what }
    }

    /// The end of a process that uses category 19 in host memory: any of these handles names such a chunk.
    fn doomed(&self, handles: &[u64]) -> Option<Outcome> {
        let what = "category 19 in host memory: the real driver dereferences null when it is used or freed";
        let doomed = |&handle: &u64| self.kernel.chunk(self.device, handle).is_ok_and(|chunk| chunk.is_contiguous_host());
        handles.iter().any(doomed).then(|| self.fatal(SIGKILL, what))
    }
}
