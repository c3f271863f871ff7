//! Notification queues and output rings as device and host see them (fact sheet `context-tree` §6).

use core::ffi::c_void;

abi_struct! {
    /// Software's mirror of one notification ring (fact sheet `context-tree` §6). No source gives its size: it is at
    /// least this.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct aws_hal_ens_nq: size 336, align 8 {
        /// Entries in the ring.
        @0 pub entry_count: u32,
        /// Entry to read next.
        @4 pub head: u32,
        /// Span no source names.
        @8 pub unk_8: [u8; 32],
        /// Mapping of the ring.
        @40 pub ring_base: *mut c_void,
        /// Span no source names.
        @48 pub unk_30: [u8; 16],
        /// What the flush callback is given; own size undocumented, so this is the span up to the next known field.
        @64 pub flush_region: [u8; 256],
        /// Anything but 0 calls the callback before a read.
        @320 pub needs_flush: u8,
        /// Alignment.
        @321 pub pad_141: [u8; 7],
        /// Callback that makes the entries visible to the host.
        @328 pub flush_cb: Option<unsafe extern "C" fn()>,
    }

    /// One entry of a notification ring; interior undocumented (fact sheet `context-tree` §6).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nq_record: size 16, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 16],
    }

    /// Registers of one notification ring; that of queue i is at 0x100 + 40 i (fact sheet `context-tree` §6).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nq_ring_regs: size 40, align 4 {
        /// Low half of the ring's physical address.
        @0 pub base_lo: u32,
        /// High half of the ring's physical address.
        @4 pub base_hi: u32,
        /// Bytes of the ring.
        @8 pub size_bytes: u32,
        /// Entry software reads next; written by software.
        @12 pub head: u32,
        /// Entry hardware writes next; written by hardware.
        @16 pub tail: u32,
        /// Entries after which the device raises an interrupt.
        @20 pub threshold: u32,
        /// Span no source names.
        @24 pub unk_18: [u8; 16],
    }

    /// One entry of an output ring of a pooling processor (fact sheet `context-tree` §6).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct pool_stdio_entry: size 256, align 1 {
        /// Header; interior undocumented.
        @0 pub header: [u8; 16],
        /// Text.
        @16 pub payload: [u8; 240],
    }

    /// Block in device memory that the pooling processors are pointed to (fact sheet `context-tree` §6).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct pool_stdio_device_block: size 1088, align 1 {
        /// Table of 0x280 bytes on the rings, and what follows it.
        @0 pub unk_0: [u8; 1024],
        /// Write indices of standard output, a word a processor.
        @1024 pub stdout_idx_words: [u8; 32],
        /// Write indices of standard error, a word a processor.
        @1056 pub stderr_idx_words: [u8; 32],
    }
}
