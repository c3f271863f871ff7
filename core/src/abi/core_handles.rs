//! Names of physical and logical cores (fact sheets `lnc` §1, `context-tree` §2).

use super::mla_t;

abi_struct! {
    /// One physical NeuronCore as everything in the runtime names it (fact sheet `lnc` §1). Two handles are equal
    /// when their first eight bytes are.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct physical_core_t: size 24, align 8 {
        /// Slot of the device in [`tdrv_ctx_t::mla`](super::tdrv_ctx_t::mla), 0..31.
        @0 pub device_id: u32,
        /// Core within the device, 0..7.
        @4 pub device_tpb_idx: u32,
        /// Logical core that owns this physical one.
        @8 pub vcore: *mut virtual_core_t,
        /// One byte without meaning that keeps the C compiler from merging handles.
        @16 pub fixes_gcc_bug: u8,
        /// Alignment.
        @17 pub pad_11: [u8; 7],
    }

    /// One logical core: one or two physical ones that work as a unit (fact sheet `lnc` §1).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct virtual_core_t: size 64, align 8 {
        /// Index of this logical core in the list of the process.
        @0 pub vtpb_idx: u32,
        /// Number of the logical core.
        @4 pub vtpb: u32,
        /// Number under which the collectives library knows the core.
        @8 pub nec_dev_id: u32,
        /// Physical cores in use, 1..2; equals the logical core size.
        @12 pub num_tpbs: u32,
        /// The physical cores; `tpbs[0]` is the owner, whose allocator and queue serve the whole.
        @16 pub tpbs: [physical_core_t; 2],
    }

    /// One entry of the flat registry of physical cores (fact sheet `context-tree` §2).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ptpb_info_t: size 16, align 8 {
        /// Core within its device, 0..7.
        @0 pub tpb_idx: u32,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Device record the core belongs to.
        @8 pub mla: *mut mla_t,
    }

    /// Which cores of a device this process owns.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct tpb_map_t: size 8, align 1 {
        /// One byte a core; non-zero = owned by this process.
        @0 pub map: [u8; 8],
    }
}
