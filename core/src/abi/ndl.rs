//! Structs of the user-side driver library (fact sheet `nrt-api` §8).

use core::ffi::c_void;

use super::{nrt_tensor_batch_op_t, pthread_mutex_t};

abi_struct! {
    /// What a memory handle points to (fact sheet `nrt-api` §8).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ndl_mem_info_t: size 64, align 8 {
        /// Device the memory belongs to.
        @0 pub device: *mut ndl_device_t,
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

    /// Bounce buffer of one core (fact sheet `nrt-api` §8): 2 MiB of pinned host memory.
    #[repr(C)]
    pub struct ndl_copy_buf_t: size 56, align 8 {
        /// Handle of the buffer's memory.
        @0 pub mem_handle: u64,
        /// Mapping of the buffer in this process.
        @8 pub mmap_va: *mut c_void,
        /// Held while a copy uses the buffer.
        @16 pub lock: pthread_mutex_t,
    }

    /// Device object of the user-side driver library (fact sheet `nrt-api` §8), followed by the library's private
    /// bytes.
    #[repr(C)]
    pub struct ndl_device_t: size 632, align 8 {
        /// Number of the device node.
        @0 pub device_index: u8,
        /// Architecture of the device.
        @1 pub device_type: u8,
        /// Board revision.
        @2 pub device_revision: u16,
        /// Entries in use in `connected_devices`.
        @4 pub connected_device_count: u8,
        /// Numbers of the neighbouring devices.
        @5 pub connected_devices: [u8; 64],
        /// Alignment.
        @69 pub pad_45: [u8; 3],
        /// Mappings of BAR 0 and BAR 2, null while unmapped.
        @72 pub csr_base: [*mut c_void; 2],
        /// Bytes of each mapping.
        @88 pub csr_size: [u64; 2],
        /// Bounce buffers, one a core.
        @104 pub cpy_bufs: [ndl_copy_buf_t; 8],
        /// Mapping of each HBM, null while unmapped.
        @552 pub hbm_va: [*mut c_void; 4],
        /// Bytes of one HBM.
        @584 pub hbm_size: usize,
        /// Entries in use in `hbm_va`.
        @592 pub hbm_va_cnt: u32,
        /// Base-two logarithm of `hbm_size`.
        @596 pub shift_hbm_size: u32,
        /// Offset of each HBM in the device's address space.
        @600 pub hbm_offset: [u64; 4],
        /// Private bytes of the library; the first four are the file descriptor.
        @632 pub context: [u8; 0],
    }

    /// The pieces of one memory handle in a batch copy (fact sheet `dmem` §2.6); the driver reads the same bytes.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_memcpy_batch_t: size 40, align 8 {
        /// Handle of the memory to read or write.
        @0 pub mem_handle: u64,
        /// Start in the memory, in bytes, added to each piece's offset.
        @8 pub mem_handle_offset: u64,
        /// The pieces.
        @16 pub ops_ptr: *mut nrt_tensor_batch_op_t,
        /// Entries in `ops_ptr`.
        @24 pub num_ops: u32,
        /// Writes of at most this many bytes go through the mapped window instead of the copy engine.
        @28 pub bar4_wr_threshold: u16,
        /// Flags of the batch; none documented.
        @30 pub flags: u16,
        /// Value the caller gets back with the completion.
        @32 pub context: *mut c_void,
    }
}
