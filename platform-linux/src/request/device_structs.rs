//! Structs of discovery and core reservation (fact sheet `driver-abi` §§6, 8), as the driver reads and writes them.
#![allow(non_camel_case_types)]

use nrt_core::abi_struct;

abi_struct! {
    /// What the device is.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_device_basic_info: size 8, align 4 {
        /// Out: architecture, 2 to 4 (1 in drivers up to 2.24).
        @0 pub architecture: u32,
        /// Out: PCI revision.
        @4 pub revision: u32,
    }

    /// What the device is and what the driver can do.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_device_driver_info: size 24, align 8 {
        /// Out: architecture, 2 to 4 (1 in drivers up to 2.24).
        @0 pub architecture: u32,
        /// Out: PCI revision.
        @4 pub revision: u32,
        /// Version of the struct.
        @8 pub version: u32,
        /// Bytes.
        @12 pub size: u32,
        /// Out: feature bits.
        @16 pub feature_flags1: u64,
    }

    /// Which runtimes the driver serves; the maximum comes first.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_compatible_version: size 8, align 4 {
        /// Out: newest runtime interface the driver serves.
        @0 pub max: u32,
        /// Out: oldest runtime interface the driver serves.
        @4 pub min: u32,
    }

    /// Neighbours and register windows.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_device_info: size 80, align 8 {
        /// Out: architecture, 2 to 4 (1 in drivers up to 2.24).
        @0 pub architecture: u32,
        /// Out: PCI revision.
        @4 pub revision: u32,
        /// Out: neighbours.
        @8 pub connected_device_count: u32,
        /// Out: neighbours; beyond the count undefined.
        @12 pub connected_devices: [u32; 8],
        /// Alignment.
        @44 pub pad_2c: [u8; 4],
        /// Out: opaque bases of the register windows.
        @48 pub bar_address: [u64; 2],
        /// Out: sizes of the register windows in bytes.
        @64 pub bar_size: [u64; 2],
    }

    /// Where a device sits on the PCI bus.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_device_bdf_ext: size 16, align 4 {
        /// Device, relative to the opened one.
        @0 pub nd_index: u32,
        /// Out: PCI domain.
        @4 pub domain: u32,
        /// Out: PCI bus.
        @8 pub bus_number: u32,
        /// Out: PCI slot.
        @12 pub slot: u8,
        /// Out: PCI function.
        @13 pub func: u8,
        /// Alignment.
        @14 pub pad_0e: [u8; 2],
    }

    /// Index of the device on the host.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_host_device_id: size 4, align 4 {
        /// Out: index of the opened device on the host.
        @0 pub host_device_id: u32,
    }

    /// Routing ids.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_host_device_id_to_rid_map: size 260, align 4 {
        /// Entries.
        @0 pub count: u32,
        /// Routing id by host device index.
        @4 pub host_did_to_rid_map: [u32; 64],
    }

    /// Reservation of cores, map of 64.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_crwl_nc_map: size 24, align 8 {
        /// Cores wanted in a row.
        @0 pub nc_count: u32,
        /// First core of the range to search, relative to the opened device.
        @4 pub start_nc_index: u32,
        /// Last core of the range to search.
        @8 pub end_nc_index: u32,
        /// Out: longest run found when there was none long enough.
        @12 pub max_nc_available: u32,
        /// Cores: out for a reservation, in for a release.
        @16 pub bitmap: u64,
    }

    /// Reservation of cores, map of 512.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_crwl_nc_map_ext: size 80, align 8 {
        /// Cores wanted in a row.
        @0 pub nc_count: u32,
        /// First core of the range to search, relative to the opened device.
        @4 pub start_nc_index: u32,
        /// Last core of the range to search.
        @8 pub end_nc_index: u32,
        /// Out: longest run found when there was none long enough.
        @12 pub max_nc_available: u32,
        /// Cores: out for a reservation, in for a release.
        @16 pub bitmap: [u64; 8],
    }

    /// Where a special resource can be mapped.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_resource_mmap_info: size 32, align 8 {
        /// 0 core, 1 synchronisation unit, 2 HBM.
        @0 pub block: u32,
        /// Index of the block.
        @4 pub block_id: u32,
        /// 0 semaphores, 1 everything, 2 state buffer, 3 memory.
        @8 pub resource: u32,
        /// Alignment.
        @12 pub pad_0c: [u8; 4],
        /// Start in the chunk, in bytes.
        @16 pub offset: u64,
        /// Bytes.
        @24 pub size: u64,
    }

    /// One attached process.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_app_info: size 152, align 8 {
        /// Process that allocated it.
        @0 pub pid: i32,
        /// Cores locked, cores 0 to 3 only.
        @4 pub nc_lock_map: u8,
        /// Ids of loaded models.
        @5 pub uuid_data: [neuron_uuid; 4],
        /// Alignment.
        @133 pub pad_85: [u8; 3],
        /// Pinned host memory in bytes.
        @136 pub host_mem_size: u64,
        /// Device memory in bytes.
        @144 pub device_mem_size: u64,
    }

    /// Asks for the attached processes; the entries follow the struct.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_get_apps_info: size 16, align 8 {
        /// What to report.
        @0 pub apps_info_flags: u16,
        /// Alignment.
        @2 pub pad_02: [u8; 2],
        /// Entries the array has room for.
        @4 pub capacity: u32,
        /// Bytes.
        @8 pub size: u32,
        /// Alignment.
        @12 pub pad_0c: [u8; 4],
        /// The entries.
        @16 pub app_data: [neuron_app_info; 0],
    }

    /// An id of 32 bytes.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_uuid: size 32, align 1 {
        /// Fill byte in the low 8 bits.
        @0 pub value: [u8; 32],
    }

    /// Asks for the map of logical to physical cores.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_get_logical_to_physical_nc_map: size 16, align 8 {
        /// Where the map goes.
        @0 pub map: *mut neuron_ioctl_nc_map,
        /// Entries the map has room for, at most 128.
        @8 pub max_map_entries: u32,
        /// 0.
        @12 pub mapping_version: u32,
    }

    /// Map of cores; the entries follow the count.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_nc_map: size 4, align 4 {
        /// Out: entries.
        @0 pub num_entries: u32,
        /// The entries.
        @4 pub mappings: [neuron_ioctl_nc_map_entry; 0],
    }

    /// One core.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_nc_map_entry: size 8, align 4 {
        /// Device.
        @0 pub device_id: u32,
        /// Core of the device.
        @4 pub device_nc_idx: u32,
    }

    /// Where a mapped address lies. Since driver 2.26.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_get_va_placement: size 16, align 8 {
        /// Address in a mapping.
        @0 pub va: u64,
        /// Out: device, −1 when unknown.
        @8 pub device_index: i32,
        /// HBM channel.
        @12 pub hbm_index: i32,
    }
}
