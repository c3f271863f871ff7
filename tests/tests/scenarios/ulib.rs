//! `ulib` §§1 to 7: the microcode library that the models of one SUNDA core share.

use nrt_core::abi::{dmem_t, model_t, ucode_lib_set_info_t};
use nrt_core::driver::{Call, Errno};
use nrt_core::model::{ByteSource, SubgraphPlan, UcodeFunction, UcodeLibrary};
use nrt_core::{Arch, Cause, Error, PlanPart, PlanRule, Result, Status, Usage};
use nrt_tests::{TestRuntime, runtime};
use std::sync::atomic::Ordering::Relaxed;

use crate::books::{Core, TestModel, books, finish, held, sim};
use crate::plans::{Formula, NOTHING, broken, formula, load, refused, unload};
use crate::raw;

const FUNCTIONS: [UcodeFunction<'static>; 3] = [
    UcodeFunction { name: "gather", opcode: 0xE1, sub_opcode: 2 },
    UcodeFunction { name: "scatter", opcode: 0xE2, sub_opcode: 255 },
    UcodeFunction { name: "", opcode: 0, sub_opcode: 0 },
];
const LIBRARY: UcodeLibrary<'static> =
    UcodeLibrary { content: &Formula, bytes: 5000, flags: 0xFFFF_FFFD, cpu_id: 0, total_cpus: 8, functions: &FUNCTIONS };

fn load_libraries<'r>(core: &Core<'r>, libraries: &[UcodeLibrary<'_>]) -> Result<TestModel<'r>> {
    load(core, SubgraphPlan { libraries, ..NOTHING })
}

fn cache(runtime: &TestRuntime, core: u32) -> *const ucode_lib_set_info_t {
    // SAFETY: the union has one arm; the record of an open core.
    unsafe {
        let sunda = (&raw const (*raw::tpb(runtime, 0, core)).u).cast::<nrt_core::abi::tpb_sunda_t>();
        (*sunda).ulib_set_info_extisa_only.load(Relaxed)
    }
}

#[test]
fn the_first_model_stages_and_the_others_share() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(1).unwrap();
    assert_eq!((core.library_users(0), cache(&runtime, 1).is_null()), (Ok((0, false)), true));
    let first = load_libraries(&core, &[LIBRARY]).unwrap();
    assert_eq!(core.library_users(0), Ok((1, true)));
    let staged = sim(&runtime).live(0);
    // Image and table, in the heap of the core, not of the model.
    assert_eq!(raw::sizes(raw::global(&runtime, 1)), [5000, 27_304]);
    assert_eq!((held(&core, 0, Usage::UcodeLib), first.usage(0).unwrap().allocations), (32_304, 0));
    runtime.driver().watch_all();
    let others = [(); 3].map(|()| load_libraries(&core, &[LIBRARY]).unwrap());
    assert_eq!(runtime.driver().seen(), 0);
    assert_eq!((sim(&runtime).live(0), core.library_users(0)), (staged, Ok((4, true))));
    for id in others.iter().chain([&first]).map(TestModel::id) {
        let model: *const model_t = raw::model(&runtime, 1, id);
        // SAFETY: a resident model.
        assert_eq!(unsafe { (*model).ulib_set_info.cast_const() }, cache(&runtime, 1));
    }
    // The other core has nothing of it.
    assert_eq!(runtime.core(0).unwrap().library_users(0), Ok((0, false)));
    first.unload().unwrap();
    unload(others);
    // It stays for those to come, until the core is torn down.
    assert_eq!((sim(&runtime).live(0), core.library_users(0)), (staged, Ok((0, true))));
    let next = load_libraries(&core, &[LIBRARY]).unwrap();
    assert_eq!((runtime.driver().seen(), core.library_users(0)), (0, Ok((1, true))));
    next.unload().unwrap();
    finish(&runtime);
}

#[test]
fn each_core_stages_its_own() {
    let runtime = runtime(Arch::Sunda);
    let models = [0, 1].map(|vnc| load_libraries(&runtime.core(vnc).unwrap(), &[LIBRARY]).unwrap());
    assert_ne!(cache(&runtime, 0), cache(&runtime, 1));
    for vnc in 0..2 {
        let core = runtime.core(vnc).unwrap();
        assert_eq!((core.library_users(0), held(&core, 0, Usage::UcodeLib)), (Ok((1, true)), 32_304));
    }
    unload(models);
    finish(&runtime);
}

