//! The usage ledger (fact sheet `dmem` §2.4, §2.5).

use core::ffi::c_char;
use core::sync::atomic::AtomicUsize;

use super::{dma_mem_location_t, dma_mem_usage_type_t, dmem_action, pthread_mutex_t};

abi_struct! {
    /// One allocation or release in the event ring (fact sheet `dmem` §2.5).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct dma_mem_log_entry_t: size 64, align 8 {
        /// What happened.
        @0 pub action: dmem_action,
        /// Host or device memory.
        @4 pub mem_loc: dma_mem_location_t,
        /// What the memory is used for.
        @8 pub mem_usage: dma_mem_usage_type_t,
        /// HBM channel, 0..3.
        @12 pub tdram_channel: u32,
        /// Text that names the memory.
        @16 pub hint: *mut c_char,
        /// Core within the device, 0..7.
        @24 pub nc_idx: u32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
        /// Bytes the caller asked for.
        @32 pub size: usize,
        /// Physical address before `align_offset`.
        @40 pub pa: u64,
        /// Bytes from `pa` to the aligned start.
        @48 pub align_offset: usize,
        /// Bytes in use on the channel after the event; device memory only.
        @56 pub total_mem_used: usize,
    }

    /// Usage ledger of one device: counters and event ring (fact sheet `dmem` §2.4).
    #[repr(C)]
    pub struct dma_mem_log_t: size 1600, align 8 {
        /// Guards counters and ring.
        @0 pub lock: pthread_mutex_t,
        /// Device the ledger belongs to.
        @40 pub mla_idx: u32,
        /// Alignment.
        @44 pub pad_2c: [u8; 4],
        /// Capacity of the ring, in entries.
        @48 pub max_entries: usize,
        /// Live entries, at most `max_entries`.
        @56 pub entry_count: AtomicUsize,
        /// Slot the next event goes to.
        @64 pub next_entry_idx: AtomicUsize,
        /// Events that were overwritten.
        @72 pub entries_dropped: AtomicUsize,
        /// Bytes in use per HBM channel.
        @80 pub memory_usage: [AtomicUsize; 4],
        /// Bytes in use per core and usage; column 22 is the total of the core.
        @112 pub memory_usage_nc: [[AtomicUsize; 23]; 8],
        /// The ring.
        @1584 pub entries: *mut dma_mem_log_entry_t,
        /// Whether reports show one column a usage instead of aggregates.
        @1592 pub verbose_log_dev_mem: bool,
        /// Alignment.
        @1593 pub pad_639: [u8; 7],
    }
}
