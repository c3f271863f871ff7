//! `context-tree` §§2, 3, 7 to 10: the tree, its accessors, the resolver, the routing ids.

use std::mem::offset_of;
use std::ptr::NonNull;

use nrt_core::abi::{al_hal_tpb_arch_type_t, mla_t, tdrv_ctx_t, tpb_t};
use nrt_core::context::Tree;
use nrt_core::driver::{Call, Errno};
use nrt_core::instance::{Family, Instance, Size};
use nrt_core::{Arch, Cause, Config, Error, Runtime, Status};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::SimConfig;
use nrt_tests::{TestRuntime, TestStorage, driver, one_device, open, runtime, storage};

use crate::books::finish;
use crate::plans::refused;
use crate::raw::{mla, tpb};

fn devices(arch: Arch, devices: u32) -> TestRuntime {
    open(driver(SimConfig { devices, ..SimConfig::new(arch) }), Config::new(LinuxHooks::new()).side_by_side())
}

fn invalid(cause: Cause) -> Error {
    Error { status: Status::Invalid, cause }
}

#[test]
fn records_lie_at_the_strides_of_the_instructions() {
    let runtime = devices(Arch::Cayman, 2);
    let context = runtime.with_tree(|tree| tree.as_ptr()).unwrap().addr();
    assert_eq!(size_of::<tdrv_ctx_t>(), 18_884_656);
    assert_eq!(tpb(&runtime, 0, 0).addr(), context + 0x58);
    for device in 0..2 {
        assert_eq!(mla(&runtime, device).addr(), context + 8 + device as usize * 590_008);
        for core in 0..8 {
            let resolved = runtime.with_tree(|tree| tree.resolve(device, core)).unwrap().unwrap();
            assert_eq!(resolved.mla.addr().get(), context + 8 + device as usize * 590_008);
            assert_eq!(resolved.tpb.addr().get(), resolved.mla.addr().get() + 80 + core as usize * 39_320);
            assert_eq!((resolved.device, resolved.core), (device, core));
        }
    }
    assert_eq!(mla(&runtime, 31).addr(), context + 8 + 31 * 590_008);
    assert_eq!((size_of::<mla_t>(), size_of::<tpb_t>()), (590_008, 39_320));
    finish(&runtime);
}

#[test]
fn a_zeroed_tree_has_no_device() {
    // SAFETY: zero is a valid tree.
    let context = NonNull::from(unsafe { nrt_tests::leak_zeroed::<tdrv_ctx_t>() });
    // SAFETY: it lives for ever and nobody writes it.
    let tree = unsafe { Tree::new(context) };
    assert_eq!(tree.resolve(0, 0), Err(invalid(Cause::DeviceNotInUse(0))));
    assert_eq!(tree.device_count(), 0);
    assert_eq!(tree.routing_ids(), Err(Error { status: Status::Failure, cause: Cause::TreeUnset }));
}

#[test]
fn the_resolver_checks_what_the_original_asserts() {
    let runtime = runtime(Arch::Sunda);
    let check = |tree: &Tree| {
        for device in [32, 33, u32::MAX] {
            assert_eq!(tree.resolve(device, 0), Err(invalid(Cause::DeviceOutOfRange(device))));
            assert_eq!(tree.mla(device), Err(invalid(Cause::DeviceOutOfRange(device))));
        }
        for device in [1, 31] {
            assert_eq!(tree.resolve(device, 0), Err(invalid(Cause::DeviceNotInUse(device))));
        }
        for core in [8, 9, u32::MAX] {
            assert_eq!(tree.resolve(0, core), Err(invalid(Cause::CoreOutOfRange(core))));
        }
        for core in [2, 5, 7] {
            assert_eq!(tree.resolve(0, core), Err(invalid(Cause::CoreNotMapped { device: 0, core })));
        }
        assert!(tree.resolve(0, 1).is_ok());
    };
    runtime.with_tree(check).unwrap();
    finish(&runtime);
}

