//! The bytes of the devices: one sparse memfd a device, in which the offset is the physical address. So a program's
//! `mmap` with offset = physical address is the kernel's own, and both sides see the same pages.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::ptr::null_mut;

use nrt_sim::kernel::Span;
use nrt_sim::{Region, SimConfig};

use crate::remote;

/// Physical addresses end below this on every architecture.
const ADDRESS_SPACE: i64 = 1 << 48;
/// The driver moves user data to HBM in pieces of this size.
const BOUNCE: usize = 64 << 10;
/// Regions of a device: four channels and the host window.
const REGIONS: usize = 5;

/// Memory of one device.
struct Device {
    file: OwnedFd,
    identity: (u64, u64),
    /// What `fdinfo` tells of it, whoever has it open: mount and inode number.
    told: Vec<u8>,
    bases: [*mut u8; REGIONS],
}

/// Memory of all devices.
pub(crate) struct Memory {
    devices: Vec<Device>,
}

/// Where a region's mapping is kept.
fn place(region: Region) -> (usize, usize) {
    match region {
        Region::Hbm { device, channel } => (device as usize, channel as usize),
        Region::Host { device } => (device as usize, REGIONS - 1),
    }
}

/// The lines of `fdinfo` behind those that say how the file was opened and where it is read.
fn place_of(text: &[u8]) -> Option<&[u8]> {
    const PLACE: &[u8] = b"\nmnt_id:";
    let at = text.windows(PLACE.len()).position(|window| window == PLACE)?;
    Some(&text[at..])
}

impl Memory {
    /// Makes and maps the memory of every region of the configured devices.
    pub(crate) fn new(config: &SimConfig) -> io::Result<Self> {
        let devices = (0..config.devices).map(|index| Device::new(config, index)).collect::<io::Result<_>>()?;
        Ok(Self { devices })
    }

