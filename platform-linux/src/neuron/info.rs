//! What there is to tell about the devices, without attaching to them.

use nrt_core::abi::driver::neuron_ioctl_mem_chunk_info;
use nrt_core::driver::Errno;

use super::connect::{LinuxDriver, MAX_CORES_PER_DEVICE};
use super::cores::CoreMap;
use super::fault::{Fault, Refusal};
use super::sysfs::{self, Attribute};
use super::system::System;
use crate::request::{
    Argument as _, DeviceBdfExt, DeviceGetAllAppsInfo, DumpMemChunks, GetLogicalToPhysicalNcMap, InPlace, MAX_PROCESSES,
    ResourceMmapInfo, core_map,
};

/// HBM channels a device can have.
pub const MAX_CHANNELS: usize = 4;

/// Where the size of the HBM is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeSource {
    /// The driver tells it: of open devices, on the third architecture and later.
    Driver,
    /// The architecture has it. A hardware emulator may have less.
    Architecture,
}

impl SizeSource {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Architecture => "architecture",
        }
    }
}

/// One device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Number of the node, `/dev/neuron<node>`.
    pub node: u32,
    /// Product name (`Trainium2`), if the driver tells.
    pub name: Option<Attribute>,
    /// Instance type (`Trn2`), if the driver tells.
    pub instance: Option<Attribute>,
    /// Serial number, if the driver tells.
    pub serial: Option<Attribute>,
    /// PCI domain, bus, slot and function, if the driver tells.
    pub bdf: Option<(u32, u32, u8, u8)>,
    /// Neighbours, bit i for device i, if the driver tells.
    pub neighbours: Option<u64>,
    /// Cores.
    pub cores: u32,
    /// HBM channels.
    pub channels: u32,
    /// Bytes of one channel, the firmware's 16 MiB included.
    pub channel_bytes: u64,
    /// Who says so.
    pub channel_bytes_source: SizeSource,
    /// Bytes in use on each channel, by all processes, counted by the core that allocated them and without the firmware's
    /// part; `None` when the driver's files cannot be read.
    pub channel_used: [Option<u64>; MAX_CHANNELS],
    /// Bytes of device memory in use by each core's allocations.
    pub core_used: [Option<u64>; MAX_CORES_PER_DEVICE as usize],
}

/// A process that is attached to a device, as the driver lists it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// Process id.
    pub pid: u32,
    /// Pinned host memory in bytes.
    pub host_bytes: u64,
    /// Device memory in bytes.
    pub device_bytes: u64,
}

impl<S: System> LinuxDriver<S> {
    /// Tells about the `device`-th device. Takes no process slot: a device that is not open is not opened, because an open
    /// waits for the end of a reset, is one of 16 (`driver-abi` §3), and what it makes impossible for others in the meantime
    /// is not this call's to decide. So the size of its HBM is the architecture's; see [`attach`](Self::attach).
    ///
    /// # Errors
    /// [`Refusal`] for a device there is not, and in a forked child.
    pub fn info(&self, device: u32) -> Result<DeviceInfo, Fault> {
        self.own_process()?;
        let machine = &self.machine;
        let node = machine.node(device).ok_or(Refusal::NoSuchDevice(device))?;
        let arch = machine.arch;
        let attribute = |name| sysfs::attribute(self.system(), node, name).filter(|text| !text.is_empty());
        let channels = arch.channels_per_device();
        let per_channel = |channel| (channel < channels).then(|| sysfs::channel_memory(self.system(), node, arch, channel))?;
        let per_core = |core| (core < machine.cores_per_device).then(|| sysfs::core_memory(self.system(), node, core))?;
        let (channel_bytes, channel_bytes_source) = self.sized(device);
        let bdf = DeviceBdfExt::of(machine.first_node(), node).and_then(|question| self.ask_misc(question).ok());
        Ok(DeviceInfo {
            node,
            name: attribute("info/architecture/device_name"),
            instance: attribute("info/architecture/instance_type"),
            serial: attribute("info/serial_number"),
            bdf: bdf.map(|answer| (answer.domain, answer.bus_number, answer.slot, answer.func)),
            neighbours: sysfs::neighbours(self.system(), node),
            cores: machine.cores_per_device,
            channels,
            channel_bytes,
            channel_bytes_source,
            channel_used: core::array::from_fn(|channel| per_channel(channel as u32)),
            core_used: core::array::from_fn(|core| per_core(core as u32)),
        })
    }

