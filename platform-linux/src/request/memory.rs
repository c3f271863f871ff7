//! Requests: allocation, release, queries.

use nrt_core::driver::AllocRequest;

use super::{Argument as _, arguments, requests};
use nrt_core::abi::driver::{
    neuron_ioctl_dump_mem_chunks, neuron_ioctl_mem_alloc, neuron_ioctl_mem_alloc_v2, neuron_ioctl_mem_alloc_v2_mem_type,
    neuron_ioctl_mem_alloc_v2_mem_type64, neuron_ioctl_mem_chunk_info, neuron_ioctl_mem_free, neuron_ioctl_mem_get_extended_info,
    neuron_ioctl_mem_get_info, neuron_ioctl_mem_get_mc_mmap_info, neuron_ioctl_mem_get_mc_mmap_info_v2, neuron_ioctl_mem_get_pa,
};

arguments!(
    neuron_ioctl_mem_alloc,
    neuron_ioctl_mem_alloc_v2,
    neuron_ioctl_mem_alloc_v2_mem_type,
    neuron_ioctl_mem_alloc_v2_mem_type64,
    neuron_ioctl_mem_free,
    neuron_ioctl_mem_get_pa,
    neuron_ioctl_mem_get_info,
    neuron_ioctl_mem_get_extended_info,
    neuron_ioctl_mem_get_mc_mmap_info,
    neuron_ioctl_mem_get_mc_mmap_info_v2,
    neuron_ioctl_mem_chunk_info,
    neuron_ioctl_dump_mem_chunks,
);

requests! {
    /// Allocates: size only.
    MemAlloc("MEM_ALLOC") = 0x8008_4E15, neuron_ioctl_mem_alloc;
    /// Allocates: size and alignment.
    MemAllocV2("MEM_ALLOC_V2") = 0x8008_4E66, neuron_ioctl_mem_alloc_v2;
    /// Allocates: size, alignment and category.
    MemAllocV2Mt("MEM_ALLOC_V2MT") = 0x8030_4E66, neuron_ioctl_mem_alloc_v2_mem_type;
    /// Allocates: size, alignment and category; 4 GiB and more.
    MemAllocV2Mt64("MEM_ALLOC_V2MT64") = 0x8038_4E66, neuron_ioctl_mem_alloc_v2_mem_type64;
    /// Frees a chunk.
    MemFree("MEM_FREE") = 0x8008_4E16, neuron_ioctl_mem_free;
    /// Physical address of a chunk.
    MemGetPa("MEM_GET_PA") = 0x8008_4E19, neuron_ioctl_mem_get_pa;
    /// Physical address and mapping offset of a chunk.
    MemGetInfo("MEM_GET_INFO") = 0x8008_4E1A, neuron_ioctl_mem_get_info;
    /// Everything about a chunk. A bad handle returns +22, not −22.
    MemGetExtendedInfo("MEM_GET_EXTENDED_INFO") = 0x8008_4E1D, neuron_ioctl_mem_get_extended_info;
    /// The chunk around a physical address.
    MemMcGetInfo("MEM_MC_GET_INFO") = 0xC018_4E6F, neuron_ioctl_mem_get_mc_mmap_info;
    /// The chunk around a physical address, with a handle.
    MemMcGetInfoV2("MEM_MC_GET_INFO_V2") = 0xC020_4E6F, neuron_ioctl_mem_get_mc_mmap_info_v2;
    /// The chunks of an HBM, in order of their addresses.
    DumpMemChunks("DUMP_MEM_CHUNKS") = 0x8008_4E74, neuron_ioctl_dump_mem_chunks;
}

impl<'a> MemAlloc<'a> {
    /// Alignment and category of `request` have no place here.
    #[must_use]
    pub fn new(request: &AllocRequest, handle: &'a mut u64) -> Self {
        let mut argument = neuron_ioctl_mem_alloc::zeroed();
        argument.size = request.size;
        argument.host_memory = request.host.into();
        argument.dram_channel = request.channel;
        argument.nc_id = request.nc_id;
        argument.mem_handle = handle;
        Self::from_argument(argument)
    }
}