    /// A new open file of a device with the access mode of `flags`.
    pub(crate) fn open(&self, device: u32, flags: i32) -> io::Result<OwnedFd> {
        let file = self.devices[device as usize].file.as_raw_fd();
        // A program may have changed this by a descriptor that nobody looks at.
        // SAFETY: a descriptor of ours and a number.
        if unsafe { libc::fchmod(file, 0o600) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let path = format!("/proc/self/fd/{file}");
        let access = flags & libc::O_ACCMODE;
        if access == libc::O_ACCMODE {
            // Neither readable nor writable, requests only: a mode the standard library does not know.
            let path = std::ffi::CString::new(path).map_err(|_| io::ErrorKind::InvalidInput)?;
            // SAFETY: a C string and flags.
            let fd = unsafe { libc::open(path.as_ptr(), access | libc::O_CLOEXEC) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: just opened, nobody else's.
            return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        let (read, write) = (access != libc::O_WRONLY, access != libc::O_RDONLY);
        let kept = flags & (libc::O_NONBLOCK | libc::O_APPEND);
        let mut file = OpenOptions::new().read(read).write(write).custom_flags(kept).open(path)?;
        // The kernel refuses to read or write a byte behind the last possible position with `EINVAL`, as it does for a
        // device that has no such function; every copy of the descriptor has this position.
        file.seek(SeekFrom::Start(i64::MAX as u64))?;
        Ok(file.into())
    }

    /// The device a file of the supervised program is, by device and inode number.
    pub(crate) fn device_of(&self, identity: (u64, u64)) -> Option<u32> {
        self.devices.iter().position(|device| device.identity == identity).map(|index| index as u32)
    }

    /// Whether this is what `fdinfo` tells of a descriptor of the device.
    pub(crate) fn is_told(&self, text: &[u8], device: u32) -> bool {
        let told = &self.devices[device as usize].told;
        place_of(text).is_some_and(|place| place.starts_with(told))
    }

    /// Address of a span. The kernel model answers only spans inside a region.
    fn address(&self, span: &Span) -> *mut u8 {
        let (device, place) = place(span.region);
        // SAFETY: the mapping is as long as the region, and the span lies inside the region.
        unsafe { self.devices[device].bases[place].add(span.offset as usize) }
    }

    /// Copies between two spans of the same length, which may overlap.
    pub(crate) fn copy(&self, from: &Span, to: &Span) {
        // SAFETY: both spans lie in mapped memory that no Rust object owns. What supervised programs write to it at the
        // same time arrives or does not, as on a device; `memmove` is opaque to the compiler.
        unsafe { libc::memmove(self.address(to).cast(), self.address(from).cast(), from.bytes as usize) };
    }

    /// Sets a span to one byte.
    pub(crate) fn fill(&self, span: &Span, value: u8) {
        // SAFETY: as in `copy`.
        unsafe { libc::memset(self.address(span).cast(), value.into(), span.bytes as usize) };
    }

    /// Copies user memory into a span. What a bad address leaves behind depends on where the span is: for host memory the
    /// bytes before it arrive and the rest counts as missing; for HBM only whole pieces of 64 KiB do, and what is missing
    /// is counted within the piece.
    pub(crate) fn write(&self, tid: u32, address: u64, span: &Span) -> u64 {
        if let Region::Host { .. } = span.region {
            // SAFETY: the span lies in mapped memory that no Rust object owns.
            return unsafe { remote::read_to(tid, address, self.address(span), span.bytes) };
        }
        let mut bounce = [0; BOUNCE];
        let mut done = 0;
        while done < span.bytes {
            let piece = &mut bounce[..(span.bytes - done).min(BOUNCE as u64) as usize];
            let missing = remote::read(tid, address.wrapping_add(done), piece);
            if missing != 0 {
                return missing;
            }
            let to = self.address(&Span { offset: span.offset + done, ..*span });
            // SAFETY: the destination lies inside the span; the source is a buffer of our own.
            unsafe { libc::memcpy(to.cast(), piece.as_ptr().cast(), piece.len()) };
            done += piece.len() as u64;
        }
        0
    }

    /// Copies a span to user memory, with missing bytes counted as in [`write`](Self::write).
    pub(crate) fn read(&self, tid: u32, address: u64, span: &Span) -> u64 {
        let piece = if let Region::Host { .. } = span.region { u64::MAX } else { BOUNCE as u64 };
        let mut done = 0;
        while done < span.bytes {
            let bytes = (span.bytes - done).min(piece);
            let from = self.address(&Span { offset: span.offset + done, ..*span });
            // SAFETY: the source lies inside the span, in mapped memory.
            let missing = unsafe { remote::write_from(tid, address.wrapping_add(done), from, bytes) };
            if missing != 0 {
                return missing;
            }
            done += bytes;
        }
        0
    }
}

impl Device {
    fn new(config: &SimConfig, index: u32) -> io::Result<Self> {
        let name = std::ffi::CString::new(format!("neuron{index}"))?;
        // SAFETY: a C string and flags.
        let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just made, nobody else's.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        file.set_len(ADDRESS_SPACE as u64)?;
        // Programs have descriptors of it: the mappings below must stay as long as they are.
        // SAFETY: an open descriptor and numbers.
        if unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let metadata = file.metadata()?;
        let mut bases = [null_mut(); REGIONS];
        let channels = (0..config.arch.channels_per_device()).map(|channel| Region::Hbm { device: index, channel });
        for region in channels.chain([Region::Host { device: index }]) {
            let base = config.region_base(region).ok_or(io::ErrorKind::InvalidInput)?;
            let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
            let bytes = config.region_bytes(region) as usize;
            // SAFETY: a new mapping at no particular address.
            let address = unsafe { libc::mmap(null_mut(), bytes, access, flags, fd, base as i64) };
            if address == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            bases[place(region).1] = address.cast();
        }
        let told = std::fs::read(format!("/proc/self/fdinfo/{fd}"))?;
        let told = place_of(&told).ok_or(io::ErrorKind::InvalidData)?.to_vec();
        Ok(Self { identity: (metadata.dev(), metadata.ino()), told, file: file.into(), bases })
    }
}
