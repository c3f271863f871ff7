//! Device memory and its allocators (fact sheet `dmem` §2).

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use super::{dma_mem_location_t, dma_mem_usage_type_t, dmem_allocator_type_t, ndl_copy_buf_t, physical_core_t, pthread_mutex_t};

abi_struct! {
    /// One piece of device or pinned host memory (fact sheet `dmem` §2.1). The bytes the original leaves unused
    /// carry the hint text and the links of our pool.
    #[repr(C, align(64))]
    pub struct dmem_t: size 192, align 64 {
        /// Core the memory belongs to.
        @0 pub pcore: *mut physical_core_t,
        /// Handle of the driver library; 0 = none.
        @8 pub mem_handle: u64,
        /// Bytes the caller asked for.
        @16 pub size: usize,
        /// Physical address of the first allocated byte, before `align_offset`.
        @24 pub _pa: u64,
        /// Host mapping, null until the first map.
        @32 pub _va: AtomicPtr<c_void>,
        /// Bytes from `_pa` to the aligned start; 0 unless the driver could not align.
        @40 pub align_offset: usize,
        /// Bytes charged to the ledger.
        @48 pub allocated_size: usize,
        /// Host or device memory.
        @56 pub mem_type: dma_mem_location_t,
        /// What the memory is used for.
        @60 pub mem_usage_type: dma_mem_usage_type_t,
        /// HBM channel, 0..3.
        @64 pub tdram_channel: u32,
        /// Inline copy of the hint: at most 59 bytes and NUL.
        @68 pub spare_44_hint: [u8; 60],
        /// References held; starts at 1, the last release frees.
        @128 pub ref_count: AtomicU64,
        /// Text that names the memory, NUL-terminated, or null.
        @136 pub hint: *mut c_char,
        /// Bounce buffer of the core.
        @144 pub cpy_buf: *mut ndl_copy_buf_t,
        /// Next node in the allocator's list.
        @152 pub next: AtomicPtr<dmem_t>,
        /// Previous node in the allocator's list.
        @160 pub prev: AtomicPtr<dmem_t>,
        /// Allocator whose list holds the node, null once that is destroyed.
        @168 pub allocator: AtomicPtr<dmem_allocator_t>,
        /// Free-list link of the pool slot.
        @176 pub spare_b0_link: AtomicU32,
        /// Generation of the pool slot; makes a stale handle detectable.
        @180 pub spare_b4_generation: AtomicU32,
        /// Alignment.
        @184 pub pad_b8: [u8; 8],
    }

    /// Owner of a list of device memory: one per core, one per loaded model (fact sheet `dmem` §2.2).
    #[repr(C)]
    pub struct dmem_allocator_t: size 512, align 64 {
        /// GLOBAL for a core, MODEL for a model.
        @0 pub r#type: dmem_allocator_type_t,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Core whose memory is handed out.
        @8 pub pcore: *mut physical_core_t,
        /// Guards the list.
        @16 pub lock: pthread_mutex_t,
        /// Alignment.
        @56 pub pad_38: [u8; 8],
        /// Sentinel before the first node.
        @64 pub dummy_head: dmem_t,
        /// Sentinel behind the last node.
        @256 pub dummy_tail: dmem_t,
        /// Largest scratchpad variable that did not fit a page, in bytes.
        @448 pub largest_oversized_scratchpad_var: AtomicUsize,
        /// Alignment.
        @456 pub pad_1c8: [u8; 56],
    }

    /// One entry of a [`dmem_list_t`]: a duty to release one reference (fact sheet `dmem` §2.3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct dmem_ref_node_t: size 16, align 8 {
        /// Memory to release.
        @0 pub dmem: *mut dmem_t,
        /// Next entry.
        @8 pub next: *mut dmem_ref_node_t,
    }

    /// Memory to release together; no lock, no count (fact sheet `dmem` §2.3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct dmem_list_t: size 16, align 8 {
        /// First entry, null while empty.
        @0 pub head: *mut dmem_ref_node_t,
        /// Last entry, null while empty.
        @8 pub tail: *mut dmem_ref_node_t,
    }
}
