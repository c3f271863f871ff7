//! What the pools hold: a byte-exact struct each, and beside it what only this implementation needs.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use super::Slot;
use crate::abi::{
    dma_mem_log_entry_t, dmem_allocator_t, dmem_list_t, dmem_ref_node_t, dmem_t, ht_node_t, ht_t, kbl_feature_map_t, kbl_fmap_t,
    mem_ref_t, model_t, ndl_copy_buf_t, ndl_device_t, ndl_mem_info_t, nrt_tensor_storage_t, nrt_tensor_t, pthread_mutex_t,
    tdrv_scratchpad_cleanup_info_t, ucode_lib_info_t, ucode_lib_set_info_t,
};
use crate::sync::Stripe;

/// Devices of a process.
pub(crate) const MAX_DEVICES: usize = 32;
/// Cores of a device in the tree.
pub(crate) const MAX_CORES_PER_DEVICE: usize = 8;
/// Physical cores of a process.
pub(crate) const MAX_CORES: usize = MAX_DEVICES * MAX_CORES_PER_DEVICE;
/// Physical cores of one logical core.
pub(crate) const MAX_CORES_PER_VCORE: usize = 2;
/// Buckets of a model database.
pub(crate) const MODEL_DB_BUCKETS: usize = 256;
/// Buckets of a mem_ref index.
pub(crate) const MEM_REF_BUCKETS: usize = 0x400;
/// Inputs plus outputs of one model on one core.
pub(crate) const MAX_FEATURE_MAPS: usize = 32;
/// Microcode libraries of a set: the base and eight more.
pub(crate) const MAX_UCODE_LIBRARIES: usize = 9;
/// Functions of a set on one pool core.
pub(crate) const MAX_UCODE_FUNCTIONS: usize = 28;
/// Functions of a set: rows of its device table.
pub(crate) const MAX_UCODE_ROWS: usize = 97;
/// Bytes of a model's name.
pub(crate) const MAX_MODEL_NAME: usize = 255;
/// Bytes of the text beside a ring entry, NUL included.
pub(crate) const RING_TEXT: usize = 32;

/// Free-list words of slots whose struct has no spare bytes.
#[repr(C)]
pub(crate) struct Meta {
    link: AtomicU32,
    generation: AtomicU32,
}

macro_rules! slot_with_meta {
    ($slot:ty) => {
        // SAFETY: `meta` is used by nothing else, and no code writes a slot in bulk.
        unsafe impl Slot for $slot {
            #[inline]
            fn link(&self) -> &AtomicU32 {
                &self.meta.link
            }
            #[inline]
            fn generation(&self) -> &AtomicU32 {
                &self.meta.generation
            }
        }
    };
}

/// A node and the driver's description of its memory: 256 bytes, so that neither shares a cache line with a neighbour.
#[repr(C, align(64))]
pub(crate) struct NodeSlot {
    pub(crate) dmem: dmem_t,
    pub(crate) range: ndl_mem_info_t,
}

const _: () = assert!(size_of::<NodeSlot>() == 256);

// SAFETY: the two words are spare bytes of `dmem_t` behind its last documented field; nodes are written field by field.
unsafe impl Slot for NodeSlot {
    #[inline]
    fn link(&self) -> &AtomicU32 {
        &self.dmem.spare_b0_link
    }
    #[inline]
    fn generation(&self) -> &AtomicU32 {
        &self.dmem.spare_b4_generation
    }
}

/// An entry of a group list.
#[repr(C)]
pub(crate) struct GroupSlot {
    pub(crate) entry: dmem_ref_node_t,
    meta: Meta,
}
slot_with_meta!(GroupSlot);

/// The index of a model's variables: header and buckets in one block, as one `calloc` would give them.
#[repr(C)]
pub(crate) struct MemRefTable {
    pub(crate) table: ht_t,
    pub(crate) buckets: [ht_node_t; MEM_REF_BUCKETS],
}

/// Words that count references to a model beside the documented one, where they are striped.
pub(crate) const COUNT_STRIPES: usize = 7;

