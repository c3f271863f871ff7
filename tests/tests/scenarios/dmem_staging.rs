//! `dmem` §§10, 11: the ways a transfer goes; two copies in flight, and none after an error.

use nrt_core::driver::{Call, Errno, feature};
use nrt_core::{Arch, Cause, Config, Error, Result, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::{DriverVersion, SimConfig};
use nrt_tests::{TestRuntime, driver, open, runtime};

use crate::books::{MIB, finish, sim};
use crate::plans::{device, formula, host};

fn failed(call: Call) -> Error {
    Error { status: Status::Failure, cause: Cause::Driver { call, device: 0, errno: Errno::EPERM } }
}

/// Requests of one kind that `work` makes.
fn calls(runtime: &TestRuntime, kind: Call, work: &dyn Fn() -> Result<()>) -> u64 {
    runtime.driver().watch(&[kind]);
    work().unwrap();
    let seen = runtime.driver().seen();
    runtime.driver().reset();
    seen
}

/// Small transfers are one synchronous copy; the others start every chunk and wait once at the end, as each start waits for
/// the copy before it.
#[test]
fn each_chunk_is_started_and_only_the_last_is_waited_for() {
    let runtime = runtime(Arch::Cayman);
    let memory = runtime.core(0).unwrap().allocate(0, &device(5 * MIB, Usage::Io)).unwrap();
    for (size, starts, waits) in
        [(1, 1, 0), (0x3FFF, 1, 0), (0x4000, 2, 1), (0x4001, 3, 1), (0x10_0000, 2, 1), (0x10_0001, 2, 1), (0x50_0000, 5, 1)]
    {
        let write = || memory.write(0, &vec![1; size]);
        let read = || memory.read(0, &mut vec![0; size]);
        for way in [&write as &dyn Fn() -> Result<()>, &read] {
            let [started, waited] = [calls(&runtime, Call::CopyStart, way), calls(&runtime, Call::CopyWait, way)];
            assert_eq!((started, waited), (starts, waits), "{size:#x}");
            assert_eq!(sim(&runtime).kernel().outstanding_copies(0), 0);
        }
    }
    drop(memory);
    finish(&runtime);
}

/// A failure at every request of a transfer: the queue is empty afterwards, and the buffer is of use at once.
#[test]
fn no_copy_is_in_flight_after_a_failure() {
    const SIZE: usize = 0x50_0003;
    let runtime = runtime(Arch::Mariana);
    let memory = runtime.core(0).unwrap().allocate(1, &device(SIZE as u64, Usage::Io)).unwrap();
    let content = formula(7, SIZE);
    for (call, count) in [(Call::CopyStart, 6), (Call::CopyWait, 1)] {
        for nth in 1..=count {
            for write in [true, false] {
                memory.write(0, &content).unwrap();
                runtime.driver().watch(&[call]);
                runtime.driver().fail_nth(nth, Errno::EPERM);
                let mut back = vec![0xEE; SIZE];
                let answer = if write { memory.write(0, &vec![0; SIZE]) } else { memory.read(0, &mut back) };
                assert_eq!(answer, Err(failed(call)), "{call:?} {nth}");
                assert_eq!(sim(&runtime).kernel().outstanding_copies(0), 0, "{call:?} {nth}");
                if !write {
                    // Chunks before the one that failed arrived, the last one never does when its wait fails.
                    let arrived = if call == Call::CopyWait { 5 << 20 } else { (nth as usize - 1) << 20 };
                    assert!(back[..arrived] == content[..arrived], "{call:?} {nth}");
                    assert!(back[arrived..].iter().all(|byte| *byte == 0xEE), "{call:?} {nth}");
                }
            }
            runtime.driver().reset();
            let mut back = vec![0; SIZE];
            memory.write(0, &content).and_then(|()| memory.read(0, &mut back)).unwrap();
            assert!(back == content);
        }
    }
    drop(memory);
    finish(&runtime);
}

/// The source fails with a copy in flight.
#[test]
fn a_source_that_fails_half_way_leaves_no_copy_in_flight() {
    use nrt_core::model::{ByteSource, SubgraphPlan};
    struct Half;
    impl ByteSource for Half {
        fn read(&self, offset: u64, bytes: &mut [u8]) -> core::result::Result<(), &'static str> {
            bytes.fill(1);
            if offset < 2 * MIB { Ok(()) } else { Err("no more") }
        }
    }
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let regions = [crate::plans::region(1, Usage::Weight, 4 * MIB, Some(&Half))];
    let error = crate::plans::refused(crate::plans::load(&core, SubgraphPlan { regions: &regions, ..crate::plans::NOTHING }));
    assert_eq!(error, Error { status: Status::Failure, cause: Cause::Source("no more") });
    assert_eq!(sim(&runtime).kernel().outstanding_copies(0), 0);
    finish(&runtime);
}

