//! `ulib` §§1 to 7: the microcode library that the models of one SUNDA core share.

use nrt_core::abi::{dmem_t, model_t, ucode_lib_set_info_t};
use nrt_core::driver::{Call, Errno};
use nrt_core::model::{ByteSource, LibrarySupport, SubgraphPlan, UcodeFunction, UcodeImage, UcodeLibrary, UcodeQueue};
use nrt_core::{Arch, Cause, Error, Placement, Result, Status, Usage};
use nrt_tests::{TestRuntime, runtime};
use std::sync::atomic::Ordering::Relaxed;

use crate::books::{Core, KIB, TestModel, books, finish, held, sim};
use crate::plans::{Formula, NOTHING, formula, load, refused, unload};
use crate::raw;

pub(crate) const FUNCTIONS: [UcodeFunction<'static>; 3] = [
    UcodeFunction { name: "gather", opcode: 0xE1, sub_opcode: 2 },
    UcodeFunction { name: "scatter", opcode: 0xE2, sub_opcode: 255 },
    UcodeFunction { name: "", opcode: 0, sub_opcode: 0 },
];
pub(crate) const LIBRARY: UcodeLibrary<'static> =
    UcodeLibrary { content: &Formula, bytes: 5000, flags: 0xFFFF_FFFD, cpu_id: 0, total_cpus: 8, functions: &FUNCTIONS };

pub(crate) fn load_libraries<'r>(core: &Core<'r>, libraries: &[UcodeLibrary<'_>]) -> Result<TestModel<'r>> {
    load(core, SubgraphPlan { libraries, ..NOTHING })
}

pub(crate) fn cache(runtime: &TestRuntime, core: u32) -> *const ucode_lib_set_info_t {
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

/// Errata 32: a row carries the processor of its library, not whether that is processor 1.
#[test]
fn rows_carry_the_processor_of_their_library() {
    let processors = |runtime: &TestRuntime, set: &ucode_lib_set_info_t| -> Vec<u8> {
        let table = raw::bytes(runtime, set.ucode_table, 27_304);
        table[144..].chunks(280).take_while(|row| row[0] == 1).map(|row| row[3]).collect()
    };
    for cpu_id in 0..8 {
        let runtime = runtime(Arch::Sunda);
        let core = runtime.core(0).unwrap();
        let base = UcodeLibrary { cpu_id, ..LIBRARY };
        let (shared, own) = (load_libraries(&core, &[base]).unwrap(), load_libraries(&core, &[base, LIBRARY]).unwrap());
        // SAFETY: the staged sets of an open core and of a resident model.
        unsafe {
            let set = *cache(&runtime, 0);
            assert_eq!((processors(&runtime, &set), (*set.libs).cpu_id), (vec![cpu_id; 3], cpu_id));
            let set = *(*raw::model(&runtime, 0, own.id())).ulib_set_info;
            assert_eq!(processors(&runtime, &set), [[cpu_id; 3], [0; 3]].concat());
            assert_eq!(((*set.libs).cpu_id, (*set.libs.add(1)).cpu_id), (cpu_id, 0));
        }
        unload([shared, own]);
        finish(&runtime);
    }
}

/// Errata 32: the lock of the library cache guards the staging, not the copies of host tensors.
#[test]
fn host_tensors_can_be_copied_while_a_library_is_staged() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let [from, to] = [(); 2].map(|()| core.tensor(Placement::Virtual, 100, "t").unwrap());
    from.write(0, &[42; 100]).unwrap();
    // SAFETY: the lock word of an open core, an atomic.
    let held = || unsafe {
        let sunda = (&raw const (*raw::tpb(&runtime, 0, 0)).u).cast::<nrt_core::abi::tpb_sunda_t>();
        (*sunda).ulib_staging_lock.word.load(Relaxed) != 0
    };
    /// Calls the closure when it is read.
    struct Asked<F>(F);
    impl<F: Fn() + Sync> ByteSource for Asked<F> {
        fn read(&self, offset: u64, buffer: &mut [u8]) -> core::result::Result<(), &'static str> {
            (self.0)();
            Formula.read(offset, buffer)
        }
    }
    // Another thread copies while this one stages, and would wait for ever if the copy took the lock.
    let content = Asked(|| {
        let copied = std::thread::scope(|scope| scope.spawn(|| (held(), from.copy_to(0, &to, 0, 100))).join().unwrap());
        assert_eq!(copied, (true, Ok(())));
    });
    let model = load_libraries(&core, &[UcodeLibrary { content: &content, ..LIBRARY }]).unwrap();
    let mut bytes = [0; 100];
    to.read(0, &mut bytes).unwrap();
    assert_eq!((bytes, held()), ([42; 100], false));
    model.unload().unwrap();
    drop((from, to));
    finish(&runtime);
}

/// External memory, scratch memory and queues, all different.
pub(crate) const SUPPORT: LibrarySupport<'static> = LibrarySupport {
    external_memory: Some(UcodeImage { content: &Formula, bytes: 9000, align: 64 * KIB }),
    scratch_bytes: 20_000,
    queues: Some(QUEUES),
};
const QUEUES: [UcodeQueue; 8] = {
    let mut queues = [UcodeQueue { m2s_offset: 0, s2m_offset: 0 }; 8];
    let mut at = 0;
    while at < 8 {
        queues[at] = UcodeQueue { m2s_offset: 0x1000 + at as u64, s2m_offset: 0x2000 + at as u64 };
        at += 1;
    }
    queues
};

