//! `scratchpad` §§4, 8, 13: slices of several cores, the shared slice, one core for both; the documented example.

use std::sync::atomic::Ordering::Relaxed;

use nrt_core::driver::{Call, Errno};
use nrt_core::model::{Arena, ModelPlan, SubgraphPlan, VariableKind, VariablePlan};
use nrt_core::{Arch, Cause, Config, Error, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::SimConfig;
use nrt_tests::{TestRuntime, driver, open};

use crate::books::{Core, MIB, TestModel, books, finish, held, pages};
use crate::plans::{NOTHING, load, refused, unload};
use crate::raw;

fn runtime(single: bool, size: u32, cores: u32) -> TestRuntime {
    let driver = driver(SimConfig { cores_per_device: cores, ..SimConfig::new(Arch::Cayman) });
    let config = Config {
        scratchpad_page_size: MIB,
        scratchpad_on_single_core: single,
        logical_core_size: Some(size),
        ..Config::new(LinuxHooks::new()).side_by_side()
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

/// A variable in the local slice.
const fn scratch(variable: u32, offset: u64, bytes: u64) -> VariablePlan<'static> {
    let kind = VariableKind::VirtualTemporary { arena: Arena::Local, offset };
    VariablePlan { variable, name: "scratch", kind, bytes, ..VariablePlan::EMPTY }
}

/// §8.4: pages of 512 MiB, models of 1.5 GiB and about 1.6 GiB.
#[test]
fn the_two_models_of_the_documentation() {
    const PAGE: u64 = 512 * MIB;
    let config = |page| Config { scratchpad_page_size: page, ..Config::new(LinuxHooks::new()).side_by_side() };
    let first = [scratch(1, 0, 1024 * MIB), scratch(2, 1024 * MIB, PAGE)];
    let second = [scratch(1, 0, 1536 * MIB), scratch(2, 1536 * MIB, 100 * MIB)];
    let plan = |variables, bytes| SubgraphPlan { variables, local_scratchpad_bytes: bytes, ..NOTHING };
    let (first, second) = (plan(&first, 1536 * MIB), plan(&second, 1636 * MIB));
    let private = |core: &Core<'_>| held(core, 0, Usage::ScratchpadNotShared);

    let runtime = open(driver(SimConfig::new(Arch::Cayman)), config(PAGE));
    let core = runtime.core(0).unwrap();
    let models = [load(&core, first).unwrap(), load(&core, second).unwrap()];
    // Four shared pages of 2 GiB together, and 2.5 GiB of private memory: what does not fit a page does not make the arena
    // smaller.
    assert_eq!((pages(&core, 0), held(&core, 0, Usage::Scratchpad)), (vec![2, 2, 2, 1], 2048 * MIB));
    assert_eq!(private(&core), 2560 * MIB);
    assert_eq!(models.each_ref().map(|model| model.usage(0).unwrap().bytes[16]), [1024 * MIB, 1536 * MIB]);
    assert_eq!(models[0].variable_address(0, 2, 0, 1), models[0].scratchpad_address(0, 1024 * MIB, PAGE));
    // SAFETY: a resident model.
    let largest = unsafe { &(*(*raw::model(&runtime, 0, models[1].id())).dmem_allocator).largest_oversized_scratchpad_var };
    assert_eq!(largest.load(Relaxed) as u64, 1536 * MIB);
    // The advice is for the largest of all models.
    let advice = core.scratchpad_advice().unwrap().unwrap();
    assert_eq!((advice.largest, advice.mebibytes, advice.possible), (1536 * MIB, 1536, true));
    let [first_model, second_model] = models;
    second_model.unload().unwrap();
    assert_eq!(core.scratchpad_advice().unwrap().unwrap().mebibytes, 1024);
    assert_eq!((pages(&core, 0), private(&core)), (vec![1; 3], 1024 * MIB));
    first_model.unload().unwrap();
    assert_eq!(core.scratchpad_advice(), Ok(None));
    finish(&runtime);

    // With pages of 2 GiB: one page, and nothing private.
    let runtime = open(driver(SimConfig::new(Arch::Cayman)), config(2048 * MIB));
    let core = runtime.core(0).unwrap();
    let models = [load(&core, first).unwrap(), load(&core, second).unwrap()];
    assert_eq!((pages(&core, 0), private(&core), core.scratchpad_advice()), (vec![2], 0, Ok(None)));
    unload(models);
    finish(&runtime);
}

#[test]
fn variables_lie_behind_the_slice_they_belong_to() {
    let runtime = runtime(false, 2, 8);
    let core = runtime.core(2).unwrap();
    let shared = |variable, offset, bytes| {
        let kind = VariableKind::VirtualTemporary { arena: Arena::Shared, offset };
        VariablePlan { variable, name: "shared", kind, bytes, ..VariablePlan::EMPTY }
    };
    let variables = [scratch(1, 4096, 4096), shared(2, 8192, 4096)];
    let subgraph =
        SubgraphPlan { variables: &variables, local_scratchpad_bytes: 8192, shared_scratchpad_bytes: 16_384, ..NOTHING };
    let model = core.load(&ModelPlan { name: "m", subgraphs: &[subgraph; 2] }).unwrap();
    let address = |relative, variable| model.variable_address(relative, variable, 0, 1).unwrap();
    // The shared slice is first on the first core, and one for both.
    let base = core.scratchpad_address(0, 0, 1).unwrap();
    assert_eq!((address(0, 2), address(1, 2)), (base + 8192, base + 8192));
    assert_eq!(address(0, 1), base + 16_384 + 4096);
    assert_eq!(address(1, 1), core.scratchpad_address(1, 4096, 1).unwrap());
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn the_shared_slice_of_a_second_core_lies_on_the_first_one_of_its_hbm() {
    // Logical cores of one: the HBM has two, both of this process.
    let runtime = runtime(false, 1, 8);
    let [first, second] = [2, 3].map(|vnc| runtime.core(vnc).unwrap());
    let model = load_needs(&second, &[(2 * MIB, MIB)]).unwrap();
    assert_eq!((pages(&first, 0), pages(&second, 0)), (vec![1], vec![1; 2]));
    // SAFETY: a resident model.
    unsafe {
        let cleanup = (*raw::model(&runtime, 3, model.id())).scratchpad_cleanup_info;
        let cores = (*cleanup).pcores.map(|pcore| (*pcore).device_tpb_idx);
        assert_eq!(((*cleanup).num_entries, cores, (*cleanup).sizes), (2, [2, 3], [MIB, 2 * MIB]));
    }
    let other = load_needs(&first, &[(MIB, 2 * MIB)]).unwrap();
    assert_eq!((pages(&first, 0), pages(&second, 0)), (vec![2, 1, 1], vec![1; 2]));
    other.unload().unwrap();
    assert_eq!((pages(&first, 0), pages(&second, 0)), (vec![1], vec![1; 2]));
    // What fails on the second gives the first one's pages back.
    let before = books(&runtime);
    for nth in 1..=4 {
        runtime.driver().watch(&[Call::Alloc]);
        runtime.driver().fail_nth(nth, Errno::ENOMEM);
        assert_eq!(refused(load_needs(&second, &[(4 * MIB, 3 * MIB)])).status, Status::Resource);
        assert_eq!(books(&runtime), before);
    }
    model.unload().unwrap();
    assert_eq!((pages(&first, 0), pages(&second, 0)), (vec![], vec![]));
    finish(&runtime);
    // With the single-core flag everything of both lies there.
    let runtime = self::runtime(true, 1, 8);
    let [first, second] = [2, 3].map(|vnc| runtime.core(vnc).unwrap());
    let model = load_needs(&second, &[(2 * MIB, MIB)]).unwrap();
    assert_eq!((pages(&first, 0), pages(&second, 0)), (vec![1; 3], vec![]));
    model.unload().unwrap();
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
