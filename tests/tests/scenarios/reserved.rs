//! Reservations: device memory carved in user space, in front of the modelled driver.

use nrt_core::abi::nrt_tensor_batch_op_t;
use nrt_core::driver::{AllocRequest, Call, CopyBatch, DeviceRange, Driver, Errno};
use nrt_core::model::{ModelPlan, SubgraphPlan};
use nrt_core::reserved_hbm::{ReserveStorage, ReservedHbm};
use nrt_core::{Arch, Cause, Config, OutOfMemory, Runtime, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::{DriverVersion, Hazards, Live, SimConfig};
use nrt_tests::TestDriver;

use crate::books::{GIB, KIB, MIB};
use crate::plans::{NOTHING, device, host, weights};

pub(crate) type Reserved = ReservedHbm<TestDriver, LinuxHooks>;

/// In front of two devices, the first of them open.
pub(crate) fn reserved<const RESERVATIONS: usize, const RUNS: usize>(arch: Arch) -> (Reserved, TestDriver) {
    let driver = nrt_tests::driver(SimConfig { devices: 2, ..SimConfig::new(arch) });
    // SAFETY: zeroed memory is an unclaimed storage.
    let storage: &'static ReserveStorage<2, RESERVATIONS, RUNS> = unsafe { nrt_tests::leak_zeroed() };
    let reserved = ReservedHbm::new(driver, LinuxHooks::new(), storage).unwrap();
    reserved.open(0).unwrap();
    (reserved, driver)
}

pub(crate) fn request(size: u64) -> AllocRequest {
    AllocRequest { size, align: 0, host: false, channel: 0, nc_id: 0, category: 9 }
}

fn nothing() -> DeviceRange {
    // SAFETY: integers and pointers, for which zero is a value.
    unsafe { std::mem::zeroed() }
}

pub(crate) fn alloc(driver: &impl Driver, request: &AllocRequest) -> Result<DeviceRange, Errno> {
    let mut range = nothing();
    driver.alloc(0, request, &mut range).map(|()| range)
}

/// Why an allocation was refused.
pub(crate) fn refusal(driver: &impl Driver, request: &AllocRequest) -> Errno {
    alloc(driver, request).expect_err("a refusal")
}

/// All went back, and nothing on the way would have harmed a device.
pub(crate) fn finish(reserved: &Reserved) {
    let sim = reserved.inner().inner();
    reserved.close(0).unwrap();
    assert_eq!((sim.live(0), sim.hazards(0)), (Live::default(), Hazards::default()));
}

#[test]
fn a_range_is_a_part_of_its_chunk_and_names_it() {
    let (reserved, driver) = reserved::<4, 64>(Arch::Cayman);
    reserved.reserve(0, 0, 0, 5 * GIB + 1).unwrap();
    let live = driver.inner().live(0);
    assert_eq!((live.chunks, live.device_bytes), (1, 5 * GIB + 4 * KIB));
    driver.watch(&[Call::Alloc, Call::Free]);
    let first = alloc(&reserved, &request(100)).unwrap();
    let second = alloc(&reserved, &AllocRequest { align: 2 * MIB, nc_id: 0, ..request(4 * GIB + 5) }).unwrap();
    assert_eq!(driver.seen(), 0, "without the driver");
    assert_eq!((first.driver_handle, first.mmap_offset), (second.driver_handle, second.mmap_offset));
    assert_eq!((first.pa - first.mmap_offset, first.size), (0, 4 * KIB));
    assert_eq!((second.pa % (2 * MIB), second.size, second.align), (0, 4 * GIB + 4 * KIB, 2 << 20));
    assert_eq!((second.host_memory, second.nc_id), (0, 0));
    // Bytes beyond 4 GiB into the range, and what the chunk has there.
    reserved.write(0, &second, 4 * GIB, b"tail").unwrap();
    let mut back = [0; 4];
    let chunk = DeviceRange { pa: second.mmap_offset, size: 5 * GIB + 4 * KIB, pad_2c: 0, ..second };
    driver.read(0, &chunk, second.pa - second.mmap_offset + 4 * GIB, &mut back).unwrap();
    assert_eq!(&back, b"tail");
    reserved.free(0, &second).unwrap();
    reserved.free(0, &first).unwrap();
    assert_eq!(driver.seen(), 0);
    finish(&reserved);
}

#[test]
fn no_access_leaves_its_range() {
    let (reserved, driver) = reserved::<4, 64>(Arch::Cayman);
    reserved.reserve(0, 0, 0, MIB).unwrap();
    let (a, b) = (alloc(&reserved, &request(8 * KIB)).unwrap(), alloc(&reserved, &request(8 * KIB)).unwrap());
    let pinned = alloc(&reserved, &AllocRequest { host: true, category: 2, ..request(64 * KIB) }).unwrap();
    assert_eq!(a.pa + a.size, b.pa, "neighbours");
    driver.watch(&[Call::Copy, Call::CopyStart, Call::CopyWait, Call::Write, Call::Read, Call::Fill]);
    let mut back = [0; 2];
    for (offset, size) in [(8 * KIB - 1, 2), (8 * KIB, 1), (u64::MAX, 2), (u64::MAX - 1, 2), (0, u64::MAX)] {
        if size == 2 {
            assert_eq!(reserved.write(0, &a, offset, &[1, 2]), Err(Errno::EINVAL), "{offset}");
            assert_eq!(reserved.read(0, &a, offset, &mut back), Err(Errno::EINVAL), "{offset}");
        }
        assert_eq!(reserved.fill(0, &a, offset, 7, size), Err(Errno::EINVAL), "{offset}");
        for (from, to) in [(&a, &pinned), (&a, &b)] {
            let mut wait = -1;
            assert_eq!(reserved.copy(0, from, offset, to, 0, size), Err(Errno::EINVAL));
            assert_eq!(reserved.copy(0, to, 0, from, offset, size), Err(Errno::EINVAL));
            assert_eq!(reserved.copy_start(0, from, offset, to, 0, size, 0, &mut wait), Err(Errno::EINVAL));
            assert_eq!(reserved.copy_start(0, to, 0, from, offset, size, 0, &mut wait), Err(Errno::EINVAL));
            assert_eq!(wait, -1);
        }
    }
    assert_eq!(driver.seen(), 0, "the driver would have let it through");
    // The last byte is the range's; a copy between neighbours, started and waited for, is one within the chunk.
    reserved.write(0, &a, 8 * KIB - 2, b"ab").unwrap();
    let mut wait = -1;
    reserved.copy_start(0, &a, 8 * KIB - 2, &b, 0, 2, 0, &mut wait).unwrap();
    reserved.copy_wait(0, &a, &b, wait).unwrap();
    reserved.copy(0, &b, 0, &pinned, 10, 2).unwrap();
    reserved.read(0, &pinned, 10, &mut back).unwrap();
    assert_eq!(&back, b"ab");
    reserved.fill(0, &b, 1, b'z', 1).unwrap();
    reserved.read(0, &b, 0, &mut back).unwrap();
    assert_eq!(&back, b"az");
    finish(&reserved);
}

#[test]
fn copies_without_a_bounce_buffer_stay_in_their_ranges_too() {
    // The oldest driver with such copies.
    let driver = nrt_tests::driver(SimConfig { version: DriverVersion::V2_25_4, ..SimConfig::new(Arch::Cayman) });
    static STORAGE: ReserveStorage<1, 2, 256> = ReserveStorage::new();
    let reserved = ReservedHbm::new(driver, LinuxHooks::new(), &STORAGE).unwrap();
    reserved.open(0).unwrap();
    reserved.reserve(0, 0, 0, 2 * MIB).unwrap();
    // More ranges than go to the driver at a time, and one that is the driver's own.
    let mut ranges: Vec<_> = (0..70).map(|_| alloc(&reserved, &request(8 * KIB)).unwrap()).collect();
    ranges.push(alloc(&reserved, &AllocRequest { nc_id: 1, ..request(8 * KIB) }).unwrap());
    let (a, b) = (ranges[3], ranges[4]);
    reserved.zero_copy_write(0, &a, 8 * KIB - 4, b"last", 0).unwrap();
    let mut back = [0; 4];
    reserved.zero_copy_read(0, &a, 8 * KIB - 4, &mut back).unwrap();
    assert_eq!(&back, b"last");
    driver.watch(&[Call::ZeroCopyRead, Call::ZeroCopyWrite, Call::CopyBatches]);
    assert_eq!(reserved.zero_copy_write(0, &a, 8 * KIB - 3, b"over", 0), Err(Errno::EINVAL));
    assert_eq!(reserved.zero_copy_read(0, &a, u64::MAX, &mut back), Err(Errno::EINVAL));
    let mut bytes: Vec<[u8; 16]> = (0..ranges.len()).map(|at| [at as u8; 16]).collect();
    let operations = |bytes: &mut [[u8; 16]], offset: u64| -> Vec<[nrt_tensor_batch_op_t; 2]> {
        let halves = bytes.iter_mut().map(|bytes| {
            let buffer: *mut u8 = bytes.as_mut_ptr();
            [0_u64, 8].map(|half| nrt_tensor_batch_op_t {
                offset: offset + half,
                size: 8,
                buffer: buffer.wrapping_add(half as usize).cast(),
            })
        });
        halves.collect()
    };
    let batch = |operations: &[[nrt_tensor_batch_op_t; 2]], offset, to_device| {
        let batches: Vec<_> =
            ranges.iter().zip(operations).map(|(range, operations)| CopyBatch { range, offset, operations }).collect();
        // SAFETY: the operations name buffers of their size that nothing else uses.
        unsafe { reserved.copy_batches(0, &batches, to_device, 0) }
    };
    let there = operations(&mut bytes, 100);
    assert_eq!(batch(&there, 8 * KIB - 115, true), Err(Errno::EINVAL), "a byte beyond the range");
    assert_eq!(batch(&there, u64::MAX, true), Err(Errno::EINVAL));
    assert_eq!(driver.seen(), 0);
    batch(&there, 8 * KIB - 116, true).unwrap();
    assert_eq!(driver.seen(), 3, "32 ranges at a time");
    let mut seen = vec![[0; 16]; ranges.len()];
    batch(&operations(&mut seen, 0), 8 * KIB - 16, false).unwrap();
    assert_eq!(seen, bytes);
    let mut untouched = [0; 1];
    reserved.read(0, &b, 0, &mut untouched).unwrap();
    assert_eq!(untouched, [0], "the neighbour's first byte");
    // SAFETY: nothing is copied.
    assert_eq!(unsafe { reserved.copy_batches(0, &[], true, 0) }, Err(Errno::EINVAL));
    finish(&reserved);
}

#[test]
fn a_range_that_is_gone_is_refused() {
    let (reserved, driver) = reserved::<4, 64>(Arch::Cayman);
    reserved.reserve(0, 0, 0, MIB).unwrap();
    let gone = alloc(&reserved, &request(8 * KIB)).unwrap();
    let kept = alloc(&reserved, &request(8 * KIB)).unwrap();
    reserved.free(0, &gone).unwrap();
    driver.watch_all();
    let mut wait = -1;
    let refused = [
        reserved.free(0, &gone),
        reserved.map(0, &gone).map(drop),
        reserved.write(0, &gone, 0, &[1]),
        reserved.read(0, &gone, 0, &mut [1]),
        reserved.fill(0, &gone, 0, 1, 1),
        reserved.copy(0, &gone, 0, &kept, 0, 1),
        reserved.copy(0, &kept, 0, &gone, 0, 1),
        reserved.copy_start(0, &gone, 0, &kept, 0, 1, 0, &mut wait),
        reserved.copy_wait(0, &gone, &kept, 1),
    ];
    assert_eq!(refused, [Err(Errno::EINVAL); 9]);
    // Another range in its place is not it, unless it is the same; nor is one of another size, device or number.
    let again = alloc(&reserved, &request(4 * KIB)).unwrap();
    assert_eq!(again.pa, gone.pa);
    for wrong in [
        DeviceRange { size: 8 * KIB, ..again },
        DeviceRange { pa: again.pa + 4 * KIB, ..again },
        DeviceRange { pad_2c: kept.pad_2c, ..again },
        DeviceRange { pad_2c: 65, ..again },
        DeviceRange { pad_2c: u32::MAX, ..again },
    ] {
        assert_eq!(reserved.free(0, &wrong), Err(Errno::EINVAL), "{wrong:?}");
    }
    assert_eq!(reserved.free(1, &again), Err(Errno::EINVAL), "another device");
    assert_eq!(driver.seen(), 0);
    reserved.free(0, &again).unwrap();
    reserved.free(0, &kept).unwrap();
    finish(&reserved);
}

#[test]
fn a_range_never_spans_two_reservations() {
    let (reserved, driver) = reserved::<4, 64>(Arch::Cayman);
    reserved.reserve(0, 0, 0, 64 * MIB).unwrap();
    reserved.reserve(0, 0, 0, 64 * MIB).unwrap();
    let pa = |bytes| alloc(&reserved, &request(bytes)).map(|range| (range, range.mmap_offset));
    let ((a, first), (b, second)) = (pa(64 * MIB).unwrap(), pa(64 * MIB).unwrap());
    assert_eq!(first.abs_diff(second), 64 * MIB, "they adjoin");
    reserved.free(0, &a).unwrap();
    reserved.free(0, &b).unwrap();
    assert_eq!(refusal(&reserved, &request(64 * MIB + 1)), Errno::ENOMEM);
    let now = reserved.statistics(0, 0, 0).unwrap();
    assert_eq!((now.free_runs, now.largest_free_run, now.free_bytes()), (2, 64 * MIB, 128 * MIB));
    assert_eq!((now.refused, driver.inner().live(0).chunks), (1, 2));
    finish(&reserved);
}

#[test]
fn a_chunk_is_mapped_once_as_long_as_a_range_of_it_is() {
    let (reserved, driver) = reserved::<4, 64>(Arch::Cayman);
    reserved.reserve(0, 0, 0, MIB).unwrap();
    let (a, b) = (alloc(&reserved, &request(8 * KIB)).unwrap(), alloc(&reserved, &request(8 * KIB)).unwrap());
    driver.watch(&[Call::Map, Call::Unmap]);
    driver.fail_nth(1, Errno::EPERM);
    assert_eq!(reserved.map(0, &a), Err(Errno::EPERM));
    let (at_a, at_b, again) = (reserved.map(0, &a).unwrap(), reserved.map(0, &b).unwrap(), reserved.map(0, &a).unwrap());
    assert_eq!((driver.seen(), driver.inner().live(0).mappings), (2, 1));
    assert_eq!((at_a, at_b.addr().get()), (again, at_a.addr().get() + 8192));
    reserved.write(0, &b, 3, b"seen").unwrap();
    // SAFETY: mapped, and written by this thread alone.
    assert_eq!(unsafe { at_b.add(3).cast::<[u8; 4]>().read() }, *b"seen");
    // SAFETY: each is unmapped as often as it was mapped, and not used afterwards.
    unsafe {
        assert_eq!(reserved.unmap(0, &a, at_b), Err(Errno::EINVAL), "another range's address");
        reserved.unmap(0, &a, at_a).unwrap();
        reserved.unmap(0, &b, at_b).unwrap();
        assert_eq!(driver.inner().live(0).mappings, 1);
        driver.fail_nth(1, Errno::EIO);
        assert_eq!(reserved.unmap(0, &a, at_a), Err(Errno::EIO), "still mapped");
        reserved.unmap(0, &a, at_a).unwrap();
        assert_eq!(reserved.unmap(0, &a, at_a), Err(Errno::EINVAL), "not mapped");
    }
    assert_eq!(driver.inner().live(0).mappings, 0);
    finish(&reserved);
}

#[test]
fn host_memory_and_the_contiguous_scratchpad_are_the_drivers() {
    let (reserved, driver) = reserved::<4, 64>(Arch::Cayman);
    reserved.reserve(0, 0, 0, MIB).unwrap();
    let contiguous = alloc(&reserved, &AllocRequest { category: 19, ..request(2 * MIB) }).unwrap();
    let pinned = alloc(&reserved, &AllocRequest { host: true, category: 2, ..request(2 * MIB) }).unwrap();
    assert_eq!((contiguous.pad_2c, pinned.pad_2c, driver.inner().live(0).chunks), (0, 0, 3));
    let address = reserved.map(0, &pinned).unwrap();
    reserved.write(0, &pinned, 0, b"host").unwrap();
    reserved.copy(0, &pinned, 0, &contiguous, MIB, 4).unwrap();
    // SAFETY: mapped once, unmapped once, not used.
    unsafe { reserved.unmap(0, &pinned, address).unwrap() };
    reserved.free(0, &contiguous).unwrap();
    reserved.free(0, &pinned).unwrap();
    assert_eq!(reserved.statistics(0, 0, 0).unwrap().ranges, 0);
    finish(&reserved);
}

#[test]
fn closing_takes_the_reservations_and_the_storage_serves_again() {
    let driver = nrt_tests::one_device(Arch::Mariana);
    static STORAGE: ReserveStorage<1, 2, 16> = ReserveStorage::new();
    for _ in 0..3 {
        let reserved = ReservedHbm::new(driver, LinuxHooks::new(), &STORAGE).unwrap();
        let again = ReservedHbm::new(driver, LinuxHooks::new(), &STORAGE);
        assert_eq!(again.err().map(|error| error.cause), Some(Cause::StorageInUse));
        for _ in 0..3 {
            reserved.open(0).unwrap();
            reserved.reserve(0, 0, 0, 33 * GIB).unwrap();
            reserved.reserve(0, 7, 3, MIB).unwrap();
            // More than the records can describe if any were lost.
            for _ in 0..6 {
                alloc(&reserved, &AllocRequest { align: MIB, ..request(5000) }).unwrap();
            }
            let mapped = alloc(&reserved, &AllocRequest { nc_id: 7, channel: 3, ..request(5000) }).unwrap();
            reserved.map(0, &mapped).unwrap();
            finish(&reserved);
            assert_eq!(reserved.statistics(0, 0, 0).unwrap().reserved_bytes, 0);
            assert_eq!(reserved.held(0, 0, 0, Usage::Tensor), Ok(0));
        }
        // What is left when the driver goes away is freed.
        reserved.open(0).unwrap();
        reserved.reserve(0, 0, 0, MIB).unwrap();
        drop(reserved);
        assert_eq!(driver.inner().live(0), Live::default());
        driver.close(0).unwrap();
    }
}

/// A runtime on reservations: everything but the bounce buffers and pinned memory comes out of them, the ledger is the
/// same, and a full reservation is a full HBM to the application.
#[test]
fn a_runtime_serves_from_its_reservations() {
    let driver = nrt_tests::one_device(Arch::Cayman);
    static RESERVE: ReserveStorage<1, 16, 1024> = ReserveStorage::new();
    let reserved = ReservedHbm::new(driver, LinuxHooks::new(), &RESERVE).unwrap();
    let storage: &'static nrt_tests::TestStorage = nrt_tests::storage();
    let config = Config { scratchpad_page_size: MIB, ..Config::new(LinuxHooks::new()).side_by_side() };
    let runtime = Runtime::init(storage, &reserved, config).unwrap();
    for core in 0..2 {
        reserved.reserve(0, core, 0, 64 * MIB).unwrap();
    }
    let chunks = driver.inner().live(0).chunks;
    let core = runtime.core(0).unwrap();
    let regions = [weights(3 * MIB)];
    let subgraph = SubgraphPlan { regions: &regions, local_scratchpad_bytes: MIB, ..NOTHING };
    let model = core.load(&ModelPlan { name: "m", subgraphs: &[subgraph] }).unwrap();
    let block = core.allocate(1, &device(10_000, Usage::Weight)).unwrap();
    let pinned = core.allocate(1, &host(10_000, Usage::Generic)).unwrap();
    assert_eq!(driver.inner().live(0).chunks, chunks + 1, "the pinned one");
    block.write(9_990, b"0123456789").unwrap();
    let mut back = [0; 10];
    block.read(9_990, &mut back).unwrap();
    assert_eq!(&back, b"0123456789");
    let (used, carved) = (core.usage(0).unwrap().total, reserved.statistics(0, 0, 0).unwrap().asked_bytes);
    assert_eq!(used, carved);
    // The whole rest, then one more.
    let rest = reserved.statistics(0, 1, 0).unwrap().largest_free_run;
    let all = core.allocate(1, &device(rest, Usage::Tensor)).unwrap();
    let error = core.allocate(1, &device(64 * MIB, Usage::Tensor)).err().unwrap();
    assert_eq!(error.status, Status::Resource);
    assert!(matches!(error.cause, Cause::OutOfMemory(OutOfMemory { size, .. }) if size == 64 * MIB));
    drop((all, block, pinned));
    model.unload().unwrap();
    assert_eq!(reserved.statistics(0, 0, 0).unwrap().ranges, 0);
    assert!(runtime.close(None).unwrap().is_clean());
    assert_eq!((driver.inner().live(0), driver.inner().hazards(0)), (Live::default(), Hazards::default()));
}