#[test]
fn a_staging_that_fails_is_reported_and_leaves_no_cache() {
    let libraries = [UcodeLibrary { functions: &FUNCTIONS, ..LIBRARY }; 3];
    let plan = |count| SubgraphPlan { libraries: &libraries[..count], library_support: SUPPORT, ..NOTHING };
    // A shared library, and a set of the model's own.
    for (count, staged) in [(1, true), (3, false)] {
        for (errno, status) in [(Errno::ENOMEM, Status::Resource), (Errno::EIO, Status::Failure)] {
            let runtime = runtime(Arch::Sunda);
            let core = runtime.core(0).unwrap();
            let before = books(&runtime);
            let mut failures = 0;
            for nth in 1.. {
                runtime.driver().watch_all();
                runtime.driver().fail_nth(nth, errno);
                let Err(error) = load(&core, plan(count)).map(|model| {
                    runtime.driver().reset();
                    model.unload().unwrap();
                }) else {
                    break;
                };
                let status = if runtime.driver().last_failed() == Some(Call::Alloc) { status } else { Status::Failure };
                assert_eq!((error.status, runtime.driver().injected()), (status, 1), "request {nth}");
                assert_eq!(books(&runtime), before);
                assert!(cache(&runtime, 0).is_null());
                failures += 1;
            }
            // Image, table, external and scratch memory; at least a copy for each image, the external memory, the table.
            assert!(failures >= 4 + count + 2, "{failures}");
            assert_eq!(core.library_users(0), Ok((0, staged)));
            finish(&runtime);
        }
    }
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
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

#[test]
fn two_to_nine_libraries_are_of_the_model_alone() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(1).unwrap();
    let before = books(&runtime);
    let names: Vec<String> = (0..9).map(|n| format!("function_{n}")).collect();
    let functions: Vec<[UcodeFunction<'_>; 3]> = names
        .iter()
        .zip(0..)
        .map(|(name, n)| [0, 1, 2].map(|sub_opcode| UcodeFunction { name, opcode: n, sub_opcode }))
        .collect();
    for count in 2..=9_usize {
        let libraries: Vec<_> = (0..count)
            .map(|n| UcodeLibrary { bytes: 1000 + n as u64, flags: n as u32 | 8, functions: &functions[n], ..LIBRARY })
            .collect();
        let plan = SubgraphPlan { libraries: &libraries, library_support: SUPPORT, ..NOTHING };
        let [first, second] = [(); 2].map(|()| load(&core, plan).unwrap());
        // Nothing is shared, and the core's cache is not touched.
        assert_eq!((core.library_users(0), cache(&runtime, 1).is_null()), (Ok((0, false)), true));
        // SAFETY: resident models, their sets and memory.
        unsafe {
            let record = raw::model(&runtime, 1, first.id());
            let set = *(*record).ulib_set_info;
            assert_ne!((*raw::model(&runtime, 1, second.id())).ulib_set_info, (*record).ulib_set_info);
            assert_eq!(set.num_libs as usize, count);
            // Image, table, external memory, scratch: of the model's own heap, booked as libraries.
            let image = (*set.lib_dmem).size as u64;
            assert_eq!(raw::sizes((*record).dmem_allocator), [image as usize, 27_304, 9000, 20_000]);
            assert_eq!(first.usage(0).unwrap().bytes[Usage::UcodeLib.number()], image + 27_304 + 29_000);
            assert!((*set.extram)._pa.is_multiple_of(64 * KIB));
            assert_eq!(raw::bytes(&runtime, set.extram, 9000), formula(0, 9000));
            let table = raw::bytes(&runtime, set.ucode_table, 27_304);
            let word = |at: usize| u64::from_le_bytes(table[at..at + 8].try_into().unwrap());
            assert_eq!((word(0), word(8)), ((*set.scratch_space)._pa, 20_000));
            for (processor, queue) in QUEUES.iter().enumerate() {
                assert_eq!((word(0x10 + 8 * processor), word(0x50 + 8 * processor)), (queue.m2s_offset, queue.s2m_offset));
            }
            let (mut row, mut end) = (0, 0);
            for (n, library) in libraries.iter().enumerate() {
                let staged = *set.libs.add(n);
                // One image behind the other, at multiples of 64.
                let offset = staged.address - (*set.lib_dmem)._pa;
                assert_eq!(offset, u64::next_multiple_of(end, 64));
                end = offset + library.bytes;
                assert_eq!(raw::bytes(&runtime, set.lib_dmem, end as usize)[offset as usize..], formula(0, 1000 + n));
                assert_eq!((staged.flags, staged.num_funcs, staged.total_cpus), (n as u32 | 8, 3, 8));
                for (at, function) in library.functions.iter().enumerate() {
                    let mirror = *staged.funcs.add(at);
                    assert_eq!(
                        (mirror.opcode, mirror.sub_opcode, &mirror.name[..11]),
                        (n as u8, at as u8, &[function.name.as_bytes(), &[0]].concat()[..])
                    );
                    let entry = &table[144 + 280 * row..][..280];
                    assert_eq!(entry[..5], [1, n as u8, at as u8, 0, 8]);
                    assert_eq!(entry[12..24], [&(n as u32 & 7).to_le_bytes()[..], &staged.address.to_le_bytes()[..]].concat());
                    assert_eq!((&entry[24..34], entry[34]), (function.name.as_bytes(), 0));
                    row += 1;
                }
            }
            assert_eq!(image, end);
            assert!(table[144 + 280 * row..].iter().all(|byte| *byte == 0));
        }
        unload([first, second]);
        assert_eq!(books(&runtime), before, "they go with their models");
    }
    finish(&runtime);
}
