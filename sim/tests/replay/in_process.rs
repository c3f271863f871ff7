//! The model in this process: what a supervisor does for programs, without one.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use nrt_core::driver::Errno;
use nrt_sim::kernel::{Kernel, Span};
use nrt_sim::request::{self, Call, Environment, Outcome};
use nrt_sim::{Region, SimConfig, SimStorage};
use rustix::mm::{MapFlags, ProtFlags};

use super::{Door, Raw};

/// Pieces in which the driver moves user data to HBM.
const BOUNCE: u64 = 64 << 10;
const WRITE_ONLY: i32 = 1;
const READ_WRITE: i32 = 2;
/// Modelled addresses of mappings begin here, apart from everything real.
const MAPPINGS: u64 = 1 << 56;

/// The driver and the memory of its devices.
pub(crate) struct Machine {
    pub(crate) kernel: Kernel,
    /// A sparse file for each device in which the offset is the physical address, and its regions as they are mapped.
    regions: Vec<(Region, OwnedFd, *mut u8)>,
}

/// Copies user memory of this process without a fault; answers the missing bytes at the end.
fn user_copy(address: u64, local: *mut u8, bytes: u64, write: bool) -> u64 {
    let mut done = 0;
    while done < bytes {
        let length = (4096 - (address + done) % 4096).min(bytes - done) as usize;
        let remote = libc::iovec { iov_base: (address + done) as *mut c_void, iov_len: length };
        // SAFETY: callers pass `bytes` valid bytes at `local`; the kernel checks the other side.
        let moved = unsafe {
            let own = libc::iovec { iov_base: local.add(done as usize).cast(), iov_len: length };
            let call = if write { libc::process_vm_writev } else { libc::process_vm_readv };
            call(libc::getpid(), &own, 1, &remote, 1, 0)
        };
        let Ok(moved) = u64::try_from(moved) else { break };
        done += moved;
        if moved < length as u64 {
            break;
        }
    }
    bytes - done
}

impl Machine {
    /// Loads the driver.
    pub(crate) fn new<const N: usize, const D: usize>(storage: &'static SimStorage<N, D>, config: SimConfig) -> Rc<Self> {
        let kernel = Kernel::new(storage, config).expect("a model");
        let devices = 0..config.devices;
        let channels = config.arch.channels_per_device();
        let all = devices.flat_map(|device| {
            let memory = (0..channels).map(move |channel| Region::Hbm { device, channel });
            memory.chain([Region::Host { device }])
        });
        let regions = all.map(|region| {
            let file = rustix::fs::memfd_create("device", rustix::fs::MemfdFlags::CLOEXEC).expect("a file");
            let bytes = config.region_bytes(region);
            rustix::fs::ftruncate(&file, bytes).expect("a sparse file");
            let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
            // SAFETY: a new mapping at no particular address.
            let base = unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes as usize, access, flags, &file, 0) };
            (region, file, base.expect("address space").cast())
        });
        Rc::new(Self { regions: regions.collect(), kernel })
    }

    fn address(&self, span: &Span) -> *mut u8 {
        let (_, _, base) = self.regions.iter().find(|(region, ..)| *region == span.region).expect("a region");
        // SAFETY: the kernel model answers only spans inside a region.
        unsafe { base.add(span.offset as usize) }
    }

    /// Address of a byte by its physical address, on device 0.
    fn byte(&self, pa: u64) -> Option<*mut u8> {
        let config = self.kernel.config();
        self.regions.iter().find_map(|(region, _, base)| {
            let offset = pa.checked_sub(config.region_base(*region)?)?;
            // SAFETY: inside of the region.
            (offset < config.region_bytes(*region)).then(|| unsafe { base.add(offset as usize) })
        })
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for (region, _, base) in &self.regions {
            // SAFETY: mapped by `new` with this length; nothing else refers to it.
            unsafe { rustix::mm::munmap(base.cast(), self.kernel.config().region_bytes(*region) as usize) }.expect("unmapped");
        }
    }
}

impl Environment for Machine {
    fn read_user(&self, address: u64, to: &mut [u8]) -> u64 {
        user_copy(address, to.as_mut_ptr(), to.len() as u64, false)
    }

    fn write_user(&self, address: u64, from: &[u8]) -> u64 {
        user_copy(address, from.as_ptr().cast_mut(), from.len() as u64, true)
    }

