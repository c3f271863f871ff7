//! `dmem` §§7, 10, 11, 13: mapping, copies in both directions, fills, bounds, handles after their time.

use nrt_core::driver::{Call, Errno};
use nrt_core::{Arch, Cause, Error, Status, Usage};
use nrt_tests::runtime;

use crate::books::{MIB, books, finish, on_every_arch, sim};
use crate::plans::{NOTHING, device, formula, host, load, refused, region, weights};

#[test]
fn memory_is_mapped_on_first_use_and_once() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    runtime.driver().watch(&[Call::Map]);
    for request in [device(9000, Usage::Weight), host(9000, Usage::Weight)] {
        let before = runtime.driver().seen();
        let memory = core.allocate(0, &request).unwrap();
        memory.write(100, b"before the mapping").unwrap();
        assert_eq!(runtime.driver().seen(), before);
        let base = memory.map().unwrap();
        assert_eq!(memory.map(), Ok(base));
        assert_eq!(runtime.driver().seen(), before + 1);
        // SAFETY: the mapping spans the 9,000 bytes and lives as long as the handle; nobody writes meanwhile.
        let seen = unsafe { std::slice::from_raw_parts(base.as_ptr().add(100), 18) };
        assert_eq!(seen, b"before the mapping");
    }
    // Unmapped before freed, or the model of the driver would count a hazard.
    finish(&runtime);
}

#[test]
fn a_refused_mapping_is_a_failure_and_can_be_tried_again() {
    let runtime = runtime(Arch::Cayman);
    let memory = runtime.core(0).unwrap().allocate(0, &device(1, Usage::Io)).unwrap();
    let before = books(&runtime);
    runtime.driver().watch(&[Call::Map]);
    runtime.driver().fail_nth(1, Errno::EPERM);
    let cause = Cause::Driver { call: Call::Map, device: 0, errno: Errno::EPERM };
    assert_eq!(memory.map(), Err(Error { status: Status::Failure, cause }));
    assert_eq!(books(&runtime), before);
    assert!(memory.map().is_ok());
    drop(memory);
    finish(&runtime);
}

#[test]
fn bytes_come_back_whatever_the_size() {
    let content = formula(0, 0x50_0003);
    on_every_arch(|runtime| {
        let core = runtime.core(0).unwrap();
        // Around the documented limits of the chunk rule, and beyond the 2 MiB of the bounce buffer.
        for bytes in [1, 0x3FFF, 0x4000, 0x4001, 0x5001, 0x10_0000, 0x10_0001, 0x20_0000, 0x20_0001, 0x50_0003] {
            let memory = core.allocate(0, &device(bytes, Usage::Tensor)).unwrap();
            let content = &content[..bytes as usize];
            memory.write(0, content).unwrap();
            let mut back = vec![0; content.len()];
            memory.read(0, &mut back).unwrap();
            assert!(back == content, "{bytes}");
        }
    });
}

#[test]
fn a_part_is_written_and_the_rest_stays() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(1).unwrap();
    for request in [device(3 * MIB, Usage::Weight), host(3 * MIB, Usage::Weight)] {
        let memory = core.allocate(0, &request).unwrap();
        memory.fill(0, 0x11, 3 * MIB).unwrap();
        memory.fill(5, 0x22, 2).unwrap();
        memory.write(2 * MIB - 1, &[0x33; 3]).unwrap();
        let mut all = vec![0; 3 << 20];
        memory.read(0, &mut all).unwrap();
        let mut expected = vec![0x11_u8; 3 << 20];
        expected[5..7].fill(0x22);
        expected[(2 << 20) - 1..(2 << 20) + 2].fill(0x33);
        assert!(all == expected);
    }
    finish(&runtime);
}

