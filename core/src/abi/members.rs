//! Structs that the tree embeds or points to and whose interior is mostly undocumented. Their sizes are.

use core::ffi::c_void;

abi_struct! {
    /// Mapped register windows of a device; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C, align(8))]
    pub struct mla_bars_t: size 64, align 8 {
        /// Span no source names.
        @0 pub unk_0: [u8; 64],
    }

    /// Notification queues of a core or synchronisation processor; offsets of the interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C, align(8))]
    pub struct notification_t: size 15816, align 8 {
        /// Span no source names.
        @0 pub unk_0: [u8; 15816],
    }

    /// One synchronisation processor; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C, align(8))]
    pub struct top_sp_t: size 16376, align 8 {
        /// Span no source names.
        @0 pub unk_0: [u8; 16376],
    }

    /// Cross-device collectives of a device; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C, align(8))]
    pub struct xt_cc_t: size 200, align 8 {
        /// Span no source names.
        @0 pub unk_0: [u8; 200],
    }

    /// Anchor between device and host clock; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct sync_point_t: size 16, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 16],
    }

    /// Interrupt controller; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct aws_hal_intc_t: size 11432, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 11432],
    }

    /// Handle of one DMA engine; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C, align(8))]
    pub struct aws_hal_dma: size 40, align 8 {
        /// Span no source names.
        @0 pub unk_0: [u8; 40],
    }

    /// Pool of collectives resources; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct cc_resource_pool_context: size 872, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 872],
    }

    /// Instruction buffers of one engine; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ib_addrs_one_eng_t: size 56, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 56],
    }

    /// Flags of one execution request; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C, align(4))]
    pub struct exec_req_tpb_config_t: size 52, align 4 {
        /// Span no source names.
        @0 pub unk_0: [u8; 52],
    }

    /// Parameters of a load, the time-out in seconds among them; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C, align(8))]
    pub struct kbl_model_param_t: size 32, align 8 {
        /// Span no source names.
        @0 pub unk_0: [u8; 32],
    }

    /// Context object of the microcode library; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrtucode_context_t: size 40, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 40],
    }

    /// Core object of the microcode library; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrtucode_core_t: size 112, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 112],
    }

    /// Loadable-library object of the microcode library; interior undocumented.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrtucode_loadable_library_t: size 72, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 72],
    }

    /// Hardware abstraction state of a core (fact sheet `context-tree` §5).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct aws_hal_stpb: size 1104, align 8 {
        /// Span no source names.
        @0 pub unk_0: [u8; 40],
        /// Block that teardown frees.
        @40 pub heap_ptr: *mut c_void,
        /// Span no source names.
        @48 pub unk_30: [u8; 1056],
    }

    /// One pair of DMA rings (fact sheet `context-tree` §5).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct dma_queue_info_t: size 360, align 8 {
        /// Span no source names.
        @0 pub unk_0: [u8; 336],
        /// Receive ring.
        @336 pub rx_pring: *mut c_void,
        /// Transmit ring.
        @344 pub tx_pring: *mut c_void,
        /// Span no source names.
        @352 pub unk_160: [u8; 8],
    }
}