/// While the driver answers no wait, nobody gets the slots a copy may still write to; then everything goes on.
#[test]
fn a_buffer_that_cannot_be_settled_is_not_used() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let memory = core.allocate(0, &device(4 * MIB, Usage::Io)).unwrap();
    let other = runtime.core(1).unwrap().allocate(0, &device(MIB, Usage::Io)).unwrap();
    let content = formula(1, 4 << 20);
    runtime.driver().watch(&[Call::CopyWait]);
    runtime.driver().fail_from(1, Errno::EPERM);
    assert_eq!(memory.write(0, &content), Err(failed(Call::CopyWait)));
    assert_eq!(sim(&runtime).kernel().outstanding_copies(0), 1);
    // Even a small, synchronous transfer is refused, before it moves anything.
    assert_eq!(memory.write(0, b"small"), Err(failed(Call::CopyWait)));
    runtime.driver().reset();
    other.write(0, b"another core's buffer").unwrap();
    memory.write(0, &content).unwrap();
    assert_eq!(sim(&runtime).kernel().outstanding_copies(0), 0);
    // The same at the very end: the close settles what it can.
    runtime.driver().watch(&[Call::CopyWait]);
    runtime.driver().fail_from(1, Errno::EPERM);
    assert_eq!(memory.write(0, &content), Err(failed(Call::CopyWait)));
    drop((memory, other));
    finish(&runtime);
    assert_eq!(sim(&runtime).kernel().outstanding_copies(0), 0);
}

/// Without the bounce buffer: on request, where the driver advertises it, not on SUNDA.
fn straight(arch: Arch, version: DriverVersion, zero_copy: bool) -> TestRuntime {
    open(
        driver(SimConfig { version, ..SimConfig::new(arch) }),
        Config { zero_copy, ..Config::new(LinuxHooks::new()).side_by_side() },
    )
}

#[test]
fn the_way_of_a_transfer() {
    const NEW: DriverVersion = DriverVersion::V2_25_4;
    let kinds = [Call::ZeroCopyWrite, Call::ZeroCopyRead, Call::Write, Call::Read, Call::CopyStart];
    let cases = [
        (straight(Arch::Cayman, NEW, true), true),
        (straight(Arch::Mariana, NEW, true), true),
        (straight(Arch::Cayman, NEW, false), false),
        (straight(Arch::Cayman, DriverVersion::V2_24_7, true), false),
        (straight(Arch::Sunda, NEW, true), false),
    ];
    for (runtime, zero_copy) in cases {
        let core = runtime.core(0).unwrap();
        let memories = [device(3 * MIB, Usage::Io), host(3 * MIB, Usage::Io)].map(|request| core.allocate(0, &request).unwrap());
        let content = formula(2, 3 << 20);
        let ways = memories.each_ref().map(|memory| {
            let write = || memory.write(0, &content);
            let read = || memory.read(0, &mut vec![0; 3 << 20]);
            [kinds.map(|kind| calls(&runtime, kind, &write)), kinds.map(|kind| calls(&runtime, kind, &read))]
        });
        let on_host = if zero_copy { [0, 1, 0, 0, 0] } else { [0, 0, 0, 1, 0] };
        let expected = if zero_copy { [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]] } else { [[0, 0, 0, 0, 3]; 2] };
        // Host memory is written directly but, with zero-copy on, read through DMA.
        assert_eq!(ways, [expected, [[0, 0, 1, 0, 0], on_host]], "{:?}", runtime.arch());
        for memory in &memories {
            let mut back = vec![0; 3 << 20];
            memory.read(0, &mut back).unwrap();
            assert!(back == content);
        }
        assert_eq!(runtime.driver_features() & feature::ZEROCOPY != 0, sim(&runtime).kernel().config().version == NEW);
        drop(memories);
        finish(&runtime);
    }
}

#[test]
fn zero_copy_that_fails_is_a_failure_and_one_that_is_not_there_is_staged() {
    let runtime = straight(Arch::Cayman, DriverVersion::V2_26_5, true);
    let memory = runtime.core(0).unwrap().allocate(0, &device(100, Usage::Io)).unwrap();
    for call in [Call::ZeroCopyWrite, Call::ZeroCopyRead] {
        let transfer = || if call == Call::ZeroCopyWrite { memory.write(0, &[1; 9]) } else { memory.read(0, &mut [0; 9]) };
        runtime.driver().watch(&[call]);
        runtime.driver().fail_nth(1, Errno::EPERM);
        assert_eq!(transfer(), Err(failed(call)));
        runtime.driver().fail_nth(1, Errno::ENOTSUPP);
        assert_eq!(transfer(), Ok(()));
    }
    drop(memory);
    finish(&runtime);
}
