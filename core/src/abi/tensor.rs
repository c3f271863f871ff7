//! Tensors and the structs of their public calls (fact sheets `tensor` §3, §4 and `nrt-api` §3).

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use super::{dmem_t, nrt_tensor_mem_type_t, pthread_cond_t, pthread_mutex_t};

abi_struct! {
    /// A view of tensor storage (fact sheet `tensor` §3). Bytes the original leaves unused carry the links of our
    /// pool.
    #[repr(C, align(64))]
    pub struct nrt_tensor_t: size 192, align 64 {
        /// Name of the tensor, NUL-terminated.
        @0 pub name: *mut c_char,
        /// Storage behind the view, null until one is attached.
        @8 pub sto: AtomicPtr<nrt_tensor_storage_t>,
        /// Start of the view in its storage, in bytes.
        @16 pub _offset: AtomicUsize,
        /// Length of the view in bytes.
        @24 pub _size: AtomicUsize,
        /// Slot for the owner's metadata.
        @32 pub extra: *mut c_void,
        /// Free-list link of the pool slot.
        @40 pub spare_28_link: AtomicU32,
        /// Generation of the pool slot; makes a stale handle detectable.
        @44 pub spare_2c_generation: AtomicU32,
        /// Alignment.
        @48 pub pad_30: [u8; 16],
        /// References to the view; starts at 1.
        @64 pub ref_count: AtomicU64,
        /// Alignment.
        @72 pub pad_48: [u8; 56],
        /// How often the tensor was completed as an output; 0 = not yet.
        @128 pub output_completion_count: AtomicU64,
        /// Alignment.
        @136 pub pad_88: [u8; 56],
    }

    /// The memory behind one or more tensors (fact sheet `tensor` §4).
    #[repr(C, align(64))]
    pub struct nrt_tensor_storage_t: size 320, align 64 {
        /// HBM channel, `u32::MAX` without device memory.
        @0 pub hbm_idx: u32,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Bytes of the storage.
        @8 pub allocated_size: usize,
        /// Kind of the memory; selects the arm of `mem`.
        @16 pub r#type: nrt_tensor_mem_type_t,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
        /// The memory itself.
        group @24 pub mem: nrt_tensor_storage_t_mem,
        /// Alignment.
        @32 pub pad_20: [u8; 32],
        /// Tensors that share the storage.
        @64 pub ref_count: AtomicU64,
        /// Whether the storage is released with its last tensor.
        @72 pub mem_owned_by_tensor: bool,
        /// Alignment.
        @73 pub pad_49: [u8; 7],
        /// Guards the two fence counters.
        @80 pub tensor_op_cv_lock: pthread_mutex_t,
        /// Signalled when a fence counter reaches 0.
        @120 pub tensor_op_cv: pthread_cond_t,
        /// Alignment.
        @168 pub pad_a8: [u8; 24],
        /// Requests in flight that read the storage.
        @192 pub pending_exec_count_read: AtomicU64,
        /// Alignment.
        @200 pub pad_c8: [u8; 56],
        /// Requests in flight that write the storage.
        @256 pub pending_exec_count_write: AtomicU64,
        /// Logical core the storage belongs to, −1 = none.
        @264 pub vtpb_idx: i32,
        /// Alignment.
        @268 pub pad_10c: [u8; 52],
    }
    paths {
        @24 mem.dmem: *mut dmem_t,
        @24 mem.vmem: *mut u8,
    }

    /// A list of tensors (fact sheet `nrt-api` §3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrt_tensor_list_t: size 16, align 8 {
        /// Array of tensor pointers.
        @0 pub tensors: *mut *mut nrt_tensor_t,
        /// Entries in `tensors`.
        @8 pub num_tensors: usize,
    }

    /// One piece of a batch transfer (fact sheet `nrt-api` §3); the driver reads the same bytes.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrt_tensor_batch_op_t: size 24, align 8 {
        /// Start in the tensor, in bytes.
        @0 pub offset: u64,
        /// Bytes to move.
        @8 pub size: u64,
        /// Host memory to read or write.
        @16 pub buffer: *mut c_void,
    }

    /// The pieces of one tensor in a batch transfer (fact sheet `nrt-api` §3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrt_tensor_batch_t: size 24, align 8 {
        /// Tensor to read or write.
        @0 pub tensor: *mut nrt_tensor_t,
        /// The pieces.
        @8 pub ops: *mut nrt_tensor_batch_op_t,
        /// Entries in `ops`.
        @16 pub num_ops: u32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
    }

    /// Where a tensor lives on its device (fact sheet `nrt-api` §3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrt_tensor_device_allocation_info_t: size 24, align 8 {
        /// Physical address of the first byte.
        @0 pub physical_address: u64,
        /// Bytes allocated, at least the size of the tensor.
        @8 pub size: usize,
        /// HBM channel.
        @16 pub hbm_index: i32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
    }

    /// Memory of one logical core (fact sheet `nrt-api` §3); later versions may append fields.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrt_vnc_memory_stats_t: size 16, align 8 {
        /// Bytes in use.
        @0 pub bytes_used: usize,
        /// Bytes the core can use at most.
        @8 pub bytes_limit: usize,
    }
}

/// The memory of a storage; [`nrt_tensor_storage_t::type`] selects the arm.
#[derive(Clone, Copy)]
#[repr(C)]
pub union nrt_tensor_storage_t_mem {
    /// Device or pinned host memory, for DMA storage.
    pub dmem: *mut dmem_t,
    /// Host memory, for MALLOC storage; null for FAKE.
    pub vmem: *mut u8,
}