    /// Cores of the `device`-th device that somebody holds, counted from its core 0. See
    /// [`busy_cores`](Self::busy_cores) for how that is found out.
    ///
    /// # Errors
    /// As [`busy_cores`](Self::busy_cores).
    pub fn held_cores(&self, device: u32) -> Result<CoreMap, Fault> {
        let node = self.machine.node(device).ok_or(Refusal::NoSuchDevice(device))?;
        let first = (node - self.machine.first_node()) * self.machine.cores_per_device;
        let busy = self.busy_cores(first, first + self.machine.cores_per_device - 1)?;
        let mut held = CoreMap::default();
        busy.iter().for_each(|core| held.insert(core - first));
        Ok(held)
    }

    /// Processes attached to an open device, this one included.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn attached_processes(&self, device: u32) -> Result<heapless::Vec<Attached, MAX_PROCESSES>, Fault> {
        let open = self.enter(device)?;
        let answer = self.ask(&open, DeviceGetAllAppsInfo::new())?;
        let listed = answer.entries.iter().take(answer.header.size as usize).filter(|entry| entry.pid > 0);
        Ok(listed
            .map(|entry| Attached { pid: entry.pid as u32, host_bytes: entry.host_mem_size, device_bytes: entry.device_mem_size })
            .collect())
    }

    /// Writes the chunks of an HBM of an open device into `chunks`, in order of their addresses, everybody's and the
    /// firmware's included, and gives their number, which may be larger than the room.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn chunks(&self, device: u32, channel: u32, chunks: &mut [neuron_ioctl_mem_chunk_info]) -> Result<u32, Fault> {
        /// `EAGAIN`: there are more chunks than room.
        const AGAIN: Errno = Errno(11);
        let open = self.enter(device)?;
        let mut request = DumpMemChunks::new(channel, chunks);
        match self.ask(&open, InPlace(&mut request)) {
            Err(fault) if fault.errno() != AGAIN => Err(fault),
            _ => Ok(request.argument().num_entries_out),
        }
    }

    /// Bytes of an HBM of an open device as the driver can map it, on the third architecture and later: the real size
    /// also where a hardware emulator has less than the architecture says.
    ///
    /// # Errors
    /// `EINVAL` where there is no such mapping.
    pub fn channel_bytes(&self, device: u32, channel: u32) -> Result<u64, Fault> {
        let open = self.enter(device)?;
        self.ask(&open, ResourceMmapInfo::hbm(channel)).map(|answer| answer.size)
    }

    /// Bytes of each HBM of a device, and who told them: a driver that does not leaves what the architecture has.
    pub(super) fn sized(&self, device: u32) -> (u64, SizeSource) {
        let told = self.channel_bytes(device, 0).ok().filter(|&bytes| bytes != 0);
        told.map_or((self.machine.arch.hbm_bytes(), SizeSource::Architecture), |bytes| (bytes, SizeSource::Driver))
    }

    /// The map from logical to physical cores, as (device, core) each.
    ///
    /// # Errors
    /// 524 on SUNDA, which has no map; `EINVAL` on drivers before 2.19.64.
    pub fn physical_cores(&self) -> Result<heapless::Vec<(u32, u32), 128>, Fault> {
        let mut map = core_map::zeroed();
        self.ask_misc(GetLogicalToPhysicalNcMap::new(&mut map))?;
        let entries = map.entries.iter().take(map.header.num_entries as usize);
        Ok(entries.map(|entry| (entry.device_id, entry.device_nc_idx)).collect())
    }
}
