//! `model-load` §§2 to 7, 10: what a load places where, and that a failed one leaves nothing.

use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use nrt_core::driver::Errno;
use nrt_core::model::{ByteSource, Chunks, IoPlan, ModelPlan, RegionPlan, SubgraphPlan};
use nrt_core::{Arch, Cause, Error, Location, PlanPart, PlanRule, Pool, Status, Usage};
use nrt_tests::{TestRuntime, runtime};

use crate::books::{KIB, MIB, books, finish, held, on_every_arch};
use crate::plans::{Formula, NOTHING, broken, broken_variable, formula, io, load, refused, region, weights};
use crate::raw;

const REGIONS: [RegionPlan<'static>; 4] = [
    RegionPlan { name: "weights", align: 64 * KIB, ..weights(200_000) },
    region(2, Usage::InstrPe, 70_000, None),
    region(3, Usage::DramSpill, 5000, None),
    RegionPlan { name: "ring", location: Location::Host, ..region(4, Usage::DmaRingIo, 4096, Some(&Formula)) },
];
const INPUTS: [IoPlan<'static>; 2] = [io("x", 1000, 10), io("mask", 16, 11)];
const OUTPUTS: [IoPlan<'static>; 1] = [io("y", 2000, 12)];
const FULL: SubgraphPlan<'static> = SubgraphPlan {
    regions: &REGIONS,
    local_scratchpad_bytes: MIB,
    shared_scratchpad_bytes: MIB,
    inputs: &INPUTS,
    outputs: &OUTPUTS,
    ..NOTHING
};

#[test]
fn the_four_pointers_of_the_shared_slot_move_into_the_model() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let model = core.load(&ModelPlan { name: "named", subgraphs: &[FULL, FULL] }).unwrap();
    for flat in 0..2 {
        let record = raw::model(&runtime, flat, model.id());
        // SAFETY: a resident model; what it points to lives as long.
        unsafe {
            assert_eq!(&(&(*record).name)[..6], b"named\0");
            assert_eq!(((*record).h_model.id, (*record).target.0), (model.id(), 3));
            assert_eq!(((*record).ht_node.key.load(Relaxed), (*record).ref_count.load(Relaxed)), (model.id().into(), 0));
            assert!(!(*record).dmem_allocator.is_null() && !(*record).gc_tracker.is_null());
            assert!(!(*record).static_mr_set.is_null() && !(*record).scratchpad_cleanup_info.is_null());
            assert!((*record).ulib_set_info.is_null());
            let cleanup = (*record).scratchpad_cleanup_info;
            // The shared need is charged once, to the first core.
            assert_eq!(((*cleanup).num_entries, (*cleanup).sizes[0]), (1, if flat == 0 { 2 * MIB } else { MIB }));
            assert_eq!((*(*cleanup).pcores[0].cast_const()).device_tpb_idx, flat);
            assert_eq!((*(*record).dmem_allocator).pcore, (*raw::global(&runtime, flat)).pcore);
            assert_eq!((*record).cc_ctx.model_allocator, (*record).dmem_allocator);
        }
    }
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn every_variable_has_a_record_under_its_id() {
    let runtime = runtime(Arch::Cayman);
    let model = load(&runtime.core(0).unwrap(), FULL).unwrap();
    let mut seen = Vec::new();
    model.for_each_variable(0, |info, name| seen.push((info, name.to_owned()))).unwrap();
    seen.sort_by_key(|(info, _)| info.variable);
    let told: Vec<_> =
        seen.iter().map(|(info, name)| (info.variable, info.kind, info.bytes, info.usage, name.as_str())).collect();
    // Kinds: BUFFER 3, TMP_BUF 4, INPUT 5, OUTPUT 6.
    assert_eq!(
        told,
        [
            (1, 3, 200_000, Some(Usage::Weight), "weights"),
            (2, 3, 70_000, Some(Usage::InstrPe), "region"),
            (3, 4, 5000, Some(Usage::DramSpill), "region"),
            (4, 3, 4096, Some(Usage::DmaRingIo), "ring"),
            (10, 5, 1000, None, "x"),
            (11, 5, 16, None, "mask"),
            (12, 6, 2000, None, "y"),
        ]
    );
    assert!(seen[0].0.address.is_multiple_of(64 * KIB));
    // Never 0, which is a legal address: what is bound later is all ones.
    assert!(seen[4..].iter().all(|(info, _)| info.address == u64::MAX));
    let record = raw::model(&runtime, 0, model.id());
    // SAFETY: the variables of a resident model.
    unsafe {
        assert_eq!((*(*record).static_mr_set).size, 0x400);
        let mut keys: Vec<_> = raw::chained((*record).static_mr_set).iter().map(|node| (**node).key.load(Relaxed)).collect();
        keys.sort_unstable();
        assert_eq!(keys, [1, 2, 3, 4, 10, 11, 12]);
    }
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn the_contract_of_inputs_and_outputs_is_in_the_model() {
    let runtime = runtime(Arch::Mariana);
    let model = load(&runtime.core(0).unwrap(), FULL).unwrap();
    let record = raw::model(&runtime, 0, model.id());
    // SAFETY: the declarations of a resident model.
    unsafe {
        let (input, output) = ((*record).input_fmap_set, (*record).output_fmap_set);
        assert_eq!((input.n, output.n), (2, 1));
        let first = &*input.fmaps;
        assert_eq!((&first.name[..2], first.size, first.var_id), (&b"x\0"[..], 1000, 10));
        let last = &*output.fmaps;
        assert_eq!((&last.name[..2], last.size, last.var_id), (&b"y\0"[..], 2000, 12));
    }
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn staged_bytes_are_those_of_the_source() {
    let runtime = runtime(Arch::Cayman);
    // Two rounds through the bounce buffer.
    let regions = [weights(2 * MIB + 100), REGIONS[3]];
    let inputs = [io("x", 1, 10)];
    let model = load(&runtime.core(0).unwrap(), SubgraphPlan { regions: &regions, inputs: &inputs, ..NOTHING }).unwrap();
    for (variable, offset, bytes) in [(1, 0, 1000), (1, 2 * MIB - 10, 110), (4, 0, 4096), (4, 1, 10)] {
        let mut seen = vec![0; bytes];
        model.read_variable(0, variable, offset, &mut seen).unwrap();
        assert!(seen == formula(offset, bytes), "variable {variable} at {offset}");
    }
    for variable in [10, 99] {
        let unknown = Error { status: Status::Invalid, cause: Cause::UnknownVariable(variable) };
        assert_eq!(model.read_variable(0, variable, 0, &mut [0]), Err(unknown));
    }
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn chunks_are_dealt_over_the_cores_and_count_variables_on() {
    let runtime = runtime(Arch::Cayman);
    let chunked = |first| {
        let chunks = Some(Chunks { bytes: 1000, first, step: 2 });
        [RegionPlan { chunks, first_variable: 20, ..weights(4500) }]
    };
    let (even, odd) = (chunked(0), chunked(1));
    let subgraphs = [SubgraphPlan { regions: &even, ..NOTHING }, SubgraphPlan { regions: &odd, ..NOTHING }];
    let model = runtime.core(1).unwrap().load(&ModelPlan { name: "m", subgraphs: &subgraphs }).unwrap();
    for (relative, sizes, starts) in [(0, vec![1000, 1000, 500], vec![0, 2000, 4000]), (1, vec![1000, 1000], vec![1000, 3000])] {
        let record = raw::model(&runtime, 2 + relative, model.id());
        // SAFETY: the heap of a resident model.
        assert_eq!(raw::sizes(unsafe { (*record).dmem_allocator }), sizes);
        for (variable, start) in (20..).zip(starts) {
            let mut bytes = [0; 500];
            model.read_variable(relative, variable, 0, &mut bytes).unwrap();
            assert_eq!(bytes[..], formula(start, 500));
        }
        assert_eq!(model.usage(relative).unwrap().allocations as usize, sizes.len());
    }
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn chunks_beyond_the_last_variable_id_are_refused_not_left_out() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let cut = |first_variable, first, step| {
        let chunks = Some(Chunks { bytes: 1000, first, step });
        let regions = [RegionPlan { chunks, first_variable, ..weights(4500) }];
        load(&core, SubgraphPlan { regions: &regions, ..NOTHING }).map(|model| {
            let bytes = model.usage(0).unwrap().bytes[Usage::Weight.number()];
            model.unload().unwrap();
            bytes
        })
    };
    let range = |first, count| Err(broken_variable(0, first, PlanRule::IdRange { count }));
    assert_eq!(cut(u32::MAX - 4, 0, 1), Ok(4500));
    assert_eq!(cut(u32::MAX - 3, 0, 1), range(u32::MAX - 3, 5));
    assert_eq!(cut(u32::MAX - 1, 1, 2), Ok(2000));
    assert_eq!(cut(u32::MAX, 1, 2), range(u32::MAX, 2));
    assert_eq!(cut(u32::MAX, 4, 1), Ok(500));
    assert_eq!(cut(u32::MAX, 5, 1), Ok(0));
    finish(&runtime);
}

#[test]
fn a_model_is_published_last() {
    struct Watching(&'static TestRuntime, Mutex<Vec<(u64, u64)>>);
    impl ByteSource for Watching {
        fn read(&self, _: u64, _: &mut [u8]) -> core::result::Result<(), &'static str> {
            let core = self.0.core(0).unwrap();
            self.1.lock().unwrap().push((core.resident_models(0).unwrap(), core.resident_models(1).unwrap()));
            Ok(())
        }
    }
    let runtime: &'static TestRuntime = Box::leak(Box::new(runtime(Arch::Cayman)));
    let source: &'static Watching = Box::leak(Box::new(Watching(runtime, Mutex::default())));
    let regions = [region(1, Usage::Weight, 100, Some(source))];
    let subgraph = SubgraphPlan { regions: &regions, ..NOTHING };
    let core = runtime.core(0).unwrap();
    let model = core.load(&ModelPlan { name: "m", subgraphs: &[subgraph, subgraph] }).unwrap();
    assert_eq!(*source.1.lock().unwrap(), [(0, 0), (0, 0)]);
    assert_eq!((core.resident_models(0), core.resident_models(1)), (Ok(1), Ok(1)));
    model.unload().unwrap();
    finish(runtime);
}

#[test]
fn the_core_where_looking_up_starts_is_published_last() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    // SAFETY: the lock of an open core, which lives as long as the storage.
    let second = unsafe { &(*raw::tpb(&runtime, 0, 1)).model_db_lock };
    let held = nrt_core::sync::lock(second, runtime.hooks());
    std::thread::scope(|scope| {
        let loading = scope.spawn(move || {
            let plan = ModelPlan { name: "m", subgraphs: &[NOTHING, NOTHING] };
            core.load(&plan).unwrap().into_id()
        });
        // Until the load waits for the database of the second core (2 = held with waiters).
        while second.word.load(Relaxed) != 2 {
            std::thread::yield_now();
        }
        assert_eq!(core.resident_models(0), Ok(0));
        drop(held);
        let id = loading.join().unwrap();
        assert_eq!((core.resident_models(0), core.resident_models(1)), (Ok(1), Ok(1)));
        core.unload(id).unwrap();
    });
    finish(&runtime);
}

#[test]
fn a_load_that_fails_at_any_request_of_the_driver_leaves_nothing() {
    on_every_arch(|runtime| {
        let core = runtime.core(0).unwrap();
        let stays = load(&core, FULL).unwrap();
        let full = [FULL; 2];
        let plan = ModelPlan { name: "m", subgraphs: &full[..runtime.logical_core_size() as usize] };
        let before = books(runtime);
        runtime.driver().watch_all();
        let mut failures = 0;
        for nth in 1.. {
            runtime.driver().fail_nth(nth, Errno::EIO);
            let Err(error) = core.load(&plan) else { break };
            assert_eq!((error.status, runtime.driver().injected()), (Status::Failure, 1));
            assert_eq!(books(runtime), before, "request {nth}: {error}");
            failures += 1;
        }
        // Per core: four allocations and two or more copies; more where the arena grows.
        assert!(failures >= 6, "{failures}");
        stays.unload().unwrap();
    });
}

#[test]
fn other_failures_leave_nothing_either() {
    struct Failing(u64);
    impl ByteSource for Failing {
        fn read(&self, offset: u64, buffer: &mut [u8]) -> core::result::Result<(), &'static str> {
            if offset + buffer.len() as u64 > self.0 { Err("the file ends early") } else { Ok(()) }
        }
    }
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    let source = Failing(3 * MIB);
    let cut = [weights(100), RegionPlan { source: Some(&source), ..region(2, Usage::Weight, 5 * MIB, None) }];
    let twice = [weights(100), region(2, Usage::Io, 100, None), region(1, Usage::Io, 100, None)];
    let on_host = [weights(100), RegionPlan { location: Location::Host, ..region(2, Usage::Cc, 100, None) }];
    let empty = [region(2, Usage::Io, 0, None)];
    let crooked = [RegionPlan { align: 12, ..weights(1) }];
    let far = [RegionPlan { channel: Some(4), ..weights(1) }];
    let cases = [
        (&cut[..], Error { status: Status::Failure, cause: Cause::Source("the file ends early") }),
        (&twice[..], broken_variable(1, 1, PlanRule::Duplicate)),
        (&on_host[..], broken_variable(1, 2, PlanRule::Usage { usage: Usage::Cc, location: Location::Host })),
        (&empty[..], broken_variable(1, 2, PlanRule::ZeroSize)),
        (&crooked[..], broken_variable(1, 1, PlanRule::Alignment(12))),
        (&far[..], broken_variable(1, 1, PlanRule::Channel { channel: 4, channels: 4 })),
    ];
    for (regions, expected) in cases {
        // The second core fails, so the first one's part is taken back too.
        let subgraphs = [FULL, SubgraphPlan { regions, ..NOTHING }];
        runtime.driver().watch_all();
        let error = refused(core.load(&ModelPlan { name: "m", subgraphs: &subgraphs }));
        assert_eq!(error, expected);
        // A broken rule is found before the driver is asked, a source that fails is not.
        assert_eq!(runtime.driver().seen() == 0, matches!(expected.cause, Cause::Plan(_)), "{error}");
        assert_eq!(books(&runtime), before);
    }
    runtime.driver().watch_all();
    let clash = [io("x", 1, 1)];
    let error = refused(load(&core, SubgraphPlan { regions: &[weights(100)], inputs: &clash, ..NOTHING }));
    assert_eq!(error, broken_variable(0, 1, PlanRule::Duplicate));
    assert_eq!((runtime.driver().seen(), books(&runtime)), (0, before));
    finish(&runtime);
}

#[test]
fn subgraphs_are_one_or_one_for_each_core() {
    for (arch, good, bad) in [(Arch::Sunda, &[1][..], &[0, 2, 3][..]), (Arch::Cayman, &[1, 2], &[0, 3])] {
        let runtime = runtime(arch);
        let core = runtime.core(0).unwrap();
        let subgraphs = [NOTHING; 3];
        for &count in good {
            let model = core.load(&ModelPlan { name: "m", subgraphs: &subgraphs[..count] }).unwrap();
            for relative in 0..runtime.logical_core_size() {
                assert_eq!(core.resident_models(relative), Ok(u64::from((relative as usize) < count)));
            }
            model.unload().unwrap();
        }
        for &count in bad {
            let cause = Cause::Subgraphs { subgraphs: count as u32, cores: runtime.logical_core_size() };
            let error = refused(core.load(&ModelPlan { name: "m", subgraphs: &subgraphs[..count] }));
            assert_eq!(error, Error { status: Status::Invalid, cause });
        }
        finish(&runtime);
    }
}

#[test]
fn names_and_contracts_have_limits() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let named = |name: &str| core.load(&ModelPlan { name, subgraphs: &[NOTHING] }).map(|model| model.unload().unwrap());
    let model = |rule| Err(broken(0, PlanPart::Model, rule));
    assert_eq!(named(&"m".repeat(255)), Ok(()));
    assert_eq!(named(&"m".repeat(256)), model(PlanRule::Name { length: 256, limit: 255 }));
    assert_eq!(named("m\0"), model(PlanRule::NameWithNul));
    let names: Vec<_> = (0..33).map(|n: u32| n.to_string()).collect();
    let maps: Vec<_> = (0..).zip(&names).map(|(n, name)| io(name, 1, n)).collect();
    let contract = |inputs: &[IoPlan<'_>], outputs: &[IoPlan<'_>]| {
        load(&core, SubgraphPlan { inputs, outputs, ..NOTHING }).map(|model| model.unload().unwrap())
    };
    assert_eq!(contract(&maps[..20], &maps[20..32]), Ok(()));
    let full = Err(Error { status: Status::Resource, cause: Cause::PoolFull(Pool::FeatureMaps) });
    assert_eq!(contract(&maps[..20], &maps[20..]), full);
    assert_eq!(contract(&[io("x", 0, 1)], &[]), Err(broken_variable(0, 1, PlanRule::ZeroSize)));
    // An input may have the name of an output, not that of another input.
    assert_eq!(contract(&maps[..1], &[io("0", 1, 50)]), Ok(()));
    let twice = Err(broken_variable(0, 50, PlanRule::SameName(0)));
    assert_eq!(contract(&[maps[0], io("0", 1, 50)], &[]), twice);
    finish(&runtime);
}

#[test]
fn unloading_frees_exactly_that_models_bytes() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let tensor = core.tensor(nrt_core::Placement::Device, 123, "t").unwrap();
    let [small, large] = [1000, 900_000]
        .map(|bytes| load(&core, SubgraphPlan { regions: &[weights(bytes)], local_scratchpad_bytes: bytes, ..NOTHING }).unwrap());
    assert_eq!(held(&core, 0, Usage::Weight), 901_000);
    assert_eq!((small.usage(0).unwrap().bytes[6], large.usage(0).unwrap().bytes[6]), (1000, 900_000));
    large.unload().unwrap();
    assert_eq!((held(&core, 0, Usage::Weight), held(&core, 0, Usage::Tensor)), (1000, 123));
    let mut bytes = [0; 1000];
    small.read_variable(0, 1, 0, &mut bytes).unwrap();
    assert_eq!(bytes[..], formula(0, 1000));
    small.unload().unwrap();
    assert_eq!((core.usage(0).unwrap().total, runtime.live_nodes()), (123, 1));
    drop(tensor);
    finish(&runtime);
}
