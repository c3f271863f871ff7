//! Memory: allocation by the best form there is, release, mapping (`driver-abi` §§9–12).
#![allow(unsafe_code, reason = "sends requests, and computes addresses in mappings")]

use core::ptr::{NonNull, null_mut};

use nrt_core::abi::driver::neuron_ioctl_mem_get_extended_info;
use nrt_core::abi::mem_alloc_category_t;
use nrt_core::driver::{AllocRequest, DeviceRange, Errno, OpenedDevice};

use super::connect::LinuxDriver;
use super::fault::{FOUR_GIB, Fault, Refusal};
use super::forms::AllocForm;
use super::slot::InUse;
use super::system::{Kind, System};
use super::version::DriverVersion;
use crate::PAGE;
use crate::request::{
    DeviceBdfExt, HostDeviceId, MemAlloc, MemAllocV2, MemAllocV2Mt, MemAllocV2Mt64, MemFree, MemGetExtendedInfo, MemGetInfo,
    MemGetPa, Reply, Request,
};

/// The driver's granule in bytes.
const GRANULE: u64 = PAGE as u64;

/// The largest alignment the driver takes, in bytes.
const ALIGN_LIMIT: u64 = (1 << 31) - 1;

/// Category of the contiguous scratchpad.
const CONTIGUOUS: u8 = mem_alloc_category_t::NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE.0 as u8;

/// Where the driver says a chunk is.
struct Place {
    pa: u64,
    mmap_offset: u64,
    /// Bytes of the chunk, when the driver tells.
    size: Option<u64>,
}

impl<S: System> LinuxDriver<S> {
    /// Refuses a forked child. Every request passes here first; it costs one system call that does nothing.
    pub(super) fn own_process(&self) -> Result<(), Refusal> {
        let caller = self.system.pid();
        if caller == self.owner { Ok(()) } else { Err(Refusal::Forked { owner: self.owner, caller }) }
    }

