//! `scratchpad` §§4, 8, 13: slices of several cores, the shared slice, one core for both; the documented example.

use nrt_core::driver::{Call, Errno};
use nrt_core::model::{ModelPlan, RegionPlan, SubgraphPlan};
use nrt_core::{Arch, Cause, Config, Error, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::SimConfig;
use nrt_tests::{TestRuntime, driver, open};

use crate::books::{Core, MIB, TestModel, books, finish, held, pages};
use crate::plans::{NOTHING, load, refused, region};

fn runtime(single: bool, size: u32, cores: u32) -> TestRuntime {
    let driver = driver(SimConfig { cores_per_device: cores, ..SimConfig::new(Arch::Cayman) });
    let config = Config {
        scratchpad_page_size: MIB,
        scratchpad_on_single_core: single,
        logical_core_size: Some(size),
        ..Config::new(LinuxHooks::new())
    };
    open(driver, config)
}

/// A model with these (local, shared) needs, one for each core.
fn load_needs<'r>(core: &Core<'r>, needs: &[(u64, u64)]) -> nrt_core::Result<TestModel<'r>> {
    let subgraph = |&(local, shared)| SubgraphPlan { local_scratchpad_bytes: local, shared_scratchpad_bytes: shared, ..NOTHING };
    let subgraphs: Vec<_> = needs.iter().map(subgraph).collect();
    core.load(&ModelPlan { name: "m", subgraphs: &subgraphs })
}

#[test]
fn each_core_has_its_own_arena() {
    let runtime = runtime(false, 2, 8);
    let core = runtime.core(0).unwrap();
    let model = load_needs(&core, &[(MIB, 0), (3 * MIB, 0)]).unwrap();
    assert_eq!((pages(&core, 0), pages(&core, 1)), (vec![1], vec![1; 3]));
    let single = load_needs(&core, &[(2 * MIB, 0)]).unwrap();
    assert_eq!((pages(&core, 0), pages(&core, 1)), (vec![2, 1], vec![1; 3]));
    assert_eq!(pages(&runtime.core(1).unwrap(), 0), []);
    model.unload().unwrap();
    assert_eq!((pages(&core, 0), pages(&core, 1)), (vec![1, 1], vec![]));
    single.unload().unwrap();
    finish(&runtime);
}

#[test]
fn the_shared_slice_is_the_largest_need_and_sits_first_on_the_first_core() {
    let runtime = runtime(false, 2, 8);
    let core = runtime.core(3).unwrap();
    let check = |needs: &[(u64, u64)], first: usize, second: usize| {
        let model = load_needs(&core, needs).unwrap();
        assert_eq!((pages(&core, 0).len(), pages(&core, 1).len()), (first, second), "{needs:?}");
        model.unload().unwrap();
    };
    // Charged once: 2 MiB for both, then the local slice behind it.
    check(&[(0, MIB), (0, 2 * MIB)], 2, 0);
    check(&[(MIB, 2 * MIB), (MIB, MIB)], 3, 1);
    // A slice that would cross the end of the page starts on the next one …
    check(&[(MIB, 1), (0, 0)], 2, 0);
    check(&[(MIB - 1, 1), (0, 0)], 1, 0);
    // … a larger one too, and spans pages from there.
    check(&[(3 * MIB, 1), (0, 0)], 4, 0);
    check(&[(2 * MIB + 1, MIB), (0, 0)], 4, 0);
    finish(&runtime);
}

#[test]
fn needs_that_do_not_fit_any_number_are_refused() {
    let runtime = runtime(false, 2, 8);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    let error = refused(load_needs(&core, &[(u64::MAX, 1), (0, 0)]));
    assert_eq!(error.status, Status::Invalid);
    let error = refused(load_needs(&core, &[(u64::MAX, 0), (0, 0)]));
    assert_eq!(error, Error { status: Status::Resource, cause: Cause::ScratchpadPages { need: 1 << 44, limit: 1024 } });
    assert_eq!(books(&runtime), before);
    finish(&runtime);
}

