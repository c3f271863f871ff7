//! The device files as a program sees them.

use std::fs;
use std::io;

use crate::replay::{Door, Raw};

/// System calls of this process.
pub(crate) struct Kernel;

fn raw(result: i64) -> Raw {
    (result, if result == -1 { io::Error::last_os_error().raw_os_error().unwrap_or(0).into() } else { 0 })
}

/// Moves one byte of this process without a fault; `Err` with the signal that touching it would have been.
fn touch(address: u64, value: &mut u8, write: bool) -> Result<(), i32> {
    let own = libc::iovec { iov_base: std::ptr::from_mut(value).cast(), iov_len: 1 };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: 1 };
    let call = if write { libc::process_vm_writev } else { libc::process_vm_readv };
    // SAFETY: the local byte is ours; the other one is checked by the kernel.
    if unsafe { call(libc::getpid(), &own, 1, &remote, 1, 0) } == 1 { Ok(()) } else { Err(libc::SIGSEGV) }
}

/// Names below a directory, with the directory's own name in front.
fn walk(path: &str, name: &str, all: &mut Vec<String>) {
    all.push(name.to_owned());
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let Ok(file) = entry.file_name().into_string() else { continue };
        let (path, name) = (format!("{path}/{file}"), format!("{name}/{file}"));
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&path, &name, all);
        } else {
            all.push(name);
        }
    }
}

impl Door for Kernel {
    fn pid(&self) -> u32 {
        std::process::id()
    }

    fn open(&mut self, flags: i32) -> Raw {
        // SAFETY: a C string and flags.
        raw(unsafe { libc::open(c"/dev/neuron0".as_ptr(), flags | libc::O_CLOEXEC) }.into())
    }

    fn close(&mut self, fd: i32) -> Raw {
        // SAFETY: a descriptor of the recording, not used by anything else here.
        raw(unsafe { libc::close(fd) }.into())
    }

    fn dup(&mut self, fd: i32) -> Raw {
        // SAFETY: a number.
        raw(unsafe { libc::dup(fd) }.into())
    }

    fn ioctl(&mut self, fd: i32, number: u32, address: u64) -> Result<Raw, i32> {
        // SAFETY: the argument and everything it points to live in the caller or are meant to be bad.
        Ok(raw(unsafe { libc::ioctl(fd, number.into(), address) }.into()))
    }

    fn mmap(&mut self, fd: i32, length: u64, writes: bool, private: bool, offset: u64) -> Raw {
        let access = if writes { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let flags = if private { libc::MAP_PRIVATE } else { libc::MAP_SHARED };
        // SAFETY: a new mapping at no particular address; what it shows is only used through system calls.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), length as usize, access, flags, fd, offset as i64) };
        raw(if address == libc::MAP_FAILED { -1 } else { address as i64 })
    }

    fn munmap(&mut self, address: u64, length: u64) -> Raw {
        // SAFETY: a mapping of the recording, which nothing else here uses.
        raw(unsafe { libc::munmap(address as *mut _, length as usize) }.into())
    }

    fn allow_writes(&mut self, address: u64, length: u64) -> Raw {
        // SAFETY: as above.
        raw(unsafe { libc::mprotect(address as *mut _, length as usize, libc::PROT_READ | libc::PROT_WRITE) }.into())
    }

    fn grow(&mut self, address: u64, from: u64, to: u64) -> Raw {
        // SAFETY: as above.
        let address = unsafe { libc::mremap(address as *mut _, from as usize, to as usize, libc::MREMAP_MAYMOVE) };
        raw(if address == libc::MAP_FAILED { -1 } else { 0 })
    }

    fn peek(&self, address: u64) -> Result<u8, i32> {
        let mut value = 0;
        touch(address, &mut value, false).map(|()| value)
    }

    fn poke(&mut self, address: u64, mut value: u8) -> Result<(), i32> {
        touch(address, &mut value, true)
    }

    fn attribute(&self, path: &str) -> Result<String, i32> {
        fs::read_to_string(path).map_err(|error| error.raw_os_error().unwrap_or(0))
    }

    fn listing(&self) -> Vec<String> {
        let mut all = Vec::new();
        walk("/sys/devices/virtual/neuron_device", ".", &mut all);
        all
    }

    fn drop_privileges(&mut self) {
        // SAFETY: numbers; the process gives up its rights for good.
        unsafe { libc::setresuid(65534, 65534, 65534) };
    }

    fn is_privileged(&self) -> bool {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        effective.is_some_and(|set| u64::from_str_radix(set.trim(), 16).is_ok_and(|set| set >> 17 & 1 != 0))
    }
}
