//! One execution from request to completion (fact sheets `model-db` §7, `locks` §2).

use core::ffi::c_void;
use core::sync::atomic::AtomicU64;

use super::{
    NRT_STATUS, dmem_list_t, exec_mode, exec_state, kbl_feature_map_set_t, mla_t, model_t, pthread_mutex_t, tpb_t, virtual_core_t,
};

abi_struct! {
    /// What one execution of a model holds (fact sheet `model-db` §7).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct kmgr_exec_resources_t: size 56, align 8 {
        /// Number of the execution in traces.
        @0 pub trace_exec_id: u64,
        /// Core in traces.
        @8 pub trace_nc_idx: u32,
        /// Alignment.
        @12 pub pad_c: [u8; 4],
        /// Number of the model in traces.
        @16 pub model_id: u64,
        /// Resources on the cores.
        @24 pub tdrv_resources: *mut tdrv_compute_resources_t,
        /// How the caller waits.
        @32 pub exec_mode: exec_mode,
        /// Alignment.
        @36 pub pad_24: [u8; 4],
        /// Inputs and outputs.
        @40 pub fmap_sets: [*mut kbl_feature_map_set_t; 2],
    }

    /// What one execution holds on the cores (fact sheet `model-db` §7).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct tdrv_compute_resources_t: size 32, align 8 {
        /// Memory to release when the execution is over.
        @0 pub gc_tracker: dmem_list_t,
        /// Input and output queues, one record a core.
        @16 pub ioqs_resources: *mut *mut ioqs_resources,
        /// Entries in `ioqs_resources`, 1..2.
        @24 pub ptpb_count: u32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
    }

    /// Input and output queues of one core in one execution (fact sheet `model-db` §7).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ioqs_resources: size 40, align 8 {
        /// Header; interior undocumented.
        @0 pub unk_0: [u8; 40],
        /// Pointers that follow; their number is in the header.
        @40 pub ptrs: [*mut c_void; 0],
    }

    /// What went wrong on one core; interior undocumented (fact sheet `model-db` §7).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct infer_err: size 9, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 9],
    }

    /// State of one request while it is waited for (fact sheet `model-db` §7).
    #[derive(Clone, Copy)]
    #[repr(C)]
    pub struct exec_request_state_t: size 472, align 8 {
        /// Step of the wait.
        @0 pub state: exec_state,
        /// Outcome on each core.
        @4 pub exec_rets: [NRT_STATUS; 2],
        /// Alignment.
        @12 pub pad_c: [u8; 4],
        /// Logical core that runs the request.
        @16 pub vcore: *mut virtual_core_t,
        /// Cores that run it, 1..2.
        @24 pub tpb_count: u32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
        /// Number of the request.
        @32 pub inference_id: u64,
        /// Outputs to mark as complete.
        @40 pub fmap_output_set: *mut kbl_feature_map_set_t,
        /// Where the caller wants the details.
        @48 pub out_info: *mut c_void,
        /// Span no source names.
        @56 pub unk_38: [u8; 8],
        /// Device of each core.
        @64 pub mlas: [*mut mla_t; 2],
        /// The cores.
        @80 pub tpbs: [*mut tpb_t; 2],
        /// The model on each core, referenced until the wait is over.
        @96 pub mods: [*mut model_t; 2],
        /// Fatal causes seen on each core, by [`exec_fatal_cause`](super::exec_fatal_cause).
        @112 pub exec_fatal_status: [[bool; 7]; 2],
        /// Alignment.
        @126 pub pad_7e: [u8; 2],
        /// Device times of the notifications of each core.
        @128 pub vcore_notif_ts: [[u64; 13]; 2],
        /// Time each core was busy, in device ticks.
        @336 pub tpb_duration: [u64; 2],
        /// Part of it spent in collectives, in device ticks.
        @352 pub tpb_cc_duration: [u64; 2],
        /// What went wrong on each core.
        @368 pub infer_err: [infer_err; 2],
        /// Alignment.
        @386 pub pad_182: [u8; 6],
        /// State of the step, by `state`.
        @392 pub u: exec_request_state_t_u,
    }
    paths {
        @392 u.barrier_proxy: [u64; 3],
        @392 u.core: [u64; 10],
    }

    /// One execution unit: the queue of a logical core (fact sheet `locks` §2, §3). No source gives its size: it is at
    /// least this.
    #[repr(C, align(64))]
    pub struct xu: size 576, align 64 {
        /// Held by whoever submits.
        @0 pub submit_work_lock: pthread_mutex_t,
        /// Rest of the cache line.
        @40 pub pad_28: [u8; 24],
        /// First cursor of the work ring.
        @64 pub ring_cursor_0: AtomicU64,
        /// Rest of the cache line.
        @72 pub pad_48: [u8; 56],
        /// Second cursor of the work ring.
        @128 pub ring_cursor_1: AtomicU64,
        /// Rest of the cache line.
        @136 pub pad_88: [u8; 56],
        /// Third cursor of the work ring.
        @192 pub ring_cursor_2: AtomicU64,
        /// Span no source names.
        @200 pub unk_c8: [u8; 120],
        /// Held while a completion is recorded and signalled.
        @320 pub mark_comp_lock: pthread_mutex_t,
        /// Held while deferred releases are booked.
        @360 pub unstage_lock: pthread_mutex_t,
        /// Span no source names.
        @400 pub unk_190: [u8; 96],
        /// Meant for the trigger of the queue head; only initialised.
        @496 pub trigger_lock: pthread_mutex_t,
        /// Rest of the cache line.
        @536 pub pad_218: [u8; 40],
    }
}

/// State of one step of a wait; [`exec_request_state_t::state`] selects the arm.
#[derive(Clone, Copy)]
#[repr(C)]
pub union exec_request_state_t_u {
    /// Arm of the barrier of collectives; interior undocumented.
    pub barrier_proxy: [u64; 3],
    /// Arm of the cores; interior undocumented.
    pub core: [u64; 10],
}
