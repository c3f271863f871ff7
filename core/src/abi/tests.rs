use std::string::String;

use super::*;

const DOCUMENTED: [&str; 48] = [
    "tdrv_ctx_t",
    "mla_t",
    "tpb_t",
    "tpb_sunda_t",
    "tpb_map_t",
    "ptpb_info_t",
    "physical_core_t",
    "virtual_core_t",
    "H_MODEL",
    "dmem_t",
    "dmem_allocator_t",
    "dmem_list_t",
    "dmem_ref_node_t",
    "dma_mem_log_t",
    "dma_mem_log_entry_t",
    "ht_t",
    "ht_node_t",
    "model_t",
    "encd_context",
    "vtpb_info_shared_mr_set_t",
    "mem_ref_t",
    "kbin_mem_ref_t",
    "kbin_mem_ref_set_t",
    "tdrv_scratchpad_t",
    "tdrv_scratchpad_page_t",
    "tdrv_scratchpad_info_t",
    "tdrv_scratchpad_cleanup_info_t",
    "ucode_func_info_t",
    "ucode_lib_info_t",
    "ucode_lib_set_info_t",
    "SUNDA_UCODE_LIB_LIBRARY_TABLE_ENTRY",
    "SUNDA_UCODE_LIB_INFO",
    "nrt_tensor_t",
    "nrt_tensor_storage_t",
    "nrt_tensor_list_t",
    "nrt_tensor_batch_t",
    "nrt_tensor_batch_op_t",
    "nrt_tensor_device_allocation_info_t",
    "nrt_vnc_memory_stats_t",
    "kbl_feature_map_t",
    "kbl_feature_map_set_t",
    "kbl_fmap_t",
    "kbl_fmap_set_t",
    "hw_exec_queue_t",
    "ndl_copy_buf_t",
    "ndl_device_t",
    "ndl_mem_info_t",
    "neuron_memcpy_batch_t",
];

#[test]
fn all_documented_structs_and_fields_are_there() {
    let mut fields = 0;
    for name in DOCUMENTED {
        let mut found = STRUCTS.iter().filter(|info| info.name == name);
        let info = found.next().unwrap_or_else(|| panic!("{name} is missing"));
        assert!(found.next().is_none(), "{name} is listed twice");
        fields += info.fields.iter().filter(|field| !field.is_unnamed()).count();
    }
    assert_eq!(fields, 339);
}

#[test]
fn everything_documented_is_there() {
    let named = |info: &reflect::StructInfo| info.fields.iter().filter(|field| !field.is_unnamed()).count();
    let driver = |info: &&reflect::StructInfo| {
        let shared = ["nds_header", "neuron_app_info", "neuron_uuid", "neuron_dma_eng_state", "neuron_dma_queue_state"];
        info.name.starts_with("neuron_ioctl_") || shared.contains(&info.name)
    };
    assert_eq!(STRUCTS.len(), 215);
    assert_eq!(STRUCTS.iter().filter(|info| named(info) > 0).count(), 94 + 93);
    assert_eq!(STRUCTS.iter().map(named).sum::<usize>(), 559 + 372);
    assert_eq!(STRUCTS.iter().filter(driver).count(), 93);
    assert_eq!(STRUCTS.iter().filter(driver).map(named).sum::<usize>(), 372);
}

/// Zero bytes are a value of every struct. The compiler evaluates this, and refuses a type for which they are none.
macro_rules! zeroed {
    ($($ty:path,)*) => {$(
        const _: () = {
            // SAFETY: the claim under test: no field is a reference, a bare function pointer or an enumeration without 0.
            let _: core::mem::ManuallyDrop<$ty> = unsafe { core::mem::zeroed() };
        };
    )*};
}
crate::for_each_abi_struct!(zeroed);

#[test]
fn fields_tile_their_struct() {
    for info in STRUCTS {
        let mut end = 0;
        for field in info.fields.iter().filter(|field| !field.path.contains('.')) {
            assert_eq!(field.offset, end, "{}.{} leaves a hole or overlaps", info.name, field.path);
            end = field.offset + field.size;
        }
        assert_eq!(end, info.size, "{} has a tail without a name", info.name);
    }
}

#[test]
fn unnamed_spans_carry_their_offset() {
    for info in STRUCTS {
        for field in info.fields.iter().filter(|field| field.is_unnamed() && !field.group) {
            let offset = field.path.split('_').nth(1).expect("an unnamed span is named kind_offset");
            assert_eq!(usize::from_str_radix(offset, 16), Ok(field.offset), "{}.{}", info.name, field.path);
        }
    }
}

#[test]
fn strides_seen_in_the_original() {
    assert_eq!(size_of::<mla_t>(), 590_008);
    assert_eq!(size_of::<tpb_t>(), 39_320);
    assert_eq!(size_of::<tdrv_ctx_t>(), 18_884_656);
}

#[test]
fn raw_identifiers_are_reflected_plainly() {
    let allocator = STRUCTS.iter().find(|info| info.name == "dmem_allocator_t").expect("listed");
    assert_eq!(allocator.fields[0].path, "type");
}

#[test]
fn enumerators_are_unique_by_name() {
    for info in ENUMS {
        for (index, (name, _)) in info.values.iter().enumerate() {
            assert!(info.values[..index].iter().all(|(other, _)| other != name), "{}.{name}", info.name);
        }
    }
    let sizes = ENUMS.iter().find(|info| info.name == "nrt_instance_size").expect("listed");
    assert_eq!(sizes.values[0].0, String::from("1XL"));
}

#[test]
fn reject_byte_marks_three_usages() {
    let rejected = |usage: &usize| USAGE_HOST_CATEGORY[*usage] == USAGE_CATEGORY_REJECT;
    assert!((0..USAGE_COLUMNS).filter(rejected).eq([11, 15, 16]));
}

#[test]
fn aggregate_follows_the_device_category() {
    for usage in 0..18 {
        for other in 0..usage {
            if USAGE_DEVICE_CATEGORY[usage] == USAGE_DEVICE_CATEGORY[other] {
                assert_eq!(USAGE_AGGREGATE[usage], USAGE_AGGREGATE[other], "usages {other} and {usage}");
            }
        }
    }
}
