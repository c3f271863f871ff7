//! Bytes that cannot be had: the n-th read of a source, the n-th mapping of host memory.

use nrt_core::{Cause, Error, Status};

use crate::driver_calls::clean;
use crate::plans::{Pattern, REFUSED, X};
use crate::rig::{MACHINES, Rig};
use crate::scenario::{run, run_with};
use crate::session::{Fault, Session};

fn source() -> Pattern {
    Pattern::new(0x11)
}

#[test]
fn every_read_of_a_source() {
    let mut points = 0;
    for (arch, size) in MACHINES {
        let rig = Rig::new(arch, size);
        let reference = clean(&rig, run, None);
        let expected = Error { status: Status::Failure, cause: Cause::Source(REFUSED) };
        for n in 1.. {
            let source = source();
            source.fail_nth(n);
            let mut session = Session::new(&rig, Some(&reference), Fault::Other(expected));
            let (runtime, complete) = run_with(&mut session, &source).unwrap();
            let answered = session.answered;
            session.close(&runtime, complete);
            rig.settle();
            rig.check_hazards(false);
            if source.reads() < n {
                break;
            }
            assert_eq!(answered, 1, "read {n}");
            points += 1;
        }
    }
    println!("{points} reads of sources failed");
}

#[test]
fn every_mapping_of_host_memory() {
    let mut points = 0;
    for (arch, size) in MACHINES {
        let rig = Rig::new(arch, size);
        rig.hooks.reset();
        let reference = clean(&rig, run, None);
        let expected = Error { status: Status::FailHostMemAlloc, cause: Cause::HostMemory { size: X } };
        for n in 1..=rig.hooks.maps() {
            rig.hooks.fail_map(n);
            let mut session = Session::new(&rig, Some(&reference), Fault::Other(expected));
            let (runtime, complete) = run_with(&mut session, &source()).unwrap();
            assert_eq!(session.answered, 1);
            session.close(&runtime, complete);
            rig.settle();
            points += 1;
        }
        assert!(points > 0);
    }
    println!("{points} mappings of host memory failed");
}
