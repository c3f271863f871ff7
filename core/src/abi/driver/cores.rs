//! Reservation, reset and synchronisation of cores (fact sheet `driver-abi` §8, §18).

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

abi_struct! {
    /// Identity of a lock holder.
    ///
    /// Fact sheet `driver-abi` §8.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_uuid: size 32, align 1 {
        /// The bytes; the first four decide.
        @0 pub value: [u8; 32],
    }

    /// Cooperative lock of a core.
    ///
    /// Argument of `CRWL_READER_ENTER` 0x40084E51, `CRWL_READER_EXIT` 0x40084E52, `CRWL_WRITER_ENTER` 0x40084E53,
    /// `CRWL_WRITER_DOWNGRADE` 0x40084E54. Fact sheet `driver-abi` §8.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_crwl: size 36, align 4 {
        /// Core within the device, 0..7.
        @0 pub nc_id: u32,
        /// Identity of the lock holder.
        @4 pub uuid: neuron_uuid,
    }

    /// Reservation of cores, of which the first 64 are reported.
    ///
    /// Argument of `CRWL_NC_RANGE_MARK` 0x40084E55, `CRWL_NC_RANGE_UNMARK` 0x40084E56. Fact sheet `driver-abi` §8.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_crwl_nc_map: size 24, align 8 {
        /// Cores wanted; they are reserved side by side.
        @0 pub nc_count: u32,
        /// First core of the range to search, relative to the device.
        @4 pub start_nc_index: u32,
        /// Last core of the range to search, inclusive.
        @8 pub end_nc_index: u32,
        /// Longest free run found; filled in by the driver.
        @12 pub max_nc_available: u32,
        /// Cores reserved, one bit each from core 0 of the device.
        @16 pub bitmap: u64,
    }

    /// Reservation of cores.
    ///
    /// Argument of `CRWL_NC_RANGE_MARK_EXT0` 0xC0504E55, `CRWL_NC_RANGE_UNMARK_EXT0` 0x40504E56. Fact sheet
    /// `driver-abi` §8.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_crwl_nc_map_ext: size 80, align 8 {
        /// Cores wanted; they are reserved side by side.
        @0 pub nc_count: u32,
        /// First core of the range to search, relative to the device.
        @4 pub start_nc_index: u32,
        /// Last core of the range to search, inclusive.
        @8 pub end_nc_index: u32,
        /// Longest free run found; filled in by the driver.
        @12 pub max_nc_available: u32,
        /// Cores reserved, one bit each from core 0 of the device.
        @16 pub bitmap: [u64; 8],
    }

    /// One physical core.
    ///
    /// Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_nc_map_entry: size 8, align 4 {
        /// Device of the core.
        @0 pub device_id: u32,
        /// Core within the device.
        @4 pub device_nc_idx: u32,
    }

    /// Physical cores by logical number.
    ///
    /// Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_nc_map: size 4, align 4 {
        /// Entries that follow, at most 128.
        @0 pub num_entries: u32,
        /// The cores.
        @4 pub mappings: [neuron_ioctl_nc_map_entry; 0],
    }

    /// Physical cores by logical number, written through a pointer.
    ///
    /// Argument of `GET_LOGICAL_TO_PHYSICAL_NC_MAP` 0xC0104E78. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_get_logical_to_physical_nc_map: size 16, align 8 {
        /// Where the driver writes the map.
        @0 pub map: *mut neuron_ioctl_nc_map,
        /// Room in the map, at most 128 entries.
        @8 pub max_map_entries: u32,
        /// Version of the map, see [`neuron_ioctl_nc_mapping_type`](crate::abi::neuron_ioctl_nc_mapping_type).
        @12 pub mapping_version: u32,
    }

    /// Owner of a core, told to the log of the kernel.
    ///
    /// Argument of `NC_PID_STATE_DUMP` 0xC0104E75. Fact sheet `driver-abi` §8.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_nc_pid_state_dump: size 16, align 4 {
        /// Bytes of this struct.
        @0 pub size: u32,
        /// Core within the device, 0..7.
        @4 pub nc_id: u32,
        /// Anything but 0 logs the owner alone.
        @8 pub filter_log_owner: u32,
        /// Lines at most.
        @12 pub log_dump_limit: u32,
    }

    /// Reset of cores.
    ///
    /// Argument of `NC_RESET` 0x80084E67. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_device_reset: size 8, align 4 {
        /// Cores to reset, one bit each; 0xFFFFFFFF = the device.
        @0 pub nc_map: u32,
        /// Number of the reset request; the driver uses the process id.
        @4 pub request_id: u32,
    }

    /// Wait for a reset to end.
    ///
    /// Argument of `NC_RESET_READY` 0x80084E68. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_device_ready: size 8, align 4 {
        /// Number of the reset request; the driver uses the process id.
        @0 pub request_id: u32,
        /// 0 = done, 1 = failed.
        @4 pub result: i32,
    }

    /// Access to a semaphore of a core.
    ///
    /// Argument of `SEMAPHORE_INCREMENT` 0x80084E29, `SEMAPHORE_DECREMENT` 0x80084E2A, `SEMAPHORE_READ` 0xC0084E2B,
    /// `SEMAPHORE_WRITE` 0x80084E2C, `EVENT_SET` 0x80084E2D, `EVENT_GET` 0xC0084E2E. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_semaphore: size 12, align 4 {
        /// Core within the device, 0..7.
        @0 pub nc_id: u32,
        /// Semaphore, 0..255.
        @4 pub semaphore_index: u32,
        /// Value to write, or the value that was read.
        @8 pub value: u32,
    }

    /// Access to an event of a core.
    ///
    /// Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_event: size 12, align 4 {
        /// Core within the device, 0..7.
        @0 pub nc_id: u32,
        /// Event, 0..255.
        @4 pub event_index: u32,
        /// Value to write, or the value that was read.
        @8 pub value: u32,
    }

    /// Progress of the start-up of a core that several processes share.
    ///
    /// Argument of `CINIT_SET_STATE` 0x40084E5B. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_cinit_set: size 12, align 4 {
        /// Core within the device, 0..7.
        @0 pub nc_id: u32,
        /// State to enter, see [`neuron_cinit_state`](crate::abi::neuron_cinit_state).
        @4 pub state: u32,
        /// State entered; filled in by the driver.
        @8 pub new_state: u32,
    }

    /// Models started on a core.
    ///
    /// Argument of `NC_MODEL_STARTED_COUNT` 0x40084E5C. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_nc_model_started_count: size 16, align 8 {
        /// Core within the device, 0..7.
        @0 pub nc_id: u32,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Models; filled in by the driver.
        @8 pub started_count: u64,
    }
}
