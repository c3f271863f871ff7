//! Structs of allocation and queries (fact sheet `driver-abi` §§6a, 9–11), as the driver reads and writes them.
#![allow(non_camel_case_types)]

use nrt_core::abi_struct;

pub use nrt_core::abi::driver::neuron_ioctl_mem_chunk_info;

abi_struct! {
    /// Original allocation: no alignment, no category.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_alloc: size 32, align 8 {
        /// Bytes.
        @0 pub size: u64,
        /// Non-zero for pinned host memory.
        @8 pub host_memory: u32,
        /// HBM channel.
        @12 pub dram_channel: u32,
        /// Region of the channel; 0.
        @16 pub dram_region: u32,
        /// Core whose queue copies this memory and that it is accounted to.
        @20 pub nc_id: u32,
        /// Handle.
        @24 pub mem_handle: *mut u64,
    }

    /// Allocation with alignment.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_alloc_v2: size 40, align 8 {
        /// Bytes.
        @0 pub size: u64,
        /// Alignment of the physical address in bytes, 0 for a page.
        @8 pub align: u64,
        /// Non-zero for pinned host memory.
        @16 pub host_memory: u32,
        /// HBM channel.
        @20 pub dram_channel: u32,
        /// Region of the channel; 0.
        @24 pub dram_region: u32,
        /// Core whose queue copies this memory and that it is accounted to.
        @28 pub nc_id: u32,
        /// Handle.
        @32 pub mem_handle: *mut u64,
    }

    /// Allocation with alignment and category.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_alloc_v2_mem_type: size 48, align 8 {
        /// Bytes.
        @0 pub size: u64,
        /// Alignment of the physical address in bytes, 0 for a page.
        @8 pub align: u64,
        /// Non-zero for pinned host memory.
        @16 pub host_memory: u32,
        /// HBM channel.
        @20 pub dram_channel: u32,
        /// Region of the channel; 0.
        @24 pub dram_region: u32,
        /// Core whose queue copies this memory and that it is accounted to.
        @28 pub nc_id: u32,
        /// Category, `mem_alloc_category_t`.
        @32 pub mem_type: u32,
        /// Alignment.
        @36 pub pad_24: [u8; 4],
        /// Handle.
        @40 pub mem_handle: *mut u64,
    }

    /// Allocation with alignment and category, with the 64-bit forms.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_alloc_v2_mem_type64: size 56, align 8 {
        /// Bytes.
        @0 pub size: u64,
        /// Alignment of the physical address in bytes, 0 for a page.
        @8 pub align: u64,
        /// Non-zero for pinned host memory.
        @16 pub host_memory: u32,
        /// HBM channel.
        @20 pub dram_channel: u32,
        /// Region of the channel; 0.
        @24 pub dram_region: u32,
        /// Core whose queue copies this memory and that it is accounted to.
        @28 pub nc_id: u32,
        /// Category, `mem_alloc_category_t`.
        @32 pub mem_type: u32,
        /// Alignment.
        @36 pub pad_24: [u8; 4],
        /// Handle.
        @40 pub mem_handle: *mut u64,
        /// Unused.
        @48 pub pad: u32,
        /// Alignment.
        @52 pub pad_34: [u8; 4],
    }

    /// Frees a chunk.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_free: size 8, align 8 {
        /// Handle.
        @0 pub mem_handle: u64,
    }

    /// Asks for the physical address.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_get_pa: size 16, align 8 {
        /// Handle.
        @0 pub mem_handle: u64,
        /// Physical address.
        @8 pub pa: *mut u64,
    }

    /// Asks for physical address and mapping offset.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_get_info: size 24, align 8 {
        /// Handle.
        @0 pub mem_handle: u64,
        /// Offset for `mmap`.
        @8 pub mmap_offset: *mut u64,
        /// Physical address.
        @16 pub pa: *mut u64,
    }

    /// Asks for all there is to know of a chunk. The driver leaves junk in `mem_handle` and `version`.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_get_extended_info: size 48, align 8 {
        /// Handle.
        @0 pub mem_handle: u64,
        /// Version of the struct.
        @8 pub version: u32,
        /// Non-zero for pinned host memory.
        @12 pub host_memory: u32,
        /// Offset for `mmap`.
        @16 pub mmap_offset: u64,
        /// Physical address.
        @24 pub pa: u64,
        /// Process that allocated it.
        @32 pub pid: u64,
        /// Bytes.
        @40 pub size: u64,
    }

    /// Finds the chunk around a physical address.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_get_mc_mmap_info: size 24, align 8 {
        /// Physical address.
        @0 pub pa: u64,
        /// Offset for `mmap`.
        @8 pub mmap_offset: u64,
        /// Bytes.
        @16 pub size: u64,
    }

    /// Finds the chunk around a physical address, with a handle.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_get_mc_mmap_info_v2: size 32, align 8 {
        /// Physical address.
        @0 pub pa: u64,
        /// Offset for `mmap`.
        @8 pub mmap_offset: u64,
        /// Bytes.
        @16 pub size: u64,
        /// Handle.
        @24 pub mem_handle: u64,
    }

    /// Lists the chunks of an HBM.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_dump_mem_chunks: size 24, align 8 {
        /// HBM channel.
        @0 pub hbm_index: u32,
        /// Entries the array has room for.
        @4 pub num_entries_in: u32,
        /// Out: chunks there are.
        @8 pub num_entries_out: u32,
        /// Alignment.
        @12 pub pad_0c: [u8; 4],
        /// The array.
        @16 pub data: *mut neuron_ioctl_mem_chunk_info,
    }
}
