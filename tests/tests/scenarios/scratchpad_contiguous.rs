//! `scratchpad` §§3, 5 to 7, 12: the contiguous mode. Pages of 64 MiB, each directly below the one before.

use std::sync::atomic::Ordering::Relaxed;

use nrt_core::driver::{Call, Errno, feature};
use nrt_core::hooks::Level;
use nrt_core::model::{Arena, ByteSource, ModelPlan, RegionPlan, SubgraphPlan, VariableKind, VariablePlan};
use nrt_core::{Arch, Cause, Config, Error, Result, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::{Hazards, Live, SimConfig};
use nrt_tests::{TestRuntime, driver, open};

use crate::books::{Books, Core, GIB, KIB, MIB, TestModel, assert_quiet, books, finish, held, pages, sim};
use crate::plans::{NOTHING, formula, load, load_arena, refused, unload, weights};
use crate::raw;
use crate::recorder::recorded;

const PAGE: u64 = 64 * MIB;
/// End of the main pool of the modelled HBM, whose last GiB is the small pool.
const HBM: u64 = 2 * GIB;
const TOP: u64 = HBM - GIB;

fn config() -> Config<LinuxHooks> {
    Config { contiguous_scratchpad: true, ..Config::new(LinuxHooks::new()).side_by_side() }
}

fn contiguous(arch: Arch) -> TestRuntime {
    open(driver(SimConfig { hbm_bytes: HBM, ..SimConfig::new(arch) }), config())
}

fn is_contiguous(runtime: &TestRuntime, core: u32) -> (bool, u64) {
    // SAFETY: the record of an open core.
    unsafe {
        let pad = &raw const (*raw::tpb(runtime, 0, core)).scratchpad;
        ((*pad).is_contiguous, (*pad).page_size)
    }
}

/// Addresses of the pages of a core, the first one first.
fn addresses(runtime: &TestRuntime, core: &Core<'_>, flat: u32) -> Vec<u64> {
    (0..pages(core, 0).len())
        // SAFETY: pages of an open core.
        .map(|page| unsafe { (*(&(*raw::tpb(runtime, 0, flat)).scratchpad.pages)[page].mem.load(Relaxed))._pa })
        .collect()
}

fn spanning(bytes: u64, offset: u64) -> VariablePlan<'static> {
    let kind = VariableKind::VirtualTemporary { arena: Arena::Local, offset };
    VariablePlan { variable: 1, name: "spanning", kind, bytes, ..VariablePlan::EMPTY }
}

/// A model of one variable that fills its arena.
fn load_filled<'r>(core: &Core<'r>, bytes: u64) -> Result<TestModel<'r>> {
    load(core, SubgraphPlan { variables: &[spanning(bytes, 0)], local_scratchpad_bytes: bytes, ..NOTHING })
}

#[test]
fn the_gate_is_architecture_logical_core_size_and_driver() {
    for (arch, size, expected) in [
        (Arch::Sunda, 1, true),
        (Arch::Cayman, 1, false),
        (Arch::Cayman, 2, true),
        (Arch::Mariana, 1, false),
        (Arch::Mariana, 2, true),
    ] {
        let asked = open(nrt_tests::one_device(arch), Config { logical_core_size: Some(size), ..config() });
        // The page size of the configuration is checked and then not used.
        assert_eq!(is_contiguous(&asked, 0), (expected, if expected { PAGE } else { 512 * MIB }), "{arch}, {size}");
        finish(&asked);
        // Off by default (errata 26).
        let plain = Config { logical_core_size: Some(size), ..Config::new(LinuxHooks::new()).side_by_side() };
        let plain = open(nrt_tests::one_device(arch), plain);
        assert_eq!(is_contiguous(&plain, 0), (false, 512 * MIB));
        finish(&plain);
    }
    let fresh: &'static nrt_tests::TestStorage = nrt_tests::storage();
    let bad = Config { scratchpad_page_size: 0, ..config() };
    let error = refused(nrt_core::Runtime::init(fresh, nrt_tests::one_device(Arch::Cayman), bad));
    assert_eq!(error.cause, Cause::ScratchpadPageSize(0));
}

