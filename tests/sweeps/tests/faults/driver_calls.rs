//! The n-th request of the driver fails, for every n.

use nrt_core::driver::{Call, Errno};
use nrt_core::{Arch, Status};

use crate::rig::{ERRNOS, Rig};
use crate::scenario::run;
use crate::session::{Fault, Reference, Session};

/// A run under observation.
pub(crate) type Run = fn(Session<'_>) -> Option<Reference>;

/// A run without faults, on a storage that is fresh or was used.
pub(crate) fn clean(rig: &Rig, run: Run, reference: Option<&Reference>) -> Reference {
    let reference = run(Session::new(rig, reference, Fault::None)).unwrap();
    rig.settle();
    rig.check_hazards(false);
    reference
}

fn every_request_once(arch: Arch, size: u32) {
    fail_every_request_of(&Rig::new(arch, size), run);
}

/// Fails every request of a run once with every error number. Gives the faults.
pub(crate) fn fail_every_request_of(rig: &Rig, run: Run) -> u64 {
    let (arch, size) = (rig.arch, rig.size);
    let reference = clean(rig, run, None);
    let mut points = 0;
    for n in 1..=reference.requests {
        for errno in ERRNOS {
            run(Session::new(rig, Some(&reference), Fault::Once(n, errno))).unwrap();
            assert_eq!(rig.driver.injected(), 1, "request {n}");
            rig.settle();
            rig.check_hazards(rig.failed(Call::Unmap));
            points += 1;
        }
        if n % 8 == 0 {
            clean(rig, run, Some(&reference));
        }
    }
    println!("{arch}, logical core size {size}: {points} faults over {} requests", reference.requests);
    points
}

#[test]
fn sunda() {
    every_request_once(Arch::Sunda, 1);
}

#[test]
fn cayman_single() {
    every_request_once(Arch::Cayman, 1);
}

#[test]
fn cayman_pairs() {
    every_request_once(Arch::Cayman, 2);
}

#[test]
fn mariana_single() {
    every_request_once(Arch::Mariana, 1);
}

#[test]
fn mariana_pairs() {
    every_request_once(Arch::Mariana, 2);
}

/// The driver behind the reservations fails; the memory in them needs no request.
#[test]
fn reservations() {
    for (arch, size) in [(Arch::Cayman, 2), (Arch::Sunda, 1)] {
        fail_every_request_of(&Rig::with_reservations(arch, size), run);
    }
}

/// No device is no failure of the driver.
#[test]
fn no_device() {
    let rig = Rig::new(Arch::Cayman, 2);
    rig.driver.watch(&[Call::Probe]);
    rig.driver.fail_nth(1, Errno::ENODEV);
    let error = rig.init().err().unwrap();
    assert_eq!(error.status, Status::Invalid);
    rig.settle();
    clean(&rig, run, None);
}
