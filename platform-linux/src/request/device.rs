//! Requests: discovery and core reservation.

use nrt_core::abi_struct;

use super::{Argument as _, arguments, requests};
use nrt_core::abi::driver::{
    neuron_app_info, neuron_ioctl_compatible_version, neuron_ioctl_crwl_nc_map, neuron_ioctl_crwl_nc_map_ext,
    neuron_ioctl_device_basic_info, neuron_ioctl_device_bdf_ext, neuron_ioctl_device_driver_info, neuron_ioctl_device_info,
    neuron_ioctl_get_apps_info, neuron_ioctl_get_logical_to_physical_nc_map, neuron_ioctl_get_va_placement,
    neuron_ioctl_host_device_id, neuron_ioctl_host_device_id_to_rid_map, neuron_ioctl_nc_map, neuron_ioctl_nc_map_entry,
    neuron_ioctl_resource_mmap_info,
};

/// Processes that can be attached to a device at once.
pub const MAX_PROCESSES: usize = 16;

/// Entries of the longest core map.
pub const MAX_CORE_MAP: usize = 128;

abi_struct! {
    /// The question for the attached processes with room for all there can be.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    #[allow(non_camel_case_types, reason = "named as the structs of the driver are")]
    pub struct attached_processes: size 2448, align 8 {
        /// The documented struct.
        @0 pub header: neuron_ioctl_get_apps_info,
        /// The entries behind it.
        @16 pub entries: [neuron_app_info; 16],
    }

    /// A core map with room for all there can be.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    #[allow(non_camel_case_types, reason = "named as the structs of the driver are")]
    pub struct core_map: size 1028, align 4 {
        /// The documented struct.
        @0 pub header: neuron_ioctl_nc_map,
        /// The entries behind it.
        @4 pub entries: [neuron_ioctl_nc_map_entry; 128],
    }
}

arguments!(
    neuron_ioctl_device_basic_info,
    neuron_ioctl_device_driver_info,
    neuron_ioctl_compatible_version,
    neuron_ioctl_device_info,
    neuron_ioctl_device_bdf_ext,
    neuron_ioctl_host_device_id,
    neuron_ioctl_host_device_id_to_rid_map,
    neuron_ioctl_crwl_nc_map,
    neuron_ioctl_crwl_nc_map_ext,
    neuron_ioctl_resource_mmap_info,
    neuron_ioctl_get_logical_to_physical_nc_map,
    neuron_ioctl_get_va_placement,
    attached_processes,
    core_map,
);

requests! {
    /// Architecture and revision.
    DeviceBasicInfo("DEVICE_BASIC_INFO") = 0x4008_4E64, neuron_ioctl_device_basic_info;
    /// Architecture, revision and feature bits.
    DriverInfoGet("DRIVER_INFO_GET") = 0x8018_4E6E, neuron_ioctl_device_driver_info;
    /// Range of runtimes the driver serves.
    CompatibleVersion("COMPATIBLE_VERSION") = 0x4008_4E5D, neuron_ioctl_compatible_version;
    /// Neighbours and register windows.
    DeviceInfo("DEVICE_INFO") = 0x8008_4E03, neuron_ioctl_device_info;
    /// Place on the PCI bus.
    DeviceBdfExt("DEVICE_BDF_EXT") = 0x8008_4E6A, neuron_ioctl_device_bdf_ext;
    /// Index on the host.
    HostDeviceId("HOST_DEVICE_ID") = 0x8004_4E72, neuron_ioctl_host_device_id;
    /// Routing ids of all devices.
    HostDeviceIdToRidMap("HOST_DEVICE_ID_TO_RID_MAP") = 0xC104_4E73, neuron_ioctl_host_device_id_to_rid_map;
    /// Reserves cores; reports the first 64.
    CrwlNcRangeMark("CRWL_NC_RANGE_MARK") = 0x4008_4E55, neuron_ioctl_crwl_nc_map;
    /// Reserves cores.
    CrwlNcRangeMarkExt0("CRWL_NC_RANGE_MARK_EXT0") = 0xC050_4E55, neuron_ioctl_crwl_nc_map_ext;
    /// Releases cores among the first 64.
    CrwlNcRangeUnmark("CRWL_NC_RANGE_UNMARK") = 0x4008_4E56, neuron_ioctl_crwl_nc_map;
    /// Releases cores.
    CrwlNcRangeUnmarkExt0("CRWL_NC_RANGE_UNMARK_EXT0") = 0x4050_4E56, neuron_ioctl_crwl_nc_map_ext;
    /// Attached processes.
    DeviceGetAllAppsInfo("DEVICE_GET_ALL_APPS_INFO") = 0x8008_4E07, attached_processes;
    /// Offset and size of a special resource.
    ResourceMmapInfo("RESOURCE_MMAP_INFO") = 0xC020_4E70, neuron_ioctl_resource_mmap_info;
    /// Logical to physical cores. 524 on the second architecture.
    GetLogicalToPhysicalNcMap("GET_LOGICAL_TO_PHYSICAL_NC_MAP") = 0xC010_4E78, neuron_ioctl_get_logical_to_physical_nc_map;
    /// Device and HBM of a mapped address. Since 2.26.
    GetVaPlacement("GET_VA_PLACEMENT") = 0x4010_4E83, neuron_ioctl_get_va_placement;
}