/// `scratchpad` §3, steps 5 and 6: each gate falls back to pages and says why, once; init succeeds.
#[test]
fn a_gate_that_is_shut_leaves_pages_and_a_line_in_the_log() {
    let lacking = |arch| SimConfig { missing_features: feature::CONTIGUOUS_SCRATCHPAD, hbm_bytes: HBM, ..SimConfig::new(arch) };
    let no_feature = "no contiguous scratchpad: the driver does not have it; it is cut into pages";
    let one_core = "no contiguous scratchpad: a logical core has one core; it is cut into pages";
    let whole = SimConfig { hbm_bytes: HBM, ..SimConfig::new(Arch::Cayman) };
    for (machine, size, asked, lines) in [
        (lacking(Arch::Sunda), 1, true, &[no_feature][..]),
        (lacking(Arch::Cayman), 2, true, &[no_feature]),
        (lacking(Arch::Mariana), 2, true, &[no_feature]),
        (whole, 1, true, &[one_core]),
        // Nothing is said when nobody asked, or when it is there.
        (lacking(Arch::Cayman), 2, false, &[]),
        (whole, 2, true, &[]),
    ] {
        let runtime = recorded(driver(machine), |config| {
            config.contiguous_scratchpad = asked;
            config.logical_core_size = Some(size);
            config.scratchpad_page_size = 16 * MIB;
        });
        assert_eq!(runtime.hooks().take(Level::Warn), lines);
        let contiguous = asked && lines.is_empty();
        assert_eq!(runtime.contiguous_scratchpad(), contiguous);
        // Pages of the configured size at multiples of 4 MiB, none across two; or one piece of 64 MiB pages.
        let core = runtime.core(0).unwrap();
        let arena = SubgraphPlan { local_scratchpad_bytes: 20 * MIB, ..NOTHING };
        let model = core.load(&ModelPlan { name: "model", subgraphs: &[arena] }).unwrap();
        let held = core.usage(0).unwrap().bytes[Usage::Scratchpad.number()];
        assert_eq!(held, if contiguous { PAGE } else { 2 * 16 * MIB });
        assert_eq!(core.scratchpad_address(0, 16 * MIB - 1, 2).is_ok(), contiguous);
        assert!(core.scratchpad_address(0, 16 * MIB, 1).unwrap().is_multiple_of(4 * MIB));
        model.unload().unwrap();
        assert!(runtime.close(None).unwrap().is_clean());
        assert_quiet(runtime.driver(), 1);
    }
}

