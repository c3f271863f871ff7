//! The context tree: process, device, core (fact sheet `context-tree` §2 to §5).

use core::ffi::c_void;
use core::mem::ManuallyDrop;
use core::sync::atomic::AtomicPtr;

use super::{
    H_MODEL, al_hal_tpb_arch_type_t, aws_hal_dma, aws_hal_intc_t, aws_hal_stpb, cc_resource_pool_context, dma_mem_log_t,
    dma_queue_info_t, dmem_allocator_t, dmem_list_t, dmem_t, ht_t, hw_exec_queue_t, ib_addrs_one_eng_t, mla_bars_t, ndl_device_t,
    neuron_ultraserver_mode, notification_t, nrtucode_context_t, nrtucode_core_t, nrtucode_loadable_library_t,
    pool_stdio_block_t, pthread_mutex_t, ptpb_info_t, sync_point_t, tdrv_scratchpad_t, top_sp_t, tpb_map_t, ucode_lib_set_info_t,
    xt_cc_t,
};

abi_struct! {
    /// Root of the process: every device and core record, in place (fact sheet `context-tree` §2).
    #[repr(C)]
    pub struct tdrv_ctx_t: size 18884656, align 8 {
        /// Devices in use, 0..32.
        @0 pub num_mla: u32,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Device records, indexed by device id.
        @8 pub mla: [mla_t; 32],
        /// Entries in use in `ptpbs`, 0..256.
        @18880264 pub num_ptpb: u32,
        /// Alignment.
        @18880268 pub pad_120170c: [u8; 4],
        /// Flat registry of the physical cores of all devices.
        @18880272 pub ptpbs: [ptpb_info_t; 256],
        /// Routing id by host device id.
        @18884368 pub host_did_to_rid_map: [u32; 32],
        /// Entries in use in `host_did_to_rid_map`, 0..32; 0 = no map.
        @18884496 pub host_did_to_rid_map_size: u32,
        /// Alignment.
        @18884500 pub pad_1202794: [u8; 4],
        /// Reservation the pod manager assigned.
        @18884504 pub reservation_id: u64,
        /// Kind of pod the host belongs to (`neuron_pod_type`).
        @18884512 pub pod_type: u32,
        /// Hosts in the pod.
        @18884516 pub pod_sz: u32,
        /// Index of this host in its pod.
        @18884520 pub pod_node_id: u32,
        /// Ultraserver mode the pod entered.
        @18884524 pub pod_mode: neuron_ultraserver_mode,
        /// Architecture of all devices.
        @18884528 pub target: al_hal_tpb_arch_type_t,
        /// Tunables of collectives, meshes and rings; interior undocumented.
        @18884532 pub dbg_block: [u8; 124],
    }

    /// One device and its cores (fact sheet `context-tree` §3).
    #[repr(C)]
    pub struct mla_t: size 590008, align 8 {
        /// Whether this slot is live in this process.
        @0 pub is_used: bool,
        /// Alignment.
        @1 pub pad_1: [u8; 3],
        /// Phase of bring-up; values undocumented.
        @4 pub init_state: u32,
        /// Index of this record in [`tdrv_ctx_t::mla`], and its slot in the counter store.
        @8 pub mla_idx: u32,
        /// Alignment.
        @12 pub pad_c: [u8; 4],
        /// Register windows of the device as mapped into the process.
        @16 pub bars: mla_bars_t,
        /// Core records, indexed by core within the device.
        @80 pub _tpbs: [tpb_t; 8],
        /// Which cores this process owns.
        @314640 pub tpb_map: tpb_map_t,
        /// Index of this record while the slot is live, `u32::MAX` while it is empty.
        @314648 pub device_id: u32,
        /// Number the platform gives the device, `u32::MAX` = unknown.
        @314652 pub host_device_id: u32,
        /// Routing id of the device.
        @314656 pub routing_id: u32,
        /// Alignment.
        @314660 pub pad_4cd24: [u8; 4],
        /// Device object of the user-side driver library.
        @314664 pub device: *mut ndl_device_t,
        /// Synchronisation processors of the device.
        @314672 pub top_sps: [top_sp_t; 16],
        /// PCI address as NUL-terminated text.
        @576688 pub bdf: [u8; 80],
        /// Usage ledger of the device.
        @576768 pub dmem_logger: dma_mem_log_t,
        /// Time of the last reported memory error, in seconds since the epoch.
        @578368 pub v2_last_nc_memory_error_ts: i64,
        /// State of cross-device collectives.
        @578376 pub xt_cc: xt_cc_t,
        /// Interrupt controller state.
        @578576 pub intc: aws_hal_intc_t,
    }

    /// One physical NeuronCore and everything that is per core (fact sheet `context-tree` §4).
    #[repr(C)]
    pub struct tpb_t: size 39320, align 8 {
        /// Window on the state buffer of the core.
        @0 pub tpb_mem_base: *mut c_void,
        /// Window on the registers of the core.
        @8 pub tpb_regs_base: *mut c_void,
        /// Window on the event and notification registers.
        @16 pub ens_regs_base: *mut c_void,
        /// Core within the device, 0..7.
        @24 pub idx: i32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
        /// Notification queues of the core.
        @32 pub notification: notification_t,
        /// Standard output and error of the pooling engine's processors.
        @15848 pub pool_stdio_block: pool_stdio_block_t,
        /// Device-memory allocator of the core, of type GLOBAL.
        @17024 pub tpb_allocator: *mut dmem_allocator_t,
        /// Architecture-specific state.
        group @17032 pub u: tpb_t_u,
        /// Guards `model_db`.
        @19992 pub model_db_lock: pthread_mutex_t,
        /// Models loaded on this core, keyed by handle.
        @20032 pub model_db: *mut ht_t,
        /// Model that runs now; id 0 = none.
        @20040 pub h_running_model: H_MODEL,
        /// Alignment.
        @20044 pub pad_4e4c: [u8; 4],
        /// One handle for each DMA engine.
        @20048 pub dma: [aws_hal_dma; 32],
        /// Resources of collectives shared by all models of the core.
        @21328 pub global_cc_resource: cc_resource_pool_context,
        /// Scratchpad shared by all models of the core.
        @22200 pub scratchpad: tdrv_scratchpad_t,
        /// Execution queue of the core.
        @38640 pub hw_exec_queue: hw_exec_queue_t,
        /// Anchor between the device clock and the host clock.
        @38864 pub sync_point: sync_point_t,
        /// Instruction buffers of the idle program, one record an engine.
        @38880 pub ready_exec_program_ib_addrs: [ib_addrs_one_eng_t; 5],
        /// Device memory of the idle program's switch buffers.
        @39160 pub ready_exec_program_switch_bufs: [*mut dmem_t; 2],
        /// Device memory the idle program's instructions hold.
        @39176 pub ready_exec_program_instr_mem_tracker: dmem_list_t,
        /// Microcode objects of the five sequencer engines, in the order PE, ACT, POOL, DVE, SP.
        @39192 pub nrtucode_core: [*mut nrtucode_core_t; 5],
        /// Microcode objects of the eight pooling processors.
        @39232 pub pooling_q7_nrtucode_core: [*mut nrtucode_core_t; 8],
        /// Array of handles of loadable libraries.
        @39296 pub pooling_q7_ll: *mut *mut nrtucode_loadable_library_t,
        /// Entries in `pooling_q7_ll`.
        @39304 pub num_pooling_q7_ll: usize,
        /// Microcode context the objects above were created in.
        @39312 pub nrtucode_context: *mut nrtucode_context_t,
    }
    paths {
        @17032 u.sunda: ManuallyDrop<tpb_sunda_t>,
    }

    /// The arm of [`tpb_t::u`] (fact sheet `context-tree` §5). Present on every architecture.
    #[repr(C)]
    pub struct tpb_sunda_t: size 2960, align 8 {
        /// Hardware abstraction state of the core.
        @0 pub hal_stpb: aws_hal_stpb,
        /// Instruction-fetch queues, one an engine.
        @1104 pub instr_fetch_queue: [dma_queue_info_t; 5],
        /// Cached single-library set shared by the models of the core, null until one is staged.
        @2904 pub ulib_set_info_extisa_only: AtomicPtr<ucode_lib_set_info_t>,
        /// Guards `ulib_set_info_extisa_only`.
        @2912 pub ulib_staging_lock: pthread_mutex_t,
        /// Whether the library registers were programmed; exact meaning undocumented.
        @2952 pub set_ulib_reg: bool,
        /// Alignment.
        @2953 pub pad_b89: [u8; 7],
    }
}

/// Architecture-specific state of a core.
#[repr(C)]
pub union tpb_t_u {
    /// The only arm in this version.
    pub sunda: ManuallyDrop<tpb_sunda_t>,
}
