//! Copies, fills, asynchronous copies, transfers without bounce buffer, batches.

use nrt_core::driver::{AllocRequest, BatchOperation, CopyBatch, DeviceRange, Driver as _, Errno};
use nrt_linux::neuron::{ASYNC_BYTES, Fault, LinuxDriver, Refusal};
use nrt_linux::request::{MemBufCopy64, MemBufZerocopy64, MemBufZerocopy64Batches};

use crate::fake::{Fake, Setup};

fn device(driver: &LinuxDriver<Fake>, size: u64) -> DeviceRange {
    let request = AllocRequest { size, align: 0, host: false, channel: 0, nc_id: 0, category: 9 };
    let range = driver.allocate(0, &request).unwrap();
    driver.system().requests();
    range
}

/// Every way of moving bytes, for the newest and the oldest forms: the bytes are right, and so are the requests.
#[test]
fn bytes_move_with_wide_and_narrow_requests() {
    for (driver, names) in [
        (Setup::sunda().attach(), ["MEM_BUF_COPY64", "MEM_COPY64", "MEMSET64", "MEM_BUF_COPY64"]),
        (Setup::sunda().attach_oldest(), ["MEM_BUF_COPY", "MEM_COPY", "MEMSET", "MEM_BUF_COPY"]),
    ] {
        let (one, two) = (device(&driver, 65536), device(&driver, 65536));
        let bytes: Vec<u8> = (0..4096u32).map(|byte| (byte * 7) as u8).collect();
        driver.write(0, &one, 100, &bytes).unwrap();
        driver.copy(0, &one, 100, &two, 60_000, 4096).unwrap();
        driver.fill(0, &two, 60_000, 0x5A, 96).unwrap();
        let mut back = vec![0; 4096];
        driver.read(0, &two, 60_000, &mut back).unwrap();
        assert_eq!(driver.system().requests(), names);
        assert_eq!(back[..96], [0x5A; 96]);
        assert_eq!(back[96..], bytes[96..]);
    }
}

#[test]
fn nothing_of_zero_bytes_and_nothing_out_of_bounds_reaches_the_driver() {
    for driver in [Setup::sunda().attach(), Setup::sunda().attach_oldest(), Setup::cayman(1).attach()] {
        let range = device(&driver, 8192);
        // Nothing to transfer is fine up to the end of the range, and the driver is not asked.
        driver.write(0, &range, 8192, &[]).unwrap();
        driver.read(0, &range, 0, &mut []).unwrap();
        driver.write_pieces(0, &range, &[(0, &[]), (8192, &[])]).unwrap();
        assert_eq!(driver.set(0, &range, 0, 1, 0), Err(Fault::Refused(Refusal::ZeroLength)));
        assert_eq!(driver.copy(0, &range, 0, &range, 0, 0), Err(Errno::EINVAL));
        assert_eq!(driver.copy_start(0, &range, 0, &range, 0, 0, 0, &mut -1), Err(Errno::EINVAL));
        for (offset, size) in [(8192, 1), (8191, 2), (u64::MAX, 2), (u64::MAX - 1, 2), (0, 8193), (1 << 40, 1)] {
            let outside = Fault::Refused(Refusal::OutOfBounds { offset, size, limit: 8192 });
            assert_eq!(driver.set(0, &range, offset, 1, size), Err(outside));
            assert_eq!(driver.copy_between(0, (&range, offset), (&range, 0), size), Err(outside));
            assert!(driver.copy_between(0, (&range, 0), (&range, offset), size).is_err());
            assert_eq!(driver.write(0, &range, offset, &vec![0; size as usize]), Err(Errno::EINVAL));
            assert_eq!(driver.read(0, &range, offset, &mut vec![0; size as usize]), Err(Errno::EINVAL));
        }
        // One bad piece keeps all from being written.
        assert!(driver.write_pieces(0, &range, &[(0, b"good"), (8190, b"bad")]).is_err());
        assert_eq!(driver.system().requests(), [""; 0]);
    }
}

/// Writes 5 GiB with answers in place of the driver's, and tells what was asked: request, place in the buffer, size, place
/// in the range. The buffer is mapped but never touched.
fn five_gib(driver: &LinuxDriver<Fake>, answers: impl Fn(&Fake)) -> Vec<(u32, u64, u64, u64)> {
    const BYTES: usize = 5 << 30;
    let memory = nrt_linux::memory::Mapping::sparse(BYTES).unwrap();
    // SAFETY: mapped for that many bytes, zero, and written by nobody.
    let buffer = unsafe { std::slice::from_raw_parts(memory.base().as_ptr(), BYTES) };
    let range = device(driver, BYTES as u64 + 4096);
    // A return value in place of the answer: the stand-in does not copy.
    (0..5).for_each(|_| answers(driver.system()));
    driver.write(0, &range, 4096, buffer).unwrap();
    let log = std::mem::take(&mut driver.system().state.lock().unwrap().log);
    log.iter()
        .map(|(number, bytes)| {
            let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
            (*number, word(8) - memory.base().as_ptr() as u64, word(16), word(24))
        })
        .collect()
}