    fn user_to_device(&self, address: u64, span: &Span) -> u64 {
        if let Region::Host { .. } = span.region {
            return user_copy(address, self.address(span), span.bytes, false);
        }
        let mut bounce = vec![0; BOUNCE as usize];
        for start in (0..span.bytes).step_by(BOUNCE as usize) {
            let piece = (span.bytes - start).min(BOUNCE);
            let missing = user_copy(address.wrapping_add(start), bounce.as_mut_ptr(), piece, false);
            if missing != 0 {
                return missing;
            }
            let to = self.address(&Span { offset: span.offset + start, ..*span });
            // SAFETY: the destination is inside of the span.
            unsafe { to.copy_from_nonoverlapping(bounce.as_ptr(), piece as usize) };
        }
        0
    }

    fn device_to_user(&self, address: u64, span: &Span) -> u64 {
        let piece = if let Region::Host { .. } = span.region { u64::MAX } else { BOUNCE };
        let mut start = 0;
        while start < span.bytes {
            let bytes = (span.bytes - start).min(piece);
            let from = self.address(&Span { offset: span.offset + start, ..*span });
            let missing = user_copy(address.wrapping_add(start), from, bytes, true);
            if missing != 0 {
                return missing;
            }
            start += bytes;
        }
        0
    }

    fn copy(&self, from: &Span, to: &Span) {
        // SAFETY: both are inside of their regions.
        unsafe { self.address(from).copy_to(self.address(to), from.bytes as usize) };
    }

    fn fill(&self, span: &Span, value: u8) {
        // SAFETY: inside of its region.
        unsafe { self.address(span).write_bytes(value, span.bytes as usize) };
    }

    fn mapped(&self, _: u64) -> Option<(u32, u64)> {
        None
    }
}

/// A descriptor of device 0.
#[derive(Clone, Copy)]
struct File {
    misc: bool,
    readable: bool,
    writable: bool,
}

/// A modelled mapping.
#[derive(Clone, Copy)]
struct Mapped {
    first: u64,
    last: u64,
    writes: bool,
    pa: u64,
}

/// A modelled process.
pub(crate) struct InProcess {
    machine: Rc<Machine>,
    pid: u32,
    files: BTreeMap<i32, File>,
    mapped: Vec<Mapped>,
    next: u64,
    privileged: bool,
}

fn failed(Errno(errno): Errno) -> Raw {
    (-1, errno.into())
}

impl InProcess {
    /// A process without descriptors.
    pub(crate) fn new(machine: &Rc<Machine>, pid: u32) -> Self {
        let files = BTreeMap::new();
        Self { machine: machine.clone(), pid, files, mapped: Vec::new(), next: MAPPINGS, privileged: true }
    }

    /// A child: it inherits descriptors, but no mapping of a device.
    pub(crate) fn fork(&self, pid: u32) -> Self {
        Self { files: self.files.clone(), privileged: self.privileged, ..Self::new(&self.machine, pid) }
    }

    /// The process ends.
    pub(crate) fn end(self) {
        self.machine.kernel.end(self.pid, self.files.values().any(|file| file.misc));
    }

    fn mapping(&self, address: u64) -> Option<&Mapped> {
        self.mapped.iter().find(|mapped| (mapped.first..mapped.last).contains(&address))
    }
}

impl Door for InProcess {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn open(&mut self, flags: i32) -> Raw {
        let misc = flags & WRITE_ONLY != 0;
        if !misc && let Err(errno) = self.machine.kernel.open(self.pid, 0) {
            return failed(errno);
        }
        let access = flags & 3;
        let file = File { misc, readable: access == 0 || access == READ_WRITE, writable: access == 1 || access == READ_WRITE };
        let fd = (0..).find(|fd| !self.files.contains_key(fd)).expect("a number");
        self.files.insert(fd, file);
        (fd.into(), 0)
    }

    fn close(&mut self, fd: i32) -> Raw {
        let Some(file) = self.files.remove(&fd) else { return (-1, 9) };
        self.machine.kernel.flush(self.pid, 0, file.misc).expect("device 0");
        (0, 0)
    }

    fn dup(&mut self, fd: i32) -> Raw {
        let Some(&file) = self.files.get(&fd) else { return (-1, 9) };
        let copy = (0..).find(|fd| !self.files.contains_key(fd)).expect("a number");
        self.files.insert(copy, file);
        (copy.into(), 0)
    }