#[test]
fn a_tree_can_be_looked_at_while_its_runtime_is_open_only() {
    let driver = one_device(Arch::Cayman);
    let storage: &'static TestStorage = storage();
    let init = || Runtime::init(storage, driver, Config::new(LinuxHooks::new()).side_by_side()).unwrap();
    let first = init();
    // Whoever looks is inside: nothing is taken down under the eyes.
    let busy = Error { status: Status::ExecNcBusy, cause: Cause::Busy { operations: 1, models: 0 } };
    assert_eq!(first.with_tree(|tree| (first.close(Some(0)), tree.resolve(0, 0).is_ok())), Ok((Err(busy), true)));
    first.close(None).unwrap();
    // The storage lives on under another runtime; the old one shows nothing of it.
    let second = init();
    let closed = Error { status: Status::Closed, cause: Cause::NotOpen };
    assert_eq!(first.with_tree(|tree| tree.resolve(0, 0)), Err(closed));
    assert!(second.with_tree(|tree| tree.resolve(0, 0)).unwrap().is_ok());
    finish(&second);
}

#[test]
fn used_slots_name_themselves_and_empty_slots_are_minus_one() {
    let runtime = devices(Arch::Mariana, 3);
    for device in 0..32 {
        let mla = mla(&runtime, device);
        let used = device < 3;
        // SAFETY: records of an open tree, written during init only.
        unsafe {
            assert_eq!(((*mla).is_used, (*mla).mla_idx), (used, device));
            assert_eq!((*mla).device_id, if used { device } else { u32::MAX });
            assert_eq!((*mla).host_device_id, if used { device } else { u32::MAX });
            assert_eq!((*mla).tpb_map.map, [u8::from(used); 8]);
            assert_eq!((*mla).device.is_null(), !used);
        }
    }
    // SAFETY: as above.
    unsafe {
        let context = runtime.with_tree(|tree| tree.as_ptr()).unwrap();
        assert_eq!(((*context).num_mla, (*context).target), (3, al_hal_tpb_arch_type_t(4)));
        assert_eq!(&(&(*mla(&runtime, 0)).bdf)[..8], b"ff:ff.f\0");
    }
    assert_eq!(runtime.with_tree(|tree| tree.device_count()).unwrap(), 3);
    finish(&runtime);
}