#[test]
fn a_second_core_that_fails_gives_the_first_ones_pages_back() {
    let runtime = runtime(false, 2, 8);
    let core = runtime.core(0).unwrap();
    let stays = load_needs(&core, &[(MIB, 0), (MIB, 0)]).unwrap();
    let before = books(&runtime);
    for nth in 1..=5 {
        runtime.driver().watch(&[Call::Alloc]);
        runtime.driver().fail_nth(nth, Errno::ENOMEM);
        assert_eq!(refused(load_needs(&core, &[(3 * MIB, 0), (4 * MIB, 0)])).status, Status::Resource);
        assert_eq!(books(&runtime), before);
    }
    stays.unload().unwrap();
    finish(&runtime);
}

#[test]
fn the_single_core_flag_puts_both_arenas_on_the_first_core() {
    let runtime = runtime(true, 2, 8);
    let core = runtime.core(1).unwrap();
    let model = load_needs(&core, &[(MIB, MIB), (2 * MIB, 0)]).unwrap();
    assert_eq!((pages(&core, 0), pages(&core, 1)), (vec![1; 4], vec![]));
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn the_single_core_flag_needs_every_core_of_the_hbm() {
    // A device of one core: the HBM has two.
    let runtime = runtime(true, 1, 1);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    let cause = Cause::ScratchpadNeedsHbm { owned: 1, needed: 2 };
    assert_eq!(refused(load_needs(&core, &[(1, 0)])), Error { status: Status::Invalid, cause });
    assert_eq!(books(&runtime), before);
    let without = load_needs(&core, &[(0, 0)]).unwrap();
    without.unload().unwrap();
    finish(&runtime);
    // Without the flag nothing is asked (errata 28).
    let runtime = self::runtime(false, 1, 1);
    load_needs(&runtime.core(0).unwrap(), &[(1, 0)]).unwrap().unload().unwrap();
    finish(&runtime);
}

/// §8.4, scaled down by 512: pages of 1 MiB, models of 3 MiB and 3.2 MiB whose largest variables do not fit a page.
#[test]
fn private_variables_do_not_shrink_the_reserve() {
    let runtime = runtime(false, 2, 8);
    let core = runtime.core(0).unwrap();
    let private = |bytes| region(1, Usage::ScratchpadNotShared, bytes, None);
    let model = |regions: &[RegionPlan<'_>], bytes| {
        load(&core, SubgraphPlan { regions, local_scratchpad_bytes: bytes, ..NOTHING }).unwrap()
    };
    let first = model(&[private(2 * MIB)], 3 * MIB);
    let second = model(&[private(3 * MIB)], 3 * MIB + 200 * 1024);
    // Four shared pages, and the sum of the private ones.
    assert_eq!(pages(&core, 0), [2, 2, 2, 1]);
    assert_eq!(held(&core, 0, Usage::Scratchpad), 4 * MIB);
    assert_eq!(held(&core, 0, Usage::ScratchpadNotShared), 5 * MIB);
    assert_eq!(first.usage(0).unwrap().bytes[16], 2 * MIB);
    second.unload().unwrap();
    assert_eq!((pages(&core, 0), held(&core, 0, Usage::ScratchpadNotShared)), (vec![1; 3], 2 * MIB));
    first.unload().unwrap();
    finish(&runtime);
}

#[test]
fn models_that_load_and_unload_at_the_same_time_end_at_nothing() {
    let runtime = runtime(false, 2, 8);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    std::thread::scope(|scope| {
        for thread in 0..3_u64 {
            let core = &core;
            scope.spawn(move || {
                for round in 0..60 {
                    let need = (thread * 7 + round * 5) % 11 * MIB / 2;
                    let model = load_needs(core, &[(need, MIB), (need / 2, 0)]).unwrap();
                    let held = pages(core, 0);
                    assert!(held.len() as u64 * MIB >= need + MIB && held.is_sorted_by(|a, b| a >= b), "{held:?}");
                    model.unload().unwrap();
                }
            });
        }
    });
    assert_eq!(books(&runtime), before);
    finish(&runtime);
}
