//! `dmem` §§15, 19: what a refused allocation answers, and that it leaves no trace.

use nrt_core::driver::{Call, Errno};
use nrt_core::{Allocation, Arch, Cause, Error, Location, OutOfMemory, Status, Usage};
use nrt_tests::{TestRuntime, runtime};

use crate::books::{GIB, MIB, books, finish, held, on_every_arch};
use crate::plans::{device, host, refused};
use crate::raw;

fn events(runtime: &TestRuntime) -> u32 {
    let mut events = 0;
    runtime.for_each_event(0, |_| events += 1).unwrap();
    events
}

/// Everything is as before a failed allocation: books, lists, ring.
fn leaves_no_trace(runtime: &TestRuntime, fail: impl FnOnce() -> Error) -> Error {
    let before = (books(runtime), events(runtime), raw::nodes(raw::global(runtime, 0)));
    let error = fail();
    assert_eq!((books(runtime), events(runtime), raw::nodes(raw::global(runtime, 0))), before);
    error
}

#[test]
fn a_refused_allocation_answers_by_location_and_errno() {
    on_every_arch(|runtime| {
        let core = runtime.core(1).unwrap();
        let (device_index, core_index) = core.physical(0).unwrap();
        let channel = runtime.arch().default_channel(core_index);
        let out = |location| {
            Cause::OutOfMemory(OutOfMemory {
                size: 5000,
                align: 4096,
                usage: Usage::Weight,
                location,
                device: device_index,
                core: core_index,
                channel,
            })
        };
        let _stays = core.allocate(0, &device(1, Usage::Io)).unwrap();
        for (location, errno, status) in [
            (Location::Device, Errno::ENOMEM, Status::Resource),
            (Location::Host, Errno::ENOMEM, Status::FailHostMemAlloc),
            (Location::Device, Errno::EINVAL, Status::Failure),
            (Location::Host, Errno::EINVAL, Status::Failure),
            (Location::Device, Errno::ENOENT, Status::Failure),
            (Location::Host, Errno::EIO, Status::Failure),
        ] {
            let cause = match errno {
                Errno::ENOMEM => out(location),
                errno => Cause::Driver { call: Call::Alloc, device: device_index, errno },
            };
            runtime.driver().watch(&[Call::Alloc]);
            runtime.driver().fail_nth(1, errno);
            let request = Allocation { location, align: 4096, ..device(5000, Usage::Weight) };
            let error = leaves_no_trace(runtime, || refused(core.allocate(0, &request)));
            assert_eq!(error, Error { status, cause });
            assert_eq!(runtime.driver().injected(), 1);
            assert!(core.allocate(0, &request).is_ok());
        }
    });
}

#[test]
fn status_codes_are_those_of_the_header() {
    assert_eq!((Status::Resource.code(), Status::FailHostMemAlloc.code(), Status::Failure.code()), (4, 11, 1));
    assert_eq!((Status::Invalid.code(), Status::InvalidHandle.code(), Status::Closed.code()), (2, 3, 14));
}

#[test]
fn an_hbm_that_is_full_says_who_wanted_what_where() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(1).unwrap();
    let big = core.allocate(0, &device(22 * GIB, Usage::Tensor)).unwrap();
    let request = Allocation { align: 4 * MIB, ..device(2 * GIB, Usage::Scratchpad) };
    let error = leaves_no_trace(&runtime, || refused(core.allocate(1, &request)));
    assert_eq!(
        error,
        Error {
            status: Status::Resource,
            cause: Cause::OutOfMemory(OutOfMemory {
                size: 2 * GIB,
                align: 4 * MIB,
                usage: Usage::Scratchpad,
                location: Location::Device,
                device: 0,
                core: 3,
                channel: 1,
            }),
        }
    );
    assert_eq!(
        error.to_string(),
        "NRT_RESOURCE: no room for 2147483648 bytes (alignment: 4194304, usage: scratchpad) in device memory on ND0:NC3, HBM 1"
    );
    // The neighbour HBM has room, and so has this one when the big piece is gone.
    assert!(core.allocate(1, &Allocation { channel: Some(2), ..request }).is_ok());
    assert_eq!(held(&core, 0, Usage::Tensor), 22 * GIB);
    drop(big);
    assert!(core.allocate(1, &request).is_ok());
    finish(&runtime);
}

#[test]
fn pinned_host_memory_beyond_a_chunk_of_the_driver_is_host_memory_that_is_out() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let error = leaves_no_trace(&runtime, || refused(core.allocate(0, &host(4 * MIB + 1, Usage::DmaRing))));
    let cause = Cause::OutOfMemory(OutOfMemory {
        size: 4 * MIB + 1,
        align: 0,
        usage: Usage::DmaRing,
        location: Location::Host,
        device: 0,
        core: 0,
        channel: 0,
    });
    assert_eq!(error, Error { status: Status::FailHostMemAlloc, cause });
    assert!(core.allocate(0, &host(4 * MIB, Usage::DmaRing)).is_ok());
    finish(&runtime);
}

#[test]
fn sizes_beyond_any_memory_do_not_wrap() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    for bytes in [u64::MAX, u64::MAX - 4094, 1 << 63] {
        let error = leaves_no_trace(&runtime, || refused(core.allocate(0, &device(bytes, Usage::Io))));
        let cause = Cause::Driver { call: Call::Alloc, device: 0, errno: Errno::EINVAL };
        assert_eq!(error, Error { status: Status::Failure, cause });
    }
    for bytes in [1 << 40, i64::MAX as u64] {
        let error = leaves_no_trace(&runtime, || refused(core.allocate(0, &device(bytes, Usage::Io))));
        assert_eq!(error.status, Status::Resource);
    }
    finish(&runtime);
}

/// §6.1 and errata 21: the original would fall back to `size + alignment` here and never ask for alignment again. This
/// runtime has no such fallback: the refusal is reported, and the next aligned request is aligned.
#[test]
fn a_refused_alignment_is_a_failure_and_does_not_turn_alignment_off() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let request = Allocation { align: 4 * MIB, ..device(100, Usage::Weight) };
    runtime.driver().watch(&[Call::Alloc]);
    runtime.driver().fail_nth(1, Errno::EINVAL);
    assert_eq!(refused(core.allocate(0, &request)).status, Status::Failure);
    assert_eq!(runtime.driver().seen(), 1);
    let memory = core.allocate(0, &request).unwrap();
    assert!(memory.address().unwrap().is_multiple_of(4 * MIB));
    assert_eq!(held(&core, 0, Usage::Weight), 100);
    drop(memory);
    finish(&runtime);
}