#[test]
fn the_host_mirror_and_the_image_are_as_documented() {
    let runtime = runtime(Arch::Sunda);
    let model = load_libraries(&runtime.core(0).unwrap(), &[LIBRARY]).unwrap();
    // SAFETY: the staged set of an open core.
    unsafe {
        let set = *cache(&runtime, 0);
        assert_eq!((set.num_libs, set.scratch_space.is_null(), set.extram.is_null()), (1, true, true));
        let library = *set.libs;
        assert_eq!((library.flags, library.cpu_id, library.total_cpus, library.num_funcs), (0xFFFF_FFFD, 0, 8, 3));
        assert_eq!(library.address, (*set.lib_dmem)._pa + (*set.lib_dmem).align_offset as u64);
        let second = *library.funcs.add(1);
        assert_eq!((&second.name[..8], second.opcode, second.sub_opcode), (&b"scatter\0"[..], 0xE2, 255));
        assert_eq!(raw::bytes(&runtime, set.lib_dmem, 5000), formula(0, 5000));
    }
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn the_device_table_has_a_row_of_280_bytes_for_each_function_from_144_on() {
    let runtime = runtime(Arch::Sunda);
    let model = load_libraries(&runtime.core(0).unwrap(), &[LIBRARY]).unwrap();
    // SAFETY: the staged set of an open core.
    let (table, address): (*const dmem_t, u64) =
        unsafe { ((*cache(&runtime, 0)).ucode_table, (*(*cache(&runtime, 0)).libs).address) };
    let bytes = raw::bytes(&runtime, table, 27_304);
    assert!(bytes[..144].iter().all(|byte| *byte == 0));
    for (row, function) in bytes[144..].chunks(280).zip(FUNCTIONS) {
        // valid, opcode, sub_opcode, cpu_id, total_cpus, reserved.
        assert_eq!(row[..12], [1, function.opcode, function.sub_opcode, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(row[12..16], (0xFFFF_FFFD_u32 & 7).to_le_bytes());
        assert_eq!(row[16..24], address.to_le_bytes());
        let name = function.name.as_bytes();
        assert_eq!(row[24..24 + name.len()], *name);
        assert!(row[24 + name.len()..].iter().all(|byte| *byte == 0));
    }
    assert!(bytes[144 + 3 * 280..].iter().all(|byte| *byte == 0));
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn a_staging_that_fails_is_reported_and_leaves_no_cache() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    let mut failures = 0;
    for (errno, status) in [(Errno::ENOMEM, Status::Resource), (Errno::EIO, Status::Failure)] {
        for (call, count) in [(Call::Alloc, 2), (Call::Copy, 4), (Call::Fill, 1)] {
            for nth in 1..=count {
                runtime.driver().watch(&[call]);
                runtime.driver().fail_nth(nth, errno);
                let error = refused(load_libraries(&core, &[LIBRARY]));
                let status = if call == Call::Alloc { status } else { Status::Failure };
                assert_eq!((error.status, runtime.driver().injected()), (status, 1), "{call:?} {nth}");
                assert_eq!(books(&runtime), before);
                assert!(cache(&runtime, 0).is_null());
                failures += 1;
            }
        }
    }
    assert_eq!(failures, 14);
    struct Broken;
    impl ByteSource for Broken {
        fn read(&self, _: u64, _: &mut [u8]) -> core::result::Result<(), &'static str> {
            Err("no image")
        }
    }
    let error = refused(load_libraries(&core, &[UcodeLibrary { content: &Broken, ..LIBRARY }]));
    assert_eq!(error, Error { status: Status::Failure, cause: Cause::Source("no image") });
    assert_eq!(books(&runtime), before);
    // The next one stages as if nothing had been.
    let model = load_libraries(&core, &[LIBRARY]).unwrap();
    assert_eq!(core.library_users(0), Ok((1, true)));
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn the_number_of_libraries_is_bounded() {
    for arch in Arch::ALL {
        let runtime = runtime(arch);
        let core = runtime.core(0).unwrap();
        let before = books(&runtime);
        let libraries = [UcodeLibrary { functions: &FUNCTIONS[..2], ..LIBRARY }; 11];
        for count in [2, 3, 9] {
            let loaded = load_libraries(&core, &libraries[..count]);
            if arch == Arch::Sunda {
                let cause = Cause::NotBuilt("models with 2 to 9 microcode libraries");
                assert_eq!(refused(loaded), Error { status: Status::Failure, cause });
            } else {
                loaded.unwrap().unload().unwrap();
            }
        }
        for count in [10, 11] {
            let error = refused(load_libraries(&core, &libraries[..count]));
            let cause = broken(0, PlanPart::Subgraph, PlanRule::Libraries(count)).cause;
            assert_eq!(error, Error { status: Status::Failure, cause });
        }
        assert_eq!(books(&runtime), before);
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
        let model = load_libraries(&core, &[LIBRARY]).unwrap();
        assert_eq!((runtime.driver().seen(), core.library_users(0)), (0, Ok((0, false))));
        // SAFETY: a resident model.
        assert!(unsafe { (*raw::model(&runtime, 0, model.id())).ulib_set_info.is_null() });
        model.unload().unwrap();
        assert!(load_libraries(&core, &[UcodeLibrary { total_cpus: 2, ..LIBRARY }]).is_err());
        finish(&runtime);
    }
}

#[test]
fn a_library_is_checked_before_anything_is_staged() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
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
    assert_eq!(books(&runtime), before);
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
        UcodeLibrary { functions: &renamed, ..LIBRARY },
    ] {
        let cause = Cause::Ucode("it differs from the one this core has staged for its models");
        assert_eq!(refused(load_libraries(&core, &[other])), Error { status: Status::Invalid, cause });
        assert_eq!(books(&runtime), before);
    }
    first.unload().unwrap();
    finish(&runtime);
}

#[test]
fn models_that_load_at_the_same_time_stage_once() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    runtime.driver().watch(&[Call::Alloc]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| load_libraries(&core, &[LIBRARY]).unwrap().into_id());
        }
    });
    assert_eq!((core.library_users(0), runtime.driver().seen()), (Ok((4, true)), 2));
    assert_eq!(runtime.close(None).unwrap().models, 4);
    crate::books::assert_quiet(runtime.driver(), 1);
}
