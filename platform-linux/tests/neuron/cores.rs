//! Core reservation between processes.

use std::sync::atomic::Ordering;

use nrt_core::driver::{AllocRequest, Driver as _, Errno};
use nrt_core::environment::CoreSelection;
use nrt_linux::neuron::{ChoiceError, CoreError, Holders, LinuxDriver, Plan};

use crate::fake::{Fake, Setup};

/// Lets another process own these cores.
fn taken(driver: &LinuxDriver<Fake>, cores: &[u32]) {
    driver.system().state.lock().unwrap().owners.extend(cores.iter().map(|&core| (core, 321)));
}

fn owned(driver: &LinuxDriver<Fake>) -> usize {
    driver.system().state.lock().unwrap().owners.values().filter(|&&owner| owner == 100).count()
}

#[test]
fn a_reservation_lasts_as_long_as_its_owner() {
    let driver = Setup::cayman(2).connect();
    let one = driver.reserve(CoreSelection::Exact { first: 1, count: 2 }, 2).unwrap();
    assert_eq!((one.cores().to_string(), one.logical_cores()), ("2-5".into(), Some((1, 2))));
    // Own cores count as taken too.
    let error = driver.reserve(CoreSelection::Exact { first: 2, count: 2 }, 2).unwrap_err();
    assert_eq!(error, CoreError::Busy { plan: Plan { count: 4, start: 4, end: 7 }, longest: 2 });
    let two = driver.reserve(CoreSelection::Count(1), 2).unwrap();
    assert_eq!(two.cores().to_string(), "0-1");
    assert_eq!(owned(&driver), 6);
    drop(one);
    assert_eq!(owned(&driver), 2);
    drop(two);
    assert_eq!(owned(&driver), 0);
}

#[test]
fn all_cores_and_whole_devices() {
    let driver = Setup::cayman(2).connect();
    let all = driver.reserve(CoreSelection::All, 2).unwrap();
    assert_eq!((all.cores().len(), all.logical_cores()), (16, Some((0, 7))));
    drop(all);
    taken(&driver, &[2]);
    let device = driver.reserve(CoreSelection::Count(4), 2).unwrap();
    // The driver finds eight free cores from 4 on, wherever devices begin.
    assert_eq!(device.cores().to_string(), "4-11");
    drop(device);
    // It never tries the core behind a taken one after a short run, so it comes to 5 here although 4 would do.
    taken(&driver, &[3]);
    driver.system().state.lock().unwrap().owners.remove(&2);
    let error = driver.reserve(CoreSelection::Count(4), 2).unwrap_err();
    assert_eq!(error, CoreError::Unaligned { start: 5, logical_core_size: 2 });
}

#[test]
fn free_cores_that_do_not_start_a_logical_core() {
    let driver = Setup::cayman(1).connect();
    taken(&driver, &[0]);
    let error = driver.reserve(CoreSelection::Count(1), 2).unwrap_err();
    assert_eq!(error, CoreError::Unaligned { start: 1, logical_core_size: 2 });
    assert_eq!(owned(&driver), 0, "a refused reservation is given back");
}

#[test]
fn a_conflict_names_cores_and_processes() {
    let mut setup = Setup::cayman(1);
    for (path, text) in [
        ("/proc/321/fd/7", "/dev/neuron0"),
        ("/proc/321/fd/8", "/dev/neuron0"),
        ("/proc/321/fdinfo/7", "pos:\t0\nflags:\t02100001\nmnt_id:\t9\n"),
        ("/proc/321/fdinfo/8", "pos:\t0\nflags:\t02100002\nmnt_id:\t9\n"),
        ("/proc/321/comm", "trainer\n"),
        ("/proc/322/fd/5", "/dev/neuron0"),
        ("/proc/322/fdinfo/5", "flags:\t02100002\n"),
        ("/proc/322/comm", "monitor\n"),
        ("/proc/323/fd/5", "/dev/neuron1"),
        ("/proc/324/fd/5", "/dev/neuron0x"),
        ("/proc/325/fd/", "hidden"),
        ("/proc/100/fd/3", "/dev/neuron0"),
        ("/proc/self/fd/3", "/dev/neuron0"),
    ] {
        setup.files.insert(path.into(), text.into());
    }
    let driver = setup.connect();
    taken(&driver, &[4, 6]);
    let error = driver.reserve(CoreSelection::Exact { first: 1, count: 3 }, 2).unwrap_err();
    assert_eq!(error, CoreError::Busy { plan: Plan { count: 6, start: 2, end: 7 }, longest: 2 });
    let conflict = driver.explain(&error).unwrap();
    assert_eq!(
        conflict.to_string(),
        "6 physical cores among 2 to 7 are wanted; taken: 4,6; processes that may hold them: 321 (trainer), 322 (monitor); \
         1 processes could not be looked into"
    );
    let [first, second] = &conflict.holders.list[..] else { panic!("{conflict}") };
    assert_eq!((first.pid, first.nodes, first.misc, second.misc), (321, 1, true, false));
    assert_eq!(owned(&driver), 0, "looking leaves nothing reserved");
    assert!(driver.explain(&CoreError::Choice(ChoiceError::LogicalCoreSize(0))).is_none());
}

