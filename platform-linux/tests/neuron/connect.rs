//! Finding the devices, opening them, one connection per process, forks.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use nrt_core::arch::Arch;
use nrt_core::driver::{Driver as _, Errno};
use nrt_linux::neuron::{
    AllocForm, ConnectError, DriverVersion, Fault, Forms, Kind, LinuxDriver, Refusal, RuntimeRange, Selection,
};
use nrt_linux::request::CompatibleVersion;

use crate::fake::{Fake, Setup};

fn refused(setup: Setup, selection: Selection) -> ConnectError {
    LinuxDriver::connect_through(Fake::new(setup), selection).expect_err("the connection should be refused")
}

#[test]
fn the_machine_as_the_driver_tells_it() {
    let mut setup = Setup::cayman(3);
    setup.nodes = vec![2, 3, 5];
    let driver = setup.connect();
    let machine = driver.machine();
    assert_eq!((machine.arch, machine.devices(), machine.first_node()), (Arch::Cayman, 3, 2));
    assert_eq!([0, 1, 2, 3].map(|device| machine.node(device)), [Some(2), Some(3), Some(5), None]);
    assert_eq!((machine.features, machine.cores_per_device), (0x1FF, 8));
    assert_eq!(machine.version, Some(DriverVersion([2, 26, 5, 0])));
    assert_eq!(machine.serves, RuntimeRange { min: 10, max: 11 });
    // Nothing was attached: one misc descriptor, on the lowest device.
    assert_eq!(driver.system().state.lock().unwrap().opened, [(2, Kind::Misc)]);
    let probe = driver.probe().unwrap();
    assert_eq!((probe.arch, probe.devices, probe.cores_per_device), (Arch::Cayman, 3, 8));
    let ids = driver.routing_ids().unwrap();
    assert_eq!((ids.count, &ids.map[..4]), (4, &[0, 4, 1, 5][..]));
    let opened = driver.open(2).unwrap();
    assert_eq!((opened.host_device_id, opened.bdf), (5, Some((0xA5, 0x1E, 0))));
    assert_eq!(driver.open(3), Err(Errno::EINVAL));
}

#[test]
fn nodes_are_found_without_a_listing_too() {
    let mut setup = Setup::cayman(2);
    setup.files.insert("/dev/".into(), "hidden".into());
    assert_eq!(setup.connect().machine().nodes, 0b11);
}

#[test]
fn what_is_refused_before_anything_is_opened() {
    let mut setup = Setup::sunda();
    setup.nodes.clear();
    assert_eq!(refused(setup, Selection::All), ConnectError::NoDevice);
    assert_eq!(refused(Setup::sunda(), Selection::one(4)), ConnectError::Absent { node: 4 });
    let old = Setup { version: "2.0.386.0\n", ..Setup::sunda() };
    assert_eq!(refused(old, Selection::All), ConnectError::TooOld(DriverVersion([2, 0, 386, 0])));
    let first = Setup { arch: 1, ..Setup::sunda() };
    assert_eq!(refused(first, Selection::All), ConnectError::Architecture(1));
    let mut strange = Setup::sunda();
    strange.files.insert("/sys/class/neuron_device/neuron0/core_count".into(), "9".into());
    assert_eq!(refused(strange, Selection::All), ConnectError::Cores(9));
    let fake = Fake::new(Setup::sunda());
    fake.fail::<CompatibleVersion<'_>>(8);
    let error = LinuxDriver::connect_through(fake, Selection::All).unwrap_err();
    assert_eq!(error, ConnectError::Question { request: "COMPATIBLE_VERSION", errno: Errno::SHORT });
}

#[test]
fn an_incompatible_driver_is_named_with_both_ranges() {
    let newer = Setup { serves: (12, 13), version: "2.29.0.0\n", ..Setup::cayman(1) };
    let error = refused(newer, Selection::All);
    assert_eq!(error.to_string(), "driver 2.29.0.0 serves runtime interfaces 12 to 13, this runtime speaks 10 to 11 on cayman");
    let older = Setup { serves: (2, 5), ..Setup::sunda() };
    assert!(refused(older, Selection::All).to_string().contains("2 to 5, this runtime speaks 6 to 6"));
}

#[test]
fn versions() {
    let parse = |text: &str| DriverVersion::parse(text.as_bytes()).map(|version| version.0);
    assert_eq!(parse("2.24.7.0\n"), Some([2, 24, 7, 0]));
    assert_eq!(parse("2.30"), Some([2, 30, 0, 0]));
    assert_eq!(parse("2.26.5.0-dirty"), Some([2, 26, 5, 0]));
    assert_eq!(parse("2.26.x"), Some([2, 26, 0, 0]));
    for bad in ["", "x", "2.", ".2", "99999.1"] {
        assert_eq!(parse(bad), None, "{bad}");
    }
}

#[test]
fn one_connection_per_process() {
    use nrt_linux::neuron::{Linux, System as _};
    assert!(Linux.claim());
    assert_eq!(LinuxDriver::connect(Selection::All).unwrap_err(), ConnectError::AlreadyConnected);
    Linux.release();
    // A failed connection gives the claim back.
    if let Err(first) = LinuxDriver::connect(Selection::All) {
        assert_eq!(LinuxDriver::connect(Selection::All).unwrap_err(), first);
    }
}

#[test]
fn one_full_descriptor_per_device() {
    let driver = Setup::sunda().connect();
    driver.attach(0).unwrap();
    assert_eq!(driver.attach(0), Err(Fault::Refused(Refusal::AlreadyOpen(0))));
    assert_eq!(driver.system().state.lock().unwrap().opened, [(0, Kind::Misc), (0, Kind::Full)]);
    driver.detach(0).unwrap();
    assert_eq!(driver.detach(0), Err(Fault::Refused(Refusal::NotOpen(0))));
    driver.attach(0).unwrap();
}

