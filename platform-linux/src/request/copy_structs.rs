//! Structs of copies (fact sheet `driver-abi` §13), as the driver reads and writes them.
#![allow(non_camel_case_types)]

use core::ffi::c_void;

use nrt_core::abi::neuron_memcpy_batch_t;
use nrt_core::abi_struct;

abi_struct! {
    /// Copies between chunks, 32-bit sizes.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_copy: size 32, align 8 {
        /// Source.
        @0 pub src_mem_handle: u64,
        /// Destination.
        @8 pub dst_mem_handle: u64,
        /// Bytes.
        @16 pub size: u32,
        /// Start in the source, in bytes.
        @20 pub src_offset: u32,
        /// Start in the destination, in bytes.
        @24 pub dst_offset: u32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
    }

    /// Copies between chunks.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_copy64: size 40, align 8 {
        /// Source.
        @0 pub src_mem_handle: u64,
        /// Destination.
        @8 pub dst_mem_handle: u64,
        /// Bytes.
        @16 pub size: u64,
        /// Start in the source, in bytes.
        @24 pub src_offset: u64,
        /// Start in the destination, in bytes.
        @32 pub dst_offset: u64,
    }

    /// Starts a copy between chunks, 32-bit sizes.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_copy_async: size 48, align 8 {
        /// Source.
        @0 pub src_mem_handle: u64,
        /// Destination.
        @8 pub dst_mem_handle: u64,
        /// Bytes.
        @16 pub size: u32,
        /// Start in the source, in bytes.
        @20 pub src_offset: u32,
        /// Start in the destination, in bytes.
        @24 pub dst_offset: u32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
        /// User address whose pages are touched in advance, 0 for none.
        @32 pub host_prefetch_addr: u64,
        /// Earlier copy to wait for.
        @40 pub pwait_handle: u32,
        /// Out: handle of the copy that was started.
        @44 pub wait_handle: u32,
    }

    /// Starts a copy between chunks.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_copy_async64: size 56, align 8 {
        /// Source.
        @0 pub src_mem_handle: u64,
        /// Destination.
        @8 pub dst_mem_handle: u64,
        /// Bytes.
        @16 pub size: u64,
        /// Start in the source, in bytes.
        @24 pub src_offset: u64,
        /// Start in the destination, in bytes.
        @32 pub dst_offset: u64,
        /// User address whose pages are touched in advance, 0 for none.
        @40 pub host_prefetch_addr: u64,
        /// Earlier copy to wait for.
        @48 pub pwait_handle: u32,
        /// Out: handle of the copy that was started.
        @52 pub wait_handle: u32,
    }

    /// Waits for a copy.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_copy_async_wait: size 24, align 8 {
        /// Source.
        @0 pub src_mem_handle: u64,
        /// Destination.
        @8 pub dst_mem_handle: u64,
        /// Earlier copy to wait for.
        @16 pub pwait_handle: u32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
    }

    /// Copies between a buffer and a chunk, 32-bit sizes.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_buf_copy: size 32, align 8 {
        /// Handle.
        @0 pub mem_handle: u64,
        /// Memory of the caller.
        @8 pub buffer: *mut c_void,
        /// Bytes.
        @16 pub size: u32,
        /// Start in the chunk, in bytes.
        @20 pub offset: u32,
        /// 1 into the chunk, 0 out of it.
        @24 pub copy_to_mem_handle: u32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
    }

    /// Copies between a buffer and a chunk.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_buf_copy64: size 40, align 8 {
        /// Handle.
        @0 pub mem_handle: u64,
        /// Memory of the caller.
        @8 pub buffer: *mut c_void,
        /// Bytes.
        @16 pub size: u64,
        /// Start in the chunk, in bytes.
        @24 pub offset: u64,
        /// 1 into the chunk, 0 out of it.
        @32 pub copy_to_mem_handle: u32,
        /// Alignment.
        @36 pub pad_24: [u8; 4],
    }

    /// Copies between a buffer and a chunk without bouncing. Since driver 2.25.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_buf_copy64zc: size 48, align 8 {
        /// Handle.
        @0 pub mem_handle: u64,
        /// Memory of the caller.
        @8 pub buffer: *mut c_void,
        /// Bytes.
        @16 pub size: u64,
        /// Start in the chunk, in bytes.
        @24 pub offset: u64,
        /// 1 into the chunk, 0 out of it.
        @32 pub is_copy_to_device: u32,
        /// Writes of at most this many bytes may go through the PCI window.
        @36 pub bar4_wr_threshold: u32,
        /// Queue, −1 for the default one.
        @40 pub h2t_qid: i32,
        /// Unused.
        @44 pub dummy: u32,
    }

    /// Copies many pieces without bouncing. Since driver 2.25.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_buf_copy64zc_batches: size 32, align 8 {
        /// Unused.
        @0 pub sequence_num: u64,
        /// First batch.
        @8 pub batches_ptr: *mut neuron_memcpy_batch_t,
        /// Number of batches.
        @16 pub num_batches: u32,
        /// 1 into the chunk, 0 out of it.
        @20 pub is_copy_to_device: u16,
        /// Alignment.
        @22 pub pad_16: [u8; 2],
        /// Queue, −1 for the default one.
        @24 pub h2t_qid: i32,
        /// Unused.
        @28 pub flags: u16,
        /// Alignment.
        @30 pub pad_1e: [u8; 2],
    }

    /// Fills, 32-bit size.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_memset: size 24, align 8 {
        /// Handle.
        @0 pub mem_handle: u64,
        /// Start in the chunk, in bytes.
        @8 pub offset: u64,
        /// Fill byte in the low 8 bits.
        @16 pub value: u32,
        /// Bytes.
        @20 pub size: u32,
    }

    /// Fills.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct neuron_ioctl_memset64: size 32, align 8 {
        /// Handle.
        @0 pub mem_handle: u64,
        /// Start in the chunk, in bytes.
        @8 pub offset: u64,
        /// Fill byte in the low 8 bits.
        @16 pub value: u32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
        /// Bytes.
        @24 pub size: u64,
    }
}
