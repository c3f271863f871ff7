//! The allocation ladder, queries, mapping, release.

use nrt_core::abi::driver::{neuron_ioctl_mem_alloc, neuron_ioctl_mem_alloc_v2_mem_type64};
use nrt_core::driver::{AllocRequest, DeviceRange, Driver as _, Errno};
use nrt_linux::neuron::{Fault, Kind, LinuxDriver, Refusal, Selection};
use nrt_linux::request::{MemGetExtendedInfo, MemGetInfo, MemGetPa};

use crate::fake::{Fake, Setup};

fn request(size: u64, align: u64) -> AllocRequest {
    AllocRequest { size, align, host: false, channel: 1, nc_id: 1, category: 9 }
}

const GIB: u64 = 1 << 30;

/// One client per step of the ladder, oldest first.
fn ladder() -> [(LinuxDriver<Fake>, &'static str); 4] {
    let with = |features| Setup { features, ..Setup::sunda() }.attach();
    [
        (Setup::sunda().attach_oldest(), "MEM_ALLOC"),
        (with(0x0F), "MEM_ALLOC_V2"),
        (with(0x1F), "MEM_ALLOC_V2MT"),
        (with(0xFF), "MEM_ALLOC_V2MT64"),
    ]
}

#[test]
fn the_form_follows_the_flags() {
    for (driver, name) in ladder().into_iter().skip(1) {
        let range = driver.allocate(0, &request(5000, 8192)).unwrap();
        assert_eq!(driver.system().requests(), [name, "MEM_GET_EXTENDED_INFO"]);
        assert_eq!((range.size, range.pa % 8192, range.pa), (8192, 0, range.mmap_offset), "{name}");
        assert_eq!((range.host_memory, range.nc_id, range.align), (0, 1, 8192));
        let chunk = driver.system().state.lock().unwrap().chunks[&range.driver_handle];
        assert_eq!(chunk.category, if name.contains("MT") { 9 } else { 7 }, "{name}");
        driver.release(0, &range).unwrap();
        assert_eq!(driver.system().live_chunks(), 0);
        assert_eq!(driver.release(0, &range).unwrap_err().errno(), Errno::EINVAL);
    }
}

#[test]
fn four_gib_need_the_wide_form() {
    for (driver, name) in ladder() {
        let almost = driver.allocate(0, &request(4 * GIB - 4096, 0)).unwrap();
        driver.system().requests();
        for size in [4 * GIB - 4095, 4 * GIB, 5 * GIB, u64::MAX, u64::MAX - 4096] {
            let answer = driver.allocate(0, &request(size, 0));
            if name == "MEM_ALLOC_V2MT64" && size <= 5 * GIB {
                answer.unwrap();
            } else if size > 5 * GIB && name == "MEM_ALLOC_V2MT64" {
                assert!(answer.is_err());
            } else {
                assert!(matches!(answer, Err(Fault::Refused(Refusal::NeedsSixtyFourBit { .. }))), "{name} {size}");
                assert_eq!(driver.system().requests(), [""; 0]);
            }
        }
        driver.release(0, &almost).unwrap();
    }
}

#[test]
fn the_struct_is_filled_field_by_field() {
    let driver = Setup::sunda().attach();
    let wanted = AllocRequest { size: 0x1_2345_6000, align: 1 << 20, host: false, channel: 1, nc_id: 1, category: 11 };
    driver.allocate(0, &wanted).unwrap();
    let log = std::mem::take(&mut driver.system().state.lock().unwrap().log);
    let (number, bytes) = &log[0];
    assert_eq!((*number, bytes.len()), (0x80384E66, 56));
    // SAFETY: the bytes are those of the struct, integers and a pointer.
    let sent = unsafe { bytes.as_ptr().cast::<neuron_ioctl_mem_alloc_v2_mem_type64>().read_unaligned() };
    assert_eq!((sent.size, sent.align), (0x1_2345_6000, 1 << 20));
    assert_eq!((sent.host_memory, sent.dram_channel, sent.dram_region, sent.nc_id), (0, 1, 0, 1));
    assert_eq!((sent.mem_type, sent.pad), (11, 0));
    assert!(!sent.mem_handle.is_null());
}

#[test]
fn refusals_never_reach_the_driver() {
    let driver = Setup::sunda().attach();
    let refused = |request: AllocRequest| match driver.allocate(0, &request) {
        Err(Fault::Refused(refusal)) => refusal,
        other => panic!("{request:?}: {other:?}"),
    };
    let host = AllocRequest { host: true, category: 2, ..request(4096, 0) };
    assert_eq!(refused(request(0, 0)), Refusal::ZeroSize);
    assert_eq!(refused(AllocRequest { size: 0, ..host }).errno(), Errno::ENOMEM);
    assert_eq!(refused(AllocRequest { align: 4096, ..host }), Refusal::HostAlignment(4096));
    assert_eq!(refused(AllocRequest { category: 19, ..host }), Refusal::ContiguousInHostMemory);
    assert_eq!(refused(request(4096, 1 << 31)), Refusal::Alignment(1 << 31));
    assert_eq!(driver.system().requests(), [""; 0]);
    // An alignment of 1 is none, and host memory takes none.
    let range = driver.allocate(0, &AllocRequest { align: 1, ..host }).unwrap();
    assert_eq!(range.host_memory, 1);
}

/// The driver makes such a chunk, and at its first use or release the process can never be ended again.
#[test]
fn contiguous_host_memory_is_never_asked_for() {
    for (driver, name) in ladder() {
        let wanted = AllocRequest { host: true, category: 19, ..request(4096, 0) };
        assert_eq!(driver.allocate(0, &wanted).unwrap_err(), Fault::Refused(Refusal::ContiguousInHostMemory), "{name}");
        assert_eq!(driver.system().requests(), [""; 0], "{name}");
    }
}

#[test]
fn contiguous_memory_has_its_own_method() {
    let driver = Setup::sunda().attach();
    let range = driver.allocate_contiguous(0, 64 << 20, 1, 1).unwrap();
    assert_eq!(driver.system().state.lock().unwrap().chunks[&range.driver_handle].category, 19);
    let older = Setup { features: 0x7F, ..Setup::sunda() }.attach();
    assert_eq!(older.allocate_contiguous(0, 64 << 20, 1, 1).unwrap_err(), Fault::Refused(Refusal::NoContiguous));
}

#[test]
fn queries_fall_back_to_older_ones() {
    for (queries, names) in [
        ((true, true), &["MEM_GET_EXTENDED_INFO"][..]),
        ((false, true), &["MEM_GET_EXTENDED_INFO", "MEM_GET_INFO"]),
        ((false, false), &["MEM_GET_EXTENDED_INFO", "MEM_GET_INFO", "MEM_GET_PA"]),
    ] {
        let driver = Setup { queries, ..Setup::sunda() }.attach();
        let range = driver.allocate(0, &request(5000, 0)).unwrap();
        assert_eq!(driver.system().requests()[1..], *names);
        assert_eq!((range.pa, range.mmap_offset, range.size), (16 << 20, 16 << 20, 8192));
    }
}

/// All or nothing: when the driver does not say where the memory is, it is given back.
#[test]
fn an_allocation_that_cannot_be_located_is_undone() {
    for returned in [-5, 22, 48, -1] {
        let driver = Setup::sunda().attach();
        driver.system().fail::<MemGetExtendedInfo<'_>>(returned);
        driver.system().fail::<MemGetInfo<'_>>(returned);
        driver.system().fail::<MemGetPa<'_>>(returned);
        let mut range = DeviceRange { driver_handle: 77, ..empty() };
        driver.alloc(0, &request(4096, 0), &mut range).unwrap_err();
        assert_eq!(driver.system().live_chunks(), 0, "{returned}");
        assert_eq!((range.driver_handle, range.pa, range.size), (77, 0, 0), "the range is as it was");
    }
}

fn empty() -> DeviceRange {
    DeviceRange {
        device: std::ptr::null_mut(),
        driver_handle: 0,
        pa: 0,
        mmap_offset: 0,
        size: 0,
        align: 0,
        pad_2c: 0,
        mmap_va: std::ptr::null_mut(),
        host_memory: 0,
        nc_id: 0,
    }
}

#[test]
fn whole_chunks_are_mapped_at_their_address() {
    let driver = Setup::sunda().attach();
    let range = driver.allocate(0, &request(10_000, 0)).unwrap();
    driver.write(0, &range, 12_000, b"end").unwrap();
    let address = driver.map(0, &range).unwrap();
    // SAFETY: the mapping has 12,288 bytes.
    let seen = unsafe { std::slice::from_raw_parts(address.as_ptr().add(12_000), 3) };
    assert_eq!(seen, b"end");
    let mapped: Vec<_> = driver.system().state.lock().unwrap().mapped.values().copied().collect();
    assert_eq!(mapped, [(range.pa, 12_288)]);
    // A mapping would outlive the memory.
    assert_eq!(driver.detach(0), Err(Fault::Refused(Refusal::StillMapped { device: 0, mappings: 1 })));
    // SAFETY: mapped above, used by nobody any more.
    unsafe { driver.unmap(0, &range, address) }.unwrap();
    driver.detach(0).unwrap();
    assert_eq!(driver.map(0, &range), Err(Errno(9)));
}

#[test]
fn a_device_with_mappings_outlives_the_connection() {
    let fake = Fake::new(Setup::sunda());
    let connect = || LinuxDriver::connect_through(&fake, Selection::All).unwrap();
    let driver = connect();
    driver.attach(0).unwrap();
    driver.allocate(0, &request(4096, 0)).unwrap();
    drop(driver);
    assert_eq!((fake.settle(), fake.live_chunks()), (vec![], 0), "the end of the connection closes both descriptors");
    let driver = connect();
    driver.attach(0).unwrap();
    let range = driver.allocate(0, &request(4096, 0)).unwrap();
    driver.map(0, &range).unwrap();
    drop(driver);
    assert_eq!((fake.settle(), fake.live_chunks()), (vec![(0, Kind::Full)], 1));
}

#[test]
fn the_top_of_an_hbm_is_not_mapped_before_2_28() {
    let top = 16 * GIB - 8192;
    let old = Setup { first_pa: top, ..Setup::sunda() }.attach();
    let range = old.allocate(0, &request(8192, 0)).unwrap();
    let refusal = Refusal::MapsToWrongPlace { end: 16 * GIB };
    assert_eq!(old.map_range(0, &range).unwrap_err(), Fault::Refused(refusal));
    let new = Setup { first_pa: top, version: "2.28.0.0\n", ..Setup::sunda() }.attach();
    let range = new.allocate(0, &request(8192, 0)).unwrap();
    new.map_range(0, &range).unwrap();
    // Where the driver tells its size, the top is there.
    let small = Setup { first_pa: 4 * GIB - 8192, told_hbm_bytes: Some(4 * GIB), ..Setup::cayman(1) }.attach();
    let range = small.allocate(0, &request(8192, 0)).unwrap();
    let refusal = Refusal::MapsToWrongPlace { end: 4 * GIB };
    assert_eq!(small.map_range(0, &range).unwrap_err(), Fault::Refused(refusal));
}

#[test]
fn a_failed_mapping_is_not_counted() {
    let driver = Setup::sunda().attach();
    let range = driver.allocate(0, &request(4096, 0)).unwrap();
    driver.system().state.lock().unwrap().map_fault = Some(nrt_linux::Errno::PERM);
    let fault = driver.map_range(0, &range).unwrap_err();
    assert_eq!(fault.to_string(), "mmap: EPERM (not the start and length of a chunk)");
    driver.detach(0).unwrap();
}

/// The original form knows no alignment: a longer chunk stands in, and everything keeps to the aligned part of it.
#[test]
fn emulated_alignment() {
    let driver = Setup { first_pa: (16 << 20) + 4096, ..Setup::sunda() }.attach_oldest();
    let range = driver.allocate(0, &request(5000, 65536)).unwrap();
    let log = std::mem::take(&mut driver.system().state.lock().unwrap().log);
    assert_eq!(log[0].0, 0x80084E15);
    // SAFETY: the bytes are those of the struct, integers and a pointer.
    let sent = unsafe { log[0].1.as_ptr().cast::<neuron_ioctl_mem_alloc>().read_unaligned() };
    assert_eq!(sent.size, 8192 + 65536 - 4096);
    assert_eq!((range.pa % 65536, range.size), (0, 8192));
    assert_eq!(range.pa - range.mmap_offset, 61_440);
    let chunk = driver.system().state.lock().unwrap().chunks[&range.driver_handle];
    driver.write(0, &range, 8188, b"tail").unwrap();
    assert_eq!(driver.system().bytes(&chunk, 61_440 + 8188, 4), b"tail");
    driver.fill(0, &range, 0, 7, 16).unwrap();
    assert_eq!(driver.system().bytes(&chunk, 61_440, 16), [7; 16]);
    driver.copy(0, &range, 8188, &range, 4, 4).unwrap();
    assert_eq!(driver.system().bytes(&chunk, 61_440 + 4, 4), b"tail");
    // The end of the range, not that of the chunk, is the limit.
    assert_eq!(driver.write(0, &range, 8189, b"tail"), Err(Errno::EINVAL));
    let address = driver.map(0, &range).unwrap();
    // SAFETY: the range is mapped for its 8192 bytes.
    assert_eq!(unsafe { std::slice::from_raw_parts(address.as_ptr().add(8188), 4) }, b"tail");
    // SAFETY: mapped above, used by nobody any more.
    unsafe { driver.unmap(0, &range, address) }.unwrap();
    for bad in [12288, 6144] {
        assert_eq!(driver.allocate(0, &request(4096, bad)).unwrap_err(), Fault::Refused(Refusal::Alignment(bad)));
    }
    assert!(matches!(
        driver.allocate(0, &request(4 * GIB - 65536, 1 << 20)),
        Err(Fault::Refused(Refusal::NeedsSixtyFourBit { .. }))
    ));
    driver.free(0, &range).unwrap();
}
