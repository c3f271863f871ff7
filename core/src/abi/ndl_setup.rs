//! Set-up structs of the user-side driver library (fact sheet `nrt-api` §8).

abi_struct! {
    /// Private bytes behind a device object (fact sheet `nrt-api` §8).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ndl_device_context_t: size 4, align 4 {
        /// File descriptor of the device node.
        @0 pub nd_fd: i32,
    }

    /// How to open a device (fact sheet `nrt-api` §8).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ndl_device_init_param_t: size 12, align 4 {
        /// Whether to initialise it.
        @0 pub initialize_device: bool,
        /// Alignment.
        @1 pub pad_1: [u8; 3],
        /// Regions of each HBM.
        @4 pub num_dram_regions: i32,
        /// Whether to map each HBM as a whole.
        @8 pub map_hbm: bool,
        /// Alignment.
        @9 pub pad_9: [u8; 3],
    }

    /// Versions of driver and library (fact sheet `nrt-api` §8).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ndl_version_info_t: size 40, align 2 {
        /// Major version of the driver.
        @0 pub driver_major: u16,
        /// Minor version of the driver.
        @2 pub driver_minor: u16,
        /// Whole version of the driver, NUL-terminated.
        @4 pub driver_full: [u8; 32],
        /// Major version of the library.
        @36 pub library_major: u16,
        /// Minor version of the library.
        @38 pub library_minor: u16,
    }

    /// A notification queue; interior undocumented (fact sheet `nrt-api` §8).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ndl_notification_context_t: size 56, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 56],
    }

    /// Set-up of a DMA queue, the same bytes as
    /// [`neuron_ioctl_dma_queue_init`](super::driver::neuron_ioctl_dma_queue_init) (fact sheet `nrt-api` §8).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ndl_queue_init: size 48, align 1 {
        /// The members of that struct.
        @0 pub unk_0: [u8; 48],
    }

    /// Set-up of many DMA queues, the same bytes as
    /// [`neuron_ioctl_dma_queue_init_batch`](super::driver::neuron_ioctl_dma_queue_init_batch) (fact sheet `nrt-api`
    /// §8).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ndl_queue_init_batch: size 12296, align 1 {
        /// The members of that struct.
        @0 pub unk_0: [u8; 12296],
    }
}