#[test]
fn pages_grow_downwards_from_the_top_of_the_main_pool() {
    let runtime = contiguous(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let model = load_arena(&core, 3 * PAGE + 1).unwrap();
    assert_eq!(pages(&core, 0), [1; 4]);
    let expected: Vec<_> = (1..=4).map(|page| TOP - page * PAGE).collect();
    assert_eq!(addresses(&runtime, &core, 0), expected);
    assert_eq!(held(&core, 0, Usage::Scratchpad), 4 * PAGE);
    // Category 19 at the driver, counted as scratchpad; in the heap of the core, with a name and a bounce buffer.
    assert_eq!(sim(&runtime).category_usage(0, 11).bytes, 4 * PAGE);
    let nodes = raw::nodes(raw::global(&runtime, 0));
    assert_eq!((raw::sizes(raw::global(&runtime, 0)), raw::hint(nodes[3])), (vec![PAGE as usize; 4], "scratchpad".into()));
    // SAFETY: a live node.
    unsafe {
        assert!(!(*nodes[3]).cpy_buf.is_null());
        assert_eq!(((*nodes[3]).mem_type.0, (*nodes[3]).mem_usage_type.0, (*nodes[3]).tdram_channel), (2, 11, 0));
    }
    model.unload().unwrap();
    assert_eq!(pages(&core, 0), []);
    // After a clean way back the next ones come to the same places.
    let again = load_arena(&core, 2 * PAGE).unwrap();
    assert_eq!(addresses(&runtime, &core, 0), expected[..2]);
    again.unload().unwrap();
    finish(&runtime);
}

#[test]
fn an_offset_counts_from_the_last_page_of_the_model_upwards() {
    let runtime = contiguous(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let model = load_arena(&core, 4 * PAGE).unwrap();
    let base = TOP - 4 * PAGE;
    for (offset, bytes) in [(0, 1), (PAGE, 1), (200 * MIB, 56 * MIB), (0, 4 * PAGE), (PAGE - 1, 2)] {
        assert_eq!(model.scratchpad_address(0, offset, bytes), Ok(base + offset));
        assert_eq!(core.scratchpad_address(0, offset, bytes), Ok(base + offset));
    }
    let missing =
        |offset, size| Err(Error { status: Status::Invalid, cause: Cause::ScratchpadSpan { offset, size, page_size: PAGE } });
    for (offset, bytes) in [(200 * MIB, 56 * MIB + 1), (4 * PAGE, 1), (u64::MAX, 1), (1, u64::MAX)] {
        assert_eq!(model.scratchpad_address(0, offset, bytes), missing(offset, bytes));
    }
    // A smaller model counts on the upper pages, and resolves by its own need (errata 27): nothing it uses goes with the
    // larger one.
    let small = load_filled(&core, PAGE + 4096).unwrap();
    assert_eq!(pages(&core, 0), [2, 2, 1, 1]);
    let own = TOP - 2 * PAGE;
    assert_eq!((small.scratchpad_address(0, 0, 1), small.variable_address(0, 1, 0, 1)), (Ok(own), Ok(own)));
    assert_eq!(small.scratchpad_address(0, 2 * PAGE, 1), missing(2 * PAGE, 1));
    assert_eq!(core.scratchpad_address(0, 0, 1), Ok(base), "the arena as it is now");
    model.unload().unwrap();
    assert_eq!(pages(&core, 0), [1, 1]);
    assert_eq!((small.scratchpad_address(0, 0, 1), small.variable_address(0, 1, 0, 1)), (Ok(own), Ok(own)));
    // A larger one leaves it where it is, too.
    let large = load_arena(&core, 3 * PAGE).unwrap();
    assert_eq!((large.scratchpad_address(0, 0, 1), small.scratchpad_address(0, 0, 1)), (Ok(TOP - 3 * PAGE), Ok(own)));
    unload([small, large]);
    finish(&runtime);
}

#[test]
fn what_is_planned_may_cross_pages_and_is_mapped_in_one_piece() {
    let runtime = contiguous(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let arena = 2 * PAGE + 8192;
    let crossing = [spanning(PAGE + 4096, PAGE - 4096)];
    let plan = SubgraphPlan { variables: &crossing, local_scratchpad_bytes: arena, ..NOTHING };
    let model = load(&core, plan).unwrap();
    // No memory of its own, although it is larger than a page.
    assert_eq!((model.usage(0).unwrap().allocations, core.scratchpad_advice()), (0, Ok(None)));
    assert_eq!(model.variable_address(0, 1, 0, 1), Ok(TOP - 3 * PAGE + PAGE - 4096));
    // SAFETY: the record of a resident model; the mapping spans three pages.
    let mapped: &mut [u8] = unsafe {
        let cleanup = (*raw::model(&runtime, 0, model.id())).scratchpad_cleanup_info;
        assert_eq!(((*cleanup).num_entries, (*cleanup).sizes[0]), (1, arena));
        let base = (*cleanup).contiguous_scratchpad_va.cast::<u8>();
        std::slice::from_raw_parts_mut(base, 3 * PAGE as usize)
    };
    assert_eq!(sim(&runtime).live(0).mappings, 1 + u64::from(runtime.arch().cores_per_device()));
    // What is written through the mapping is what the device reads, across the end of the page.
    let bytes = formula(0, 20_000);
    let start = (PAGE - 4096) as usize;
    mapped[start..][..bytes.len()].copy_from_slice(&bytes);
    let mut seen = vec![0; bytes.len()];
    model.read_variable(0, 1, 0, &mut seen).unwrap();
    assert!(seen == bytes);
    // The same number of pages has the same mapping; it goes with the page it begins at.
    let twin = load(&core, plan).unwrap();
    // SAFETY: as above.
    let va = |id| unsafe { (*(*raw::model(&runtime, 0, id)).scratchpad_cleanup_info).contiguous_scratchpad_va };
    assert_eq!((va(twin.id()), va(model.id())), (va(model.id()), mapped.as_mut_ptr().cast()));
    model.unload().unwrap();
    twin.unload().unwrap();
    finish(&runtime);
}

/// The mapping is the page's, as that of any memory: it outlives a load that fails, serves the next one, and goes with the page.
#[test]
fn a_load_that_fails_leaves_a_mapping_with_the_page_that_stays() {
    struct Broken;
    impl ByteSource for Broken {
        fn read(&self, _: u64, _: &mut [u8]) -> core::result::Result<(), &'static str> {
            Err("no weights")
        }
    }
    let runtime = contiguous(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let mappings = || sim(&runtime).live(0).mappings;
    // 1. Alone, nothing stays: no page does.
    let empty = books(&runtime);
    let failing = SubgraphPlan {
        regions: &[RegionPlan { source: Some(&Broken), ..weights(1000) }],
        local_scratchpad_bytes: 2 * PAGE,
        ..NOTHING
    };
    refused(load(&core, failing));
    assert_eq!(books(&runtime), empty);
    // 2. Under a larger model the second page stays, and the mapping of two pages with it; all else is as before.
    let large = load_arena(&core, 3 * PAGE).unwrap();
    let (before, mapped) = (books(&runtime), mappings());
    for _ in 0..2 {
        refused(load(&core, failing));
        let after = books(&runtime);
        let driver = vec![Live { mappings: mapped + 1, ..before.driver[0] }];
        assert_eq!(Books { driver: before.driver.clone(), ..after }, before);
        assert_eq!(books(&runtime).driver, driver);
    }
    // 3. A model of two pages has that mapping; with the page it goes.
    let small = load_arena(&core, 2 * PAGE).unwrap();
    assert_eq!(mappings(), mapped + 1);
    unload([small, large]);
    assert_eq!(books(&runtime), empty);
    finish(&runtime);
}

#[test]
fn all_slices_lie_on_the_first_core_of_the_hbm() {
    let runtime = contiguous(Arch::Cayman);
    let core = runtime.core(1).unwrap();
    let need = |local, shared| SubgraphPlan { local_scratchpad_bytes: local, shared_scratchpad_bytes: shared, ..NOTHING };
    let subgraphs = [need(PAGE, 4096), need(PAGE, 8192)];
    let model = core.load(&ModelPlan { name: "m", subgraphs: &subgraphs }).unwrap();
    // Slices follow each other without padding: 8 KiB and two pages.
    assert_eq!((pages(&core, 0), pages(&core, 1)), (vec![1; 3], vec![]));
    model.unload().unwrap();
    finish(&runtime);
    // An HBM of which the process has one core cannot have one.
    let driver = driver(SimConfig { cores_per_device: 1, ..SimConfig::new(Arch::Cayman) });
    let runtime = open(driver, config());
    assert_eq!(is_contiguous(&runtime, 0), (false, 512 * MIB), "one core a device is one core a logical core");
    finish(&runtime);
}

#[test]
fn a_device_without_room_is_a_ceiling_for_what_names_its_variables() {
    let runtime = contiguous(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let stays = load_filled(&core, PAGE).unwrap();
    // A block in the middle: the arena cannot grow past it.
    let blocked = {
        let all = nrt_core::Allocation { bytes: TOP - 3 * PAGE - 16 * MIB, ..crate::plans::device(1, Usage::Generic) };
        core.allocate(0, &all).unwrap()
    };
    let before = books(&runtime);
    let fits = VariablePlan { variable: 1, ..spanning(PAGE, PAGE) };
    let beyond = VariablePlan { variable: 2, ..spanning(MIB, 4 * PAGE) };
    let crossing = VariablePlan { variable: 3, ..spanning(2 * MIB, 3 * PAGE - MIB) };
    let variables = [fits, beyond, crossing];
    let plan = SubgraphPlan { variables: &variables, local_scratchpad_bytes: 5 * PAGE, ..NOTHING };
    let model = load(&core, plan).unwrap();
    // Three pages of five, counted as three; the variables beyond them have memory of their own.
    assert_eq!(pages(&core, 0), [2, 1, 1]);
    assert_eq!(model.variable_address(0, 1, 0, 1), Ok(TOP - 3 * PAGE + PAGE));
    assert_eq!(model.usage(0).unwrap().bytes[Usage::ScratchpadNotShared.number()], 3 * MIB);
    // SAFETY: a resident model.
    unsafe {
        let record = raw::model(&runtime, 0, model.id());
        assert_eq!((*(*record).scratchpad_cleanup_info).sizes[0], 3 * PAGE);
        assert_eq!((*(*record).dmem_allocator).largest_oversized_scratchpad_var.load(Relaxed) as u64, 2 * MIB);
    }
    assert_eq!(core.scratchpad_advice().unwrap().unwrap().largest, 2 * MIB);
    model.unload().unwrap();
    assert_eq!(books(&runtime), before);
    // Who does not say what lies in the arena must get all of it.
    let error = refused(load_arena(&core, 5 * PAGE));
    assert!(matches!(error, Error { status: Status::Resource, cause: Cause::OutOfMemory(_) }), "{error}");
    assert_eq!(books(&runtime), before);
    // Any other failure is one.
    runtime.driver().watch(&[Call::Alloc]);
    runtime.driver().fail_nth(2, Errno::EINVAL);
    assert_eq!(refused(load(&core, plan)).status, Status::Failure);
    assert_eq!(books(&runtime), before);
    drop(blocked);
    stays.unload().unwrap();
    finish(&runtime);
}

#[test]
fn paged_mode_always_fails_hard() {
    let driver = driver(SimConfig { hbm_bytes: HBM, ..SimConfig::new(Arch::Sunda) });
    let runtime = open(driver, Config { scratchpad_page_size: PAGE, ..Config::new(LinuxHooks::new()).side_by_side() });
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    assert_eq!(refused(load_filled(&core, HBM)).status, Status::Resource);
    assert_eq!(books(&runtime), before);
    finish(&runtime);
}

#[test]
fn a_page_that_is_not_below_the_last_one_ends_the_arena() {
    let runtime = contiguous(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let large = load_filled(&core, 3 * PAGE).unwrap();
    let small = load_filled(&core, 2 * PAGE).unwrap();
    // The driver keeps the third page: the next one would come below it, with a hole above.
    runtime.driver().watch(&[Call::Free]);
    runtime.driver().fail_nth(1, Errno::EIO);
    large.unload().unwrap();
    assert_eq!((pages(&core, 0), core.usage(0).unwrap().quarantined), (vec![1, 1], 1));
    runtime.driver().reset();
    let error = refused(load_arena(&core, 3 * PAGE));
    let (expected, address) = (TOP - 3 * PAGE, TOP - 4 * PAGE);
    assert_eq!(error, Error { status: Status::Resource, cause: Cause::ScratchpadGap { expected, address } });
    // What can be placed by variable goes on with two pages.
    let third = load_filled(&core, 3 * PAGE).unwrap();
    assert_eq!(pages(&core, 0), [2, 2]);
    assert_eq!(third.usage(0).unwrap().bytes[Usage::ScratchpadNotShared.number()], 3 * PAGE);
    unload([small, third]);
    let report = runtime.close(None).unwrap();
    assert_eq!((report.quarantined, report.allocations), (0, 0), "taken back at close");
    // Freed later than the pages above it: the driver only logs that.
    let hazards = runtime.driver().inner().hazards(0);
    assert_eq!(hazards, Hazards { contiguous_order: hazards.contiguous_order, ..Hazards::default() });
}

#[test]
fn a_contiguous_load_that_fails_at_any_request_leaves_nothing() {
    for arch in [Arch::Sunda, Arch::Mariana] {
        let runtime = contiguous(arch);
        let core = runtime.core(0).unwrap();
        let stays = load_filled(&core, PAGE).unwrap();
        let before = books(&runtime);
        for errno in [Errno::EIO, Errno::EINVAL] {
            let mut failures = 0;
            for nth in 1.. {
                runtime.driver().watch_all();
                runtime.driver().fail_nth(nth, errno);
                let crossing = [spanning(2 * PAGE, 4096)];
                let plan = SubgraphPlan { variables: &crossing, local_scratchpad_bytes: 3 * PAGE, ..NOTHING };
                match load(&core, plan) {
                    Err(error) => assert_eq!(error.status, Status::Failure),
                    Ok(model) => {
                        runtime.driver().reset();
                        model.unload().unwrap();
                        break;
                    }
                }
                assert_eq!(books(&runtime), before, "request {nth}");
                failures += 1;
            }
            // Two pages and the mapping.
            assert_eq!(failures, 3);
        }
        stays.unload().unwrap();
        finish(&runtime);
    }
}

#[test]
fn an_arena_of_1024_contiguous_pages_is_refused_by_number_before_the_driver_is_asked() {
    let runtime = contiguous(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    runtime.driver().watch_all();
    let error = refused(load_arena(&core, 1024 * PAGE + KIB));
    assert_eq!(error, Error { status: Status::Resource, cause: Cause::ScratchpadPages { need: 1025, limit: 1024 } });
    assert_eq!(runtime.driver().seen(), 0);
    finish(&runtime);
}
