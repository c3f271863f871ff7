//! Output of the pooling processors (fact sheet `context-tree` §6).

use super::{dmem_t, physical_core_t};

abi_struct! {
    /// One output ring of a pooling processor (fact sheet `context-tree` §6).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct pool_stdio_queue_t: size 56, align 8 {
        /// Block this ring belongs to.
        @0 pub block: *mut pool_stdio_block_t,
        /// Whether the ring is in use.
        @8 pub initialized: bool,
        /// Alignment.
        @9 pub pad_9: [u8; 3],
        /// Processor that writes the ring, 0..7.
        @12 pub q7_idx: u32,
        /// Entries in the ring, a power of two.
        @16 pub queue_size_entries: u32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
        /// Memory of the ring.
        @24 pub host_queue_dmem: *mut dmem_t,
        /// Where the host publishes its read index.
        @32 pub read_idx_ptr_write_only: *mut u32,
        /// Where the processor publishes its write index.
        @40 pub write_idx_ptr: *mut u32,
        /// Read index as the host counts it.
        @48 pub read_idx_local: u64,
    }

    /// Standard output and error of the pooling processors of a core (fact sheet `context-tree` §6).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct pool_stdio_block_t: size 1176, align 8 {
        /// Name shown before each line, NUL-terminated.
        @0 pub name: [u8; 256],
        /// Whether the block is in use.
        @256 pub initialized: bool,
        /// Alignment.
        @257 pub pad_101: [u8; 7],
        /// Core the block belongs to.
        @264 pub pcore: *mut physical_core_t,
        /// Standard output, one ring a processor.
        @272 pub stdout_queues: [pool_stdio_queue_t; 8],
        /// Standard error, one ring a processor.
        @720 pub stderr_queues: [pool_stdio_queue_t; 8],
        /// Device memory that holds the index words and the table of rings.
        @1168 pub hbm_space_dmem: *mut dmem_t,
    }
}
