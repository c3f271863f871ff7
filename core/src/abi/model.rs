//! Loaded models (fact sheets `model-db` §4, `model-load` §3).

use core::sync::atomic::AtomicU64;

use super::{
    al_hal_tpb_arch_type_t, dmem_allocator_t, dmem_list_t, ht_node_t, ht_t, kbl_fmap_set_t, kbl_model_param_t, pthread_mutex_t,
    tdrv_scratchpad_cleanup_info_t, ucode_lib_set_info_t,
};

abi_struct! {
    /// Handle of a loaded model; the same id on all cores of the model (fact sheet `model-db` §2).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[repr(C)]
    pub struct H_MODEL: size 4, align 4 {
        /// Number of the model; 0 = none.
        @0 pub id: u32,
    }

    /// One model as loaded on one core (fact sheet `model-db` §4).
    #[repr(C)]
    pub struct model_t: size 7744, align 8 {
        /// Name of the model, NUL-terminated.
        @0 pub name: [u8; 256],
        /// Span no source names.
        @256 pub unk_100: [u8; 16],
        /// Static and dynamic queue bundles; own size undocumented, so this is the span up to the next known field.
        @272 pub queue_set: [u8; 6024],
        /// Descriptor-count storage.
        group @6296 pub dbtc_storage: model_t_dbtc_storage,
        /// Instruction-pointer deltas; own size undocumented, so this is the span up to the next known field.
        @6304 pub kbin_patch_info: [u8; 80],
        /// Handle of the model.
        @6384 pub h_model: H_MODEL,
        /// Span no source names.
        @6388 pub unk_18f4: [u8; 44],
        /// Parameters of the load.
        @6432 pub param: kbl_model_param_t,
        /// Allocator of the model, of type MODEL.
        @6464 pub dmem_allocator: *mut dmem_allocator_t,
        /// Memory to release with the model.
        @6472 pub gc_tracker: *mut dmem_list_t,
        /// Microcode libraries of the model, null if it uses none or the shared set.
        @6480 pub ulib_set_info: *mut ucode_lib_set_info_t,
        /// Users of the model on this core; a removal waits until it is 0.
        @6488 pub ref_count: AtomicU64,
        /// Inputs the model expects.
        @6496 pub input_fmap_set: kbl_fmap_set_t,
        /// Outputs the model gives.
        @6512 pub output_fmap_set: kbl_fmap_set_t,
        /// Architecture the model was compiled for.
        @6528 pub target: al_hal_tpb_arch_type_t,
        /// Span no source names.
        @6532 pub unk_1984: [u8; 124],
        /// Descriptors one request needs in the execution queue.
        @6656 pub num_hw_exec_queue_descs: u32,
        /// Alignment.
        @6660 pub pad_1a04: [u8; 4],
        /// Memory records of the model, keyed by variable id.
        @6664 pub static_mr_set: *mut ht_t,
        /// Names of input and output variables, keyed by variable id.
        @6672 pub io_mr_to_name_map: *mut ht_t,
        /// Span no source names.
        @6680 pub unk_1a18: [u8; 176],
        /// Collectives of the model.
        @6856 pub cc_ctx: encd_context,
        /// What the model reserved in the scratchpad.
        @7480 pub scratchpad_cleanup_info: *mut tdrv_scratchpad_cleanup_info_t,
        /// Span no source names.
        @7488 pub unk_1d40: [u8; 8],
        /// Node in [`tpb_t::model_db`](super::tpb_t::model_db).
        @7496 pub ht_node: ht_node_t,
        /// Span no source names.
        @7544 pub unk_1d78: [u8; 40],
        /// Whether the event accelerator is reset before a run.
        @7584 pub reset_evt_accel: bool,
        /// Whether the FP8 configuration is programmed before a run.
        @7585 pub program_fp8_cfg: bool,
        /// Span no source names.
        @7586 pub unk_1da2: [u8; 158],
    }
    paths {
        @6296 dbtc_storage.dbtc_node_lut: *mut ht_t,
    }

    /// Collectives of one model (fact sheet `model-db` §4).
    #[repr(C)]
    pub struct encd_context: size 624, align 8 {
        /// Span no source names.
        @0 pub unk_0: [u8; 8],
        /// Allocator of the model.
        @8 pub model_allocator: *mut dmem_allocator_t,
        /// Span no source names.
        @16 pub unk_10: [u8; 144],
        /// Configuration; interior undocumented.
        @160 pub config: [u8; 112],
        /// Priority class of the queues.
        @272 pub curr_priority_class: u8,
        /// Span no source names.
        @273 pub unk_111: [u8; 89],
        /// Whether a state-buffer span is set aside for the event accelerator.
        @362 pub sbuf_evt_accel_valid: bool,
        /// Span no source names.
        @363 pub unk_16b: [u8; 221],
        /// Guards the rewriting of virtual rings.
        @584 pub vring_rewrite_mutex: pthread_mutex_t,
    }

    /// What the cores of a logical core prepare together before each takes its part (fact sheet `model-load` §3).
    /// Zeroed once taken.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct vtpb_info_shared_mr_set_t: size 32, align 8 {
        /// Memory records, keyed by variable id.
        @0 pub mem_ref_set: *mut ht_t,
        /// Allocator of the model on this core.
        @8 pub model_allocator: *mut dmem_allocator_t,
        /// Memory to release with the model.
        @16 pub gc_tracker: *mut dmem_list_t,
        /// What was reserved in the scratchpad.
        @24 pub scratchpad_cleanup_info: *mut tdrv_scratchpad_cleanup_info_t,
    }
}

/// Holder of the descriptor-count table of a model.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct model_t_dbtc_storage {
    /// Descriptor-count nodes by name.
    pub dbtc_node_lut: *mut ht_t,
}
