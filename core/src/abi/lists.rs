//! The list of declarations, once.

use super::reflect::{EnumInfo, StructInfo};
use super::{Reflect, ReflectEnum};

/// Calls a macro with the paths of all byte-exact structs of [`abi`](crate::abi), separated by commas.
///
/// ```
/// macro_rules! count {
///     ($($ty:path,)*) => { [$(core::mem::size_of::<$ty>()),*].len() };
/// }
/// assert_eq!(nrt_core::for_each_abi_struct!(count), nrt_core::abi::STRUCTS.len());
/// ```
#[macro_export]
macro_rules! for_each_abi_struct {
    ($callback:ident) => {
        $callback! {
            $crate::abi::physical_core_t, $crate::abi::virtual_core_t, $crate::abi::ptpb_info_t,
            $crate::abi::tpb_map_t, $crate::abi::tdrv_ctx_t, $crate::abi::mla_t, $crate::abi::tpb_t,
            $crate::abi::tpb_sunda_t, $crate::abi::mla_bars_t, $crate::abi::notification_t, $crate::abi::top_sp_t,
            $crate::abi::xt_cc_t, $crate::abi::sync_point_t, $crate::abi::aws_hal_intc_t, $crate::abi::aws_hal_dma,
            $crate::abi::cc_resource_pool_context, $crate::abi::ib_addrs_one_eng_t,
            $crate::abi::exec_req_tpb_config_t, $crate::abi::kbl_model_param_t, $crate::abi::nrtucode_context_t,
            $crate::abi::nrtucode_core_t, $crate::abi::nrtucode_loadable_library_t, $crate::abi::aws_hal_stpb,
            $crate::abi::dma_queue_info_t, $crate::abi::pool_stdio_queue_t, $crate::abi::pool_stdio_block_t,
            $crate::abi::dmem_t, $crate::abi::dmem_allocator_t, $crate::abi::dmem_ref_node_t,
            $crate::abi::dmem_list_t, $crate::abi::dma_mem_log_entry_t, $crate::abi::dma_mem_log_t,
            $crate::abi::ht_node_t, $crate::abi::ht_t, $crate::abi::H_MODEL, $crate::abi::model_t,
            $crate::abi::encd_context, $crate::abi::vtpb_info_shared_mr_set_t, $crate::abi::mem_ref_t,
            $crate::abi::kbin_mem_ref_t, $crate::abi::kbin_mem_ref_set_t, $crate::abi::tdrv_scratchpad_page_t,
            $crate::abi::tdrv_scratchpad_t, $crate::abi::tdrv_scratchpad_info_t,
            $crate::abi::tdrv_scratchpad_cleanup_info_t, $crate::abi::ucode_func_info_t,
            $crate::abi::ucode_lib_info_t, $crate::abi::ucode_lib_set_info_t,
            $crate::abi::SUNDA_UCODE_LIB_LIBRARY_TABLE_ENTRY, $crate::abi::SUNDA_UCODE_LIB_INFO,
            $crate::abi::nrt_tensor_t, $crate::abi::nrt_tensor_storage_t, $crate::abi::nrt_tensor_list_t,
            $crate::abi::nrt_tensor_batch_op_t, $crate::abi::nrt_tensor_batch_t,
            $crate::abi::nrt_tensor_device_allocation_info_t, $crate::abi::nrt_vnc_memory_stats_t,
            $crate::abi::kbl_feature_map_t, $crate::abi::kbl_feature_map_set_t, $crate::abi::kbl_fmap_t,
            $crate::abi::kbl_fmap_set_t, $crate::abi::sw_dma_queue, $crate::abi::act_dve_table_hash,
            $crate::abi::hw_exec_queue_t, $crate::abi::ndl_mem_info_t, $crate::abi::ndl_copy_buf_t,
            $crate::abi::ndl_device_t, $crate::abi::neuron_memcpy_batch_t,
            $crate::abi::aws_hal_ens_nq, $crate::abi::nq_record, $crate::abi::nq_ring_regs,
            $crate::abi::pool_stdio_entry, $crate::abi::pool_stdio_device_block, $crate::abi::kbin_ucode_lib_function,
            $crate::abi::kbin_ucode_lib_function_set, $crate::abi::kbin_ucode_lib, $crate::abi::kbin_ucode_lib_sets,
            $crate::abi::ucode_lib_function, $crate::abi::ucode_lib, $crate::abi::custom_op_queue_range,
            $crate::abi::pool_engine_override_info, $crate::abi::loadable_library_header,
            $crate::abi::ucode_core_userdata, $crate::abi::SUNDA_UCODE_RT_INFO, $crate::abi::nrtucode_opset_t,
            $crate::abi::dbtc_node_t, $crate::abi::dbtc_child_key, $crate::abi::dbtc_desc_count_t, $crate::abi::H_NN,
            $crate::abi::dlr_model_set, $crate::abi::dlr_model, $crate::abi::dlr_kelf_model_t,
            $crate::abi::nrt_model_t, $crate::abi::io_node_info_t, $crate::abi::kbin_t, $crate::abi::stage_thread_arg,
            $crate::abi::kmgr_exec_resources_t, $crate::abi::tdrv_compute_resources_t, $crate::abi::ioqs_resources,
            $crate::abi::infer_err, $crate::abi::exec_request_state_t, $crate::abi::xu,
            $crate::abi::nrt_tensor_info_t, $crate::abi::nrt_tensor_info_array_t, $crate::abi::nrt_instance_info_t,
            $crate::abi::nrt_version_t, $crate::abi::nrt_cc_comm_t, $crate::abi::nrt_model_info_t,
            $crate::abi::ndl_device_context_t, $crate::abi::ndl_device_init_param_t, $crate::abi::ndl_version_info_t,
            $crate::abi::ndl_notification_context_t, $crate::abi::ndl_queue_init, $crate::abi::ndl_queue_init_batch,
            $crate::abi::cfg, $crate::abi::gcfg, $crate::abi::tdrv_init_config,
            $crate::abi::driver::neuron_ioctl_mem_alloc, $crate::abi::driver::neuron_ioctl_mem_alloc_v2,
            $crate::abi::driver::neuron_ioctl_mem_alloc_v2_mem_type,
            $crate::abi::driver::neuron_ioctl_mem_alloc_v2_mem_type64, $crate::abi::driver::neuron_ioctl_mem_free,
            $crate::abi::driver::neuron_ioctl_mem_get_info, $crate::abi::driver::neuron_ioctl_mem_get_pa,
            $crate::abi::driver::neuron_ioctl_mem_get_extended_info,
            $crate::abi::driver::neuron_ioctl_mem_get_mc_mmap_info,
            $crate::abi::driver::neuron_ioctl_mem_get_mc_mmap_info_v2,
            $crate::abi::driver::neuron_ioctl_resource_mmap_info, $crate::abi::driver::neuron_ioctl_dmabuf_fd,
            $crate::abi::driver::neuron_ioctl_mem_chunk_info, $crate::abi::driver::neuron_ioctl_dump_mem_chunks,
            $crate::abi::driver::neuron_ioctl_get_va_placement, $crate::abi::driver::neuron_ioctl_hbm_scrub_start,
            $crate::abi::driver::neuron_ioctl_hbm_scrub_wait, $crate::abi::driver::neuron_ioctl_mem_copy,
            $crate::abi::driver::neuron_ioctl_mem_copy64, $crate::abi::driver::neuron_ioctl_mem_copy_async,
            $crate::abi::driver::neuron_ioctl_mem_copy_async64, $crate::abi::driver::neuron_ioctl_mem_copy_async_wait,
            $crate::abi::driver::neuron_ioctl_memset, $crate::abi::driver::neuron_ioctl_memset64,
            $crate::abi::driver::neuron_ioctl_mem_buf_copy, $crate::abi::driver::neuron_ioctl_mem_buf_copy64,
            $crate::abi::driver::neuron_ioctl_mem_buf_copy64zc,
            $crate::abi::driver::neuron_ioctl_mem_buf_copy64zc_batches,
            $crate::abi::driver::neuron_ioctl_program_engine, $crate::abi::driver::neuron_ioctl_program_engine_nc,
            $crate::abi::driver::neuron_ioctl_program_engine_nc64, $crate::abi::driver::neuron_dma_eng_state,
            $crate::abi::driver::neuron_dma_queue_state, $crate::abi::driver::neuron_ioctl_dma_eng_init,
            $crate::abi::driver::neuron_ioctl_dma_eng_set_state, $crate::abi::driver::neuron_ioctl_dma_eng_get_state,
            $crate::abi::driver::neuron_ioctl_dma_queue_init, $crate::abi::driver::neuron_ioctl_dma_queue_init_batch,
            $crate::abi::driver::neuron_ioctl_dma_queue_release, $crate::abi::driver::neuron_ioctl_dma_quiesce_queues,
            $crate::abi::driver::neuron_ioctl_dma_ack_completed,
            $crate::abi::driver::neuron_ioctl_dma_queue_copy_start,
            $crate::abi::driver::neuron_ioctl_dma_queue_get_state,
            $crate::abi::driver::neuron_ioctl_dma_copy_descriptors,
            $crate::abi::driver::neuron_ioctl_dma_copy_descriptors64,
            $crate::abi::driver::neuron_ioctl_dma_descriptor_copyout,
            $crate::abi::driver::neuron_ioctl_h2t_dma_alloc_queues,
            $crate::abi::driver::neuron_ioctl_h2t_dma_free_queues,
            $crate::abi::driver::neuron_ioctl_notifications_init_v1,
            $crate::abi::driver::neuron_ioctl_notifications_init_v2,
            $crate::abi::driver::neuron_ioctl_notifications_init_with_realloc_v2,
            $crate::abi::driver::neuron_ioctl_notifications_destroy,
            $crate::abi::driver::neuron_ioctl_notifications_destroy_nq,
            $crate::abi::driver::neuron_ioctl_notifications_queue_info,
            $crate::abi::driver::neuron_ioctl_throttling_notifications, $crate::abi::driver::neuron_ioctl_device_init,
            $crate::abi::driver::neuron_ioctl_device_info, $crate::abi::driver::neuron_ioctl_device_basic_info,
            $crate::abi::driver::neuron_ioctl_device_driver_info,
            $crate::abi::driver::neuron_ioctl_compatible_version, $crate::abi::driver::neuron_ioctl_device_bdf,
            $crate::abi::driver::neuron_ioctl_device_bdf_ext, $crate::abi::driver::neuron_ioctl_host_device_id,
            $crate::abi::driver::neuron_ioctl_host_device_id_to_rid_map, $crate::abi::driver::neuron_ioctl_bar_rw,
            $crate::abi::driver::neuron_ioctl_read_hw_counters, $crate::abi::driver::neuron_ioctl_post_metric,
            $crate::abi::driver::neuron_ioctl_metrics_ctrl, $crate::abi::driver::neuron_ioctl_power_profile,
            $crate::abi::driver::neuron_ioctl_printk, $crate::abi::driver::neuron_uuid,
            $crate::abi::driver::neuron_ioctl_crwl, $crate::abi::driver::neuron_ioctl_crwl_nc_map,
            $crate::abi::driver::neuron_ioctl_crwl_nc_map_ext, $crate::abi::driver::neuron_ioctl_nc_map_entry,
            $crate::abi::driver::neuron_ioctl_nc_map,
            $crate::abi::driver::neuron_ioctl_get_logical_to_physical_nc_map,
            $crate::abi::driver::neuron_ioctl_nc_pid_state_dump, $crate::abi::driver::neuron_ioctl_device_reset,
            $crate::abi::driver::neuron_ioctl_device_ready, $crate::abi::driver::neuron_ioctl_semaphore,
            $crate::abi::driver::neuron_ioctl_event, $crate::abi::driver::neuron_ioctl_cinit_set,
            $crate::abi::driver::neuron_ioctl_nc_model_started_count, $crate::abi::driver::neuron_ioctl_pod_info,
            $crate::abi::driver::neuron_ioctl_pod_status, $crate::abi::driver::neuron_ioctl_pod_status_v2,
            $crate::abi::driver::neuron_ioctl_pod_ctrl, $crate::abi::driver::neuron_ioctl_pod_ctrl_v2,
            $crate::abi::driver::nds_header, $crate::abi::driver::neuron_ioctl_neuron_ds_info,
            $crate::abi::driver::neuron_app_info, $crate::abi::driver::neuron_ioctl_get_apps_info,
            $crate::abi::driver::nds_store, $crate::abi::driver::nds_model_node,
            $crate::abi::driver::nds_memory_usage, $crate::abi::driver::nds_process_info,
            $crate::abi::driver::nds_process_info_ext,
        }
    };
}

