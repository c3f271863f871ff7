//! `lnc` §§2, 5, 6: a runtime on a part of the machine's cores, and what finds what.

use std::sync::atomic::Ordering::Relaxed;

use nrt_core::driver::{Call, Driver as _};
use nrt_core::environment::{CoreSelection, Environment};
use nrt_core::hooks::Level;
use nrt_core::{Arch, Cause, Config, Error, Placement, Result, Runtime, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::{Live, SimConfig};
use nrt_tests::{TestDriver, TestRuntime, TestStorage, driver, storage};

use crate::books::{MIB, assert_quiet};
use crate::plans::{device, load, load_arena, refused, region};
use crate::raw;
use crate::recorder::{Recorder, recorded};

fn machine(arch: Arch, devices: u32) -> TestDriver {
    driver(SimConfig { devices, ..SimConfig::new(arch) })
}

fn init(driver: TestDriver, size: Option<u32>, cores: CoreSelection) -> Result<TestRuntime> {
    let fresh: &'static TestStorage = storage();
    Runtime::init(fresh, driver, Config { logical_core_size: size, cores, ..Config::new(LinuxHooks::new()).side_by_side() })
}

const fn exact(first: u32, count: u32) -> CoreSelection {
    CoreSelection::Exact { first, count }
}

fn invalid(cause: Cause) -> Error {
    Error { status: Status::Invalid, cause }
}

/// Chunks and pinned bytes of a device: what its owned cores' bounce buffers come to.
fn bounce(cores: u64) -> Live {
    Live { chunks: cores, device_bytes: 0, host_bytes: cores * 2 * MIB, mappings: cores }
}

fn close(runtime: &TestRuntime, devices: u32) {
    assert!(runtime.close(None).unwrap().is_clean());
    assert_quiet(runtime.driver(), devices);
}

#[test]
fn cores_outside_the_slice_are_not_touched() {
    // Logical cores 2 to 4 of two devices: physical cores 4 to 7 of device 0 and 0 to 1 of device 1; device 2 not at all.
    let driver = machine(Arch::Cayman, 3);
    driver.watch(&[Call::Open]);
    let runtime = init(driver, None, exact(2, 3)).unwrap();
    assert_eq!(driver.seen(), 2, "the third device is not opened");
    assert_eq!((runtime.first_logical_core(), runtime.logical_cores()), (2, 3));
    assert_eq!([0, 1, 2].map(|device| driver.inner().live(device)), [bounce(4), bounce(2), bounce(0)]);
    // Nothing of a core outside carries a heap or a database, and no accessor gets to it.
    for (device, core) in [(0, 0), (0, 3), (1, 2), (1, 7)] {
        let record = runtime.with_tree(|tree| tree.mla(device)).unwrap().unwrap().as_ptr();
        // SAFETY: records of an open tree.
        unsafe {
            let tpb = &raw const (*record)._tpbs[core as usize];
            assert!((*tpb).tpb_allocator.is_null() && (*tpb).model_db.is_null());
            assert_eq!((*record).tpb_map.map[core as usize], 0);
        }
        assert_eq!(
            runtime.with_tree(|tree| tree.resolve(device, core)).unwrap(),
            Err(invalid(Cause::CoreNotMapped { device, core }))
        );
        assert_eq!(refused(runtime.locate(device, core)), invalid(Cause::CoreNotMapped { device, core }));
        assert_eq!(refused(runtime.hbm_cores(device, core)), invalid(Cause::CoreNotMapped { device, core }));
        assert_eq!(refused(runtime.flat_index(device, core)), invalid(Cause::CoreNotMapped { device, core }));
        assert_eq!(
            refused(runtime.for_each_model_usage(device, core, |_, _| ())),
            invalid(Cause::CoreNotMapped { device, core })
        );
    }
    assert_eq!(runtime.refresh_ledger(2), Err(invalid(Cause::DeviceNotInUse(2))));
    assert_eq!(runtime.with_tree(|tree| tree.resolve(2, 0)).unwrap(), Err(invalid(Cause::DeviceNotInUse(2))));
    let mut owned = Vec::new();
    runtime.for_each_core_usage(|core| owned.push((core.device, core.core))).unwrap();
    assert_eq!(owned, [(0, 4), (0, 5), (0, 6), (0, 7), (1, 0), (1, 1)]);
    close(&runtime, 3);
}

#[test]
fn a_slice_that_starts_in_a_later_device_leaves_the_earlier_ones_closed() {
    let driver = machine(Arch::Sunda, 4);
    let runtime = init(driver, None, exact(5, 3)).unwrap();
    assert_eq!([0, 1, 2, 3].map(|device| driver.inner().live(device)), [bounce(0), bounce(0), bounce(1), bounce(2)]);
    assert_eq!(runtime.with_tree(|tree| tree.device_count()).unwrap(), 2);
    assert_eq!(runtime.host_device_id(1), Err(invalid(Cause::DeviceNotInUse(1))));
    assert_eq!(runtime.routing_id(0), Err(invalid(Cause::DeviceNotInUse(0))));
    assert_eq!(runtime.core(0).unwrap().physical(0), Ok((2, 1)));
    close(&runtime, 4);
}

#[test]
fn work_of_a_slice_lands_on_its_own_cores() {
    let driver = machine(Arch::Cayman, 2);
    // The second core of an HBM pair and the first of the next device.
    let runtime = init(driver, Some(1), exact(7, 2)).unwrap();
    for (index, (device_index, channel)) in [(0, 3), (1, 0)].into_iter().enumerate() {
        let core = runtime.core(index as u32).unwrap();
        let model = load(
            &core,
            nrt_core::model::SubgraphPlan { regions: &[region(1, Usage::Weight, 5000, None)], ..crate::plans::NOTHING },
        );
        let (model, arena) = (model.unwrap(), load_arena(&core, MIB).unwrap());
        let tensor = core.tensor(Placement::Device, 4096, "t").unwrap();
        tensor.write(0, &[index as u8 + 1; 4096]).unwrap();
        let memory = core.allocate(0, &device(100, Usage::Cc)).unwrap();
        let base = Arch::Cayman.hbm_base(channel).unwrap();
        assert!((base..base + (24 << 30)).contains(&memory.address().unwrap()));
        let mut ids = Vec::new();
        let (owner, core_of_device) = core.physical(0).unwrap();
        assert_eq!((owner, core.default_channel()), (device_index, Ok(channel)));
        runtime.for_each_model_usage(owner, core_of_device, |usage, _| ids.push(usage.id)).unwrap();
        assert_eq!(ids, [model.id(), arena.id()]);
        let mut bytes = [0; 4096];
        tensor.read(0, &mut bytes).unwrap();
        assert_eq!(bytes, [index as u8 + 1; 4096]);
        drop((tensor, memory));
        model.unload().unwrap();
        arena.unload().unwrap();
    }
    close(&runtime, 2);
}

#[test]
fn two_processes_worth_of_slices_share_a_device() {
    // One driver, two runtimes with disjoint slices of one device, as two processes would have them.
    let driver = machine(Arch::Cayman, 1);
    let (low, high) = (init(driver, None, exact(0, 1)).unwrap(), init(driver, None, exact(1, 3)).unwrap());
    assert_eq!(driver.inner().live(0), bounce(8));
    let tensors = [&low, &high].map(|runtime| runtime.core(0).unwrap().tensor(Placement::Device, MIB, "t").unwrap());
    assert_eq!((low.device_bytes(), high.device_bytes()), (MIB, MIB));
    drop(tensors);
    assert!(low.close(None).unwrap().is_clean());
    assert_eq!(driver.inner().live(0), bounce(6));
    close(&high, 1);
}

#[test]
fn indices_count_owned_cores_and_numbers_those_of_the_machine() {
    let runtime = init(machine(Arch::Cayman, 2), None, exact(3, 2)).unwrap();
    let (first, second) = (runtime.core(0).unwrap(), runtime.core(1).unwrap());
    assert_eq!([(first.index(), first.number()), (second.index(), second.number())], [(0, 3), (1, 4)]);
    assert_eq!((first.physical(1), second.physical(0)), (Ok((0, 7)), Ok((1, 0))));
    assert_eq!([first.physical_index(0), first.physical_index(1), second.physical_index(1)], [Ok(6), Ok(7), Ok(9)]);
    assert_eq!(second.physical_index(2), Err(invalid(Cause::CoreOutOfRange(2))));
    assert_eq!((first.default_channel(), second.default_channel()), (Ok(3), Ok(0)));
    for (number, index) in [(3, 0), (4, 1)] {
        assert_eq!(runtime.core_by_number(number).unwrap().index(), index);
        assert_eq!(runtime.core_by_nec_dev_id(number).unwrap().index(), index);
    }
    for number in [0, 2, 5, 8, u32::MAX] {
        let not_owned = invalid(Cause::LogicalCoreNotOwned { number, first: 3, count: 2 });
        assert_eq!(refused(runtime.core_by_number(number)), not_owned);
        assert_eq!(refused(runtime.core_by_nec_dev_id(number)), not_owned);
    }
    assert_eq!(
        refused(runtime.core_by_number(0)).to_string(),
        "NRT_INVALID: logical core 0 is not owned by this process, which has 3 to 4"
    );
    assert_eq!(refused(runtime.core(2)), invalid(Cause::VncOutOfRange { vnc: 2, count: 2 }));
    for (device, core, index, relative) in [(0, 6, 0, 0), (0, 7, 0, 1), (1, 0, 1, 0), (1, 1, 1, 1)] {
        let (logical, position) = runtime.locate(device, core).unwrap();
        assert_eq!((logical.index(), position), (index, relative));
    }
    // SAFETY: records of an open tree, written during init only.
    unsafe {
        let vcore = (*(*(*raw::tpb(&runtime, 1, 1)).tpb_allocator).pcore).vcore;
        assert_eq!(((*vcore).vtpb_idx, (*vcore).vtpb, (*vcore).nec_dev_id), (1, 4, 4));
    }
    // The flat registry lists owned cores only.
    assert_eq!([(0, 6), (0, 7), (1, 0), (1, 1)].map(|(device, core)| runtime.flat_index(device, core)), [0, 1, 2, 3].map(Ok));
    close(&runtime, 2);
}

#[test]
fn cores_of_an_hbm_are_those_this_process_owns() {
    let runtime = init(machine(Arch::Cayman, 1), Some(1), exact(1, 4)).unwrap();
    for (core, group) in [(1, &[1][..]), (2, &[2, 3]), (3, &[2, 3]), (4, &[4])] {
        assert_eq!(runtime.hbm_cores(0, core).unwrap()[..], *group);
    }
    close(&runtime, 1);
    let runtime = init(machine(Arch::Sunda, 1), None, CoreSelection::All).unwrap();
    assert_eq!(runtime.hbm_cores(0, 1).unwrap()[..], [1]);
    close(&runtime, 1);
}

#[test]
fn a_single_core_scratchpad_needs_both_cores_of_the_hbm() {
    let driver = machine(Arch::Cayman, 1);
    let fresh: &'static TestStorage = storage();
    let config = Config {
        logical_core_size: Some(1),
        cores: exact(1, 2),
        scratchpad_on_single_core: true,
        ..Config::new(LinuxHooks::new()).side_by_side()
    };
    let runtime = Runtime::init(fresh, driver, config).unwrap();
    let error = refused(load_arena(&runtime.core(0).unwrap(), MIB));
    assert_eq!(error, invalid(Cause::ScratchpadNeedsHbm { owned: 1, needed: 2 }));
    close(&runtime, 1);
}

#[test]
fn host_ids_and_routing_ids_of_devices() {
    let runtime = init(machine(Arch::Sunda, 16), None, exact(6, 4)).unwrap();
    let map = runtime.with_tree(|tree| tree.routing_ids().unwrap().to_vec()).unwrap();
    for device in [3, 4] {
        let host = runtime.host_device_id(device).unwrap();
        assert_eq!(runtime.device_by_host_id(host), Ok(device));
        assert_eq!(runtime.routing_id(device), Ok(Some(map[host as usize])));
    }
    assert_eq!(runtime.device_by_host_id(77), Err(invalid(Cause::DeviceNotInUse(77))));
    close(&runtime, 16);
}

#[test]
fn a_count_takes_one_core_or_whole_devices() {
    for (arch, size, count, cores) in [
        (Arch::Cayman, None, 1, 2),
        (Arch::Cayman, None, 4, 8),
        (Arch::Cayman, None, 8, 16),
        (Arch::Cayman, Some(1), 8, 8),
        (Arch::Sunda, None, 3, 3),
        // None wanted is all there are.
        (Arch::Cayman, None, 0, 16),
    ] {
        let driver = machine(arch, 2);
        let runtime = init(driver, size, CoreSelection::Count(count)).unwrap();
        let mut owned = 0;
        runtime.for_each_core_usage(|_| owned += 1).unwrap();
        assert_eq!((owned, runtime.first_logical_core()), (cores, 0), "{arch} {count}");
        close(&runtime, 2);
    }
    for count in [2, 3, 5, 7] {
        let cause = Cause::WholeDevices { count, size: 2, cores_per_device: 8 };
        assert_eq!(refused(init(machine(Arch::Cayman, 2), None, CoreSelection::Count(count))), invalid(cause));
    }
    // Rule A3 does not apply to a list.
    let runtime = init(machine(Arch::Cayman, 2), None, exact(0, 3)).unwrap();
    close(&runtime, 2);
}

#[test]
fn cores_the_machine_does_not_have_are_refused_before_anything_is_opened() {
    for (cores, first, count) in [
        (exact(0, 9), 0, 9),
        (exact(8, 1), 8, 1),
        (exact(5, 0), 5, 0),
        (exact(u32::MAX, 2), u32::MAX, 2),
        (CoreSelection::Count(9), 0, 9),
    ] {
        let driver = machine(Arch::Cayman, 2);
        assert_eq!(refused(init(driver, None, cores)), invalid(Cause::CoreSelection { first, count, have: 8 }));
        assert_eq!(driver.seen(), 1, "only the probe reached the driver");
    }
}

#[test]
fn the_environment_becomes_a_configuration_in_one_call() {
    let driver = machine(Arch::Cayman, 2);
    let machine = driver.probe().unwrap();
    let variables = [
        ("NEURON_LOGICAL_NC_CONFIG", "1"),
        ("NEURON_RT_VISIBLE_CORES", "9-11"),
        ("NEURON_SCRATCHPAD_PAGE_SIZE", "2"),
        ("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "12"),
        ("NEURON_RT_DBG_VERBOSE_DEV_MEM", "1"),
    ];
    let environment = Environment::parse(&variables, &machine).unwrap();
    let fresh: &'static TestStorage = storage();
    let runtime = Runtime::init(fresh, driver, Config::from_environment(LinuxHooks::new(), &environment).side_by_side()).unwrap();
    assert_eq!((runtime.logical_core_size(), runtime.first_logical_core(), runtime.logical_cores()), (1, 9, 3));
    let arena = load_arena(&runtime.core(0).unwrap(), 1).unwrap();
    assert_eq!(runtime.device_bytes(), 2 * MIB, "one page of the configured size");
    arena.unload().unwrap();
    // SAFETY: the ledger of an open device.
    unsafe {
        let ledger = raw::ledger(&runtime, 1);
        assert_eq!(((*ledger).max_entries, (*ledger).verbose_log_dev_mem), (12, true));
    }
    close(&runtime, 2);
}

/// `lnc` §6 B: a list wins over a count, and a warning says so.
#[test]
fn a_count_beside_a_list_is_warned_of() {
    for (variables, lines) in [
        (
            &[("NEURON_RT_NUM_CORES", "1"), ("NEURON_RT_VISIBLE_CORES", "2-3")][..],
            &["NEURON_RT_NUM_CORES is passed over: NEURON_RT_VISIBLE_CORES names the logical cores"][..],
        ),
        (&[("NEURON_RT_VISIBLE_CORES", "2-3")], &[]),
        (&[("NEURON_RT_NUM_CORES", "1"), ("NEURON_RT_VISIBLE_CORES", "")], &[]),
    ] {
        let driver = machine(Arch::Cayman, 1);
        let environment = Environment::parse(variables, &driver.probe().unwrap()).unwrap();
        let recorder = Recorder::leak();
        let fresh: &'static TestStorage = storage();
        let runtime = Runtime::init(fresh, driver, Config::from_environment(recorder, &environment).side_by_side()).unwrap();
        assert_eq!(recorder.take(Level::Warn), lines, "{variables:?}");
        if !lines.is_empty() {
            assert_eq!((runtime.first_logical_core(), runtime.logical_cores()), (2, 2));
        }
        assert!(runtime.close(None).unwrap().is_clean());
    }
}

#[test]
fn a_ring_is_dealt_to_the_owned_cores_and_may_be_off() {
    // Asked for, owned cores of size 1, used.
    for (entries, count, used) in [(None, 8, 256), (None, 3, 255), (Some(10), 3, 9), (Some(2), 3, 3), (Some(0), 3, 0)] {
        let fresh: &'static TestStorage = storage();
        let driver = machine(Arch::Cayman, 1);
        let config = Config {
            logical_core_size: Some(1),
            cores: exact(0, count),
            ring_entries: entries,
            ..Config::new(LinuxHooks::new()).side_by_side()
        };
        let runtime = Runtime::init(fresh, driver, config).unwrap();
        let core = runtime.core(1).unwrap();
        for _ in 0..200 {
            drop(core.allocate(0, &device(1, Usage::Io)).unwrap());
        }
        runtime.refresh_ledger(0).unwrap();
        let mut seen = Vec::new();
        runtime.for_each_event(0, |event| seen.push((event.sequence, event.core))).unwrap();
        let segment = used / count as usize;
        // SAFETY: the ledger of an open device.
        unsafe {
            let ledger = raw::ledger(&runtime, 0);
            assert_eq!(((*ledger).max_entries, (*ledger).entries.is_null()), (used, used == 0));
            assert_eq!((*ledger).entry_count.load(Relaxed), segment);
            let dropped = if used == 0 { 0 } else { 400 - segment };
            assert_eq!((*ledger).entries_dropped.load(Relaxed), dropped);
        }
        let newest: Vec<_> = (401 - segment as u64..=400).map(|sequence| (sequence, 1)).collect();
        assert_eq!(seen, newest, "{entries:?}");
        close(&runtime, 1);
    }
    // More than there is room for is what there is, and a line in the log: the documented default too.
    for (entries, told) in [(256, false), (257, true), (1_048_576, true), (u64::MAX, true)] {
        let runtime = recorded(machine(Arch::Cayman, 1), |config| config.ring_entries = Some(entries));
        let line = format!("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE: {entries} entries are wanted, a device has room for 256");
        assert_eq!(runtime.hooks().take(Level::Warn), told.then_some(line).as_slice());
        let ledger = runtime.with_tree(|tree| tree.mla(0)).unwrap().unwrap().as_ptr();
        // SAFETY: the record of an open device.
        assert_eq!(unsafe { (*ledger).dmem_logger.max_entries }, 256);
        assert!(runtime.close(None).unwrap().is_clean());
    }
}