    /// The descriptor of an open device, for one request.
    pub(super) fn enter(&self, device: u32) -> Result<InUse<'_>, Refusal> {
        self.own_process()?;
        if device >= self.machine.devices() {
            return Err(Refusal::NoSuchDevice(device));
        }
        self.slots[device as usize].enter(device)
    }

    /// Makes one request on an open device.
    pub(super) fn ask<R: Request>(&self, open: &InUse<'_>, request: R) -> Result<R::Argument, Fault> {
        // SAFETY: the descriptor was opened by this system.
        unsafe { self.system.request(open.fd(), request) }
            .map_err(crate::driver_errno)
            .and_then(Reply::done)
            .map_err(|errno| Fault::Driver { request: R::NAME, errno })
    }

    /// Opens a device and attaches this process. Waits while the device resets.
    ///
    /// # Errors
    /// [`Fault`]; `EBUSY` of `open` means that 16 other processes are attached. `EINTR` is passed on, not tried again: the
    /// only signal that gets through is the one that asks to end.
    pub fn attach(&self, device: u32) -> Result<OpenedDevice, Fault> {
        self.own_process()?;
        let node = self.machine.node(device).ok_or(Refusal::NoSuchDevice(device))?;
        let slot = &self.slots[device as usize];
        slot.open(device, || {
            self.system
                .open(node, Kind::Full)
                .map_err(|errno| Fault::Driver { request: "open", errno: crate::driver_errno(errno) })
        })?;
        let open = self.enter(device)?;
        // Both came late (2.16.7, 2.9.4): without them the answers stay unknown.
        let host_device_id = self.ask(&open, HostDeviceId::new()).map_or(u32::MAX, |answer| answer.host_device_id);
        let bdf = self.ask(&open, DeviceBdfExt::new()).ok().map(|answer| (answer.bus_number as u8, answer.slot, answer.func));
        Ok(OpenedDevice { host_device_id, bdf })
    }

    /// Closes a device; the driver frees what this process still holds on it. Takes at least 10 ms.
    ///
    /// # Errors
    /// [`Refusal::StillMapped`]: mappings would outlive the memory behind them. The device then stays open.
    /// [`Refusal::InUse`] while requests are under way.
    pub fn detach(&self, device: u32) -> Result<(), Fault> {
        self.own_process()?;
        let slot = self.slots.get(device as usize).ok_or(Refusal::NoSuchDevice(device))?;
        drop(slot.close(device)?);
        Ok(())
    }

    /// Allocates contiguous scratchpad memory: at the top of the main pool of an HBM, each piece directly below the one
    /// before, to be freed in reverse order. Alignment is ignored.
    ///
    /// # Errors
    /// [`Refusal::NoContiguous`] on a driver without it, else as [`allocate`](Self::allocate).
    pub fn allocate_contiguous(&self, device: u32, size: u64, channel: u32, nc_id: u32) -> Result<DeviceRange, Fault> {
        let request = AllocRequest { size, align: 0, host: false, channel, nc_id, category: CONTIGUOUS };
        self.allocate(device, &request)
    }

    /// Allocates memory with the best form the driver has.
    ///
    /// | without | what is different |
    /// | --- | --- |
    /// | 64-bit forms | 4 GiB and more are refused |
    /// | categories | memory is counted as uncategorised |
    /// | alignment | `align − 4096` bytes more are taken, and the range starts at the first aligned address |
    ///
    /// # Errors
    /// [`Fault`]: what the driver answered, or why it was not asked. Nothing is allocated then.
    pub fn allocate(&self, device: u32, request: &AllocRequest) -> Result<DeviceRange, Fault> {
        let open = self.enter(device)?;
        let size = self.checked_size(request)?;
        let handle = self.ask_for_memory(&open, request, size)?;
        let padding = self.padding(request.align);
        let place = self.locate(&open, handle).and_then(|place| {
            let enough = place.size.is_none_or(|bytes| bytes >= size + padding);
            let no_size = Fault::Driver { request: MemGetExtendedInfo::NAME, errno: Errno::EIO };
            if enough { Ok(place) } else { Err(no_size) }
        });
        let place = match place {
            Ok(place) => place,
            Err(fault) => {
                // Should the driver keep the chunk, it frees it with the device.
                let _ = self.ask(&open, MemFree::new(handle));
                return Err(fault);
            }
        };
        // The driver's granule divides every page, so an aligned address is in reach.
        let pa = if padding == 0 { place.pa } else { place.pa.next_multiple_of(request.align) };
        Ok(DeviceRange {
            device: null_mut(),
            driver_handle: handle,
            pa,
            mmap_offset: place.mmap_offset,
            size: place.size.map_or(size, |bytes| bytes - padding),
            align: request.align as u32,
            pad_2c: 0,
            mmap_va: null_mut(),
            host_memory: request.host.into(),
            nc_id: request.nc_id as i32,
        })
    }

    /// Bytes taken on top of a size so that an aligned address lies inside; 0 where the driver aligns.
    fn padding(&self, align: u64) -> u64 {
        if self.machine.forms.alloc == AllocForm::Original { align.saturating_sub(GRANULE) } else { 0 }
    }

    /// The size in whole granules, if the request can be made at all.
    fn checked_size(&self, request: &AllocRequest) -> Result<u64, Refusal> {
        let AllocRequest { size, align, host, category, .. } = *request;
        let forms = &self.machine.forms;
        if category == CONTIGUOUS && host {
            return Err(Refusal::ContiguousInHostMemory);
        }
        if category == CONTIGUOUS && !forms.contiguous {
            return Err(Refusal::NoContiguous);
        }
        if size == 0 {
            return Err(Refusal::ZeroSize);
        }
        if host && align > 1 {
            return Err(Refusal::HostAlignment(align));
        }
        if align > ALIGN_LIMIT || (self.padding(align) != 0 && !align.is_power_of_two()) {
            return Err(Refusal::Alignment(align));
        }
        let rounded = size.checked_next_multiple_of(GRANULE).ok_or(Refusal::NeedsSixtyFourBit { size })?;
        let chunk = rounded.saturating_add(self.padding(align));
        if !forms.wide && chunk >= FOUR_GIB {
            return Err(Refusal::NeedsSixtyFourBit { size: chunk });
        }
        Ok(rounded)
    }

    fn ask_for_memory(&self, open: &InUse<'_>, request: &AllocRequest, rounded: u64) -> Result<u64, Fault> {
        let mut handle = 0;
        // 1 means the same as 0 in the core's terms, and host memory takes only 0.
        let request = AllocRequest { align: if request.align == 1 { 0 } else { request.align }, ..*request };
        match self.machine.forms.alloc {
            AllocForm::Wide => self.ask(open, MemAllocV2Mt64::new(&request, &mut handle)).map(drop),
            AllocForm::Typed => self.ask(open, MemAllocV2Mt::new(&request, &mut handle)).map(drop),
            AllocForm::Aligned => self.ask(open, MemAllocV2::new(&request, &mut handle)).map(drop),
            AllocForm::Original => {
                let request = AllocRequest { size: rounded + self.padding(request.align), ..request };
                self.ask(open, MemAlloc::new(&request, &mut handle)).map(drop)
            }
        }?;
        Ok(handle)
    }

    /// Asks with the extended form, and with older ones if the driver does not know it.
    fn locate(&self, open: &InUse<'_>, handle: u64) -> Result<Place, Fault> {
        let unknown = |fault: &Fault| fault.errno() == Errno::EINVAL;
        match self.extended_info(open, handle) {
            Err(fault) if unknown(&fault) => {}
            answer => {
                return answer.map(|info| Place { pa: info.pa, mmap_offset: info.mmap_offset, size: Some(info.size) });
            }
        }
        let (mut mmap_offset, mut pa) = (0, 0);
        match self.ask(open, MemGetInfo::new(handle, &mut mmap_offset, &mut pa)) {
            Err(fault) if unknown(&fault) => {}
            answer => return answer.map(|_| Place { pa, mmap_offset, size: None }),
        }
        self.ask(open, MemGetPa::new(handle, &mut pa)).map(|_| Place { pa, mmap_offset: pa, size: None })
    }

    /// Everything the driver knows of a chunk. A bad handle is answered with +22, which becomes `EINVAL` here.
    fn extended_info(&self, open: &InUse<'_>, handle: u64) -> Result<neuron_ioctl_mem_get_extended_info, Fault> {
        let request = MemGetExtendedInfo::new(handle);
        // SAFETY: the descriptor was opened by this system.
        let reply = unsafe { self.system.request(open.fd(), request) }.map_err(crate::driver_errno);
        reply
            .and_then(|reply| if reply.returned == Errno::EINVAL.0 { Err(Errno::EINVAL) } else { reply.done() })
            .map_err(|errno| Fault::Driver { request: MemGetExtendedInfo::NAME, errno })
    }

    /// Gives a range back.
    ///
    /// # Errors
    /// [`Fault`]; the driver holds the range still then.
    pub fn release(&self, device: u32, range: &DeviceRange) -> Result<(), Fault> {
        let open = self.enter(device)?;
        self.ask(&open, MemFree::new(range.driver_handle)).map(drop)
    }

    /// First byte of a range in its chunk.
    pub(super) const fn start(range: &DeviceRange) -> u64 {
        range.pa.saturating_sub(range.mmap_offset)
    }

    /// Bytes of the chunk a range lies in.
    fn chunk_bytes(&self, range: &DeviceRange) -> u64 {
        range.size.saturating_add(self.padding(range.align.into()))
    }

    /// Maps a range: its chunk as a whole, at the offset that is its address.
    ///
    /// # Errors
    /// [`Refusal::MapsToWrongPlace`] for a chunk that ends at the top of its HBM with drivers before 2.28 (or unknown ones);
    /// else what `mmap` answered.
    pub fn map_range(&self, device: u32, range: &DeviceRange) -> Result<NonNull<u8>, Fault> {
        let open = self.enter(device)?;
        let chunk = self.chunk_bytes(range);
        let bytes = usize::try_from(chunk).map_err(|_| Refusal::ZeroLength)?;
        if range.host_memory == 0 {
            self.refuse_top_of_hbm(device, range.mmap_offset.saturating_add(chunk))?;
        }
        let base = self
            .system
            .map(open.fd(), range.mmap_offset, bytes)
            .map_err(|errno| Fault::Driver { request: "mmap", errno: crate::driver_errno(errno) })?;
        open.mapped();
        // SAFETY: the range lies in its chunk, all of which is mapped at `base`.
        Ok(unsafe { base.add(Self::start(range) as usize) })
    }

    /// The driver compares with the size that it tells, where it tells one.
    fn refuse_top_of_hbm(&self, device: u32, end: u64) -> Result<(), Refusal> {
        if self.machine.version.is_some_and(|version| version >= DriverVersion([2, 28, 0, 0])) {
            return Ok(());
        }
        let (arch, (bytes, _)) = (self.machine.arch, self.sized(device));
        let top = |channel| arch.hbm_base(channel).map(|base| base + bytes);
        if (0..arch.channels_per_device()).any(|channel| top(channel) == Some(end)) {
            return Err(Refusal::MapsToWrongPlace { end });
        }
        Ok(())
    }

    /// Removes a mapping of [`map_range`](Self::map_range).
    ///
    /// # Errors
    /// What `munmap` answered; the mapping may remain then.
    ///
    /// # Safety
    /// `address` is the result of one `map_range` for this range that has not been unmapped, and nothing refers to it.
    pub unsafe fn unmap_range(&self, device: u32, range: &DeviceRange, address: NonNull<u8>) -> Result<(), Fault> {
        let open = self.enter(device)?;
        // SAFETY: `map_range` added the start of the range to the start of the mapping.
        let base = unsafe { address.sub(Self::start(range) as usize) };
        // SAFETY: base and length are those of the mapping, by contract not unmapped yet and not in use.
        unsafe { self.system.unmap(base, self.chunk_bytes(range) as usize) }
            .map_err(|errno| Fault::Driver { request: "munmap", errno: crate::driver_errno(errno) })?;
        open.unmapped();
        Ok(())
    }
}
