//! `tensor` §9.3, `dmem` §12: many pieces of many tensors at once.

use nrt_core::driver::{Call, Errno};
use nrt_core::{Access, Arch, Cause, Config, Error, Fence, Placement, ReadPiece, Status, WritePiece};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::{DriverVersion, SimConfig};
use nrt_tests::{TestRuntime, driver, open};

use crate::books::{TestTensor, books, finish};

fn invalid(cause: Cause) -> Error {
    Error { status: Status::Invalid, cause }
}

fn machine(arch: Arch, version: DriverVersion, devices: u32) -> TestRuntime {
    open(driver(SimConfig { version, devices, ..SimConfig::new(arch) }), Config::new(LinuxHooks::new()).side_by_side())
}

/// One request where the driver has batches, a transfer per piece where it has not: the bytes are the same.
#[test]
fn pieces_of_many_tensors_move_in_order() {
    let cases = [
        (machine(Arch::Cayman, DriverVersion::V2_25_4, 1), 1),
        (machine(Arch::Mariana, DriverVersion::V2_26_5, 1), 1),
        (machine(Arch::Cayman, DriverVersion::V2_24_7, 1), 0),
        (machine(Arch::Sunda, DriverVersion::V2_26_5, 1), 0),
    ];
    for (runtime, requests) in cases {
        let core = runtime.core(0).unwrap();
        let [one, two] = [(); 2].map(|()| core.tensor(Placement::Device, 1000, "t").unwrap());
        let slice = two.slice(100, 100, "slice").unwrap();
        runtime.driver().watch(&[Call::CopyBatches]);
        let written = [WritePiece::new(0, b"abc"), WritePiece::new(1, b"BC"), WritePiece::new(990, b"end")];
        let sliced = [WritePiece::new(7, b"slice")];
        runtime.write_batch(&[(&one, &written), (&slice, &sliced)], Fence::Wait).unwrap();
        assert_eq!(runtime.driver().seen(), requests);
        let (mut first, mut second, mut third) = ([0; 3], [0; 3], [0; 5]);
        let mut pieces = [ReadPiece::new(0, &mut first), ReadPiece::new(990, &mut second)];
        let mut others = [ReadPiece::new(107, &mut third)];
        runtime.read_batch(&mut [(&one, &mut pieces), (&two, &mut others)], Fence::Skip).unwrap();
        assert_eq!((&first, &second, &third), (b"aBC", b"end", b"slice"));
        assert_eq!(runtime.driver().seen(), 2 * requests);
        drop((one, two, slice));
        finish(&runtime);
    }
}

/// More tensors than fit one request, on two devices, one of them pinned host memory.
#[test]
fn long_batches_over_devices_go_in_several_requests() {
    let runtime = machine(Arch::Mariana, DriverVersion::V2_26_5, 2);
    let place = |index: u32| {
        let core = runtime.core(if index < 10 { 0 } else { 4 }).unwrap();
        core.tensor(if index == 5 { Placement::Host } else { Placement::Device }, 100, "t").unwrap()
    };
    let tensors: Vec<TestTensor<'_>> = (0..20).map(place).collect();
    // 80 batches: 40 of the first device, then 40 of the second.
    let bytes: Vec<[u8; 4]> = (0..80_u32).map(u32::to_le_bytes).collect();
    let pieces: Vec<[WritePiece<'_>; 1]> = (0..80).map(|at| [WritePiece::new(at as u64 / 20 * 4, &bytes[at])]).collect();
    let order = |at: usize| at % 10 + if at < 40 { 0 } else { 10 };
    let batches: Vec<(&TestTensor<'_>, &[WritePiece<'_>])> = (0..80).map(|at| (&tensors[order(at)], &pieces[at][..])).collect();
    runtime.driver().watch(&[Call::CopyBatches]);
    runtime.write_batch(&batches, Fence::Wait).unwrap();
    assert_eq!(runtime.driver().seen(), 4, "32 and 8 for each device");
    for at in 0..80 {
        let mut back = [0; 4];
        tensors[order(at)].read(at as u64 / 20 * 4, &mut back).unwrap();
        // Of those that were written to one place, the last one stays.
        let last = (0..80).rev().find(|&later| order(later) == order(at) && later / 20 == at / 20).unwrap();
        assert_eq!(back, bytes[last]);
    }
    drop(tensors);
    finish(&runtime);
}