    fn ioctl(&mut self, fd: i32, number: u32, address: u64) -> Result<Raw, i32> {
        let Some(&file) = self.files.get(&fd) else { return Ok((-1, 9)) };
        let kernel = &self.machine.kernel;
        let Some(request) = request::find(kernel.config().version, number) else { return Ok(failed(Errno::EINVAL)) };
        let outcome = Call::new(kernel, &*self.machine, self.pid, 0, address).run(request, file.misc);
        match outcome {
            Outcome::Fatal { signal, .. } => Err(signal),
            outcome if outcome.raw() < 0 => Ok((-1, -outcome.raw())),
            outcome => Ok((outcome.raw(), 0)),
        }
    }

    fn mmap(&mut self, fd: i32, length: u64, writes: bool, private: bool, offset: u64) -> Raw {
        let Some(&file) = self.files.get(&fd) else { return (-1, 9) };
        if !file.readable || (writes && !private && !file.writable) {
            return failed(Errno::EACCES);
        }
        match self.machine.kernel.show(self.pid, 0, offset, length, || self.privileged) {
            Ok(mapping) => {
                let first = self.next;
                let last = first + length.next_multiple_of(4096);
                self.next = last + 4096;
                self.mapped.push(Mapped { first, last, writes: writes && !mapping.read_only, pa: mapping.pa });
                (first as i64, 0)
            }
            Err(errno) => failed(errno),
        }
    }

    fn munmap(&mut self, address: u64, length: u64) -> Raw {
        let end = address + length.next_multiple_of(4096);
        let pieces = self.mapped.drain(..).flat_map(|mapped| {
            let below = Mapped { last: mapped.last.min(address), ..mapped };
            let first = mapped.first.max(end);
            let above = Mapped { first, pa: mapped.pa + (first - mapped.first), ..mapped };
            [below, above].into_iter().filter(|piece| piece.first < piece.last)
        });
        self.mapped = pieces.collect();
        (0, 0)
    }

    fn allow_writes(&mut self, address: u64, _: u64) -> Raw {
        for mapped in self.mapped.iter_mut().filter(|mapped| (mapped.first..mapped.last).contains(&address)) {
            mapped.writes = true;
        }
        (0, 0)
    }

    fn grow(&mut self, _: u64, _: u64, _: u64) -> Raw {
        failed(Errno::EFAULT)
    }

    fn peek(&self, address: u64) -> Result<u8, i32> {
        let byte = self.mapping(address).and_then(|mapped| self.machine.byte(mapped.pa + (address - mapped.first)));
        // SAFETY: inside of a region.
        byte.map(|byte| unsafe { byte.read() }).ok_or(libc::SIGSEGV)
    }

    fn poke(&mut self, address: u64, value: u8) -> Result<(), i32> {
        let mapped = self.mapping(address).filter(|mapped| mapped.writes).ok_or(libc::SIGSEGV)?;
        let byte = self.machine.byte(mapped.pa + (address - mapped.first)).ok_or(libc::SIGSEGV)?;
        // SAFETY: inside of a region.
        unsafe { byte.write(value) };
        Ok(())
    }

    fn attribute(&self, path: &str) -> Result<String, i32> {
        let kernel = &self.machine.kernel;
        if path == "/sys/module/neuron/version" {
            return Ok(format!("{}\n", kernel.config().version.text()));
        }
        let wanted = path.strip_prefix("/sys/devices/virtual/neuron_device/neuron0/").ok_or(libc::ENOENT)?;
        let mut found = Err(libc::ENOENT);
        kernel.attributes(0, &mut |name, text| {
            if name.to_string() == wanted {
                found = Ok(text.to_string());
            }
        });
        found
    }

    fn listing(&self) -> Vec<String> {
        let mut all = std::collections::BTreeSet::from([".".to_owned(), "./neuron0".to_owned()]);
        self.machine.kernel.attributes(0, &mut |name, _| {
            let name = format!("./neuron0/{name}");
            let ends = name.match_indices('/').map(|(at, _)| at).skip(2).chain([name.len()]);
            all.extend(ends.map(|end| name[..end].to_owned()));
        });
        all.into_iter().collect()
    }

    fn drop_privileges(&mut self) {
        self.privileged = false;
    }

    fn is_privileged(&self) -> bool {
        self.privileged
    }
}
