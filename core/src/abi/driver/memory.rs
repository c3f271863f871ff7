//! Allocation, release, and where memory is (fact sheet `driver-abi` §9 to §12).

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

abi_struct! {
    /// Allocation as the first drivers know it: no alignment, no category.
    ///
    /// Argument of `MEM_ALLOC` 0x80084E15. Fact sheet `driver-abi` §9.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_alloc: size 32, align 8 {
        /// Bytes wanted; rounded up to pages of 4096.
        @0 pub size: u64,
        /// 0 = device memory, anything else = memory of the host the device can reach.
        @8 pub host_memory: u32,
        /// HBM of the device, 0..3.
        @12 pub dram_channel: u32,
        /// Region of the HBM; 0 on every architecture that is still supported.
        @16 pub dram_region: u32,
        /// Core within the device, 0..7.
        @20 pub nc_id: u32,
        /// Where the driver writes the handle of the new memory.
        @24 pub mem_handle: *mut u64,
    }

    /// Allocation with an alignment.
    ///
    /// Argument of `MEM_ALLOC_V2` 0x80084E66. Fact sheet `driver-abi` §9.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_alloc_v2: size 40, align 8 {
        /// Bytes wanted; rounded up to pages of 4096.
        @0 pub size: u64,
        /// Alignment in bytes; up to 4096 it has no effect, above 2^31-1 it is refused.
        @8 pub align: u64,
        /// 0 = device memory, anything else = memory of the host the device can reach.
        @16 pub host_memory: u32,
        /// HBM of the device, 0..3.
        @20 pub dram_channel: u32,
        /// Region of the HBM; 0 on every architecture that is still supported.
        @24 pub dram_region: u32,
        /// Core within the device, 0..7.
        @28 pub nc_id: u32,
        /// Where the driver writes the handle of the new memory.
        @32 pub mem_handle: *mut u64,
    }

    /// Allocation with an alignment and a category.
    ///
    /// Argument of `MEM_ALLOC_V2MT` 0x80304E66. Fact sheet `driver-abi` §9.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_alloc_v2_mem_type: size 48, align 8 {
        /// Bytes wanted; rounded up to pages of 4096.
        @0 pub size: u64,
        /// Alignment in bytes; up to 4096 it has no effect, above 2^31-1 it is refused.
        @8 pub align: u64,
        /// 0 = device memory, anything else = memory of the host the device can reach.
        @16 pub host_memory: u32,
        /// HBM of the device, 0..3.
        @20 pub dram_channel: u32,
        /// Region of the HBM; 0 on every architecture that is still supported.
        @24 pub dram_region: u32,
        /// Core within the device, 0..7.
        @28 pub nc_id: u32,
        /// Category the memory is counted under, see [`mem_alloc_category_t`](crate::abi::mem_alloc_category_t).
        @32 pub mem_type: u32,
        /// Alignment.
        @36 pub pad_24: [u8; 4],
        /// Where the driver writes the handle of the new memory.
        @40 pub mem_handle: *mut u64,
    }

    /// Allocation with an alignment and a category, beyond 4 GiB; the form to use.
    ///
    /// Argument of `MEM_ALLOC_V2MT64` 0x80384E66. Fact sheet `driver-abi` §9.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_alloc_v2_mem_type64: size 56, align 8 {
        /// Bytes wanted; rounded up to pages of 4096.
        @0 pub size: u64,
        /// Alignment in bytes; up to 4096 it has no effect, above 2^31-1 it is refused.
        @8 pub align: u64,
        /// 0 = device memory, anything else = memory of the host the device can reach.
        @16 pub host_memory: u32,
        /// HBM of the device, 0..3.
        @20 pub dram_channel: u32,
        /// Region of the HBM; 0 on every architecture that is still supported.
        @24 pub dram_region: u32,
        /// Core within the device, 0..7.
        @28 pub nc_id: u32,
        /// Category the memory is counted under, see [`mem_alloc_category_t`](crate::abi::mem_alloc_category_t).
        @32 pub mem_type: u32,
        /// Alignment.
        @36 pub pad_24: [u8; 4],
        /// Where the driver writes the handle of the new memory.
        @40 pub mem_handle: *mut u64,
        /// Makes the struct differ in size from the form before; ignored.
        @48 pub pad: u32,
        /// Alignment.
        @52 pub pad_34: [u8; 4],
    }

    /// Release of memory.
    ///
    /// Argument of `MEM_FREE` 0x80084E16. Fact sheet `driver-abi` §9.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_free: size 8, align 8 {
        /// Handle of the memory.
        @0 pub mem_handle: u64,
    }

    /// Address and mapping of a memory, written through pointers.
    ///
    /// Argument of `MEM_GET_INFO` 0x80084E1A. Fact sheet `driver-abi` §11.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_get_info: size 24, align 8 {
        /// Handle of the memory.
        @0 pub mem_handle: u64,
        /// Where the driver writes the offset to give to `mmap`; null = not wanted.
        @8 pub mmap_offset: *mut u64,
        /// Where the driver writes the physical address.
        @16 pub pa: *mut u64,
    }

    /// Address of a memory, written through a pointer.
    ///
    /// Argument of `MEM_GET_PA` 0x80084E19. Fact sheet `driver-abi` §11.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_get_pa: size 16, align 8 {
        /// Handle of the memory.
        @0 pub mem_handle: u64,
        /// Where the driver writes the physical address.
        @8 pub pa: *mut u64,
    }

    /// Everything about a memory in one call.
    ///
    /// Argument of `MEM_GET_EXTENDED_INFO` 0x80084E1D. Fact sheet `driver-abi` §11.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_get_extended_info: size 48, align 8 {
        /// Handle asked for; what the driver leaves here has no meaning.
        @0 pub mem_handle: u64,
        /// Left undefined by the driver.
        @8 pub version: u32,
        /// 0 = device memory, anything else = memory of the host the device can reach.
        @12 pub host_memory: u32,
        /// Offset to give to `mmap`; equals the physical address.
        @16 pub mmap_offset: u64,
        /// Physical address.
        @24 pub pa: u64,
        /// Process that allocated the memory.
        @32 pub pid: u64,
        /// Bytes, rounded up to pages of 4096.
        @40 pub size: u64,
    }

    /// The memory that contains a physical address.
    ///
    /// Argument of `MEM_MC_GET_INFO` 0xC0184E6F. Fact sheet `driver-abi` §11.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_get_mc_mmap_info: size 24, align 8 {
        /// Any address in the memory.
        @0 pub pa: u64,
        /// Offset to give to `mmap`; equals the physical address.
        @8 pub mmap_offset: u64,
        /// Bytes.
        @16 pub size: u64,
    }

    /// The memory that contains a physical address, with its handle.
    ///
    /// Argument of `MEM_MC_GET_INFO_V2` 0xC0204E6F. Fact sheet `driver-abi` §11.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_get_mc_mmap_info_v2: size 32, align 8 {
        /// Any address in the memory.
        @0 pub pa: u64,
        /// Offset to give to `mmap`; equals the physical address.
        @8 pub mmap_offset: u64,
        /// Bytes.
        @16 pub size: u64,
        /// Handle of the memory; one is made for memory that had none.
        @24 pub mem_handle: u64,
    }

    /// Offset to map a block of the device other than memory.
    ///
    /// Argument of `RESOURCE_MMAP_INFO` 0xC0204E70. Fact sheet `driver-abi` §12.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_resource_mmap_info: size 32, align 8 {
        /// Kind of block, see [`neuron_dm_block_type`](crate::abi::neuron_dm_block_type).
        @0 pub block: u32,
        /// Which block of that kind.
        @4 pub block_id: u32,
        /// Part of the block, see [`neuron_dm_resource_type`](crate::abi::neuron_dm_resource_type).
        @8 pub resource: u32,
        /// Alignment.
        @12 pub pad_c: [u8; 4],
        /// Offset to give to `mmap`; filled in by the driver.
        @16 pub offset: u64,
        /// Bytes to map; filled in by the driver.
        @24 pub size: u64,
    }

    /// File descriptor that shares a mapped memory with another driver.
    ///
    /// Argument of `DMABUF_FD` 0x80084E6B. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dmabuf_fd: size 24, align 8 {
        /// Start of the memory in the process.
        @0 pub va: u64,
        /// Bytes.
        @8 pub size: u64,
        /// Where the driver writes the descriptor, close-on-exec.
        @16 pub fd: *mut i32,
    }

    /// One memory in a dump.
    ///
    /// Fact sheet `driver-abi` §11.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_chunk_info: size 24, align 8 {
        /// Physical address.
        @0 pub pa: u64,
        /// Bytes.
        @8 pub size: u64,
        /// Category it is counted under, see [`mem_alloc_category_t`](crate::abi::mem_alloc_category_t).
        @16 pub mem_type: u32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
    }

    /// All memories of one HBM, sorted by address.
    ///
    /// Argument of `DUMP_MEM_CHUNKS` 0x80084E74. Fact sheet `driver-abi` §11.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dump_mem_chunks: size 24, align 8 {
        /// HBM of the device, 0..3.
        @0 pub hbm_index: u32,
        /// Room in `data`, in entries.
        @4 pub num_entries_in: u32,
        /// Memories there are, also when they do not fit.
        @8 pub num_entries_out: u32,
        /// Alignment.
        @12 pub pad_c: [u8; 4],
        /// Where the driver writes the entries.
        @16 pub data: *mut neuron_ioctl_mem_chunk_info,
    }

    /// Device and HBM behind an address of the process.
    ///
    /// Argument of `GET_VA_PLACEMENT` 0x40104E83 (driver 2.26 and later). Fact sheet `driver-abi` §11; driver 2.26 and
    /// later.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_get_va_placement: size 16, align 8 {
        /// Address in a mapping of the process.
        @0 pub va: u64,
        /// Device; -1 = unknown.
        @8 pub device_index: i32,
        /// HBM of the device; -1 = unknown.
        @12 pub hbm_index: i32,
    }

    /// Start of overwriting a whole HBM, whoever uses it.
    ///
    /// Argument of `HBM_SCRUB_START` 0xC0104E76. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_hbm_scrub_start: size 16, align 4 {
        /// Core within the device, 0..7.
        @0 pub nc_id: u32,
        /// HBM of the device, 0..3.
        @4 pub hbm_index: u32,
        /// Port of the copy engine.
        @8 pub axi_port: u32,
        /// Pattern to write.
        @12 pub init_val: u32,
    }

    /// Wait for the overwriting of an HBM to end.
    ///
    /// Argument of `HBM_SCRUB_WAIT` 0xC0084E77. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_hbm_scrub_wait: size 8, align 4 {
        /// Core within the device, 0..7.
        @0 pub nc_id: u32,
        /// HBM of the device, 0..3.
        @4 pub hbm_index: u32,
    }
}