#[test]
fn this_machine_can_be_looked_through() {
    // No process has such a device open where there is none; the walk through the real /proc works all the same.
    let holders = Holders::of(&nrt_linux::neuron::Linux, 0);
    assert!(holders.list.is_empty());
}

#[test]
fn small_core_maps() {
    let narrow = Setup { features: 0xFF & !8, ..Setup::cayman(16) };
    let driver = narrow.connect();
    let cores = driver.reserve(CoreSelection::Exact { first: 0, count: 4 }, 2).unwrap();
    assert_eq!(cores.cores().to_string(), "0-7");
    assert_eq!(driver.system().requests().last(), Some(&"CRWL_NC_RANGE_MARK"));
    drop(cores);
    assert_eq!(owned(&driver), 0);
    let error = driver.reserve(CoreSelection::Exact { first: 32, count: 1 }, 2).unwrap_err();
    assert_eq!(error, CoreError::BeyondSmallMap(Plan { count: 2, start: 64, end: 65 }));
}

#[test]
fn a_core_of_an_invisible_device_is_given_back() {
    let mut setup = Setup::cayman(3);
    setup.nodes = vec![0, 2];
    let driver = setup.connect();
    taken(&driver, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let error = driver.reserve(CoreSelection::Count(1), 2).unwrap_err();
    assert_eq!(error, CoreError::Choice(ChoiceError::Inaccessible { node: 1 }));
    assert_eq!(owned(&driver), 0);
}

#[test]
fn a_forked_child_does_not_release_its_parents_cores() {
    let driver = Setup::cayman(1).connect();
    let cores = driver.reserve(CoreSelection::Count(1), 2).unwrap();
    driver.system().pid.store(101, Ordering::Relaxed);
    driver.system().requests();
    drop(cores);
    assert_eq!(driver.system().requests(), [""; 0]);
    assert_eq!(owned(&driver), 2);
}

/// Two processes share four devices: each brings up the devices of its cores alone.
#[test]
fn a_reservation_is_a_driver_of_its_devices() {
    let mut setup = Setup::cayman(4);
    setup.nodes = vec![2, 3, 4, 5];
    let driver = setup.connect();
    let slice = driver.reserve(CoreSelection::Exact { first: 6, count: 4 }, 2).unwrap();
    assert_eq!((slice.cores().to_string(), slice.devices(), slice.runtime_cores()), ("12-19".into(), 1..3, 2..6));
    assert_eq!(slice.probe().unwrap().devices, 2);
    assert_eq!(slice.open(0).unwrap().host_device_id, 3);
    assert_eq!(slice.open(1).unwrap().host_device_id, 4);
    assert_eq!(slice.open(2), Err(Errno::EINVAL));
    assert_eq!(slice.open(u32::MAX), Err(Errno::EINVAL));
    let request = AllocRequest { size: 4096, align: 0, host: false, channel: 0, nc_id: 0, category: 9 };
    let range = driver.allocate(2, &request).unwrap();
    slice.write(1, &range, 0, b"slice").unwrap();
    let mut back = [0; 5];
    driver.read(2, &range, 0, &mut back).unwrap();
    assert_eq!(&back, b"slice");
    slice.close(0).unwrap();
    slice.close(1).unwrap();
    assert_eq!(driver.system().settle().len(), 1, "only the misc descriptor is left");
    // One device with a gap below it.
    let mut setup = Setup::cayman(3);
    setup.nodes = vec![0, 2];
    let driver = setup.connect();
    let slice = driver.reserve(CoreSelection::Exact { first: 8, count: 4 }, 2).unwrap();
    assert_eq!((slice.devices(), slice.runtime_cores()), (1..2, 0..4));
}
