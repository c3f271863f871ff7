//! The n-th request of the driver fails, for every n.

use nrt_core::driver::{Call, Errno};
use nrt_core::{Arch, Status};

use crate::rig::{ERRNOS, NAMELESS, Rig};
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
    fail_every_request_with(&Rig::new(arch, size), run, |_| ERRNOS.iter().chain(&NAMELESS));
}

/// Fails every request of a run once with every error number the core has a name for, and with one of the others, which it
/// cannot tell apart, in turn. Gives the faults.
pub(crate) fn fail_every_request_of(rig: &Rig, run: Run) -> u64 {
    fail_every_request_with(rig, run, |n| ERRNOS.iter().chain(&NAMELESS[n as usize % NAMELESS.len()..][..1]))
}

/// Fails every request of a run once with each error number that `errnos` has for it. Gives the faults.
fn fail_every_request_with<I: Iterator<Item = &'static Errno>>(rig: &Rig, run: Run, errnos: impl Fn(u64) -> I) -> u64 {
    let (arch, size) = (rig.arch, rig.size);
    let reference = clean(rig, run, None);
    let mut points = 0;
    for n in 1..=reference.requests {
        for &errno in errnos(n) {
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