#[test]
fn every_core_knows_its_index_and_has_its_parts() {
    let runtime = runtime(Arch::Cayman);
    for core in 0..8 {
        let tpb = tpb(&runtime, 0, core);
        // SAFETY: records of an open tree.
        unsafe {
            assert_eq!((*tpb).idx, core as i32);
            assert!(!(*tpb).tpb_allocator.is_null() && !(*tpb).model_db.is_null());
            assert_eq!(((*(*tpb).tpb_allocator).r#type.0, (*tpb).h_running_model.id), (0, 0));
            let pcore = (*(*tpb).tpb_allocator).pcore;
            assert_eq!(((*pcore).device_id, (*pcore).device_tpb_idx), (0, core));
            assert_eq!((*tpb).hw_exec_queue.pcore, pcore);
            let resolved = runtime.with_tree(|tree| tree.resolve_core(&*pcore)).unwrap().unwrap();
            assert_eq!(resolved.tpb.as_ptr().cast_const(), tpb);
        }
    }
    finish(&runtime);
}

#[test]
fn devices_are_found_by_their_host_id_among_the_used_ones_only() {
    let runtime = devices(Arch::Sunda, 2);
    let check = |tree: &Tree| {
        assert_eq!(tree.mla_by_host_device_id(1), tree.mla(1));
        assert_eq!(tree.mla_by_host_device_id(0), tree.mla(0));
        for unknown in [2, u32::MAX] {
            assert_eq!(tree.mla_by_host_device_id(unknown), Err(invalid(Cause::DeviceNotInUse(unknown))));
        }
        for device in [0, 1] {
            assert_eq!(tree.mla_by_device_id(device), tree.mla(device));
        }
        for device in [2, 31] {
            assert_eq!(tree.mla_by_device_id(device), Err(invalid(Cause::DeviceNotInUse(device))));
        }
        assert_eq!(tree.mla_by_device_id(32), Err(invalid(Cause::DeviceOutOfRange(32))));
    };
    runtime.with_tree(check).unwrap();
    finish(&runtime);
}

#[test]
fn the_flat_registry_lists_all_cores_device_by_device() {
    for (arch, count, cores) in [(Arch::Sunda, 3, 2), (Arch::Cayman, 2, 8)] {
        let runtime = devices(arch, count);
        let context = runtime.with_tree(|tree| tree.as_ptr()).unwrap();
        // SAFETY: an open tree, written during init only.
        let entries = unsafe { &(&(*context).ptpbs)[..(*context).num_ptpb as usize] };
        assert_eq!(entries.len() as u32, count * cores);
        for (flat, entry) in (0..).zip(entries) {
            assert_eq!(entry.tpb_idx, flat % cores);
            assert_eq!(entry.mla.cast_const(), mla(&runtime, flat / cores));
        }
        finish(&runtime);
    }
}

#[test]
fn the_routing_map_is_the_drivers_and_names_each_device() {
    let runtime = devices(Arch::Sunda, 16);
    // `context-tree` §9: the map of families 2, 3 and 7.
    let documented = [0, 2, 6, 4, 1, 3, 7, 5, 9, 11, 15, 13, 8, 10, 14, 12];
    runtime.with_tree(|tree| assert_eq!(tree.routing_ids(), Ok(&documented[..]))).unwrap();
    for (device, routing_id) in (0..16).zip(documented) {
        // SAFETY: records of an open tree.
        assert_eq!(unsafe { (*mla(&runtime, device)).routing_id }, routing_id);
    }
    finish(&runtime);
}

#[test]
fn without_the_routing_request_the_map_is_empty_and_the_accessor_fails() {
    let driver = one_device(Arch::Cayman);
    driver.watch(&[Call::RoutingIds]);
    driver.fail_nth(1, Errno::EINVAL);
    let runtime = open(driver, Config::new(LinuxHooks::new()).side_by_side());
    let unset = Error { status: Status::Failure, cause: Cause::TreeUnset };
    runtime.with_tree(|tree| assert_eq!(tree.routing_ids(), Err(unset))).unwrap();
    // SAFETY: the record of an open tree.
    assert_eq!(unsafe { (*mla(&runtime, 0)).routing_id }, u32::MAX);
    finish(&runtime);
}

#[test]
fn without_the_routing_request_the_family_decides_where_it_is_known() {
    let torus = [0, 2, 6, 4, 1, 3, 7, 5, 9, 11, 15, 13, 8, 10, 14, 12];
    for (family, map) in [(Family::TRN1, &torus[..]), (Family::INF2, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])] {
        let driver = driver(SimConfig { devices: 3, ..SimConfig::new(Arch::Sunda) });
        driver.watch(&[Call::RoutingIds]);
        driver.fail_nth(1, Errno::EINVAL);
        let instance = Instance { family, ..Instance::UNKNOWN };
        let runtime = open(driver, Config { instance, ..Config::new(LinuxHooks::new()).side_by_side() });
        assert_eq!(runtime.instance(), instance);
        runtime.with_tree(|tree| assert_eq!(tree.routing_ids(), Ok(map))).unwrap();
        assert_eq!([0, 1, 2].map(|device| runtime.routing_id(device)), [map[0], map[1], map[2]].map(|id| Ok(Some(id))));
        finish(&runtime);
    }
    // MARIANA has a family of its own, which has no map.
    let runtime = open(one_device(Arch::Mariana), Config::new(LinuxHooks::new()).side_by_side());
    assert_eq!(runtime.instance(), Instance { family: Family::TRN3, size: Size::_2XL, ..Instance::UNKNOWN });
    finish(&runtime);
}

/// A container shows devices 5, 6, 7 of a host as 0, 1, 2.
#[test]
fn a_container_keeps_the_hosts_ids_apart_from_its_own() {
    let machine = SimConfig { devices: 3, first_host_device: 5, ..SimConfig::new(Arch::Sunda) };
    let none = |id| Err(invalid(Cause::DeviceNotInUse(id)));
    let shows = |runtime: &TestRuntime, first: u32, ids: [Option<u32>; 3]| {
        for (device, id) in (0..3).zip(ids) {
            let host = first + device;
            assert_eq!((runtime.host_device_id(device), runtime.device_by_host_id(host)), (Ok(host), Ok(device)));
            assert_eq!(runtime.routing_id(device), Ok(id), "device {device}");
            // SAFETY: the record of an open tree, written during init only.
            unsafe {
                let mla = mla(runtime, device);
                assert_eq!(((*mla).device_id, (*mla).host_device_id, (*mla).routing_id), (device, host, id.unwrap_or(u32::MAX)));
            }
            let found = runtime.with_tree(|tree| (tree.mla_by_host_device_id(host), tree.mla_by_device_id(device))).unwrap();
            assert_eq!(found.0, found.1);
        }
        for stranger in (0..first).chain([first + 3, u32::MAX]) {
            assert_eq!(runtime.device_by_host_id(stranger), none(stranger));
        }
        assert_eq!(runtime.host_device_id(3), none(3));
        finish(runtime);
    };
    let torus = [0, 2, 6, 4, 1, 3, 7, 5];
    // 1. The driver's map, by the host's numbers.
    let runtime = open(driver(machine), Config::new(LinuxHooks::new()).side_by_side());
    runtime.with_tree(|tree| assert_eq!(tree.routing_ids(), Ok(&torus[..]))).unwrap();
    shows(&runtime, 5, [Some(3), Some(7), Some(5)]);
    // 2. The map of the family, where the driver does not know the request; that of INF2 ends at 12.
    for (family, first, ids) in [
        (Family::TRN1, 5, [Some(3), Some(7), Some(5)]),
        (Family::TRN1N, 14, [Some(14), Some(12), None]),
        (Family::INF2, 10, [Some(10), Some(11), None]),
        (Family::INF1, 5, [None; 3]),
    ] {
        let driver = driver(SimConfig { first_host_device: first, ..machine });
        driver.watch(&[Call::RoutingIds]);
        driver.fail_nth(1, Errno::EINVAL);
        let instance = Instance { family, ..Instance::UNKNOWN };
        shows(&open(driver, Config { instance, ..Config::new(LinuxHooks::new()).side_by_side() }), first, ids);
    }
    // 3. Beyond the 32 entries of the tree a device has a host id and no routing id.
    let runtime = open(driver(SimConfig { first_host_device: 30, ..machine }), Config::new(LinuxHooks::new()).side_by_side());
    runtime.with_tree(|tree| assert_eq!(tree.routing_ids().unwrap().len(), 32)).unwrap();
    shows(&runtime, 30, [Some(30), Some(31), None]);
}

#[test]
fn any_other_failure_of_the_routing_request_fails_init() {
    let driver = one_device(Arch::Cayman);
    driver.watch(&[Call::RoutingIds]);
    driver.fail_nth(1, Errno::EIO);
    let storage: &'static TestStorage = storage();
    let error = refused(Runtime::init(storage, driver, Config::new(LinuxHooks::new()).side_by_side()));
    let cause = Cause::Driver { call: Call::RoutingIds, device: 0, errno: Errno::EIO };
    assert_eq!(error, Error { status: Status::Failure, cause });
}

#[test]
fn teardown_bases_that_look_like_other_members_are_the_device() {
    // Errata 2: seen from the context, 8 bytes before the record.
    assert_eq!(offset_of!(mla_t, device), 0x4CD30 - 8);
    assert_eq!(offset_of!(mla_t, intc), 0x8D418 - 8);
    assert_eq!(offset_of!(mla_t, dmem_logger), 0x8CD08 - 8);
}
