//! `scratchpad` §§1, 3, 5, 6, 8, 9: pages of a core, shared by its models.

use std::sync::atomic::Ordering::Relaxed;

use nrt_core::driver::{Call, Errno};
use nrt_core::{Arch, Cause, Config, Error, Result, Runtime, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_tests::{TestRuntime, TestStorage, one_device, open, storage};

use crate::books::{GIB, KIB, MIB, TestModel, books, finish, held, pages};
use crate::plans::{load_arena, refused, unload};
use crate::raw;

/// A device with pages of `page` bytes.
fn paged(arch: Arch, page: u64) -> TestRuntime {
    open(one_device(arch), Config { scratchpad_page_size: page, ..Config::new(LinuxHooks::new()).side_by_side() })
}

fn span_missing(offset: u64, size: u64, page_size: u64) -> Result<u64> {
    Err(Error { status: Status::Invalid, cause: Cause::ScratchpadSpan { offset, size, page_size } })
}

#[test]
fn nothing_is_reserved_before_a_model_needs_it() {
    let runtime = nrt_tests::runtime(Arch::Cayman);
    // SAFETY: the record of an open core.
    unsafe {
        let pad = &raw const (*raw::tpb(&runtime, 0, 3)).scratchpad;
        assert_eq!(((*pad).page_size, (*pad).num_pages.load(Relaxed), (*pad).is_contiguous), (512 * MIB, 0, false));
        assert_eq!(pad.addr() - raw::tpb(&runtime, 0, 3).addr(), 22_200);
    }
    assert_eq!(pages(&runtime.core(1).unwrap(), 1), []);
    finish(&runtime);
}

#[test]
fn page_sizes_end_at_the_largest_32_bit_number() {
    for page in [0, 1 << 32, u64::MAX] {
        let driver = one_device(Arch::Cayman);
        let fresh: &'static TestStorage = storage();
        let config = Config { scratchpad_page_size: page, ..Config::new(LinuxHooks::new()).side_by_side() };
        let error = refused(Runtime::init(fresh, driver, config));
        assert_eq!(error, Error { status: Status::Invalid, cause: Cause::ScratchpadPageSize(page) });
        assert_eq!(driver.inner().live(0), nrt_sim::Live::default());
        // The storage is free again.
        assert!(Runtime::init(fresh, driver, Config::new(LinuxHooks::new()).side_by_side()).is_ok());
    }
    for page in [1, 4097, 0xFFFF_FFFF] {
        let runtime = paged(Arch::Cayman, page);
        let model = load_arena(&runtime.core(0).unwrap(), 1).unwrap();
        assert_eq!(held(&runtime.core(0).unwrap(), 0, Usage::Scratchpad), page);
        model.unload().unwrap();
        finish(&runtime);
    }
}

#[test]
fn the_arena_is_the_largest_model_not_the_sum() {
    let runtime = paged(Arch::Cayman, MIB);
    let core = runtime.core(0).unwrap();
    let first = load_arena(&core, 3 * MIB).unwrap();
    assert_eq!(pages(&core, 0), [1, 1, 1]);
    let second = load_arena(&core, 2 * MIB).unwrap();
    assert_eq!(pages(&core, 0), [2, 2, 1]);
    assert_eq!(held(&core, 0, Usage::Scratchpad), 3 * MIB);
    // Growth: two pages more, counted by the newcomer alone.
    let third = load_arena(&core, 4 * MIB + 1).unwrap();
    assert_eq!(pages(&core, 0), [3, 3, 2, 1, 1]);
    assert_eq!(held(&core, 0, Usage::Scratchpad), 5 * MIB);
    // The pages belong to the core, by name and by list, whoever loaded.
    let nodes = raw::nodes(raw::global(&runtime, 0));
    assert_eq!((raw::sizes(raw::global(&runtime, 0)), raw::hint(nodes[0])), (vec![1 << 20; 5], "scratchpad".into()));
    // SAFETY: live nodes; the page table of an open core.
    unsafe {
        let pad = &raw const (*raw::tpb(&runtime, 0, 0)).scratchpad;
        for (page, node) in nodes.into_iter().enumerate() {
            assert_eq!((&(*pad).pages)[page].mem.load(Relaxed).cast_const(), node);
            // The page's own count stays 1: sharing is counted in the page record (errata 27).
            assert_eq!(((*node).ref_count.load(Relaxed), (*node)._pa % (4 << 20)), (1, 0));
        }
    }
    assert_eq!(first.usage(0).unwrap().allocations, 0);
    unload([first, second, third]);
    assert_eq!(pages(&core, 0), []);
    finish(&runtime);
}

#[test]
fn a_smaller_later_model_does_not_shrink_the_arena() {
    let runtime = paged(Arch::Sunda, MIB);
    let core = runtime.core(0).unwrap();
    let large = load_arena(&core, 4 * MIB).unwrap();
    let small = load_arena(&core, 1).unwrap();
    assert_eq!(pages(&core, 0), [2, 1, 1, 1]);
    large.unload().unwrap();
    assert_eq!(pages(&core, 0), [1]);
    small.unload().unwrap();
    finish(&runtime);
}

#[test]
fn pages_go_from_the_end_in_every_order_of_unloading() {
    let needs = [2 * MIB, 5 * MIB, 3 * MIB];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let runtime = paged(Arch::Mariana, MIB);
        let core = runtime.core(2).unwrap();
        let mut models: [Option<TestModel<'_>>; 3] = needs.map(|need| load_arena(&core, need).ok());
        let mut left = vec![0, 1, 2];
        for model in order {
            models[model].take().unwrap().unload().unwrap();
            left.retain(|other| *other != model);
            // refs[p] = number of models with need > p.
            let refs = |page: u64| left.iter().filter(|model| needs[**model] > page * MIB).count() as u32;
            let expected: Vec<_> = (0..5).map(refs).take_while(|refs| *refs > 0).collect();
            assert_eq!(pages(&core, 0), expected, "{order:?} after {model}");
            assert_eq!(held(&core, 0, Usage::Scratchpad), expected.len() as u64 * MIB);
        }
        finish(&runtime);
    }
}

#[test]
fn a_need_of_zero_reserves_nothing_and_counts_on_nothing() {
    let runtime = paged(Arch::Cayman, MIB);
    let core = runtime.core(0).unwrap();
    let other = load_arena(&core, MIB).unwrap();
    let model = load_arena(&core, 0).unwrap();
    assert_eq!(pages(&core, 0), [1]);
    model.unload().unwrap();
    assert_eq!(pages(&core, 0), [1]);
    other.unload().unwrap();
    finish(&runtime);
}

#[test]
fn addresses_stay_while_others_come_and_go() {
    let runtime = paged(Arch::Cayman, MIB);
    let core = runtime.core(0).unwrap();
    let first = load_arena(&core, 2 * MIB).unwrap();
    let address = [0, MIB].map(|offset| core.scratchpad_address(0, offset, MIB).unwrap());
    let second = load_arena(&core, 6 * MIB).unwrap();
    let third = load_arena(&core, 4 * MIB).unwrap();
    second.unload().unwrap();
    assert_eq!([0, MIB].map(|offset| core.scratchpad_address(0, offset, MIB).unwrap()), address);
    third.unload().unwrap();
    assert_eq!([0, MIB].map(|offset| core.scratchpad_address(0, offset, MIB).unwrap()), address);
    first.unload().unwrap();
    finish(&runtime);
}

#[test]
fn a_span_lies_in_one_live_page_or_is_not_found() {
    let runtime = paged(Arch::Cayman, MIB);
    let core = runtime.core(0).unwrap();
    assert_eq!(core.scratchpad_address(0, 0, 1), span_missing(0, 1, MIB));
    let model = load_arena(&core, 2 * MIB).unwrap();
    let base = [0, 1].map(|page| {
        // SAFETY: a page of a live arena.
        unsafe { (*(&(*raw::tpb(&runtime, 0, 0)).scratchpad.pages)[page].mem.load(Relaxed))._pa }
    });
    for (offset, size, address) in [
        (0, 1, base[0]),
        (MIB - 1, 1, base[0] + MIB - 1),
        (0, MIB, base[0]),
        (MIB, MIB, base[1]),
        (MIB + 512 * KIB, 512 * KIB, base[1] + 512 * KIB),
    ] {
        assert_eq!(core.scratchpad_address(0, offset, size), Ok(address));
    }
    for (offset, size) in [(MIB - 1, 2), (0, MIB + 1), (2 * MIB, 1), (MIB + 1, MIB), (u64::MAX, 1), (1, u64::MAX)] {
        assert_eq!(core.scratchpad_address(0, offset, size), span_missing(offset, size, MIB));
    }
    let no_core = Error { status: Status::Invalid, cause: Cause::CoreOutOfRange(2) };
    assert_eq!(core.scratchpad_address(2, 0, 1), Err(no_core));
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn an_arena_has_1024_pages_at_most() {
    let fresh = storage::<2048, 8, 256, 32, 256>();
    let config = Config { scratchpad_page_size: MIB, ..Config::new(LinuxHooks::new()).side_by_side() };
    let runtime = Runtime::init(fresh, one_device(Arch::Cayman), config).unwrap();
    let core = runtime.core(0).unwrap();
    let too_large = |need| Error { status: Status::Resource, cause: Cause::ScratchpadPages { need, limit: 1024 } };
    runtime.driver().reset();
    assert_eq!(refused(load_arena(&core, GIB + 1)), too_large(1025));
    assert_eq!(refused(load_arena(&core, 1 << 40)), too_large(1 << 20));
    assert_eq!(runtime.driver().seen(), 0);
    let model = load_arena(&core, GIB).unwrap();
    assert_eq!(pages(&core, 0), [1; 1024]);
    assert!(core.scratchpad_address(0, GIB - 1, 1).is_ok());
    assert_eq!(refused(load_arena(&core, GIB + 1)), too_large(1025));
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn growth_that_fails_half_way_leaves_the_arena_as_it_was() {
    let runtime = paged(Arch::Cayman, MIB);
    let core = runtime.core(0).unwrap();
    let first = load_arena(&core, 2 * MIB).unwrap();
    let (before, list) = (books(&runtime), raw::nodes(raw::global(&runtime, 0)));
    for (nth, errno, status) in
        [(1, Errno::ENOMEM, Status::Resource), (2, Errno::EINVAL, Status::Failure), (4, Errno::ENOMEM, Status::Resource)]
    {
        runtime.driver().watch(&[Call::Alloc]);
        runtime.driver().fail_nth(nth, errno);
        assert_eq!(refused(load_arena(&core, 6 * MIB)).status, status);
        assert_eq!((runtime.driver().seen(), pages(&core, 0)), (nth, vec![1, 1]));
        assert_eq!(books(&runtime), before);
        assert_eq!(raw::nodes(raw::global(&runtime, 0)), list);
    }
    runtime.driver().reset();
    let second = load_arena(&core, 6 * MIB).unwrap();
    assert_eq!(pages(&core, 0), [2, 2, 1, 1, 1, 1]);
    unload([first, second]);
    finish(&runtime);
}
