//! Mappings: sizes beyond 4 GiB, sparseness, sharing, ownership.

use std::ffi::CStr;
use std::fs;
use std::slice;

use nrt_core::hooks::Hooks;
use nrt_linux::fd::{AsFd as _, AsRawFd as _};
use nrt_linux::memory::{Mapping, SharedRegion};
use nrt_linux::{Errno, LinuxHooks, process};

const GIB: usize = 1 << 30;

#[test]
fn a_region_is_sparse_beyond_four_gib() {
    let region = SharedRegion::new(c"nrt-test-hbm", 24 * GIB).unwrap();
    assert_eq!(region.bytes(), 24 * GIB);
    assert_eq!(region.base().addr().get() % 4096, 0);
    for (offset, value) in [(0, 1u8), (5 * GIB, 2), (5 * GIB + 4095, 3), (24 * GIB - 1, 4)] {
        // SAFETY: the offset lies in the region, which this test alone uses.
        unsafe {
            let byte = region.base().add(offset);
            assert_eq!(byte.read(), 0);
            byte.write(value);
        }
    }
    // SAFETY: as above. The low 32 bits of this offset are those of the write at 5 GiB.
    assert_eq!(unsafe { region.base().add(GIB).read() }, 0);
    let path = format!("/proc/self/fd/{}", region.as_fd().as_raw_fd());
    let resident = std::os::unix::fs::MetadataExt::blocks(&fs::metadata(path).unwrap()) * 512;
    assert!(resident <= 1 << 20, "{resident} bytes for four touched bytes");
}

#[test]
fn many_large_regions_coexist() {
    // Eight channels of 36 GiB: more than the machine has memory.
    let regions: Vec<_> = (0..8).map(|_| SharedRegion::new(c"nrt-test-many", 36 * GIB).unwrap()).collect();
    for (index, region) in regions.iter().enumerate() {
        // SAFETY: within the region, which this test alone uses.
        unsafe { region.base().add(35 * GIB).write(index as u8) };
    }
    for (index, region) in regions.iter().enumerate() {
        // SAFETY: as above.
        assert_eq!(usize::from(unsafe { region.base().add(35 * GIB).read() }), index);
    }
}

#[test]
fn a_region_is_what_its_descriptor_holds() {
    let region = SharedRegion::new(c"nrt-test-shared", 10_000).unwrap();
    // SAFETY: within the region, which this test alone uses.
    unsafe { region.base().add(9_999).write(0x5a) };
    let bytes = fs::read(format!("/proc/self/fd/{}", region.as_fd().as_raw_fd())).unwrap();
    assert_eq!((bytes.len(), bytes[9_999], bytes[0]), (10_000, 0x5a, 0));
}

fn is_mapped(name: &str) -> bool {
    fs::read_to_string("/proc/self/maps").unwrap().contains(name)
}

#[test]
fn a_region_ends_with_its_owner() {
    let region = SharedRegion::new(c"nrt-test-owner", 4096).unwrap();
    assert!(is_mapped("nrt-test-owner"));
    drop(region);
    assert!(!is_mapped("nrt-test-owner"));
}

#[test]
fn impossible_regions_are_refused() {
    let refused = |name: &CStr, bytes| SharedRegion::new(name, bytes).err();
    assert_eq!(refused(c"x", 0), Some(Errno::INVAL));
    assert_eq!(refused(c"x", usize::MAX), Some(Errno::FBIG));
    assert_eq!(refused(c"x", 1 << 62), Some(Errno::NOMEM));
    let long = std::ffi::CString::new(vec![b'n'; 300]).unwrap();
    assert_eq!(refused(&long, 4096), Some(Errno::INVAL));
    assert_eq!(Mapping::anonymous(0).err(), Some(Errno::INVAL));
    assert_eq!(Mapping::anonymous(1 << 62).err(), Some(Errno::NOMEM));
    assert_eq!(Mapping::sparse(usize::MAX).err(), Some(Errno::NOMEM));
}

#[test]
fn host_memory_is_zeroed_page_aligned_and_can_be_given_back() {
    let hooks = LinuxHooks::new();
    assert_eq!(hooks.host_map(usize::MAX), None);
    for bytes in [1, 4096, 4097, 3 << 20] {
        let memory = hooks.host_map(bytes).unwrap();
        assert_eq!(memory.addr().get() % 4096, 0);
        // SAFETY: `bytes` bytes were mapped for this test alone.
        let slice = unsafe { slice::from_raw_parts_mut(memory.as_ptr(), bytes) };
        assert!(slice.iter().all(|&byte| byte == 0));
        slice.fill(0xff);
        // SAFETY: the memory of the `host_map` above; the slice is not used any more.
        unsafe { hooks.host_unmap(memory, bytes) };
    }
}

#[test]
fn an_owner_can_be_given_up_and_taken_back() {
    let (base, bytes) = Mapping::sparse(8192).unwrap().into_raw();
    // SAFETY: still mapped, and this test's alone.
    unsafe { base.add(8191).write(1) };
    // SAFETY: the pair of the `into_raw` above, taken back once.
    let mapping = unsafe { Mapping::from_raw(base, bytes) };
    assert_eq!((mapping.base(), mapping.bytes()), (base, 8192));
}

#[test]
fn resident_memory_grows_by_what_is_touched_and_not_by_regions() {
    let bytes = 32 << 20;
    let before = process::resident_anonymous_bytes().unwrap();
    assert!(before > 0);
    let region = SharedRegion::new(c"nrt-test-resident", bytes).unwrap();
    // SAFETY: within the region, which this test alone uses.
    unsafe { region.base().write_bytes(1, bytes) };
    let with_region = process::resident_anonymous_bytes().unwrap();
    let mapping = Mapping::anonymous(bytes).unwrap();
    // SAFETY: within the mapping, which this test alone uses.
    unsafe { mapping.base().write_bytes(1, bytes) };
    let with_mapping = process::resident_anonymous_bytes().unwrap();
    // Other tests run at the same time: allow for their few megabytes.
    let slack = 8 << 20;
    assert!(with_region < before + slack, "{before} -> {with_region}");
    assert!(with_mapping + slack > with_region + bytes as u64, "{with_region} -> {with_mapping}");
}

#[test]
fn figures_of_proc_are_parsed() {
    let text = b"Rss:   12 kB\nRssAnon:\t   345 kB\nShared:  x kB\nHuge: 18446744073709551615 kB\nOdd: 5\n";
    assert_eq!(process::kilobytes(text, b"Rss:"), Some(12 * 1024));
    assert_eq!(process::kilobytes(text, b"RssAnon:"), Some(345 * 1024));
    for key in ["Shared:", "Huge:", "Odd:", "Absent:"] {
        assert_eq!(process::kilobytes(text, key.as_bytes()), None, "{key}");
    }
}