/// Calls a macro with the paths of all enumerations of [`abi`](crate::abi), separated by commas.
#[macro_export]
macro_rules! for_each_abi_enum {
    ($callback:ident) => {
        $callback! {
            $crate::abi::al_hal_tpb_arch_type_t, $crate::abi::dma_mem_location_t, $crate::abi::dmem_allocator_type_t,
            $crate::abi::dmem_action, $crate::abi::dma_mem_usage_type_t, $crate::abi::dmem_aggr_index,
            $crate::abi::mem_alloc_category_t, $crate::abi::kbin_sb_carveout_type_t, $crate::abi::ht_key_type_t,
            $crate::abi::mr_type, $crate::abi::backing_buf, $crate::abi::dlr_model_state, $crate::abi::exec_state,
            $crate::abi::exec_step_result, $crate::abi::exec_fatal_cause, $crate::abi::exec_mode,
            $crate::abi::exec_engine_substate, $crate::abi::sequencer_engine, $crate::abi::nq_notification_type,
            $crate::abi::nq_infer_status_queue, $crate::abi::dma_ring_type_marker, $crate::abi::NRT_STATUS,
            $crate::abi::NRT_INIT_STATE, $crate::abi::nrt_instance_family, $crate::abi::nrt_instance_size,
            $crate::abi::nrt_dtype_t, $crate::abi::nrt_tensor_mem_type_t, $crate::abi::nrt_tensor_placement_t,
            $crate::abi::nrt_tensor_usage_t, $crate::abi::nrt_framework_type_t, $crate::abi::nrt_op_type_t,
            $crate::abi::nrt_cc_op_type_t, $crate::abi::nrta_unit, $crate::abi::sys_trace_event,
            $crate::abi::driver_architecture, $crate::abi::driver_device_state, $crate::abi::neuron_ultraserver_mode,
            $crate::abi::neuron_driver_feature_flag, $crate::abi::neuron_pod_type,
            $crate::abi::neuron_pod_election_state, $crate::abi::neuron_pod_ctrl_req,
            $crate::abi::neuron_dma_queue_type, $crate::abi::neuron_cinit_state,
            $crate::abi::neuron_dma_h2t_ctx_handle_type, $crate::abi::NQ_DEVICE_TYPE, $crate::abi::NQ_TYPE,
            $crate::abi::neuron_dm_block_type, $crate::abi::neuron_dm_resource_type,
            $crate::abi::neuron_ioctl_nc_mapping_type, $crate::abi::neuron_metrics_mode,
            $crate::abi::nds_object_type, $crate::abi::nds_memory_usage_slot, $crate::abi::nds_nd_counter,
            $crate::abi::nds_nc_counter, $crate::abi::nds_ext_nc_counter,
        }
    };
}

