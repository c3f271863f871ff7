//! The decisions of the errata that no other scenario shows: each test fails under the other reading.
//!
//! The layout decisions (1 to 11) are compared as a whole by `cargo layout check`; here stand the members the sources
//! disagree about.

use std::mem::{align_of, offset_of, size_of};

use nrt_core::abi::*;
use nrt_core::model::SubgraphPlan;
use nrt_core::{Arch, Location, Usage};
use nrt_tests::runtime;

use crate::books::finish;
use crate::plans::{NOTHING, load};
use crate::ulib::LIBRARY;

#[test]
fn e01_the_microcode_slots_tile_the_core_record() {
    assert_eq!((offset_of!(tpb_t, nrtucode_core), offset_of!(tpb_t, nrtucode_context)), (39_192, 39_312));
    assert_eq!(offset_of!(tpb_t, nrtucode_core) + 5 * 8, offset_of!(tpb_t, pooling_q7_nrtucode_core));
    assert_eq!(offset_of!(tpb_t, nrtucode_context) + 8, size_of::<tpb_t>());
}

#[test]
fn e03_the_queue_pointer_comes_first_and_the_union_lies_inside() {
    assert_eq!((offset_of!(hw_exec_queue_t, model_exec_desc_q), offset_of!(hw_exec_queue_t, pcore)), (0, 88));
    assert_eq!(size_of::<hw_exec_queue_t>(), 224);
    assert_eq!((offset_of!(exec_request_state_t, u), size_of::<exec_request_state_t>()), (392, 472));
}

#[test]
fn e04_the_largest_oversized_variable_is_the_allocators() {
    assert_eq!(offset_of!(dmem_allocator_t, largest_oversized_scratchpad_var), 448);
    assert_eq!((size_of::<dmem_allocator_t>(), size_of::<mem_ref_t>()), (512, 208));
}

#[test]
fn e05_the_value_of_a_table_node_has_eight_bytes() {
    assert_eq!((offset_of!(ht_node_t, buf_size), size_of::<ht_node_t>()), (16, 48));
}

#[test]
fn e06_the_number_of_libraries_stands_in_two_structs() {
    assert_eq!((offset_of!(kbin_ucode_lib_sets, num_libs), size_of::<kbin_ucode_lib_sets>()), (8, 16));
    assert_eq!(offset_of!(ucode_lib_set_info_t, num_libs), 24);
}

#[test]
fn e07_the_descriptor_is_the_devices() {
    assert_eq!((size_of::<ndl_mem_info_t>(), offset_of!(ndl_device_t, context)), (64, 632));
    assert_eq!(offset_of!(ndl_mem_info_t, device), 0);
}

#[test]
fn e08_the_load_plan_hangs_on_a_pointer() {
    // The header has 24 bytes and an array of records behind it. Embedded it would push what follows to 320; here 8 bytes lead
    // to it, and the struct goes on for 120.
    assert_eq!((offset_of!(kbin_t, mem_ref_set), size_of::<kbin_mem_ref_set_t>()), (296, 24));
    assert_eq!(offset_of!(kbin_t, unk_130), 304);
    assert_eq!(size_of::<kbin_t>(), 424);
    // SAFETY: zeroed memory is a valid `kbin_t`, whose pointers are null.
    let kbin: kbin_t = unsafe { std::mem::zeroed() };
    let hung: *mut kbin_mem_ref_set_t = kbin.mem_ref_set;
    assert!(hung.is_null());
}

#[test]
fn e09_nodes_and_tensors_are_aligned_to_cache_lines() {
    assert_eq!((align_of::<dmem_t>(), align_of::<nrt_tensor_t>(), align_of::<nrt_tensor_storage_t>()), (64, 64, 64));
    assert_eq!((size_of::<dmem_t>(), size_of::<nrt_tensor_t>(), size_of::<nrt_tensor_storage_t>()), (192, 192, 320));
    // On the third line, with the hint and the links.
    assert_eq!((offset_of!(dmem_t, ref_count), offset_of!(dmem_t, hint), offset_of!(dmem_t, allocator)), (128, 136, 168));
}

#[test]
fn e10_members_that_plain_alignment_cannot_place() {
    assert_eq!((offset_of!(loadable_library_header, start_symbol), align_of::<loadable_library_header>()), (20, 1));
    let arm = offset_of!(mem_ref_t, u);
    assert_eq!((arm + offset_of!(mem_ref_t_ptr, mr_ptr_id), arm + offset_of!(mem_ref_t_ptr, is_io)), (40, 48));
    assert_eq!((offset_of!(dlr_kelf_model_t, uuid) + 16, offset_of!(dlr_kelf_model_t, params)), (36, 40));
}

#[test]
fn e11_the_second_configuration_block() {
    let offsets = (
        offset_of!(gcfg, funtime),
        offset_of!(gcfg, v4_plus),
        offset_of!(gcfg, enable_p2p),
        offset_of!(gcfg, experimental_contiguous_scratchpad),
    );
    assert_eq!(offsets, (184, 232, 116, 112));
}

#[test]
fn e12_sunda_is_2_and_cayman_is_3() {
    // Name, number, cores of a device, cores of a logical core, whether libraries are staged.
    for (arch, name, number, cores, size, stages) in [
        (Arch::Sunda, "sunda", 2, 2, 1, true),
        (Arch::Cayman, "cayman", 3, 8, 2, false),
        (Arch::Mariana, "mariana", 4, 8, 2, false),
    ] {
        let runtime = runtime(arch);
        let core = runtime.core(0).unwrap();
        let target = runtime
            .with_tree(|tree| {
                // SAFETY: the tree of an open runtime, written during init only.
                unsafe { (*tree.as_ptr()).target.0 }
            })
            .unwrap();
        assert_eq!((arch.to_string().as_str(), arch as u32, target), (name, number, number));
        assert_eq!((arch.cores_per_device(), runtime.logical_core_size()), (cores, size));
        let model = load(&core, SubgraphPlan { libraries: &[LIBRARY], ..NOTHING }).unwrap();
        assert_eq!(core.library_users(0), Ok((u32::from(stages), stages)), "{arch}");
        model.unload().unwrap();
        finish(&runtime);
    }
    let c = [al_hal_tpb_arch_type_t::AL_HAL_TPB_ARCH_TYPE_SUNDA.0, al_hal_tpb_arch_type_t::AL_HAL_TPB_ARCH_TYPE_CAYMAN.0];
    assert_eq!(c, [2, 3]);
}

#[test]
fn e15_usages_3_and_4_go_by_number() {
    // All three tables treat 3 as miscellaneous and 4 as code, whatever they are called.
    let of = |number| {
        let usage = Usage::from_number(number).unwrap();
        (usage.category(Location::Host), usage.category(Location::Device), usage.class() as u8)
    };
    assert_eq!((of(3), of(4)), ((Some(4), Some(12), 5), (Some(1), Some(8), 0)));
}

#[test]
fn e18_notification_types_have_two_numberings() {
    let runtime = [nq_notification_type::EVENT.0, nq_notification_type::ERROR.0, nq_notification_type::INFER_STATUS.0];
    assert_eq!((runtime, nq_notification_type::MAX.0), ([1, 2, 3], 10));
    let driver = [NQ_TYPE::NQ_TYPE_NOTIFY.0, NQ_TYPE::NQ_TYPE_EVENT.0, NQ_TYPE::NQ_TYPE_ERROR.0];
    assert_eq!((driver, NQ_TYPE::NQ_TYPE_MAX.0), ([1, 2, 3], 6));
}