/// One model on one core, and everything the load allocates for it on the host.
#[repr(C, align(64))]
pub(crate) struct ModelSlot {
    pub(crate) model: model_t,
    pub(crate) allocator: dmem_allocator_t,
    pub(crate) mem_refs: MemRefTable,
    pub(crate) feature_maps: [kbl_fmap_t; MAX_FEATURE_MAPS],
    pub(crate) cleanup: tdrv_scratchpad_cleanup_info_t,
    pub(crate) group: dmem_list_t,
    /// Libraries of its own.
    pub(crate) ulib: UlibSlot,
    pub(crate) io_names: IoNameTable,
    pub(crate) io_name_entries: [IoName; MAX_FEATURE_MAPS],
    /// Memory of the pointer variables, if one of them points to an input or output.
    pub(crate) io_pointers: *mut dmem_t,
    /// Logical core of the model.
    pub(crate) vnc: AtomicU32,
    /// Physical core of the logical core.
    pub(crate) relative: AtomicU32,
    /// Whose microcode libraries the model uses: see `ulib::user`.
    pub(crate) uses_ulib: AtomicU32,
    meta: Meta,
    /// References counted beside `model.ref_count`; 0 unless the runtime stripes them. Never reset.
    pub(crate) stripes: [Stripe<AtomicU64>; COUNT_STRIPES],
}
slot_with_meta!(ModelSlot);

/// Buckets of the map from input or output variable to name.
pub(crate) const IO_NAME_BUCKETS: usize = 32;

/// The map from the variables of inputs and outputs to their names: header and buckets in one block.
#[repr(C)]
pub(crate) struct IoNameTable {
    pub(crate) table: ht_t,
    pub(crate) buckets: [ht_node_t; IO_NAME_BUCKETS],
}

/// An entry of that map. The original's layout is not documented apart from what it holds.
#[repr(C)]
pub(crate) struct IoName {
    /// In the declaration of the input or output.
    pub(crate) name: *const u8,
    pub(crate) is_input: bool,
    pub(crate) node: ht_node_t,
}

/// Bytes of a variable name, NUL included.
pub(crate) const MEM_REF_NAME: usize = 64;

/// One placed variable of a model.
#[repr(C)]
pub(crate) struct MemRefSlot {
    pub(crate) mem_ref: mem_ref_t,
    pub(crate) name: [u8; MEM_REF_NAME],
    meta: Meta,
}
slot_with_meta!(MemRefSlot);

/// Bytes of a tensor name, NUL included.
pub(crate) const TENSOR_NAME: usize = 256;

/// A tensor view and its name.
#[repr(C, align(64))]
pub(crate) struct TensorSlot {
    pub(crate) tensor: nrt_tensor_t,
    pub(crate) name: [u8; TENSOR_NAME],
}

// SAFETY: the two words are spare bytes of `nrt_tensor_t` in front of its first counter; views are written by field.
unsafe impl Slot for TensorSlot {
    #[inline]
    fn link(&self) -> &AtomicU32 {
        &self.tensor.spare_28_link
    }
    #[inline]
    fn generation(&self) -> &AtomicU32 {
        &self.tensor.spare_2c_generation
    }
}

/// Buckets of a tensor set.
pub(crate) const SET_BUCKETS: usize = 0x400;
/// Tensor sets of a runtime.
pub(crate) const MAX_TENSOR_SETS: usize = 256;

/// A tensor set: header and buckets in one block, and the lock of its chains.
#[repr(C)]
pub(crate) struct SetSlot {
    pub(crate) table: ht_t,
    pub(crate) buckets: [ht_node_t; SET_BUCKETS],
    pub(crate) lock: pthread_mutex_t,
    meta: Meta,
}
slot_with_meta!(SetSlot);

/// A name in a tensor set. The plain fields are read and written under the set's lock.
#[repr(C)]
pub(crate) struct SetEntrySlot {
    pub(crate) map: kbl_feature_map_t,
    pub(crate) name: [u8; TENSOR_NAME],
    /// Life of the tensor that `map` points to.
    pub(crate) tensor_life: u32,
    meta: Meta,
}
slot_with_meta!(SetEntrySlot);

/// The backing of one or more views.
#[repr(C, align(64))]
pub(crate) struct StorageSlot {
    pub(crate) storage: nrt_tensor_storage_t,
    meta: Meta,
}
slot_with_meta!(StorageSlot);

/// The model database of one core: sequence word in front, then header and buckets in one block.
#[repr(C, align(64))]
pub(crate) struct ModelDb {
    /// Odd while a writer changes the chains.
    pub(crate) sequence: AtomicU64,
    pub(crate) table: ht_t,
    pub(crate) buckets: [ht_node_t; MODEL_DB_BUCKETS],
}

