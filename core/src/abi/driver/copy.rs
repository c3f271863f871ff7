//! Copies and fills (fact sheet `driver-abi` §13).

use core::ffi::c_void;

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::abi::neuron_memcpy_batch_t;

abi_struct! {
    /// Copy between two memories of a device, below 4 GiB.
    ///
    /// Argument of `MEM_COPY` 0x80084E17. Fact sheet `driver-abi` §13.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_copy: size 32, align 8 {
        /// Handle of the source.
        @0 pub src_mem_handle: u64,
        /// Handle of the destination.
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

    /// Copy between two memories of a device.
    ///
    /// Argument of `MEM_COPY64` 0x80284E17. Fact sheet `driver-abi` §13.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_copy64: size 40, align 8 {
        /// Handle of the source.
        @0 pub src_mem_handle: u64,
        /// Handle of the destination.
        @8 pub dst_mem_handle: u64,
        /// Bytes.
        @16 pub size: u64,
        /// Start in the source, in bytes.
        @24 pub src_offset: u64,
        /// Start in the destination, in bytes.
        @32 pub dst_offset: u64,
    }

    /// Copy that goes on after the call, below 4 GiB.
    ///
    /// Argument of `MEM_COPY_ASYNC` 0xC0304E6C. Fact sheet `driver-abi` §13.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_copy_async: size 48, align 8 {
        /// Handle of the source.
        @0 pub src_mem_handle: u64,
        /// Handle of the destination.
        @8 pub dst_mem_handle: u64,
        /// Bytes.
        @16 pub size: u32,
        /// Start in the source, in bytes.
        @20 pub src_offset: u32,
        /// Start in the destination, in bytes.
        @24 pub dst_offset: u32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
        /// Address in the process to touch before the copy; 0 = none.
        @32 pub host_prefetch_addr: u64,
        /// Wait handle of the request before; 0xFFFFFFFF = there is none, 0 = copy synchronously.
        @40 pub pwait_handle: u32,
        /// Wait handle of this request, 1 or 2; filled in by the driver.
        @44 pub wait_handle: u32,
    }

    /// Copy that goes on after the call; at most 133,169,152 bytes.
    ///
    /// Argument of `MEM_COPY_ASYNC64` 0xC0384E6C. Fact sheet `driver-abi` §13.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_copy_async64: size 56, align 8 {
        /// Handle of the source.
        @0 pub src_mem_handle: u64,
        /// Handle of the destination.
        @8 pub dst_mem_handle: u64,
        /// Bytes.
        @16 pub size: u64,
        /// Start in the source, in bytes.
        @24 pub src_offset: u64,
        /// Start in the destination, in bytes.
        @32 pub dst_offset: u64,
        /// Address in the process to touch before the copy; 0 = none.
        @40 pub host_prefetch_addr: u64,
        /// Wait handle of the request before; 0xFFFFFFFF = there is none, 0 = copy synchronously.
        @48 pub pwait_handle: u32,
        /// Wait handle of this request, 1 or 2; filled in by the driver.
        @52 pub wait_handle: u32,
    }

    /// Wait for a copy that goes on after its call.
    ///
    /// Argument of `MEM_COPY_ASYNC_WAIT` 0x40184E6D. Fact sheet `driver-abi` §13.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_copy_async_wait: size 24, align 8 {
        /// Handle of the source.
        @0 pub src_mem_handle: u64,
        /// Handle of the destination.
        @8 pub dst_mem_handle: u64,
        /// Wait handle of the request, 1 or 2.
        @16 pub pwait_handle: u32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
    }

    /// Fill of a memory, below 4 GiB.
    ///
    /// Argument of `MEMSET` 0x80084E1C. Fact sheet `driver-abi` §13.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_memset: size 24, align 8 {
        /// Handle of the memory.
        @0 pub mem_handle: u64,
        /// Start in the memory, in bytes.
        @8 pub offset: u64,
        /// Byte to write; only the low eight bits count.
        @16 pub value: u32,
        /// Bytes.
        @20 pub size: u32,
    }

    /// Fill of a memory.
    ///
    /// Argument of `MEMSET64` 0x80204E1C. Fact sheet `driver-abi` §13.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_memset64: size 32, align 8 {
        /// Handle of the memory.
        @0 pub mem_handle: u64,
        /// Start in the memory, in bytes.
        @8 pub offset: u64,
        /// Byte to write; only the low eight bits count.
        @16 pub value: u32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
        /// Bytes.
        @24 pub size: u64,
    }

    /// Copy between the caller and a memory, below 4 GiB.
    ///
    /// Argument of `MEM_BUF_COPY` 0xC0084E18. Fact sheet `driver-abi` §13.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_buf_copy: size 32, align 8 {
        /// Handle of the memory.
        @0 pub mem_handle: u64,
        /// Memory of the caller.
        @8 pub buffer: *mut c_void,
        /// Bytes.
        @16 pub size: u32,
        /// Start in the memory, in bytes.
        @20 pub offset: u32,
        /// 1 = from the caller to the memory, 0 = the other way.
        @24 pub copy_to_mem_handle: u32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
    }

    /// Copy between the caller and a memory.
    ///
    /// Argument of `MEM_BUF_COPY64` 0xC0284E18, `MEM_BUF_ZEROCOPY64` 0xC0284E7C (driver 2.24). Fact sheet `driver-abi`
    /// §13.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_buf_copy64: size 40, align 8 {
        /// Handle of the memory.
        @0 pub mem_handle: u64,
        /// Memory of the caller.
        @8 pub buffer: *mut c_void,
        /// Bytes.
        @16 pub size: u64,
        /// Start in the memory, in bytes.
        @24 pub offset: u64,
        /// 1 = from the caller to the memory, 0 = the other way.
        @32 pub copy_to_mem_handle: u32,
        /// Alignment.
        @36 pub pad_24: [u8; 4],
    }

    /// Copy between the caller and a memory without a bounce buffer.
    ///
    /// Argument of `MEM_BUF_ZEROCOPY64` 0xC0304E7C (driver 2.25 and later). Fact sheet `driver-abi` §13; driver 2.25
    /// and later.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_buf_copy64zc: size 48, align 8 {
        /// Handle of the memory.
        @0 pub mem_handle: u64,
        /// Memory of the caller.
        @8 pub buffer: *mut c_void,
        /// Bytes.
        @16 pub size: u64,
        /// Start in the memory, in bytes.
        @24 pub offset: u64,
        /// 1 = from the caller to the memory, 0 = the other way.
        @32 pub is_copy_to_device: u32,
        /// Writes of at most this many bytes go through the mapped window instead of the copy engine.
        @36 pub bar4_wr_threshold: u32,
        /// Copy queue to use; -1 = the default one.
        @40 pub h2t_qid: i32,
        /// Not read.
        @44 pub dummy: u32,
    }

    /// Many copies between the caller and memories in one call.
    ///
    /// Argument of `MEM_BUF_ZEROCOPY64_BATCHES` 0xC0204E81 (driver 2.25 and later). Fact sheet `driver-abi` §13; driver
    /// 2.25 and later.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_mem_buf_copy64zc_batches: size 32, align 8 {
        /// Not read.
        @0 pub sequence_num: u64,
        /// The batches.
        @8 pub batches_ptr: *mut neuron_memcpy_batch_t,
        /// Entries in `batches_ptr`, at least 1.
        @16 pub num_batches: u32,
        /// 1 = from the caller to the memory, 0 = the other way.
        @20 pub is_copy_to_device: u16,
        /// Alignment.
        @22 pub pad_16: [u8; 2],
        /// Copy queue to use; -1 = the default one.
        @24 pub h2t_qid: i32,
        /// Not read.
        @28 pub flags: u16,
        /// Alignment.
        @30 pub pad_1e: [u8; 2],
    }

    /// Write into an on-chip window, as the first drivers know it.
    ///
    /// Argument of `PROGRAM_ENGINE` 0xC0084E1B. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_program_engine: size 24, align 8 {
        /// Address in the device.
        @0 pub dst: u64,
        /// Memory of the caller.
        @8 pub buffer: *mut c_void,
        /// Bytes.
        @16 pub size: u32,
        /// Start at the address, in bytes.
        @20 pub offset: u32,
    }

    /// Write into an on-chip window through the queue of a core, below 4 GiB.
    ///
    /// Argument of `PROGRAM_ENGINE_NC` 0xC0084E69. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_program_engine_nc: size 32, align 8 {
        /// Core within the device, 0..7.
        @0 pub nc_id: u32,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Address in the device.
        @8 pub dst: u64,
        /// Memory of the caller.
        @16 pub buffer: *mut c_void,
        /// Bytes.
        @24 pub size: u32,
        /// Start at the address, in bytes.
        @28 pub offset: u32,
    }

    /// Write into an on-chip window through the queue of a core.
    ///
    /// Argument of `PROGRAM_ENGINE_NC64` 0xC0284E69. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_program_engine_nc64: size 40, align 8 {
        /// Core within the device, 0..7.
        @0 pub nc_id: u32,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Address in the device.
        @8 pub dst: u64,
        /// Memory of the caller.
        @16 pub buffer: *mut c_void,
        /// Bytes.
        @24 pub size: u64,
        /// Start at the address, in bytes.
        @32 pub offset: u64,
    }
}
