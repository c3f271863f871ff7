//! Models as the process registers them (fact sheet `model-db` §5).

use core::ffi::c_void;
use core::sync::atomic::AtomicU64;

use super::{H_MODEL, dlr_model_state, kbin_mem_ref_set_t, kbl_model_param_t, nrt_dtype_t, pthread_rwlock_t, virtual_core_t};

abi_struct! {
    /// Handle of a registered model (fact sheet `model-db` §2).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[repr(C)]
    pub struct H_NN: size 4, align 4 {
        /// Number of the model; 0 = none.
        @0 pub id: u32,
    }

    /// The registry of models (fact sheet `model-db` §5).
    #[repr(C)]
    pub struct dlr_model_set: size 120, align 8 {
        /// Models by [`H_NN`], a `std::unordered_map` of the C++ library; not ours to read.
        @0 pub map: [u64; 7],
        /// Guards `map` and `last_nn_id`.
        @56 pub lock: pthread_rwlock_t,
        /// Number given last.
        @112 pub last_nn_id: u32,
        /// Alignment.
        @116 pub pad_74: [u8; 4],
    }

    /// One registered model (fact sheet `model-db` §5).
    #[repr(C)]
    pub struct dlr_model: size 480, align 8 {
        /// Handle in the registry.
        @0 pub h_nn: H_NN,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Logical core the model is on.
        @8 pub vcore: *mut virtual_core_t,
        /// Subgraphs, 1..2.
        @16 pub sg_count: u32,
        /// Name, NUL-terminated.
        @20 pub name: [u8; 256],
        /// Alignment.
        @276 pub pad_114: [u8; 4],
        /// Number of the name in traces.
        @280 pub interned_model_id: u64,
        /// Identity of the compiled model.
        @288 pub uuid: [u8; 16],
        /// Multiply-accumulates of one execution.
        @304 pub hlo_mac_count: u64,
        /// Patience for one execution, in seconds.
        @312 pub exec_timeout: u64,
        /// Inputs by name, a `std::map` of the C++ library; not ours to read.
        @320 pub input_info: [u64; 6],
        /// Outputs by name, a `std::map` of the C++ library; not ours to read.
        @368 pub output_info: [u64; 6],
        /// Bridge to the cores.
        @416 pub kelf_model: *mut dlr_kelf_model_t,
        /// Phase of the model's life.
        @424 pub state: dlr_model_state,
        /// Alignment.
        @428 pub pad_1ac: [u8; 4],
        /// Operations under way on the model.
        @432 pub ref_count: AtomicU64,
        /// Objects of the model in the counter stores.
        @440 pub nds_handles: *mut c_void,
        /// Entries in `nds_handles`.
        @448 pub nds_handle_count: u32,
        /// Whether the model is being profiled.
        @452 pub is_profiling: bool,
        /// Alignment.
        @453 pub pad_1c5: [u8; 3],
        /// Replica groups; own size undocumented, so this is the span up to the end.
        @456 pub replica_group_info: [u64; 3],
    }

    /// Bridge from the registry to the cores (fact sheet `model-db` §5).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct dlr_kelf_model_t: size 72, align 8 {
        /// Handle on the cores.
        @0 pub h_model: H_MODEL,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Logical core the model is on.
        @8 pub vcore: *mut virtual_core_t,
        /// Subgraphs, 1..2.
        @16 pub sg_count: u32,
        /// Identity of the compiled model.
        @20 pub uuid: [u8; 16],
        /// Alignment.
        @36 pub pad_24: [u8; 4],
        /// Parameters of the load.
        @40 pub params: kbl_model_param_t,
    }

    /// A model as the public interface hands it out; interior undocumented (fact sheet `model-db` §5).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrt_model_t: size 284, align 1 {
        /// Index of the logical core, name, uuid and handles, at offsets no source gives.
        @0 pub unk_0: [u8; 284],
    }

    /// Shape of one input or output (fact sheet `model-db` §5).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct io_node_info_t: size 144, align 8 {
        /// Bytes.
        @0 pub size: u64,
        /// Element type.
        @8 pub dtype: nrt_dtype_t,
        /// Extent of each dimension.
        @12 pub shape: [u32; 32],
        /// Dimensions in use, 0..32.
        @140 pub ndim: u32,
    }

    /// A compiled model of one core (fact sheet `model-load` §4).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct kbin_t: size 424, align 8 {
        /// Span no source names.
        @0 pub unk_0: [u8; 296],
        /// Plan of the variables (errata 8).
        @296 pub mem_ref_set: *mut kbin_mem_ref_set_t,
        /// Span no source names.
        @304 pub unk_130: [u8; 120],
    }

    /// What a thread that loads one subgraph is given; interior undocumented (fact sheet `model-load` §2).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct stage_thread_arg: size 64, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 64],
    }
}