/// A set of microcode libraries: the one that all models of a SUNDA core share, or a model's own.
#[repr(C)]
pub(crate) struct UlibSlot {
    pub(crate) set: ucode_lib_set_info_t,
    pub(crate) libs: [ucode_lib_info_t; MAX_UCODE_LIBRARIES],
    /// Functions of all libraries, in memory of the tables; null = none.
    pub(crate) functions: *mut u8,
}

/// What one core needs beyond its `tpb_t`. The plain words are read and written under the core's memory lock only; they
/// are atomics so that a report may look at them without it.
#[repr(C, align(64))]
pub(crate) struct CoreSide {
    /// Freed nodes kept back for this core: index + 1 of the top, linked through the nodes.
    pub(crate) magazine: AtomicU32,
    pub(crate) magazine_len: AtomicU32,
    /// Nodes of this core in use.
    pub(crate) live_nodes: AtomicU32,
    /// Ranges the driver refused to take back. Their nodes are linked through `next`, unless there was none left.
    pub(crate) quarantined: AtomicU32,
    pub(crate) quarantine: AtomicPtr<dmem_t>,
    /// Places of this core in the records of its device, null until it is initialised: its row of the ledger, by usage and in all,
    /// and its bounce buffer.
    pub(crate) usage_row: AtomicPtr<[AtomicUsize; 23]>,
    pub(crate) cpy_buf: AtomicPtr<ndl_copy_buf_t>,
    /// Device bytes this core holds, per HBM channel.
    pub(crate) channel_bytes: [AtomicU64; 4],
    /// Events ever written to this core's segment of its device's event ring.
    pub(crate) ring_written: AtomicU64,
    /// First entry of that segment in the ring, and its length; written during init only.
    pub(crate) ring_start: AtomicU32,
    pub(crate) ring_len: AtomicU32,
    /// Entries from the next event's to the end of the segment.
    pub(crate) ring_left: AtomicU32,
    /// The entry that the next event gets, and what is beside it; null without a segment.
    pub(crate) ring_entry: AtomicPtr<dma_mem_log_entry_t>,
    pub(crate) ring_note: AtomicPtr<RingNote>,
    /// Bytes the driver refused to take back.
    pub(crate) quarantined_bytes: AtomicU64,
    /// Mappings the driver refused to remove although another one took their place.
    pub(crate) lost_mappings: AtomicU32,
    /// Thread that executes on this core, or 0.
    pub(crate) running_thread: AtomicU64,
    /// Thread that copies through this core's bounce buffer, or 0.
    pub(crate) copying_thread: AtomicU64,
    /// Bit h set: a copy with wait handle h may still be in flight, left behind by a transfer that failed. Under the lock of
    /// the copy buffer.
    pub(crate) unsettled_copies: AtomicU32,
    /// Models that use the core's shared microcode library. Under the staging lock.
    pub(crate) ulib_users: AtomicU32,
}

/// What one device needs beyond its `mla_t`.
#[repr(C, align(64))]
pub(crate) struct DeviceSide {
    pub(crate) device: ndl_device_t,
    /// The bounce buffers behind `device.cpy_bufs`.
    pub(crate) bounce: [ndl_mem_info_t; MAX_CORES_PER_DEVICE],
    /// Numbers the events of all segments where the platform has no clock for them.
    pub(crate) ring_sequence: AtomicU64,
}

/// The event ring of one device, cut into one segment per core.
#[derive(Clone, Copy)]
pub(crate) struct Ring {
    pub(crate) entries: NonNull<dma_mem_log_entry_t>,
    pub(crate) notes: NonNull<RingNote>,
    pub(crate) len: u32,
}

/// What belongs to a ring entry and has no place in its 64 bytes.
#[repr(C)]
pub(crate) struct RingNote {
    /// When the event happened: the clock of the platform's hooks, or a number that the device's cores share.
    pub(crate) stamp: u64,
    /// Bytes the core held on the event's HBM channel before the event, and after it; 0 for host memory.
    pub(crate) held: [u64; 2],
    /// Copy of the hint, NUL-terminated; the entry's `hint` points here.
    pub(crate) text: [u8; RING_TEXT],
}
