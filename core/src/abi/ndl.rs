//! Structs of the user-side driver library (fact sheet `nrt-api` §8).

use core::ffi::c_void;

abi_struct! {
    /// What a memory handle points to.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ndl_mem_info_t: size 64, align 8 {
        /// Device the memory belongs to.
        @0 pub device: *mut c_void,
        /// Handle of the kernel driver; 0 = none.
        @8 pub driver_handle: u64,
        /// Physical address of the first byte.
        @16 pub pa: u64,
        /// Offset to give to `mmap`.
        @24 pub mmap_offset: u64,
        /// Bytes the driver reserved.
        @32 pub size: u64,
        /// Alignment asked for, in bytes.
        @40 pub align: u32,
        /// Alignment.
        @44 pub pad_2c: u32,
        /// Mapping in this process, null while unmapped.
        @48 pub mmap_va: *mut c_void,
        /// Non-zero for pinned host memory.
        @56 pub host_memory: u32,
        /// Core whose queue copies this memory.
        @60 pub nc_id: i32,
    }
}
