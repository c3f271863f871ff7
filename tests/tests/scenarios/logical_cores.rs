//! `lnc` §§1 to 4, `context-tree` §7: sizes, mapping, geometry.

use nrt_core::driver::Errno;
use nrt_core::instance::Instance;
use nrt_core::{Arch, Cause, Config, Error, Result, Runtime, Status, logical_core, physical_core};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::{Live, SimConfig};
use nrt_tests::{TestRuntime, TestStorage, driver, storage};

use crate::books::finish;
use crate::plans::refused;
use crate::raw;

fn init(sim: SimConfig, size: Option<u32>) -> Result<TestRuntime> {
    let fresh: &'static TestStorage = storage();
    let config = Config { logical_core_size: size, ..Config::new(LinuxHooks::new()).side_by_side() };
    Runtime::init(fresh, driver(sim), config)
}

#[test]
fn sizes_by_architecture() {
    for (arch, asked, size, cores) in [
        (Arch::Sunda, None, 1, 2),
        (Arch::Sunda, Some(1), 1, 2),
        // SUNDA is forced to 1, whatever is asked.
        (Arch::Sunda, Some(2), 1, 2),
        (Arch::Sunda, Some(0), 1, 2),
        (Arch::Cayman, None, 2, 4),
        (Arch::Cayman, Some(1), 1, 8),
        (Arch::Cayman, Some(2), 2, 4),
        (Arch::Mariana, None, 2, 4),
        (Arch::Mariana, Some(1), 1, 8),
    ] {
        let runtime = init(SimConfig::new(arch), asked).unwrap();
        assert_eq!((runtime.logical_core_size(), runtime.logical_cores()), (size, cores), "{arch} {asked:?}");
        finish(&runtime);
    }
}

#[test]
fn other_sizes_are_refused_and_leave_the_storage_free() {
    for arch in [Arch::Cayman, Arch::Mariana] {
        for size in [0, 3, 4, 8, u32::MAX] {
            let fresh: &'static TestStorage = storage();
            let driver = driver(SimConfig::new(arch));
            let config = Config { logical_core_size: Some(size), ..Config::new(LinuxHooks::new()).side_by_side() };
            let cause = Cause::LogicalCoreSize { size, cores_per_device: 8, largest: 2 };
            assert_eq!(refused(Runtime::init(fresh, driver, config)), Error { status: Status::Invalid, cause });
            // Only the probe reached the driver.
            assert_eq!((driver.seen(), driver.inner().live(0)), (1, Live::default()));
            assert!(Runtime::init(fresh, driver, Config::new(LinuxHooks::new()).side_by_side()).is_ok());
        }
    }
}

/// `lnc` §4, step 5: a restricted kind of instance has size 2 only, which is then its default.
#[test]
fn a_restricted_instance_has_one_size() {
    let only = Instance { only_logical_core_size: Some(2), ..Instance::UNKNOWN };
    let init = |arch, size| {
        let fresh: &'static TestStorage = storage();
        Runtime::init(
            fresh,
            driver(SimConfig::new(arch)),
            Config { instance: only, logical_core_size: size, ..Config::new(LinuxHooks::new()).side_by_side() },
        )
    };
    for size in [0, 1, 4] {
        let error = refused(init(Arch::Cayman, Some(size)));
        assert_eq!(error, Error { status: Status::Invalid, cause: Cause::InstanceCoreSize { size, only: 2 } });
        assert!(
            error
                .to_string()
                .contains(&format!("logical core size {size} is not possible, expected only size 2 on this instance")),
            "{error}"
        );
    }
    for (arch, size, settled) in [(Arch::Cayman, Some(2), 2), (Arch::Mariana, None, 2), (Arch::Sunda, None, 1)] {
        let runtime = init(arch, size).unwrap();
        assert_eq!(runtime.logical_core_size(), settled);
        finish(&runtime);
    }
}

#[test]
fn the_size_divides_the_cores_of_a_device() {
    let of = |cores_per_device| SimConfig { cores_per_device, ..SimConfig::new(Arch::Cayman) };
    for cores in [1, 3, 5, 7] {
        let cause = Cause::LogicalCoreSize { size: 2, cores_per_device: cores, largest: 2 };
        assert_eq!(refused(init(of(cores), Some(2))), Error { status: Status::Invalid, cause });
        let runtime = init(of(cores), Some(1)).unwrap();
        assert_eq!(runtime.logical_cores(), cores);
        finish(&runtime);
    }
    // A device with one core defaults to 1.
    let runtime = init(of(1), None).unwrap();
    assert_eq!((runtime.logical_core_size(), runtime.logical_cores()), (1, 1));
    assert_eq!(
        runtime.with_tree(|tree| tree.resolve(0, 1)).unwrap(),
        Err(Error { status: Status::Invalid, cause: Cause::CoreNotMapped { device: 0, core: 1 } })
    );
    finish(&runtime);
}

