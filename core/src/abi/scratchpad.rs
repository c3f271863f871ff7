//! The scratchpad of a core (fact sheet `scratchpad` §1).

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32};

use super::{dmem_t, physical_core_t, pthread_mutex_t};

abi_struct! {
    /// One page of the scratchpad (fact sheet `scratchpad` §1.2).
    #[repr(C)]
    pub struct tdrv_scratchpad_page_t: size 16, align 8 {
        /// Memory of the page, null until reserved.
        @0 pub mem: AtomicPtr<dmem_t>,
        /// Models that use the page.
        @8 pub refs: AtomicU32,
        /// Alignment.
        @12 pub pad_c: [u8; 4],
    }

    /// Scratchpad of one core, shared by its models (fact sheet `scratchpad` §1.1).
    #[repr(C)]
    pub struct tdrv_scratchpad_t: size 16440, align 8 {
        /// Guards `num_pages` and `pages`.
        @0 pub lock: pthread_mutex_t,
        /// Bytes a page, never 0 once initialised.
        @40 pub page_size: u64,
        /// Live pages, 0..1024.
        @48 pub num_pages: AtomicU32,
        /// Whether the pages form one contiguous range that grows downwards.
        @52 pub is_contiguous: bool,
        /// Alignment.
        @53 pub pad_35: [u8; 3],
        /// The pages.
        @56 pub pages: [tdrv_scratchpad_page_t; 1024],
    }

    /// Placement of one core's slice of the arena (fact sheet `scratchpad` §1.3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct tdrv_scratchpad_info_t: size 24, align 8 {
        /// Core of the slice.
        @0 pub pcore: *mut physical_core_t,
        /// Bytes of the slice.
        @8 pub size: u64,
        /// Start of the slice in the arena, in bytes.
        @16 pub offset: u64,
    }

    /// What a model reserved and gives back when it is unloaded (fact sheet `scratchpad` §1.4).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct tdrv_scratchpad_cleanup_info_t: size 48, align 8 {
        /// Cores with a reservation.
        @0 pub pcores: [*mut physical_core_t; 2],
        /// Bytes reserved on each.
        @16 pub sizes: [u64; 2],
        /// Entries in use, 0..2.
        @32 pub num_entries: u32,
        /// Alignment.
        @36 pub pad_24: [u8; 4],
        /// Host mapping of a contiguous scratchpad, null if unmapped.
        @40 pub contiguous_scratchpad_va: *mut c_void,
    }
}
