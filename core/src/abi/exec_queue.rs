//! The execution queue of a core (fact sheet `context-tree` §6).

use core::sync::atomic::AtomicU64;

use super::{dma_queue_info_t, dmem_t, exec_req_tpb_config_t, physical_core_t, pthread_mutex_t};

abi_struct! {
    /// Software's view of one descriptor ring (fact sheet `context-tree` §6).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct sw_dma_queue: size 12, align 4 {
        /// Descriptor to write next.
        @0 pub next_desc_idx: u32,
        /// Ring the descriptors go to.
        @4 pub desc_ring_id: u32,
        /// Descriptors in the ring.
        @8 pub desc_count: u32,
    }

    /// Hashes of the tables the last request loaded (fact sheet `context-tree` §6).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct act_dve_table_hash: size 64, align 1 {
        /// Hash of the activation tables.
        @0 pub act_hash: [u8; 32],
        /// Hash of the vector engine's tables.
        @32 pub dve_hash: [u8; 32],
    }

    /// Execution queue of one core (fact sheet `context-tree` §6).
    #[repr(C)]
    pub struct hw_exec_queue_t: size 224, align 8 {
        /// Descriptor queue that starts requests.
        @0 pub model_exec_desc_q: *mut dma_queue_info_t,
        /// Transmit side of the queue.
        @8 pub txq: sw_dma_queue,
        /// Receive side of the queue.
        @20 pub rxq: sw_dma_queue,
        /// Held while a logical core is prepared and started; that of its first core serves all.
        @32 pub compute_req_lock: pthread_mutex_t,
        /// Ticket that may run now.
        @72 pub compute_idx_head: AtomicU64,
        /// Ticket the next request takes.
        @80 pub compute_idx_tail: AtomicU64,
        /// Core the queue belongs to.
        @88 pub pcore: *mut physical_core_t,
        /// Memory of the request table.
        @96 pub req_buf: *mut dmem_t,
        /// Tables the last request loaded.
        @104 pub last_exec_req_tbl_hashes: act_dve_table_hash,
        /// Flags of the last request.
        @168 pub last_exec_req_flags: exec_req_tpb_config_t,
        /// Alignment.
        @220 pub pad_dc: [u8; 4],
    }
}
