//! The intrusive hash table (fact sheet `model-db` §1).

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU64};

use super::ht_key_type_t;

abi_struct! {
    /// Intrusive node of the hash table, embedded in the payload (fact sheet `model-db` §1.2).
    #[repr(C)]
    pub struct ht_node_t: size 48, align 8 {
        /// Integer key, or hash of the name or buffer.
        @0 pub key: AtomicU64,
        /// Name, buffer or value.
        group @8 pub val: ht_node_t_val,
        /// Bytes in `val.buf`.
        @16 pub buf_size: usize,
        /// Index of the bucket the node is linked in.
        @24 pub bucket: u64,
        /// Kind of the key.
        @32 pub key_type: ht_key_type_t,
        /// Alignment.
        @36 pub pad_24: [u8; 4],
        /// Next node of the same bucket.
        @40 pub next: AtomicPtr<ht_node_t>,
    }
    paths {
        @8 val.name: *mut c_char,
        @8 val.buf: *mut c_void,
        @8 val.value: u64,
    }

    /// Header of a hash table, followed by its buckets (fact sheet `model-db` §1.1).
    #[repr(C)]
    pub struct ht_t: size 32, align 8 {
        /// Buckets, a power of two.
        @0 pub size: u64,
        /// `size` − 1.
        @8 pub size_mask: u64,
        /// Live entries.
        @16 pub count: AtomicU64,
        /// Called for each node when the table is destroyed.
        @24 pub free_node_fn: Option<unsafe extern "C" fn(*mut ht_node_t)>,
        /// Heads of the buckets, `size` of them.
        @32 pub nodes: [ht_node_t; 0],
    }
}

/// What a hash-table node carries; [`ht_node_t::key_type`] selects the arm.
#[derive(Clone, Copy)]
#[repr(C)]
pub union ht_node_t_val {
    /// Key text of a name node, NUL-terminated.
    pub name: *mut c_char,
    /// Key bytes of a buffer node.
    pub buf: *mut c_void,
    /// Plain value of an integer node.
    pub value: u64,
}
