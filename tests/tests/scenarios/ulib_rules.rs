//! `ulib` §§2, 3, 4, 7: what a set of microcode libraries must keep, and where none is staged.

use nrt_core::model::{LibrarySupport, SubgraphPlan, UcodeFunction, UcodeImage, UcodeLibrary};
use nrt_core::{Arch, Cause, Error, PlanPart, PlanRule, Result, Status, Usage};
use nrt_tests::runtime;

use crate::books::{TestModel, books, finish, held};
use crate::plans::{Formula, NOTHING, broken, load, refused};
use crate::raw;
use crate::ulib::{FUNCTIONS, LIBRARY, SUPPORT, load_libraries};

#[test]
fn the_number_of_libraries_is_bounded() {
    for arch in Arch::ALL {
        let runtime = runtime(arch);
        let core = runtime.core(0).unwrap();
        let before = books(&runtime);
        let libraries = [UcodeLibrary { functions: &FUNCTIONS[..2], ..LIBRARY }; 11];
        for count in 2..=9 {
            load_libraries(&core, &libraries[..count]).unwrap().unload().unwrap();
        }
        runtime.driver().watch_all();
        for count in [10, 11] {
            let error = refused(load_libraries(&core, &libraries[..count]));
            let cause = broken(0, PlanPart::Subgraph, PlanRule::Libraries(count)).cause;
            assert_eq!(error, Error { status: Status::Failure, cause });
        }
        assert_eq!((runtime.driver().seen(), books(&runtime)), (0, before), "{arch}");
        finish(&runtime);
    }
}

#[test]
fn a_model_without_a_library_uses_none() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let model = load_libraries(&core, &[]).unwrap();
    assert_eq!(core.library_users(0), Ok((0, false)));
    // SAFETY: a resident model.
    assert!(unsafe { (*raw::model(&runtime, 0, model.id())).ulib_set_info.is_null() });
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn other_architectures_check_but_do_not_stage() {
    for arch in [Arch::Cayman, Arch::Mariana] {
        let runtime = runtime(arch);
        let core = runtime.core(0).unwrap();
        runtime.driver().watch_all();
        let libraries = [UcodeLibrary { functions: &FUNCTIONS[..2], ..LIBRARY }; 9];
        // Neither the shared kind nor the model's own.
        for count in 1..=9 {
            let plan = SubgraphPlan { libraries: &libraries[..count], library_support: SUPPORT, ..NOTHING };
            let model = load(&core, plan).unwrap();
            assert_eq!((core.library_users(0), held(&core, 0, Usage::UcodeLib)), (Ok((0, false)), 0));
            // SAFETY: a resident model.
            assert!(unsafe { (*raw::model(&runtime, 0, model.id())).ulib_set_info.is_null() });
            model.unload().unwrap();
        }
        let error = refused(load_libraries(&core, &[UcodeLibrary { total_cpus: 2, ..LIBRARY }]));
        assert_eq!(error, broken(0, PlanPart::Library(0), PlanRule::Processors(2)));
        assert_eq!(runtime.driver().seen(), 0);
        finish(&runtime);
    }
}

#[test]
fn a_library_is_checked_before_anything_is_staged() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    runtime.driver().watch_all();
    let library = |rule| broken(0, PlanPart::Library(0), rule);
    for total_cpus in [0, 2, 7, 9] {
        let error = refused(load_libraries(&core, &[UcodeLibrary { total_cpus, ..LIBRARY }]));
        assert_eq!(error, library(PlanRule::Processors(total_cpus)));
    }
    let error = refused(load_libraries(&core, &[UcodeLibrary { bytes: 0, ..LIBRARY }]));
    assert_eq!(error, library(PlanRule::ZeroSize));
    let functions = [FUNCTIONS[0]; 29];
    let error = refused(load_libraries(&core, &[UcodeLibrary { functions: &functions, ..LIBRARY }]));
    assert_eq!(error, broken(0, PlanPart::Subgraph, PlanRule::Functions(29)));
    let name = "f".repeat(64);
    let long = [UcodeFunction { name: &name, ..FUNCTIONS[0] }];
    let error = refused(load_libraries(&core, &[UcodeLibrary { functions: &long, ..LIBRARY }]));
    assert_eq!(error, library(PlanRule::Name { length: 64, limit: 63 }));
    assert_eq!((runtime.driver().seen(), books(&runtime)), (0, before));
    let exact = [UcodeFunction { name: &name[..63], ..FUNCTIONS[0] }; 28];
    let fits = UcodeLibrary { functions: &exact, total_cpus: 1, ..LIBRARY };
    load_libraries(&core, &[fits]).unwrap().unload().unwrap();
    finish(&runtime);
}