/// Everything is checked before anything moves: one bad element, wherever it stands, and no tensor, no buffer and no request of
/// the driver shows the batch.
#[test]
fn batches_are_checked_as_a_whole() {
    let runtime = machine(Arch::Cayman, DriverVersion::V2_25_4, 1);
    let core = runtime.core(0).unwrap();
    let [good, tensor] = [9, 7].map(|byte| {
        let tensor = core.tensor(Placement::Device, 100, "t").unwrap();
        tensor.fill(0, byte, 100).unwrap();
        tensor
    });
    let plain = runtime.host_tensor(100, "plain").unwrap();
    let empty = runtime.empty_tensor("empty").unwrap();
    let mut fake = runtime.empty_tensor("fake").unwrap();
    fake.attach_size_only(100).unwrap();
    let before = books(&runtime);
    runtime.driver().watch_all();
    let refuse = |bad: &TestTensor<'_>, spans: &[(u64, usize)], error: Error| {
        let written: Vec<_> = spans.iter().map(|&(offset, size)| WritePiece::new(offset, &[1; 4][..size])).collect();
        let fine = [WritePiece::new(0, &[1; 4])];
        let mut batch: [(_, &[WritePiece<'_>]); 3] = [(&good, &fine), (bad, &written), (&good, &fine)];
        for _ in 0..3 {
            batch.rotate_left(1);
            assert_eq!(runtime.write_batch(&batch, Fence::Wait), Err(error));
        }
        let mut buffers = vec![[5; 4]; spans.len() + 1];
        let (first, others) = buffers.split_first_mut().unwrap();
        let mut fine = [ReadPiece::new(0, first)];
        let read = others.iter_mut().zip(spans).map(|(buffer, &(offset, size))| ReadPiece::new(offset, &mut buffer[..size]));
        let mut read: Vec<_> = read.collect();
        assert_eq!(runtime.read_batch(&mut [(&good, &mut fine), (bad, &mut read)], Fence::Wait), Err(error));
        drop((fine, read));
        assert!(buffers.iter().all(|buffer| *buffer == [5; 4]), "a buffer of a refused batch");
        assert_eq!(runtime.driver().seen(), 0, "a request of a refused batch");
    };
    // 1. Nothing at all.
    let nothing = invalid(Cause::ZeroSize);
    assert_eq!(runtime.write_batch(&[], Fence::Wait), Err(nothing));
    assert_eq!(runtime.read_batch(&mut [], Fence::Wait), Err(nothing));
    // 2. Pieces that are missing, empty or outside, also behind one that is fine.
    refuse(&tensor, &[], nothing);
    refuse(&tensor, &[(0, 4), (4, 0)], nothing);
    for (offset, size) in [(97, 4), (100, 1), (u64::MAX, 4), (u64::MAX - 3, 4)] {
        let outside = invalid(Cause::OutOfBounds { offset, size: size as u64, limit: 100 });
        refuse(&tensor, &[(0, 4), (offset, size)], outside);
    }
    // 3. Tensors that are no memory of a device.
    refuse(&plain, &[(0, 4)], invalid(Cause::NotDeviceMemory));
    refuse(&fake, &[(0, 4)], invalid(Cause::NotDeviceMemory));
    refuse(&empty, &[(0, 4)], invalid(Cause::NoStorage));
    let elsewhere = machine(Arch::Cayman, DriverVersion::V2_25_4, 1);
    let stranger = elsewhere.core(0).unwrap().tensor(Placement::Device, 100, "stranger").unwrap();
    refuse(&stranger, &[(0, 4)], Error { status: Status::InvalidHandle, cause: Cause::StaleHandle });
    drop(stranger);
    finish(&elsewhere);
    // 4. The bytes are what they were, and so are the books.
    assert_eq!(books(&runtime), before);
    for (tensor, byte) in [(&good, 9), (&tensor, 7)] {
        let mut back = [0; 100];
        tensor.read(0, &mut back).unwrap();
        assert_eq!(back, [byte; 100]);
    }
    drop((good, tensor, plain, empty, fake));
    finish(&runtime);
}

#[test]
fn a_batch_that_fails_is_a_failure_and_one_the_driver_lacks_goes_piece_by_piece() {
    let runtime = machine(Arch::Cayman, DriverVersion::V2_25_4, 1);
    let tensor = runtime.core(0).unwrap().tensor(Placement::Device, 100, "t").unwrap();
    let pieces = [WritePiece::new(0, b"one"), WritePiece::new(50, b"two")];
    let write = |fence| runtime.write_batch(&[(&tensor, &pieces)], fence);
    runtime.driver().watch(&[Call::CopyBatches]);
    runtime.driver().fail_nth(1, Errno::EPERM);
    let cause = Cause::Driver { call: Call::CopyBatches, device: 0, errno: Errno::EPERM };
    assert_eq!(write(Fence::Wait), Err(Error { status: Status::Failure, cause }));
    runtime.driver().fail_nth(1, Errno::ENOTSUPP);
    assert_eq!(write(Fence::Wait), Ok(()));
    let mut back = [0; 3];
    tensor.read(50, &mut back).unwrap();
    assert_eq!(&back, b"two");
    // What is under way is not waited for when the caller says so.
    let underway = tensor.begin(Access::Read).unwrap();
    assert_eq!(write(Fence::Skip), Ok(()));
    drop(underway);
    drop(tensor);
    finish(&runtime);
}