/// Requests without an input.
macro_rules! questions {
    ($($name:ident: $argument:ident),* $(,)?) => {$(
        impl $name<'_> {
            /// The question; there is nothing to say.
            #[must_use]
            pub fn new() -> Self {
                Self::from_argument($argument::zeroed())
            }
        }

        impl Default for $name<'_> {
            fn default() -> Self {
                Self::new()
            }
        }
    )*};
}

questions!(
    DeviceBasicInfo: neuron_ioctl_device_basic_info,
    CompatibleVersion: neuron_ioctl_compatible_version,
    DeviceInfo: neuron_ioctl_device_info,
    HostDeviceId: neuron_ioctl_host_device_id,
    DriverInfoGet: neuron_ioctl_device_driver_info,
);

impl DeviceBdfExt<'_> {
    /// Asks about the opened device itself.
    #[must_use]
    pub fn new() -> Self {
        Self::from_argument(neuron_ioctl_device_bdf_ext::zeroed())
    }

    /// Asks about `node` through a descriptor of `opened`. `None` below it and beyond the last device slot, which is a
    /// kernel assertion that ends the caller.
    #[must_use]
    pub fn of(opened: u32, node: u32) -> Option<Self> {
        let mut argument = neuron_ioctl_device_bdf_ext::zeroed();
        argument.nd_index = node.checked_sub(opened)?;
        (node < 64).then(|| Self::from_argument(argument))
    }
}

impl Default for DeviceBdfExt<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl HostDeviceIdToRidMap<'_> {
    /// Asks for the map.
    #[must_use]
    pub fn new() -> Self {
        Self::from_argument(neuron_ioctl_host_device_id_to_rid_map::zeroed())
    }
}

impl Default for HostDeviceIdToRidMap<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl CrwlNcRangeMark<'_> {
    /// `count` cores in a row among `start..=end`.
    #[must_use]
    pub const fn new(count: u32, start: u32, end: u32) -> Self {
        Self::from_argument(neuron_ioctl_crwl_nc_map {
            nc_count: count,
            start_nc_index: start,
            end_nc_index: end,
            max_nc_available: 0,
            bitmap: 0,
        })
    }
}

impl CrwlNcRangeMarkExt0<'_> {
    /// `count` cores in a row among `start..=end`.
    #[must_use]
    pub const fn new(count: u32, start: u32, end: u32) -> Self {
        Self::from_argument(neuron_ioctl_crwl_nc_map_ext {
            nc_count: count,
            start_nc_index: start,
            end_nc_index: end,
            max_nc_available: 0,
            bitmap: [0; 8],
        })
    }
}

impl CrwlNcRangeUnmark<'_> {
    /// The cores of `bitmap`.
    #[must_use]
    pub fn new(bitmap: u64) -> Self {
        let mut argument = neuron_ioctl_crwl_nc_map::zeroed();
        argument.bitmap = bitmap;
        Self::from_argument(argument)
    }
}

impl CrwlNcRangeUnmarkExt0<'_> {
    /// The cores of `bitmap`.
    #[must_use]
    pub fn new(bitmap: [u64; 8]) -> Self {
        let mut argument = neuron_ioctl_crwl_nc_map_ext::zeroed();
        argument.bitmap = bitmap;
        Self::from_argument(argument)
    }
}

impl DeviceGetAllAppsInfo<'_> {
    /// Pids with their memory.
    #[must_use]
    pub fn new() -> Self {
        let mut argument = attached_processes::zeroed();
        // APP_INFO_PID_NC_LOCK_INFO | APP_INFO_PID_MEM_USAGE
        argument.header.apps_info_flags = 1 | 2;
        argument.header.capacity = MAX_PROCESSES as u32;
        Self::from_argument(argument)
    }
}

impl Default for DeviceGetAllAppsInfo<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl ResourceMmapInfo<'_> {
    /// The whole memory of HBM `channel`; third architecture and later.
    #[must_use]
    pub fn hbm(channel: u32) -> Self {
        let mut argument = neuron_ioctl_resource_mmap_info::zeroed();
        // NEURON_DM_BLOCK_HBM, NEURON_DM_RESOURCE_DMEM
        (argument.block, argument.block_id, argument.resource) = (2, channel, 3);
        Self::from_argument(argument)
    }
}

impl<'a> GetLogicalToPhysicalNcMap<'a> {
    /// Asks for the map of version 0.
    #[must_use]
    pub fn new(map: &'a mut core_map) -> Self {
        Self::from_argument(neuron_ioctl_get_logical_to_physical_nc_map {
            map: (&raw mut *map).cast(),
            max_map_entries: MAX_CORE_MAP as u32,
            mapping_version: 0,
        })
    }
}

impl GetVaPlacement<'_> {
    /// Asks about `address`.
    #[must_use]
    pub const fn new(address: u64) -> Self {
        Self::from_argument(neuron_ioctl_get_va_placement { va: address, device_index: -1, hbm_index: -1 })
    }
}
