//! What a device and its driver are (fact sheet `driver-abi` §6, §18).

use core::ffi::c_void;

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

abi_struct! {
    /// Start-up of a device; does nothing.
    ///
    /// Argument of `DEVICE_INIT` 0x80084E04. Fact sheet `driver-abi` §3.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_device_init: size 4, align 4 {
        /// Regions of each HBM; ignored.
        @0 pub mem_regions: u32,
    }

    /// What a device is, and its neighbours.
    ///
    /// Argument of `DEVICE_INFO` 0x80084E03. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_device_info: size 80, align 8 {
        /// Architecture of the device, see [`driver_architecture`](crate::abi::driver_architecture).
        @0 pub architecture: u32,
        /// PCI revision; 240 = hardware emulator, 255 = QEMU.
        @4 pub revision: u32,
        /// Neighbours in use.
        @8 pub connected_device_count: u32,
        /// Numbers of the neighbours; those beyond the count are undefined.
        @12 pub connected_devices: [u32; 8],
        /// Alignment.
        @44 pub pad_2c: [u8; 4],
        /// Opaque bases for register access.
        @48 pub bar_address: [u64; 2],
        /// Bytes of each window.
        @64 pub bar_size: [u64; 2],
    }

    /// What a device is.
    ///
    /// Argument of `DEVICE_BASIC_INFO` 0x40084E64. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_device_basic_info: size 8, align 4 {
        /// Architecture of the device, see [`driver_architecture`](crate::abi::driver_architecture).
        @0 pub architecture: u32,
        /// PCI revision; 240 = hardware emulator, 255 = QEMU.
        @4 pub revision: u32,
    }

    /// What the driver can do.
    ///
    /// Argument of `DRIVER_INFO_GET` 0x80184E6E, `DRIVER_INFO_SET` 0x40184E6E. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_device_driver_info: size 24, align 8 {
        /// Architecture of the device, see [`driver_architecture`](crate::abi::driver_architecture).
        @0 pub architecture: u32,
        /// PCI revision; 240 = hardware emulator, 255 = QEMU.
        @4 pub revision: u32,
        /// Version of this struct, 0.
        @8 pub version: u32,
        /// Bytes of this struct, 24.
        @12 pub size: u32,
        /// Abilities, see [`neuron_driver_feature_flag`](crate::abi::neuron_driver_feature_flag).
        @16 pub feature_flags1: u64,
    }

    /// Runtime versions the driver works with.
    ///
    /// Argument of `COMPATIBLE_VERSION` 0x40084E5D. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_compatible_version: size 8, align 4 {
        /// Highest version.
        @0 pub max: u32,
        /// Lowest version.
        @4 pub min: u32,
    }

    /// PCI address of the device.
    ///
    /// Argument of `DEVICE_BDF` 0x80084E65. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_device_bdf: size 8, align 4 {
        /// PCI bus.
        @0 pub bus_number: u32,
        /// PCI slot.
        @4 pub slot: u8,
        /// PCI function.
        @5 pub func: u8,
        /// Alignment.
        @6 pub pad_6: [u8; 2],
    }

    /// PCI address of a device near this one.
    ///
    /// Argument of `DEVICE_BDF_EXT` 0x80084E6A. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_device_bdf_ext: size 16, align 4 {
        /// Device asked for, counted from the opened one.
        @0 pub nd_index: u32,
        /// PCI domain.
        @4 pub domain: u32,
        /// PCI bus.
        @8 pub bus_number: u32,
        /// PCI slot.
        @12 pub slot: u8,
        /// PCI function.
        @13 pub func: u8,
        /// Alignment.
        @14 pub pad_e: [u8; 2],
    }

    /// Number the host gives the opened device.
    ///
    /// Argument of `HOST_DEVICE_ID` 0x80044E72. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_host_device_id: size 4, align 4 {
        /// Number of the device on the host.
        @0 pub host_device_id: u32,
    }

    /// Routing ids of all devices of the host.
    ///
    /// Argument of `HOST_DEVICE_ID_TO_RID_MAP` 0xC1044E73. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_host_device_id_to_rid_map: size 260, align 4 {
        /// Entries in use.
        @0 pub count: u32,
        /// Routing id by host device id.
        @4 pub host_did_to_rid_map: [u32; 64],
    }

    /// Access to registers.
    ///
    /// Argument of `BAR_READ` 0x80084E0B, `BAR_WRITE` 0x40084E0C. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_bar_rw: size 32, align 8 {
        /// Window.
        @0 pub bar: u32,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Registers, as bases of the device plus offsets.
        @8 pub address: *mut u64,
        /// Values to write, or room for those read.
        @16 pub data: *mut u32,
        /// Registers.
        @24 pub count: u32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
    }

    /// Read of hardware counters.
    ///
    /// Argument of `READ_HW_COUNTERS` 0x80084E3D. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_read_hw_counters: size 24, align 8 {
        /// Counters.
        @0 pub address: *mut u64,
        /// Where the driver writes the values.
        @8 pub data: *mut u32,
        /// Counters.
        @16 pub count: u32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
    }

    /// Metrics handed to the device.
    ///
    /// Argument of `POST_METRIC` 0x40084E0D. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_post_metric: size 16, align 8 {
        /// The words.
        @0 pub data: *mut u32,
        /// Bytes.
        @8 pub data_size: u32,
        /// Alignment.
        @12 pub pad_c: [u8; 4],
    }

    /// Switch for periodic metrics.
    ///
    /// Argument of `METRICS_CTRL` 0x40044E80 (driver 2.25 and later). Fact sheet `driver-abi` §15; driver 2.25 and
    /// later.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_metrics_ctrl: size 4, align 4 {
        /// Mode, see [`neuron_metrics_mode`](crate::abi::neuron_metrics_mode).
        @0 pub mode: u32,
    }

    /// Power profile of a device.
    ///
    /// Argument of `POWER_PROFILE` 0x40084E7F (driver 2.25 and later). Fact sheet `driver-abi` §5; driver 2.25 and
    /// later.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_power_profile: size 8, align 4 {
        /// Bytes of this struct, for versioning.
        @0 pub sz: u16,
        /// What to do; anything but 0 is not supported.
        @2 pub ctrl: u16,
        /// Profile.
        @4 pub profile: u32,
    }

    /// Text for the log of the kernel.
    ///
    /// Argument of `PRINTK` 0x40104E71. Fact sheet `driver-abi` §5.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_printk: size 16, align 8 {
        /// The text.
        @0 pub buffer: *mut c_void,
        /// Bytes of the text, at most 512.
        @8 pub size: u32,
        /// What to do with it.
        @12 pub action: u32,
    }
}
