//! `dmem` §6.1: aligned allocation, by the driver or by the alignment on top.

use nrt_core::driver::{Call, Errno};
use nrt_core::{Allocation, Arch, Location, Usage};
use nrt_tests::{TestRuntime, runtime};

use crate::books::{Core, GIB, MIB, TestDmem, books, finish, held};
use crate::plans::{device, formula, host, refused};
use crate::raw::{global, nodes};

/// (size, align_offset, allocated_size) of the last node of core 0.
fn node(runtime: &TestRuntime) -> (usize, usize, usize) {
    let node = *nodes(global(runtime, 0)).last().unwrap();
    // SAFETY: a live node.
    unsafe { ((*node).size, (*node).align_offset, (*node).allocated_size) }
}

fn aligned<'r>(core: &Core<'r>, bytes: u64, align: u64) -> TestDmem<'r> {
    core.allocate(0, &Allocation { align, ..device(bytes, Usage::Weight) }).unwrap()
}

/// Makes the driver one that cannot align.
pub(crate) fn forget_alignment(runtime: &TestRuntime) {
    runtime.driver().watch(&[Call::Alloc]);
    runtime.driver().fail_nth(1, Errno::ENOTSUPP);
    drop(aligned(&runtime.core(0).unwrap(), 1, 8192));
    runtime.driver().reset();
}

#[test]
fn the_driver_aligns_where_it_can() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    for align in [1, 64, 4096, 8192, MIB, 16 * MIB] {
        let memory = aligned(&core, 5000, align);
        assert_eq!(memory.address().unwrap() % align, 0);
        assert_eq!(node(&runtime), (5000, 0, 5000));
    }
    finish(&runtime);
}

/// Nothing else is taken for "cannot align": the original forgets the alignment after any failure.
#[test]
fn only_not_supported_is_remembered() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let request = Allocation { align: 8192, ..device(5000, Usage::Weight) };
    for errno in [Errno::EINVAL, Errno::ENOMEM, Errno::EPERM, Errno::ENOENT, Errno::EINTR, Errno::SHORT] {
        runtime.driver().watch(&[Call::Alloc]);
        runtime.driver().fail_nth(1, errno);
        refused(core.allocate(0, &request));
        assert_eq!(runtime.driver().seen(), 1, "not tried another way");
        let _memory = core.allocate(0, &request).unwrap();
        assert_eq!(node(&runtime), (5000, 0, 5000));
    }
    runtime.driver().fail_nth(1, Errno::ENOTSUPP);
    let memory = core.allocate(0, &request).unwrap();
    assert_eq!(runtime.driver().seen(), 2);
    assert_eq!(memory.address().unwrap() % 8192, 0);
    runtime.driver().reset();
    let another = core.allocate(0, &request).unwrap();
    assert_eq!(runtime.driver().seen(), 1, "the driver is not asked to align again");
    assert_eq!(another.address().unwrap() % 8192, 0);
    // Without an alignment nothing is on top; "not supported" then is a failure like any other.
    let plain = core.allocate(0, &device(5000, Usage::Weight)).unwrap();
    assert_eq!(node(&runtime), (5000, 0, 5000));
    runtime.driver().fail_nth(1, Errno::ENOTSUPP);
    refused(core.allocate(0, &device(5000, Usage::Weight)));
    drop((memory, another, plain));
    finish(&runtime);
}