#[test]
fn spans_are_checked_against_the_size_asked_for() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let outside = |offset, size| Err(Error { status: Status::Invalid, cause: Cause::OutOfBounds { offset, size, limit: 100 } });
    let empty = Err(Error { status: Status::Invalid, cause: Cause::ZeroSize });
    for request in [device(100, Usage::Io), host(100, Usage::Io)] {
        let memory = core.allocate(0, &request).unwrap();
        runtime.driver().reset();
        // The driver reserved 4,096 bytes; the 3,996 behind the hundred are nobody's.
        for (offset, size) in [(0, 101), (99, 2), (100, 1), (u64::MAX, 1), (u64::MAX - 1, 2), (u64::MAX - 10, 100)] {
            assert_eq!(memory.write(offset, &vec![0; size]), outside(offset, size as u64));
            assert_eq!(memory.read(offset, &mut vec![0; size]), outside(offset, size as u64));
            assert_eq!(memory.fill(offset, 0, size as u64), outside(offset, size as u64));
        }
        assert_eq!(memory.fill(1, 0, u64::MAX), outside(1, u64::MAX));
        for offset in [0, 100, 101, u64::MAX] {
            assert_eq!(memory.write(offset, &[]), empty);
            assert_eq!(memory.read(offset, &mut []), empty);
            assert_eq!(memory.fill(offset, 0, 0), empty);
        }
        assert_eq!(runtime.driver().seen(), 0);
        assert_eq!(memory.write(99, &[1]), Ok(()));
        assert_eq!(memory.fill(0, 2, 100), Ok(()));
    }
    finish(&runtime);
}

#[test]
fn other_requests_that_fail_name_themselves() {
    let runtime = runtime(Arch::Sunda);
    let memory = runtime.core(0).unwrap().allocate(0, &host(100, Usage::Io)).unwrap();
    for call in [Call::Write, Call::Read, Call::Fill] {
        runtime.driver().watch(&[call]);
        runtime.driver().fail_nth(1, Errno::SHORT);
        let result = match call {
            Call::Write => memory.write(0, &[1]),
            Call::Read => memory.read(0, &mut [0]),
            _ => memory.fill(0, 0, 1),
        };
        let cause = Cause::Driver { call, device: 0, errno: Errno::SHORT };
        assert_eq!(result, Err(Error { status: Status::Failure, cause }));
    }
    drop(memory);
    finish(&runtime);
}

#[test]
fn a_source_cannot_copy_through_the_core_that_waits_for_it() {
    use nrt_core::model::{ByteSource, SubgraphPlan};
    let runtime: &'static _ = Box::leak(Box::new(runtime(Arch::Cayman)));
    struct Selfish(&'static nrt_tests::TestRuntime);
    impl ByteSource for Selfish {
        fn read(&self, _: u64, _: &mut [u8]) -> core::result::Result<(), &'static str> {
            let memory = self.0.core(0).unwrap().allocate(0, &device(1, Usage::Io)).unwrap();
            let reentered = Error { status: Status::Invalid, cause: Cause::Reentered };
            assert_eq!(memory.write(0, &[1]), Err(reentered));
            assert_eq!(memory.read(0, &mut [1]), Err(reentered));
            // Another core's buffer is free.
            let other = self.0.core(0).unwrap().allocate(1, &device(1, Usage::Io)).unwrap();
            assert_eq!(other.write(0, &[1]), Ok(()));
            Err("enough seen")
        }
    }
    let source: &'static Selfish = Box::leak(Box::new(Selfish(runtime)));
    let before = books(runtime);
    let regions = [weights(10), region(2, Usage::Weight, 1, Some(source))];
    let error = refused(load(&runtime.core(0).unwrap(), SubgraphPlan { regions: &regions, ..NOTHING }));
    assert_eq!(error, Error { status: Status::Failure, cause: Cause::Source("enough seen") });
    assert_eq!(books(runtime), before);
    finish(runtime);
}

#[test]
fn handles_are_inert_after_close() {
    let runtime = runtime(Arch::Cayman);
    let memory = runtime.core(0).unwrap().allocate(0, &device(100, Usage::Io)).unwrap();
    let report = runtime.close(None).unwrap();
    assert_eq!((report.allocations, report.device_bytes, report.nodes), (1, 0, 0));
    let closed = Error { status: Status::Closed, cause: Cause::NotOpen };
    assert_eq!(memory.bytes(), Err(closed));
    assert_eq!(memory.address(), Err(closed));
    assert_eq!(memory.map(), Err(closed));
    assert_eq!(memory.write(0, &[1]), Err(closed));
    assert_eq!(memory.read(0, &mut [1]), Err(closed));
    assert_eq!(memory.fill(0, 0, 1), Err(closed));
    runtime.driver().watch_all();
    drop(memory);
    assert_eq!(runtime.driver().seen(), 0);
    assert_eq!(sim(&runtime).live(0), nrt_sim::Live::default());
}