#[test]
fn a_library_that_differs_from_the_staged_one_is_refused() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let first = load_libraries(&core, &[LIBRARY]).unwrap();
    let before = books(&runtime);
    let renamed = [FUNCTIONS[0], UcodeFunction { name: "other", ..FUNCTIONS[1] }, FUNCTIONS[2]];
    for other in [
        UcodeLibrary { bytes: 5001, ..LIBRARY },
        UcodeLibrary { functions: &FUNCTIONS[..2], ..LIBRARY },
        UcodeLibrary { cpu_id: 1, ..LIBRARY },
        UcodeLibrary { total_cpus: 1, ..LIBRARY },
        UcodeLibrary { functions: &renamed, ..LIBRARY },
    ] {
        let cause = Cause::Ucode("it differs from the one this core has staged for its models");
        assert_eq!(refused(load_libraries(&core, &[other])), Error { status: Status::Invalid, cause });
        assert_eq!(books(&runtime), before);
    }
    let needy = SubgraphPlan { libraries: &[LIBRARY], library_support: SUPPORT, ..NOTHING };
    assert_eq!(refused(load(&core, needy)).status, Status::Invalid);
    assert_eq!(books(&runtime), before);
    first.unload().unwrap();
    finish(&runtime);
}

#[test]
fn the_table_has_97_rows_and_processor_0_28_functions() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    let many = [FUNCTIONS[0]; 97];
    // The base library may sit on another processor, the custom ones may not.
    let set = |base, custom| {
        let base = UcodeLibrary { cpu_id: 1, functions: &many[..base], ..LIBRARY };
        [base, UcodeLibrary { functions: &many[..custom], ..LIBRARY }]
    };
    // What is refused is refused before the driver is asked.
    let unless_asked = |loaded: Result<TestModel<'_>>| match loaded {
        Ok(model) => model.unload(),
        Err(error) => {
            assert_eq!(runtime.driver().seen(), 0, "{error}");
            Err(error)
        }
    };
    let loaded = |libraries: &[UcodeLibrary<'_>]| {
        runtime.driver().watch_all();
        unless_asked(load_libraries(&core, libraries))
    };
    assert_eq!(loaded(&set(69, 28)), Ok(()));
    let subgraph = |rule| Err(broken(0, PlanPart::Subgraph, rule));
    assert_eq!(loaded(&set(70, 28)), subgraph(PlanRule::Rows(98)));
    assert_eq!(loaded(&set(0, 29)), subgraph(PlanRule::Functions(29)));
    assert_eq!(loaded(&set(97, 0)), Ok(()));
    let [base, custom] = set(1, 1);
    let library = |index, rule| Err(broken(0, PlanPart::Library(index), rule));
    assert_eq!(loaded(&[custom, base]), library(1, PlanRule::Processor { cpu_id: 1, custom: true }));
    let ninth = UcodeLibrary { cpu_id: 8, ..base };
    assert_eq!(loaded(&[ninth]), library(0, PlanRule::Processor { cpu_id: 8, custom: false }));
    // A library without functions has no row.
    let bare = UcodeLibrary { functions: &[], ..LIBRARY };
    assert_eq!(loaded(&[bare, bare]), Ok(()));
    // External memory has a size and an alignment.
    let external = |bytes, align| {
        let image = UcodeImage { content: &Formula, bytes, align };
        let library_support = LibrarySupport { external_memory: Some(image), ..LibrarySupport::NONE };
        runtime.driver().watch_all();
        unless_asked(load(&core, SubgraphPlan { libraries: &[bare, bare], library_support, ..NOTHING }))
    };
    assert_eq!(external(0, 0), subgraph(PlanRule::ZeroSize));
    assert_eq!(external(1, 3), subgraph(PlanRule::Alignment(3)));
    assert_eq!(external(1, 4096), Ok(()));
    let endless = UcodeLibrary { bytes: u64::MAX, ..bare };
    assert_eq!(loaded(&[endless, bare]).map_err(|error| error.status), Err(Status::Invalid));
    assert_eq!(books(&runtime), before);
    finish(&runtime);
}
