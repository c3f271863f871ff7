//! Counts of descriptors by block and function (fact sheet `model-db` §1.4).

use super::{ht_node_t, ht_t};

abi_struct! {
    /// Descriptor counts under one name (fact sheet `model-db` §1.4).
    #[repr(C)]
    pub struct dbtc_node_t: size 336, align 8 {
        /// Name, NUL-terminated; key of the outer table.
        @0 pub name: [u8; 276],
        /// Alignment.
        @276 pub pad_114: [u8; 4],
        /// Counts by [`dbtc_child_key`].
        @280 pub child: *mut ht_t,
        /// Node in the outer table.
        @288 pub ht_node: ht_node_t,
    }

    /// Key of the counts under one name; all bytes are hashed (fact sheet `model-db` §1.4).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct dbtc_child_key: size 260, align 4 {
        /// Block of the program.
        @0 pub block_id: u32,
        /// Function, NUL-terminated and padded with zeroes.
        @4 pub function_name: [u8; 256],
    }

    /// Descriptors one block needs on each of 16 engines (fact sheet `model-db` §1.4).
    #[repr(C)]
    pub struct dbtc_desc_count_t: size 240, align 8 {
        /// Descriptors from memory to stream.
        @0 pub m2s: [u32; 16],
        /// Descriptors from stream to memory.
        @64 pub s2m: [u32; 16],
        /// Packets.
        @128 pub packets: [u32; 16],
        /// Node in the inner table.
        @192 pub ht_node: ht_node_t,
    }
}
