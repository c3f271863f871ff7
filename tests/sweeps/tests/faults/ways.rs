//! The ways a machine can be set up: what the driver has and what the configuration asks for, under faults.

use nrt_core::Arch;
use nrt_core::environment::CoreSelection;
use nrt_sim::DriverVersion;

use crate::driver_calls::{clean, fail_every_request_of};
use crate::rig::{MACHINES, Rig};
use crate::session::{Fault, Session};
use crate::sticky::fail_everything_from_every_request_of;
use crate::{scenario, views};

/// Transfers without the bounce buffer, batches in one request.
fn zero_copy() -> Rig {
    Rig::with(Arch::Cayman, 2, DriverVersion::V2_25_4, |config| config.zero_copy = true)
}

/// 64 MiB pages on the first core of the HBM, each below the one before.
fn contiguous(arch: Arch, size: u32) -> Rig {
    Rig::with(arch, size, DriverVersion::V2_25_4, |config| config.contiguous_scratchpad = true)
}

/// The second core alone.
fn restricted() -> Rig {
    Rig::with(Arch::Mariana, 1, DriverVersion::V2_25_4, |config| {
        config.cores = CoreSelection::Exact { first: 1, count: 1 };
    })
}

/// A driver that does not align.
fn unaligned() -> Rig {
    Rig::unaligned(Arch::Cayman, 2)
}

#[test]
fn views_on_every_machine() {
    let points: u64 = MACHINES.into_iter().map(|(arch, size)| fail_every_request_of(&Rig::new(arch, size), views::run)).sum();
    assert!(points > 0);
}

#[test]
fn views_every_way() {
    for rig in [zero_copy(), contiguous(Arch::Cayman, 2), contiguous(Arch::Sunda, 1), restricted(), unaligned()] {
        fail_every_request_of(&rig, views::run);
    }
}

#[test]
fn views_when_everything_fails() {
    let rigs = [Rig::new(Arch::Mariana, 1), zero_copy(), contiguous(Arch::Sunda, 1), restricted(), unaligned()];
    assert!(fail_everything_from_every_request_of(rigs, views::run) > 0);
}

/// The driver advertises zero-copy transfers and batches, and refuses them all the same: the run is the same without.
#[test]
fn views_without_what_was_advertised() {
    for rig in [zero_copy(), Rig::new(Arch::Mariana, 2)] {
        let reference = clean(&rig, views::run, None);
        views::run(Session::new(&rig, Some(&reference), Fault::Lacks)).unwrap();
        assert!(rig.driver.injected() > 0);
        rig.settle();
        rig.check_hazards(false);
    }
}

#[test]
fn models_every_way() {
    for rig in [zero_copy(), restricted(), unaligned()] {
        fail_every_request_of(&rig, scenario::run);
    }
}

#[test]
fn models_in_contiguous_scratchpads() {
    let rigs = || [contiguous(Arch::Sunda, 1), contiguous(Arch::Cayman, 2)];
    for rig in rigs() {
        fail_every_request_of(&rig, scenario::run);
    }
    fail_everything_from_every_request_of(rigs(), scenario::run);
}