/// The driver counts a buffer copy with 32 bits: 5 GiB go in five pieces, with the bounce buffer and without, and when each
/// piece without it is refused.
#[test]
fn large_buffers_go_in_pieces() {
    const GIB: u64 = 1 << 30;
    const COPY: u32 = 0xC028_4E18;
    const ZERO_COPY: u32 = 0xC030_4E7C;
    let pieces = |numbers: &[u32]| -> Vec<_> {
        let each = |piece: u64| numbers.iter().map(move |&number| (number, piece * GIB, GIB, 4096 + piece * GIB));
        (0..5).flat_map(each).collect()
    };
    // On the second architecture the driver advertises transfers without a bounce buffer and refuses them.
    for features in [0xFF, 0x1FF] {
        let sunda = Setup { features, ..Setup::sunda() }.attach();
        assert_eq!(five_gib(&sunda, |fake| fake.fail::<MemBufCopy64<'_>>(0)), pieces(&[COPY]));
    }
    assert_eq!(five_gib(&Setup::cayman(1).attach(), |fake| fake.fail::<MemBufZerocopy64<'_>>(0)), pieces(&[ZERO_COPY]));
    let refused = five_gib(&Setup::cayman(1).attach(), |fake| {
        fake.fail::<MemBufZerocopy64<'_>>(-22);
        fake.fail::<MemBufCopy64<'_>>(0);
    });
    assert_eq!(refused, pieces(&[ZERO_COPY, COPY]));
}

#[test]
fn asynchronous_copies_alternate_two_contexts() {
    for (driver, name) in [
        (Setup::sunda().attach(), "MEM_COPY_ASYNC64"),
        (Setup { features: 0x3F, ..Setup::sunda() }.attach(), "MEM_COPY_ASYNC"),
        // Without asynchronous copies the protocol stays, and every copy is complete at its start.
        (Setup { features: 0xFD, ..Setup::sunda() }.attach(), "MEM_COPY64"),
    ] {
        let (one, two) = (device(&driver, 65536), device(&driver, 65536));
        driver.write(0, &one, 0, &[9; 64]).unwrap();
        let mut wait = -1;
        for expected in [1, 2, 1, 2] {
            driver.copy_start(0, &one, 0, &two, 0, 64, 0, &mut wait).unwrap();
            assert_eq!(wait, expected);
        }
        driver.copy_wait(0, &one, &two, wait).unwrap();
        let mut synchronous = 0;
        driver.copy_start(0, &one, 0, &two, 64, 64, 0, &mut synchronous).unwrap();
        assert_eq!(synchronous, 0);
        let requests = driver.system().requests();
        assert_eq!(requests[1..5], [name; 4]);
        let mut back = [0; 128];
        driver.read(0, &two, 0, &mut back).unwrap();
        assert_eq!(back, [9; 128]);
        for bad in [0, 3, -1, i32::MIN] {
            assert_eq!(driver.finish_copy(0, &one, &two, bad), Err(Fault::Refused(Refusal::WaitHandle(bad))));
        }
        for bad in [3, -2, i32::MAX] {
            let mut wait = bad;
            assert_eq!(driver.copy_start(0, &one, 0, &two, 0, 64, 0, &mut wait), Err(Errno::EINVAL));
            assert_eq!(wait, bad);
        }
    }
}

/// The driver refuses it only after it has submitted 2032 descriptors, whose ring entries are lost to everybody.
#[test]
fn an_oversize_asynchronous_copy_is_never_sent() {
    let driver = Setup::sunda().attach();
    let (one, two) = (device(&driver, 256 << 20), device(&driver, 256 << 20));
    let mut wait = -1;
    let answer = driver.start_copy(0, (&one, 0), (&two, 0), ASYNC_BYTES + 1, 0, &mut wait);
    assert_eq!(answer, Err(Fault::Refused(Refusal::AsyncTooLarge { size: ASYNC_BYTES + 1 })));
    assert_eq!((wait, driver.system().requests()), (-1, vec![]));
}

#[test]
fn without_a_bounce_buffer() {
    let driver = Setup::cayman(1).attach();
    let range = device(&driver, 65536);
    driver.write(0, &range, 8, b"zero copy").unwrap();
    let mut back = [0; 9];
    driver.read(0, &range, 8, &mut back).unwrap();
    assert_eq!(&back, b"zero copy");
    assert_eq!(driver.system().requests(), ["MEM_BUF_ZEROCOPY64"; 2]);
    // Pages that cannot be pinned: the bounce buffer does it.
    for returned in [-22, -12, -14, -2] {
        driver.system().fail::<MemBufZerocopy64<'_>>(returned);
        driver.write(0, &range, 8, b"bounced!!").unwrap();
        assert_eq!(driver.system().requests(), ["MEM_BUF_ZEROCOPY64", "MEM_BUF_COPY64"]);
    }
    // A failed DMA is a failed DMA.
    driver.system().fail::<MemBufZerocopy64<'_>>(-1);
    assert_eq!(driver.write(0, &range, 8, b"x"), Err(Errno::EPERM));
    // Host memory is copied by the processor either way.
    let host = AllocRequest { size: 4096, align: 0, host: true, channel: 0, nc_id: 0, category: 2 };
    let host = driver.allocate(0, &host).unwrap();
    driver.system().requests();
    driver.write(0, &host, 0, b"host").unwrap();
    assert_eq!(driver.system().requests(), ["MEM_BUF_COPY64"]);
}

#[test]
fn batches() {
    let bytes: Vec<u8> = (0..=255).collect();
    // 40 pieces: two requests where there are batches, one each where there are none.
    let pieces: Vec<(u64, &[u8])> = (0..40).map(|piece| (piece * 1000, &bytes[piece as usize..][..100])).collect();
    let check = |driver: &LinuxDriver<Fake>, range: &DeviceRange, names: &[&str]| {
        driver.write_pieces(0, range, &pieces).unwrap();
        let mut back = vec![[0; 100]; 40];
        let mut places: Vec<(u64, &mut [u8])> =
            back.iter_mut().enumerate().map(|(piece, bytes)| (piece as u64 * 1000, &mut bytes[..])).collect();
        driver.read_pieces(0, range, &mut places).unwrap();
        assert!(back.iter().zip(&pieces).all(|(back, (_, bytes))| back == bytes));
        assert_eq!(driver.system().requests(), names);
    };
    let driver = Setup::cayman(1).attach();
    let range = device(&driver, 65536);
    check(&driver, &range, &["MEM_BUF_ZEROCOPY64_BATCHES"; 4]);
    let older = Setup { features: 0xFF, ..Setup::cayman(1) }.attach();
    let range = device(&older, 65536);
    check(&older, &range, &["MEM_BUF_COPY64"; 80]);
    // A refused batch goes piece by piece.
    let range = device(&driver, 65536);
    driver.system().fail::<MemBufZerocopy64Batches<'_>>(-22);
    driver.write_pieces(0, &range, &pieces[..2]).unwrap();
    let expected = ["MEM_BUF_ZEROCOPY64_BATCHES", "MEM_BUF_ZEROCOPY64", "MEM_BUF_ZEROCOPY64"];
    assert_eq!(driver.system().requests(), expected);
}

/// The core's batches: many ranges, one request per 32 of them.
#[test]
fn batches_over_many_ranges() {
    let bytes: Vec<u8> = (0..=255).collect();
    let driver = Setup::cayman(1).attach();
    let ranges: Vec<DeviceRange> = (0..40).map(|_| device(&driver, 8192)).collect();
    driver.system().requests();
    let operation = |at: usize| BatchOperation { offset: at as u64, size: 16, buffer: bytes[at..].as_ptr().cast_mut().cast() };
    let operations: Vec<[BatchOperation; 2]> = (0..40).map(|range| [operation(range), operation(range + 100)]).collect();
    let batches: Vec<CopyBatch<'_>> =
        ranges.iter().zip(&operations).map(|(range, operations)| CopyBatch { range, offset: 4096, operations }).collect();
    let send = |driver: &LinuxDriver<Fake>, batches: &[CopyBatch<'_>]| {
        // SAFETY: the bytes live until the call is over and are only read.
        unsafe { driver.copy_batches(0, batches, true, 4096) }
    };
    assert_eq!(send(&driver, &batches), Ok(()));
    assert_eq!(driver.system().requests(), ["MEM_BUF_ZEROCOPY64_BATCHES"; 2]);
    for (at, range) in ranges.iter().enumerate() {
        for at in [at, at + 100] {
            let mut back = [0; 16];
            driver.read(0, range, 4096 + at as u64, &mut back).unwrap();
            assert_eq!(back, bytes[at..at + 16]);
        }
    }
    driver.system().requests();
    // Everything is checked before the first request: bounds, which the driver of 2.25 lets wrap, and empty pieces.
    let refused = |offset, size| {
        let wrong = [BatchOperation { offset, size, ..operations[0][0] }];
        let last = CopyBatch { range: &ranges[39], offset: 4096, operations: &wrong };
        let answer = send(&driver, &[batches[0], last]);
        assert_eq!(driver.system().requests(), [""; 0]);
        answer
    };
    assert_eq!(refused(4081, 16), Err(Errno::EINVAL));
    assert_eq!(refused(u64::MAX, 16), Err(Errno::EINVAL));
    assert_eq!(refused(0, 0), Err(Errno::EINVAL));
    // A driver without batches says so, and the core does it another way.
    let older = Setup { features: 0xFF, ..Setup::cayman(1) }.attach();
    assert_eq!(send(&older, &batches), Err(Errno::ENOTSUPP));
    assert_eq!(older.zero_copy_write(0, &ranges[0], 0, b"x", 0), Err(Errno::ENOTSUPP));
    assert_eq!(older.system().requests(), [""; 0]);
}
