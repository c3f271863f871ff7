//! The two configuration blocks of the original and the block its bring-up takes (fact sheets `lnc` §7, `context-tree`
//! §10).

use core::ffi::c_char;

abi_struct! {
    /// First configuration block (fact sheet `lnc` §7).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct cfg: size 656, align 8 {
        /// Span no source names.
        @0 pub unk_0: [u8; 8],
        /// Physical cores of a logical one, 1..2.
        @8 pub virtual_core_size: u32,
        /// Cores to use; 0 = all.
        @12 pub num_cores: u32,
        /// Logical cores to use, a `std::vector` of the C++ library; not ours to read.
        @16 pub visible_virtual_cores: [u64; 3],
        /// Span no source names.
        @40 pub unk_28: [u8; 16],
        /// Bytes of a scratchpad page.
        @56 pub scratchpad_page_size: u64,
        /// Whether cores are reset at bring-up.
        @64 pub reset_cores: bool,
        /// Alignment.
        @65 pub pad_41: [u8; 7],
        /// Entries of the event ring.
        @72 pub mem_log_size: usize,
        /// Span no source names.
        @80 pub unk_50: [u8; 13],
        /// Whether each device allocation is logged.
        @93 pub dbg_verbose_log_dev_mem: bool,
        /// Alignment.
        @94 pub pad_5e: [u8; 2],
        /// Time within which a second memory error is ignored, in seconds.
        @96 pub min_mem_error_interval: i64,
        /// Span no source names.
        @104 pub unk_68: [u8; 52],
        /// Whether each core has a thread of its own.
        @156 pub one_thread_per_core: bool,
        /// Span no source names.
        @157 pub unk_9d: [u8; 59],
        /// Whether memory is counted in the counter stores.
        @216 pub enable_memory_metrics: bool,
        /// Span no source names.
        @217 pub unk_d9: [u8; 55],
        /// Pattern that overwrites each HBM at bring-up.
        @272 pub hbm_scrub_init_val: u32,
        /// Whether each HBM is overwritten at bring-up.
        @276 pub scrub_hbm: bool,
        /// Span no source names.
        @277 pub unk_115: [u8; 59],
        /// Whether each HBM is mapped as a whole.
        @336 pub map_hbm: bool,
        /// Whether the machine is simulated.
        @337 pub funtime: bool,
        /// Alignment.
        @338 pub pad_152: [u8; 2],
        /// Family of the simulated machine, see [`nrt_instance_family`](super::nrt_instance_family).
        @340 pub fake_family: u32,
        /// Size of the simulated machine, see [`nrt_instance_size`](super::nrt_instance_size).
        @344 pub fake_size: u32,
        /// Devices of the simulated server; 0 = not simulated.
        @348 pub virtual_server_size: u32,
        /// Span no source names.
        @352 pub unk_160: [u8; 304],
    }

    /// Second configuration block (fact sheet `lnc` §7).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct gcfg: size 296, align 8 {
        /// Span no source names.
        @0 pub unk_0: [u8; 8],
        /// Folder the out-of-memory report is written to.
        @8 pub device_oom_dump_directory: *mut c_char,
        /// 1 = the scratchpad is on the first core alone.
        @16 pub scratchpad_on_single_core: u32,
        /// Whether executions return before they are done.
        @20 pub implicit_async_mode: bool,
        /// Alignment.
        @21 pub pad_15: [u8; 3],
        /// Executions under way at most, 0..63.
        @24 pub async_exec_max_inflight_requests: u32,
        /// Span no source names.
        @28 pub unk_1c: [u8; 12],
        /// Ultraserver mode to enter, see [`neuron_ultraserver_mode`](super::neuron_ultraserver_mode).
        @40 pub ultraserver_mode: u32,
        /// Span no source names.
        @44 pub unk_2c: [u8; 68],
        /// 1 = the scratchpad is one contiguous piece.
        @112 pub experimental_contiguous_scratchpad: u32,
        /// Whether devices reach each other directly.
        @116 pub enable_p2p: bool,
        /// Span no source names.
        @117 pub unk_75: [u8; 67],
        /// Mirror of [`cfg::funtime`].
        @184 pub funtime: bool,
        /// Span no source names.
        @185 pub unk_b9: [u8; 19],
        /// Whether copies avoid the bounce buffer.
        @204 pub test_zerocopy: bool,
        /// Alignment.
        @205 pub pad_cd: [u8; 3],
        /// Writes of at most this many bytes go through the mapped window.
        @208 pub direct_bar4_write_size: u32,
        /// Span no source names.
        @212 pub unk_d4: [u8; 20],
        /// 1 = behave as on later architectures.
        @232 pub v4_plus: u32,
        /// Span no source names.
        @236 pub unk_ec: [u8; 60],
    }

    /// What bring-up takes: 51 members; interior undocumented (fact sheet `context-tree` §10).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct tdrv_init_config: size 192, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 192],
    }
}