#[test]
fn physical_cores_count_through_the_devices() {
    let of = |arch, devices| SimConfig { devices, ..SimConfig::new(arch) };
    for (sim, size, per_device) in
        [(of(Arch::Sunda, 3), None, 2), (of(Arch::Cayman, 2), None, 8), (of(Arch::Cayman, 2), Some(1), 8)]
    {
        let runtime = init(sim, size).unwrap();
        let size = runtime.logical_core_size();
        assert_eq!(runtime.logical_cores(), sim.devices * per_device / size);
        for vnc in 0..runtime.logical_cores() {
            let core = runtime.core(vnc).unwrap();
            assert_eq!(core.index(), vnc);
            for relative in 0..size {
                let flat = vnc * size + relative;
                assert_eq!(core.physical(relative), Ok((flat / per_device, flat % per_device)));
                assert_eq!(physical_core(vnc, relative, size), flat);
                assert_eq!(logical_core(flat, size), Some(vnc));
            }
            for relative in [size, 2, u32::MAX] {
                let error = Error { status: Status::Invalid, cause: Cause::CoreOutOfRange(relative) };
                assert_eq!(core.physical(relative), Err(error));
            }
        }
        let count = runtime.logical_cores();
        for vnc in [count, u32::MAX] {
            let error = Error { status: Status::Invalid, cause: Cause::VncOutOfRange { vnc, count } };
            assert_eq!(refused(runtime.core(vnc)), error);
        }
        finish(&runtime);
    }
}

#[test]
fn the_handles_of_the_cores_point_into_their_logical_core() {
    let runtime = init(SimConfig { devices: 2, ..SimConfig::new(Arch::Cayman) }, None).unwrap();
    for flat in 0..16 {
        let (device, core) = (flat / 8, flat % 8);
        // SAFETY: records of an open tree, written during init only.
        unsafe {
            let pcore = (*(*raw::tpb(&runtime, device, core)).tpb_allocator).pcore;
            assert_eq!(((*pcore).device_id, (*pcore).device_tpb_idx), (device, core));
            let vcore = (*pcore).vcore;
            assert_eq!(((*vcore).vtpb_idx, (*vcore).vtpb, (*vcore).num_tpbs), (flat / 2, flat / 2, 2));
            assert_eq!(pcore.addr(), vcore.addr() + 16 + 24 * (flat as usize % 2));
        }
    }
    finish(&runtime);
}

#[test]
fn a_core_of_one_leaves_its_second_slot_empty() {
    let runtime = init(SimConfig::new(Arch::Sunda), None).unwrap();
    // SAFETY: as above.
    unsafe {
        let vcore = (*(*(*raw::tpb(&runtime, 0, 1)).tpb_allocator).pcore).vcore;
        assert_eq!(((*vcore).vtpb_idx, (*vcore).num_tpbs), (1, 1));
        assert_eq!(((*vcore).tpbs[1].device_id, (*vcore).tpbs[1].vcore.is_null()), (u32::MAX, true));
    }
    finish(&runtime);
}

#[test]
fn geometry_is_that_of_the_table() {
    // Cores, channels, cores per HBM, GiB of one channel.
    for (arch, row) in [(Arch::Sunda, (2, 2, 1, 16)), (Arch::Cayman, (8, 4, 2, 24)), (Arch::Mariana, (8, 4, 2, 36))] {
        let told = (arch.cores_per_device(), arch.channels_per_device(), arch.cores_per_hbm(), arch.hbm_bytes() >> 30);
        assert_eq!(told, row);
        for core in 0..arch.cores_per_device() {
            assert_eq!(arch.default_channel(core), core / row.2);
        }
        let bases = (0..4).map(|channel| arch.hbm_base(channel)).collect::<Vec<_>>();
        let far = [Some(0), Some(0x40_0000_0000), Some(0x8000_0000_0000), Some(0x8040_0000_0000)];
        let near = [Some(0), Some(0x10_0000_0000), None, None];
        assert_eq!(bases, if arch == Arch::Sunda { near } else { far });
    }
}

#[test]
fn a_machine_without_devices_is_invalid() {
    let fresh: &'static TestStorage = storage();
    let driver = driver(SimConfig::new(Arch::Cayman));
    driver.fail_nth(1, Errno::ENODEV);
    let error = refused(Runtime::init(fresh, driver, Config::new(LinuxHooks::new()).side_by_side()));
    let cause = Cause::Driver { call: nrt_core::driver::Call::Probe, device: 0, errno: Errno::ENODEV };
    assert_eq!(error, Error { status: Status::Invalid, cause });
    driver.fail_nth(1, Errno::EIO);
    assert_eq!(refused(Runtime::init(fresh, driver, Config::new(LinuxHooks::new()).side_by_side())).status, Status::Failure);
}
