//! Transfers without a bounce buffer, one by one and in batches, and the list of chunks (`driver-abi` §§11, 13).
#![allow(unsafe_code, reason = "the model copies from and to addresses of this test")]

mod common;

use common::{Sparse, alloc, hbm};
use nrt_core::arch::Arch;
use nrt_core::driver::{BatchOperation, ChunkInfo, CopyBatch, DeviceRange, Driver, DriverResult, Errno};
use nrt_sim::{DriverVersion, Sim, SimConfig, SimStorage};

macro_rules! sim {
    ($arch:expr, $version:ident) => {{
        static STORAGE: SimStorage<1000> = SimStorage::new();
        let sim = Sim::new(&STORAGE, SimConfig { version: DriverVersion::$version, ..SimConfig::new($arch) }, &Sparse).unwrap();
        sim.open(0).unwrap();
        sim
    }};
}

/// Offset and bytes.
type Piece<'a> = (u64, &'a [u8]);

/// Writes `pieces` at base offset 4096 of each range.
fn write(sim: &Sim, pieces: &[(&DeviceRange, &[Piece<'_>])], window: u16) -> DriverResult<()> {
    let operations: Vec<Vec<BatchOperation>> = pieces.iter().map(|(_, pieces)| operations(pieces)).collect();
    let batches: Vec<CopyBatch<'_>> =
        pieces.iter().zip(&operations).map(|((range, _), operations)| CopyBatch { range, offset: 4096, operations }).collect();
    // SAFETY: the pieces are borrowed until the call is over.
    unsafe { sim.copy_batches(0, &batches, true, window) }
}

fn operations(pieces: &[Piece<'_>]) -> Vec<BatchOperation> {
    let operation = |&(offset, bytes): &Piece<'_>| BatchOperation {
        offset,
        size: bytes.len() as u64,
        buffer: bytes.as_ptr().cast_mut().cast(),
    };
    pieces.iter().map(operation).collect()
}

#[test]
fn drivers_before_2_25_have_none() {
    let sim = sim!(Arch::Cayman, V2_24_7);
    let range = alloc(&sim, &hbm(65536)).unwrap();
    assert_eq!(sim.zero_copy_write(0, &range, 0, b"bytes", 4096), Err(Errno::ENOTSUPP));
    assert_eq!(sim.zero_copy_read(0, &range, 0, &mut [0; 4]), Err(Errno::ENOTSUPP));
    assert_eq!(write(&sim, &[(&range, &[(0, b"bytes")])], 0), Err(Errno::ENOTSUPP));
}

#[test]
fn bytes_go_both_ways() {
    let sim = sim!(Arch::Cayman, V2_25_4);
    let range = alloc(&sim, &hbm(65536)).unwrap();
    sim.zero_copy_write(0, &range, 100, b"straight", 0).unwrap();
    let mut back = [0; 8];
    sim.zero_copy_read(0, &range, 100, &mut back).unwrap();
    assert_eq!(&back, b"straight");
    assert_eq!(sim.zero_copy_write(0, &range, 65530, b"straight", 0), Err(Errno::EINVAL), "beyond the chunk");
    assert_eq!(sim.zero_copy_write(0, &range, 0, b"", 0), Err(Errno::EINVAL));
}

/// SUNDA has only the direct write: to the device, small, whole words.
#[test]
fn sunda_writes_through_the_window_only() {
    let sim = sim!(Arch::Sunda, V2_26_5);
    let range = alloc(&sim, &hbm(65536)).unwrap();
    let bytes = [7; 16384];
    assert_eq!(sim.zero_copy_write(0, &range, 8, &bytes[..4096], 4096), Ok(()));
    assert_eq!(sim.zero_copy_write(0, &range, 8, &bytes[..4100], 4096), Err(Errno::EINVAL), "larger than the window");
    assert_eq!(sim.zero_copy_write(0, &range, 0, &bytes[..8192], u32::MAX), Ok(()));
    assert_eq!(sim.zero_copy_write(0, &range, 0, &bytes[..8196], u32::MAX), Err(Errno::EINVAL), "the driver's own limit");
    assert_eq!(sim.zero_copy_write(0, &range, 2, &bytes[..4], 4096), Err(Errno::EINVAL), "not whole words");
    assert_eq!(sim.zero_copy_read(0, &range, 0, &mut [0; 4]), Err(Errno::EINVAL));
}

/// In order, over several ranges, until one piece fails: what went before stays.
#[test]
fn batches_are_not_atomic() {
    let sim = sim!(Arch::Mariana, V2_26_5);
    let (one, two) = (alloc(&sim, &hbm(65536)).unwrap(), alloc(&sim, &hbm(65536)).unwrap());
    let read = |range, offset| {
        let mut bytes = [0; 3];
        sim.read(0, range, offset, &mut bytes).unwrap();
        bytes
    };
    write(&sim, &[(&one, &[(0, b"abc"), (1, b"BC")]), (&two, &[(9, b"two")])], 0).unwrap();
    assert_eq!((read(&one, 4096), read(&two, 4105)), (*b"aBC", *b"two"));
    // The second piece of the first range lies outside: 4096 + 61440 is its end.
    assert_eq!(write(&sim, &[(&one, &[(0, b"new"), (61439, b"xy")]), (&two, &[(9, b"new")])], 0), Err(Errno::EINVAL));
    assert_eq!((read(&one, 4096), read(&two, 4105)), (*b"new", *b"two"));
    for empty in [write(&sim, &[], 0), write(&sim, &[(&one, &[])], 0), write(&sim, &[(&one, &[(0, b"")])], 0)] {
        assert_eq!(empty, Err(Errno::EINVAL));
    }
    let mut back = [[0_u8; 3]; 2];
    let [first, second] = &mut back;
    let operation = |bytes: &mut [u8; 3]| BatchOperation { offset: 0, size: 3, buffer: bytes.as_mut_ptr().cast() };
    let (first, second) = ([operation(first)], [operation(second)]);
    let batch = |range, offset, operations| CopyBatch { range, offset, operations };
    // SAFETY: the buffers live until the call is over.
    unsafe { sim.copy_batches(0, &[batch(&one, 4096, &first), batch(&two, 4105, &second)], false, 0) }.unwrap();
    assert_eq!(back, [*b"new", *b"two"]);
}

#[test]
fn chunks_are_listed_by_address() {
    let sim = sim!(Arch::Cayman, V2_25_4);
    let none = ChunkInfo { pa: 0, size: 0, mem_type: 0, pad_14: [0; 4] };
    let mut chunks = [none; 8];
    let firmware = sim.chunks(0, 0, &mut chunks).unwrap() as usize;
    let range = alloc(&sim, &hbm(1 << 20)).unwrap();
    assert_eq!(sim.chunks(0, 0, &mut chunks), Ok(firmware as u32 + 1));
    let listed = &chunks[..firmware + 1];
    assert!(listed.is_sorted_by_key(|chunk| chunk.pa));
    let found = listed.iter().find(|chunk| chunk.pa == range.pa).unwrap();
    assert_eq!((found.size, found.mem_type), (1 << 20, 9));
    // The number is told even when there is no room.
    assert_eq!(sim.chunks(0, 0, &mut []), Ok(firmware as u32 + 1));
    assert_eq!(sim.chunks(0, 4, &mut chunks), Ok(0), "no such channel");
}
