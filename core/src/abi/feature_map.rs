//! Tensor sets and the tensors a model declares (fact sheet `tensor` §10).

use super::{ht_node_t, nrt_tensor_t};

abi_struct! {
    /// One named tensor of a tensor set (fact sheet `tensor` §10).
    #[repr(C)]
    pub struct kbl_feature_map_t: size 56, align 8 {
        /// The tensor.
        @0 pub tensor: *mut nrt_tensor_t,
        /// Node in the set, keyed by name.
        @8 pub ht_node: ht_node_t,
    }

    /// A tensor set: a hash table whose payload is [`kbl_feature_map_t`] (fact sheet `tensor` §10).
    #[repr(C)]
    pub struct kbl_feature_map_set_t: size 32, align 8 {
        /// Buckets, a power of two.
        @0 pub size: u64,
        /// `size` − 1.
        @8 pub size_mask: u64,
        /// Tensors in the set.
        @16 pub count: u64,
        /// Called for each node when the set is destroyed.
        @24 pub free_node_fn: Option<unsafe extern "C" fn(*mut ht_node_t)>,
        /// Heads of the buckets, `size` of them.
        @32 pub nodes: [ht_node_t; 0],
    }

    /// One input or output a model declares (fact sheet `tensor` §10).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct kbl_fmap_t: size 272, align 8 {
        /// Name of the tensor, NUL-terminated.
        @0 pub name: [u8; 256],
        /// Least size of the tensor in bytes.
        @256 pub size: u64,
        /// Variable the tensor is bound to.
        @264 pub var_id: u32,
        /// Alignment.
        @268 pub pad_10c: [u8; 4],
    }

    /// The inputs or outputs a model declares (fact sheet `model-db` §4).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct kbl_fmap_set_t: size 16, align 8 {
        /// The declarations.
        @0 pub fmaps: *mut kbl_fmap_t,
        /// Entries in `fmaps`.
        @8 pub n: u32,
        /// Alignment.
        @12 pub pad_c: [u8; 4],
    }
}
