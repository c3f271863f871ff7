//! Counter stores and process lists (fact sheets `driver-abi` §18, `nrt-api` §9).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::neuron_uuid;

abi_struct! {
    /// Start of a counter store.
    ///
    /// Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct nds_header: size 8, align 4 {
        /// `nds` and a zero byte.
        @0 pub signature: [u8; 4],
        /// Version of the store.
        @4 pub version: i32,
    }

    /// Counter store of a process.
    ///
    /// Argument of `ACQUIRE_NEURON_DS` 0x80084E47, `RELEASE_NEURON_DS` 0x80084E48. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_neuron_ds_info: size 24, align 8 {
        /// Process; 0 = the caller.
        @0 pub pid: i32,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Offset to give to `mmap`; filled in by the driver.
        @8 pub mmap_offset: u64,
        /// Bytes of the store, 262,144; filled in by the driver.
        @16 pub size: u32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
    }

    /// One process that uses a device.
    ///
    /// Fact sheet `driver-abi` §11.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_app_info: size 152, align 8 {
        /// The process.
        @0 pub pid: i32,
        /// Cores it holds, one bit each, of the first four.
        @4 pub nc_lock_map: u8,
        /// Models it has loaded.
        @5 pub uuid_data: [neuron_uuid; 4],
        /// Alignment.
        @133 pub pad_85: [u8; 3],
        /// Bytes of host memory it holds.
        @136 pub host_mem_size: u64,
        /// Bytes of device memory it holds.
        @144 pub device_mem_size: u64,
    }

    /// All processes that use a device.
    ///
    /// Argument of `DEVICE_GET_ALL_APPS_INFO` 0x80084E07. Fact sheet `driver-abi` §11.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_get_apps_info: size 16, align 8 {
        /// What to report: 1 = locks, 2 = memory, 15 = everything.
        @0 pub apps_info_flags: u16,
        /// Alignment.
        @2 pub pad_2: [u8; 2],
        /// Room in `app_data`, in entries.
        @4 pub capacity: u32,
        /// Processes there are; filled in by the driver.
        @8 pub size: u32,
        /// Alignment.
        @12 pub pad_c: [u8; 4],
        /// The processes.
        @16 pub app_data: [neuron_app_info; 0],
    }

    /// Counter store of a process on a device, as shared with the driver (fact sheet `nrt-api` §9).
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct nds_store: size 262144, align 8 {
        /// Signature and version.
        @0 pub header: nds_header,
        /// Counters of the device, by [`nds_nd_counter`](crate::abi::nds_nd_counter).
        @8 pub nd_counters: [u64; 31],
        /// Counters of the first four cores, by [`nds_nc_counter`](crate::abi::nds_nc_counter).
        @256 pub nc_counters: [[u64; 31]; 4],
        /// Objects of the process; where each lies is not documented.
        @1248 pub unk_4e0: [u8; 54688],
        /// Further counters of the first four cores, by [`nds_ext_nc_counter`](crate::abi::nds_ext_nc_counter) less 31.
        @55936 pub ext_nc_counters: [[u64; 64]; 4],
        /// All counters of the other twelve cores, and one word each that pads them to 96.
        @57984 pub ext_nc_data: [[u64; 96]; 12],
        /// Span no source names.
        @67200 pub unk_10680: [u8; 194944],
    }

    /// One loaded model in a counter store; interior undocumented (fact sheet `nrt-api` §9).
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct nds_model_node: size 284, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 284],
    }

    /// Memory one object accounts for in a counter store; interior undocumented (fact sheet `nrt-api` §9).
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct nds_memory_usage: size 384, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 384],
    }

    /// Process that owns a counter store; interior undocumented (fact sheet `nrt-api` §9).
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct nds_process_info: size 60, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 60],
    }

    /// More on the process that owns a counter store; interior undocumented (fact sheet `nrt-api` §9).
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct nds_process_info_ext: size 256, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 256],
    }
}
