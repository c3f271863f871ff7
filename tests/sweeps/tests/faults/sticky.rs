//! Every request of the driver from the n-th on fails.

use nrt_core::Arch;
use nrt_core::driver::{Driver, Errno};

use crate::driver_calls::{Run, clean};
use crate::rig::{MACHINES, Rig};
use crate::scenario::run;
use crate::session::{Fault, Session};

/// From each request of a run on everything fails. Gives how many there were.
pub(crate) fn fail_everything_from_every_request_of(rigs: impl IntoIterator<Item = Rig>, run: Run) -> u64 {
    let mut points = 0;
    for rig in rigs {
        let reference = clean(&rig, run, None);
        for n in 1..=reference.requests {
            for errno in [Errno::ENOMEM, Errno::EIO] {
                run(Session::new(&rig, Some(&reference), Fault::From(n, errno)));
                assert!(rig.driver.injected() > 0, "request {n}");
                // The process ends: the kernel closes the device.
                rig.driver.reset();
                let _ = rig.sim().close(0);
                rig.settle();
                rig.check_hazards_of_refusals();
                points += 1;
            }
            if n % 8 == 0 {
                clean(&rig, run, Some(&reference));
            }
        }
    }
    println!("{points} requests from which on everything failed");
    points
}

#[test]
fn every_request_from_the_nth_on() {
    let plain = MACHINES.map(|(arch, size)| Rig::new(arch, size));
    let reserved = Rig::with_reservations(Arch::Cayman, 2);
    fail_everything_from_every_request_of(plain.into_iter().chain([reserved]), run);
}