/// The shift is 1 to the alignment; an address that is aligned already moves by all of it.
#[test]
fn the_alignment_on_top_is_charged_and_the_shift_is_never_zero() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    forget_alignment(&runtime);
    let whole = |align: u64| {
        let memory = aligned(&core, 5000, align);
        let (size, shift, allocated) = node(&runtime);
        assert_eq!((size as u64, allocated as u64), (5000, 5000 + align));
        assert!((1..=align).contains(&(shift as u64)), "{shift}");
        assert_eq!(memory.address().unwrap() % align, 0);
        assert_eq!((memory.bytes().unwrap(), held(&core, 0, Usage::Weight)), (5000, 5000 + align));
        shift as u64 == align
    };
    // The driver's addresses are whole pages.
    assert!(whole(64) && whole(4096));
    for align in [8192, MIB, 16 * MIB] {
        whole(align);
    }
    let mut events = Vec::new();
    runtime.for_each_event(0, |event| events.push(*event)).unwrap();
    let last = events.last().unwrap();
    assert_eq!((last.size, last.action, last.total_used), (5000, 2, 0), "logical size; all given back");
    assert!(last.align_offset > 0 && last.align_offset <= 16 << 20);
    finish(&runtime);
}

/// Copies, fills, mappings and copies between nodes count from the aligned byte and end at the size asked for.
#[test]
fn every_access_counts_from_the_aligned_byte() {
    let runtime = runtime(Arch::Mariana);
    let core = runtime.core(0).unwrap();
    forget_alignment(&runtime);
    const SIZE: usize = (3 << 20) + 5;
    for align in [64, 8192, MIB] {
        for location in [Location::Device, Location::Host] {
            // Host memory comes in pieces of at most 4 MiB.
            let size = if location == Location::Host && align == MIB { 2 << 20 } else { SIZE };
            let memory = core.allocate(0, &Allocation { align, location, ..device(size as u64, Usage::Io) }).unwrap();
            let content = formula(align, size);
            memory.write(0, &content).unwrap();
            memory.fill(size as u64 - 3, 0xAB, 3).unwrap();
            let mut back = vec![0; size];
            memory.read(0, &mut back).unwrap();
            assert!(back[..size - 3] == content[..size - 3] && back[size - 3..] == [0xAB; 3]);
            // SAFETY: the mapping spans the bytes and nobody writes meanwhile.
            let mapped = unsafe { std::slice::from_raw_parts(memory.map().unwrap().as_ptr(), size) };
            assert!(mapped == back);
            assert!(memory.write(size as u64 - 1, &[0; 2]).is_err());
        }
    }
    finish(&runtime);
}

/// The driver never aligns host memory; its pages are enough up to 4096. Device memory is aligned by it all the same.
#[test]
fn host_memory_takes_its_alignment_on_top() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    for (align, on_top) in [(64, 0), (4096, 0), (8192, 8192), (MIB, MIB)] {
        let memory = core.allocate(0, &Allocation { align, ..host(5000, Usage::Io) }).unwrap();
        let (size, shift, allocated) = node(&runtime);
        assert_eq!((size, allocated as u64), (5000, 5000 + on_top));
        assert!(if on_top == 0 { shift == 0 } else { (1..=align).contains(&(shift as u64)) });
        assert_eq!(memory.address().unwrap() % align, 0);
        drop(memory);
        let _memory = aligned(&core, 5000, align);
        assert_eq!(node(&runtime), (5000, 0, 5000));
    }
    finish(&runtime);
}

#[test]
fn beyond_4_gib_and_beyond_any_memory() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    forget_alignment(&runtime);
    let size = 5 * GIB + 1;
    let memory = aligned(&core, size, GIB);
    assert_eq!((memory.address().unwrap() % GIB, held(&core, 0, Usage::Weight)), (0, size + GIB));
    for offset in [0, 4 * GIB - 2, size - 4] {
        memory.write(offset, b"ends").unwrap();
        let mut back = [0; 4];
        memory.read(offset, &mut back).unwrap();
        assert_eq!(&back, b"ends");
    }
    let before = books(&runtime);
    for (bytes, align) in [(u64::MAX, 4096), (u64::MAX - 4095, 4096), (1, 1 << 63), (1 << 63, 1 << 63)] {
        refused(core.allocate(0, &Allocation { align, ..device(bytes, Usage::Weight) }));
        refused(core.allocate(0, &Allocation { align, ..host(bytes, Usage::Weight) }));
        assert_eq!(books(&runtime), before);
    }
    drop(memory);
    finish(&runtime);
}
