//! Notification queues (fact sheet `driver-abi` §18).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

abi_struct! {
    /// Set-up of a notification queue, as the first drivers know it.
    ///
    /// Argument of `NOTIFICATIONS_INIT_V1` 0x80084E33. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_notifications_init_v1: size 24, align 8 {
        /// Core within the device, 0..7.
        @0 pub nc_id: u32,
        /// Kind of the queue, see [`NQ_TYPE`](crate::abi::NQ_TYPE).
        @4 pub nq_type: u32,
        /// Engine of the core, or queue of the processor.
        @8 pub engine_index: u32,
        /// Bytes of the ring, a power of two.
        @12 pub size: u32,
        /// Offset to give to `mmap`, all ones for a ring in device memory; filled in by the driver.
        @16 pub mmap_offset: u64,
    }

    /// Set-up of a notification queue.
    ///
    /// Argument of `NOTIFICATIONS_INIT_V2` 0x80084E35. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_notifications_init_v2: size 48, align 8 {
        /// Core or synchronisation processor.
        @0 pub nq_dev_id: u32,
        /// Whose queue it is, see [`NQ_DEVICE_TYPE`](crate::abi::NQ_DEVICE_TYPE).
        @4 pub nq_dev_type: u32,
        /// Kind of the queue, see [`NQ_TYPE`](crate::abi::NQ_TYPE).
        @8 pub nq_type: u32,
        /// Engine of the core, or queue of the processor.
        @12 pub engine_index: u32,
        /// Bytes of the ring, a power of two.
        @16 pub size: u32,
        /// Anything but 0 puts the ring into memory of the host.
        @20 pub on_host_memory: u32,
        /// HBM of the device, 0..3.
        @24 pub dram_channel: u32,
        /// Region of the HBM; 0 on every architecture that is still supported.
        @28 pub dram_region: u32,
        /// Offset to give to `mmap`, all ones for a ring in device memory; filled in by the driver.
        @32 pub mmap_offset: u64,
        /// Handle of the memory of the ring; filled in by the driver.
        @40 pub mem_handle: u64,
    }

    /// Set-up of a notification queue, replacing one that exists.
    ///
    /// Argument of `NOTIFICATIONS_INIT_WITH_REALLOC_V2` 0x80084E36. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_notifications_init_with_realloc_v2: size 56, align 8 {
        /// Core or synchronisation processor.
        @0 pub nq_dev_id: u32,
        /// Whose queue it is, see [`NQ_DEVICE_TYPE`](crate::abi::NQ_DEVICE_TYPE).
        @4 pub nq_dev_type: u32,
        /// Kind of the queue, see [`NQ_TYPE`](crate::abi::NQ_TYPE).
        @8 pub nq_type: u32,
        /// Engine of the core, or queue of the processor.
        @12 pub engine_index: u32,
        /// Bytes of the ring, a power of two.
        @16 pub size: u32,
        /// Anything but 0 puts the ring into memory of the host.
        @20 pub on_host_memory: u32,
        /// HBM of the device, 0..3.
        @24 pub dram_channel: u32,
        /// Region of the HBM; 0 on every architecture that is still supported.
        @28 pub dram_region: u32,
        /// Anything but 0 replaces a queue that exists.
        @32 pub force_alloc_mem: u32,
        /// Alignment.
        @36 pub pad_24: [u8; 4],
        /// Offset to give to `mmap`, all ones for a ring in device memory; filled in by the driver.
        @40 pub mmap_offset: u64,
        /// Handle of the memory of the ring; filled in by the driver.
        @48 pub mem_handle: u64,
    }

    /// Release of a notification queue by its mapping.
    ///
    /// Argument of `NOTIFICATIONS_DESTROY_V1` 0x80084E34. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_notifications_destroy: size 8, align 8 {
        /// Offset the queue was mapped with.
        @0 pub mmap_offset: u64,
    }

    /// Release of a notification queue by its place.
    ///
    /// Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_notifications_destroy_nq: size 12, align 4 {
        /// Core or synchronisation processor.
        @0 pub nq_dev_id: u32,
        /// Kind of the queue, see [`NQ_TYPE`](crate::abi::NQ_TYPE).
        @4 pub nq_type: u32,
        /// Engine of the core, or queue of the processor.
        @8 pub engine_index: u32,
    }

    /// Where a notification queue stands; every driver refuses it.
    ///
    /// Argument of `NOTIFICATIONS_QUEUE_INFO` 0x80084E3A. Fact sheet `driver-abi` §5.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_notifications_queue_info: size 12, align 4 {
        /// Core or synchronisation processor.
        @0 pub nq_dev_id: u8,
        /// Whose queue it is, see [`NQ_DEVICE_TYPE`](crate::abi::NQ_DEVICE_TYPE).
        @1 pub nq_dev_type: u8,
        /// Kind of the queue, see [`NQ_TYPE`](crate::abi::NQ_TYPE).
        @2 pub nq_type: u8,
        /// Engine of the core, or queue of the processor.
        @3 pub engine_index: u8,
        /// Entry to read next.
        @4 pub head: u32,
        /// Phase of the entries that are new.
        @8 pub phase_bit: u32,
    }

    /// Switch for notifications of throttling.
    ///
    /// Argument of `THROTTLING_NOTIFICATIONS` 0x40044E82 (driver 2.26 and later). Fact sheet `driver-abi` §15; driver
    /// 2.26 and later.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_throttling_notifications: size 4, align 4 {
        /// 1 = on, 0 = off.
        @0 pub enable: u32,
    }
}