/// Makes the compiler describe the named types in the debug information of the crate that calls this.
///
/// A type that is only declared, only measured or only reached through a pointer is left out of it, in release builds most
/// of all. A retained static that mentions the type brings it back, and costs eight bytes.
///
/// ```
/// macro_rules! keep {
///     ($($ty:path,)*) => { nrt_core::keep_debug!($($ty),*); };
/// }
/// nrt_core::for_each_abi_struct!(keep);
/// ```
#[macro_export]
macro_rules! keep_debug {
    ($($ty:ty),* $(,)?) => {
        $( const _: () = {
            #[used]
            static KEEP: ::core::option::Option<fn(&$ty)> = ::core::option::Option::None;
        }; )*
    };
}

macro_rules! structs {
    ($($ty:path,)*) => {
        /// Every byte-exact struct with a documented layout. The C library's objects are not among them: only their sizes
        /// are documented, and the C compiler checks those.
        pub const STRUCTS: &[StructInfo] = &[$(<$ty as Reflect>::INFO),*];
    };
}

macro_rules! enums {
    ($($ty:path,)*) => {
        /// Every enumeration.
        pub const ENUMS: &[EnumInfo] = &[$(<$ty as ReflectEnum>::INFO),*];
    };
}

crate::for_each_abi_struct!(structs);
crate::for_each_abi_enum!(enums);