impl<'a> MemAllocV2<'a> {
    /// The category of `request` has no place here.
    #[must_use]
    pub fn new(request: &AllocRequest, handle: &'a mut u64) -> Self {
        let mut argument = neuron_ioctl_mem_alloc_v2::zeroed();
        argument.size = request.size;
        argument.align = request.align;
        argument.host_memory = request.host.into();
        argument.dram_channel = request.channel;
        argument.nc_id = request.nc_id;
        argument.mem_handle = handle;
        Self::from_argument(argument)
    }
}

impl<'a> MemAllocV2Mt<'a> {
    /// All of `request`.
    #[must_use]
    pub fn new(request: &AllocRequest, handle: &'a mut u64) -> Self {
        let mut argument = neuron_ioctl_mem_alloc_v2_mem_type::zeroed();
        argument.size = request.size;
        argument.align = request.align;
        argument.host_memory = request.host.into();
        argument.dram_channel = request.channel;
        argument.nc_id = request.nc_id;
        argument.mem_type = request.category.into();
        argument.mem_handle = handle;
        Self::from_argument(argument)
    }
}

impl<'a> MemAllocV2Mt64<'a> {
    /// All of `request`.
    #[must_use]
    pub fn new(request: &AllocRequest, handle: &'a mut u64) -> Self {
        let mut argument = neuron_ioctl_mem_alloc_v2_mem_type64::zeroed();
        argument.size = request.size;
        argument.align = request.align;
        argument.host_memory = request.host.into();
        argument.dram_channel = request.channel;
        argument.nc_id = request.nc_id;
        argument.mem_type = request.category.into();
        argument.mem_handle = handle;
        Self::from_argument(argument)
    }
}

impl MemFree<'_> {
    /// Frees `handle`.
    #[must_use]
    pub const fn new(handle: u64) -> Self {
        Self::from_argument(neuron_ioctl_mem_free { mem_handle: handle })
    }
}

impl<'a> MemGetPa<'a> {
    /// Asks for the address of `handle`.
    #[must_use]
    pub const fn new(handle: u64, pa: &'a mut u64) -> Self {
        Self::from_argument(neuron_ioctl_mem_get_pa { mem_handle: handle, pa })
    }
}

impl<'a> MemGetInfo<'a> {
    /// Asks for mapping offset and address of `handle`.
    #[must_use]
    pub const fn new(handle: u64, mmap_offset: &'a mut u64, pa: &'a mut u64) -> Self {
        Self::from_argument(neuron_ioctl_mem_get_info { mem_handle: handle, mmap_offset, pa })
    }
}

impl MemGetExtendedInfo<'_> {
    /// Asks about `handle`.
    #[must_use]
    pub fn new(handle: u64) -> Self {
        let mut argument = neuron_ioctl_mem_get_extended_info::zeroed();
        argument.mem_handle = handle;
        Self::from_argument(argument)
    }
}

impl MemMcGetInfo<'_> {
    /// Asks for the chunk around `pa`.
    #[must_use]
    pub fn new(pa: u64) -> Self {
        let mut argument = neuron_ioctl_mem_get_mc_mmap_info::zeroed();
        argument.pa = pa;
        Self::from_argument(argument)
    }
}

impl MemMcGetInfoV2<'_> {
    /// Asks for the chunk around `pa`. Makes a handle for any chunk, other processes' included.
    #[must_use]
    pub fn new(pa: u64) -> Self {
        let mut argument = neuron_ioctl_mem_get_mc_mmap_info_v2::zeroed();
        argument.pa = pa;
        Self::from_argument(argument)
    }
}

impl<'a> DumpMemChunks<'a> {
    /// Lists the chunks of HBM `channel` into `chunks`.
    #[must_use]
    pub fn new(channel: u32, chunks: &'a mut [neuron_ioctl_mem_chunk_info]) -> Self {
        let mut argument = neuron_ioctl_dump_mem_chunks::zeroed();
        argument.hbm_index = channel;
        argument.num_entries_in = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        argument.data = chunks.as_mut_ptr();
        Self::from_argument(argument)
    }
}