#[test]
fn sixteen_processes() {
    let driver = Setup::sunda().connect();
    driver.system().state.lock().unwrap().open_fault = Some(nrt_linux::Errno::BUSY);
    assert_eq!(driver.open(0), Err(Errno::EBUSY));
    let fault = driver.attach(0).unwrap_err();
    assert_eq!(fault.to_string(), "open: EBUSY (16 other processes are attached to the device)");
    driver.system().state.lock().unwrap().open_fault = None;
    driver.open(0).unwrap();
}

#[test]
fn a_forked_child_is_refused_everywhere() {
    let driver = Setup::sunda().attach();
    let request = nrt_core::driver::AllocRequest { size: 1, align: 0, host: false, channel: 0, nc_id: 0, category: 9 };
    let range = driver.allocate(0, &request).unwrap();
    driver.system().requests();
    driver.system().pid.store(101, Ordering::Relaxed);
    let forked = Refusal::Forked { owner: 100, caller: 101 };
    assert_eq!(driver.allocate(0, &request).unwrap_err(), Fault::Refused(forked));
    assert_eq!(driver.free(0, &range), Err(Errno::EACCES));
    assert_eq!(driver.map(0, &range), Err(Errno::EACCES));
    assert_eq!(driver.read(0, &range, 0, &mut [0; 4]), Err(Errno::EACCES));
    assert_eq!(driver.fill(0, &range, 0, 1, 4), Err(Errno::EACCES));
    assert_eq!(driver.copy(0, &range, 0, &range, 8, 4), Err(Errno::EACCES));
    assert_eq!(driver.close(0), Err(Errno::EACCES));
    assert_eq!(driver.open(0), Err(Errno::EACCES));
    assert_eq!(driver.routing_ids().map(drop), Err(Errno::EACCES));
    assert!(driver.info(0).is_err() && driver.busy_cores(0, 1).is_err());
    assert_eq!(driver.system().requests(), [""; 0], "a forked child must not reach the driver");
}

/// The ladder of `driver-abi` §15.
#[test]
fn forms_by_what_the_driver_says() {
    let form = |features, newest| Forms::settle(Arch::Cayman, features, newest).alloc;
    assert_eq!(form(0xFF, 11), AllocForm::Wide);
    assert_eq!(form(0x3F, 11), AllocForm::Typed);
    assert_eq!(form(0x0F, 11), AllocForm::Aligned);
    assert_eq!(form(0, 3), AllocForm::Aligned);
    assert_eq!(form(0, 2), AllocForm::Original);
    // SUNDA advertises zero-copy and refuses it.
    assert!(Forms::settle(Arch::Cayman, 0x1FF, 11).zero_copy);
    assert!(!Forms::settle(Arch::Sunda, 0x1FF, 7).zero_copy);
    assert_eq!(Forms::settle(Arch::Cayman, 0x1FF, 11).to_string(), "nothing is missing");
    let text = Forms::settle(Arch::Sunda, 0, 2).to_string();
    for lack in ["4 GiB", "category", "over-allocation", "synchronous", "64 cores", "bounce", "scratchpad"] {
        assert!(text.contains(lack), "{lack} in {text}");
    }
}

#[test]
fn drivers_without_flags_have_none() {
    let driver = Setup { has_flags: false, ..Setup::sunda() }.connect();
    assert_eq!(driver.machine().features, 0);
    assert_eq!(driver.machine().forms.alloc, AllocForm::Aligned);
}

/// Threads allocate, write, read and free while another opens and closes the device under them: each gets its own bytes
/// back, or hears that the device is not open.
#[test]
fn closing_under_requests() {
    const OPENINGS: u32 = 300;
    let driver = Setup::cayman(1).connect();
    let request = nrt_core::driver::AllocRequest { size: 64, align: 0, host: false, channel: 0, nc_id: 0, category: 9 };
    let (moved, done, pause) = (AtomicU32::new(0), AtomicBool::new(false), AtomicBool::new(false));
    let once = |seed: u8| -> Result<bool, Errno> {
        let range = driver.allocate(0, &request).map_err(Fault::errno)?;
        let bytes = [seed; 64];
        driver.write(0, &range, 0, &bytes)?;
        let mut back = [0; 64];
        driver.read(0, &range, 0, &mut back)?;
        driver.free(0, &range)?;
        Ok(back == bytes)
    };
    std::thread::scope(|scope| {
        for seed in 1..=2u8 {
            let (moved, done, pause, once) = (&moved, &done, &pause, &once);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    if pause.load(Ordering::Relaxed) {
                        // A close was refused: with nothing under way, the device can be closed at all.
                        std::thread::yield_now();
                        continue;
                    }
                    match once(seed) {
                        Ok(same) => {
                            assert!(same, "bytes of somebody else");
                            moved.fetch_add(1, Ordering::Relaxed);
                        }
                        // Not open, or closed and opened again since: the range is gone.
                        Err(errno) => assert!([Errno(9), Errno::EINVAL].contains(&errno), "{errno}"),
                    }
                }
            });
        }
        for _ in 0..OPENINGS {
            let before = moved.load(Ordering::Relaxed);
            driver.attach(0).unwrap();
            while moved.load(Ordering::Relaxed) < before + 2 {
                std::thread::yield_now();
            }
            while let Err(fault) = driver.detach(0) {
                assert_eq!(fault, Fault::Refused(Refusal::InUse(0)));
                pause.store(true, Ordering::Relaxed);
                std::thread::yield_now();
            }
            pause.store(false, Ordering::Relaxed);
            driver.system().settle();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(moved.into_inner() >= 2 * OPENINGS);
}
