//! `model-load` §§3, 4, 6, 7: variables of every kind, where they are placed, and what they say about each other.

use std::sync::atomic::Ordering::Relaxed;

use nrt_core::abi::{mem_ref_t, mr_type};
use nrt_core::model::{Arena, IoPlan, ModelPlan, RegionPlan, SubgraphPlan, VariableKind, VariablePlan};
use nrt_core::{Arch, Cause, Error, Location, PlanRule, Status, Usage};
use nrt_tests::{TestRuntime, runtime};

use crate::books::{KIB, MIB, TestModel, books, finish, held, on_every_arch};
use crate::plans::{Formula, NOTHING, broken_variable, formula, io, load, region};
use crate::raw;

pub(crate) const fn plan(variable: u32, kind: VariableKind<'_>, bytes: u64) -> VariablePlan<'_> {
    VariablePlan { variable, name: "v", kind, bytes, ..VariablePlan::EMPTY }
}

pub(crate) const fn buffer(variable: u32, bytes: u64) -> VariablePlan<'static> {
    plan(variable, VariableKind::Buffer { source: Some(&Formula) }, bytes)
}

pub(crate) const fn local(variable: u32, offset: u64, bytes: u64) -> VariablePlan<'static> {
    plan(variable, VariableKind::VirtualTemporary { arena: Arena::Local, offset }, bytes)
}

pub(crate) const fn pointer(variable: u32, target: u32, io: bool) -> VariablePlan<'static> {
    plan(variable, VariableKind::Pointer { target, io }, 0)
}

pub(crate) const fn remote(variable: u32, subgraph: u32, target: u32, bytes: u64) -> VariablePlan<'static> {
    plan(variable, VariableKind::Remote { subgraph, variable: target }, bytes)
}

pub(crate) const fn table(variable: u32, variables: &[u32]) -> VariablePlan<'_> {
    plan(variable, VariableKind::PointerTable { variables }, 0)
}

pub(crate) const fn list(variable: u32, variables: &[u32]) -> VariablePlan<'_> {
    plan(variable, VariableKind::List { variables }, 0)
}

pub(crate) const INPUTS: [IoPlan<'static>; 1] = [io("x", 64, 90)];
pub(crate) const OUTPUTS: [IoPlan<'static>; 1] = [io("y", 64, 91)];

/// The record of a variable, found as a debugger would.
pub(crate) fn record(runtime: &TestRuntime, flat: u32, model: &TestModel<'_>, variable: u32) -> *const mem_ref_t {
    // SAFETY: the index of a resident model; its nodes sit at offset 160 of their records.
    unsafe {
        let index = (*raw::model(runtime, flat, model.id())).static_mr_set;
        let nodes = raw::chained(index);
        let node = nodes.into_iter().find(|node| (**node).key.load(Relaxed) == u64::from(variable));
        node.expect("a variable of the model").byte_sub(160).cast()
    }
}

/// Eight bytes of device memory at an address, through the node that holds it.
pub(crate) fn word(runtime: &TestRuntime, flat: u32, model: &TestModel<'_>, address: u64) -> u64 {
    // SAFETY: the heap of a resident model.
    unsafe {
        let nodes = raw::nodes((*raw::model(runtime, flat, model.id())).dmem_allocator);
        let node = nodes.into_iter().find(|node| ((**node)._pa..(**node)._pa + (**node).size as u64).contains(&address)).unwrap();
        let at = (address - (*node)._pa) as usize;
        u64::from_le_bytes(raw::bytes(runtime, node, at + 8)[at..].try_into().unwrap())
    }
}

#[test]
fn each_kind_is_placed_by_its_rule() {
    on_every_arch(|runtime| {
        let core = runtime.core(1).unwrap();
        let flat = core.physical(0).unwrap().1;
        let variables = [
            plan(1, VariableKind::StateBuffer, 0),
            plan(2, VariableKind::StagedBuffer, 500),
            VariablePlan { align: 64 * KIB, element_type: "bfloat16", shape: &[3, 5, 7], name: "weight", ..buffer(3, 5000) },
            plan(4, VariableKind::Temporary { source: None }, 6000),
            local(5, 8192, 4096),
        ];
        let subgraph = SubgraphPlan { variables: &variables, local_scratchpad_bytes: MIB, ..NOTHING };
        let model = load(&core, SubgraphPlan { inputs: &INPUTS, outputs: &OUTPUTS, ..subgraph }).unwrap();
        let mut told = Vec::new();
        model.for_each_variable(0, |info, _| told.push((info.variable, info.kind, info.bytes, info.usage, info.remote))).unwrap();
        told.sort_unstable_by_key(|told| told.0);
        assert_eq!(
            told,
            [
                (1, 1, 0x200_0000, None, false),
                (2, 2, 500, None, false),
                (3, 3, 5000, Some(Usage::Weight), false),
                (4, 4, 6000, Some(Usage::ScratchpadNotShared), false),
                (5, 8, 4096, Some(Usage::Scratchpad), false),
                (90, 5, 64, None, false),
                (91, 6, 64, None, false),
            ]
        );
        // The state buffer of each core has its fixed place; nothing is allocated for it.
        let base = if runtime.arch() == Arch::Sunda { 0xFFF_C000_0000 } else { 0x20_0000_0000 };
        assert_eq!(model.variable_address(0, 1, 0, 1), Ok(base + u64::from(flat) * 0x400_0000));
        assert_eq!(model.usage(0).unwrap().allocations, 2);
        assert!(model.variable_address(0, 3, 0, 1).unwrap().is_multiple_of(64 * KIB));
        assert_eq!(model.variable_address(0, 5, 0, 1), model.scratchpad_address(0, 8192, 4096));
        let mut bytes = [0; 500];
        model.read_variable(0, 3, 4500, &mut bytes).unwrap();
        assert_eq!(bytes[..], formula(4500, 500));
        // SAFETY: records of a resident model.
        unsafe {
            let weight = record(runtime, flat, &model, 3);
            assert_eq!((&(&(*weight).dtype)[..9], (*weight).shape), (&b"bfloat16\0"[..], [3, 5, 7, 0, 0, 0, 0, 0]));
            assert_eq!(std::ffi::CStr::from_ptr((*weight).name), c"weight");
            let scratch = record(runtime, flat, &model, 5);
            assert_eq!(((*scratch).u.staged.mem_offset, (*scratch).shared_virtual_scratchpad), (8192, false));
        }
        // What is not staged in bulk has no address: all ones (errata 30).
        for variable in [2, 90, 91] {
            // SAFETY: as above.
            assert_eq!(unsafe { (*record(runtime, flat, &model, variable)).u.staged.physical_address }, u64::MAX);
            let unknown = Error { status: Status::Invalid, cause: Cause::UnknownVariable(variable) };
            assert_eq!(model.variable_address(0, variable, 0, 1), Err(unknown));
        }
        model.unload().unwrap();
    });
}

#[test]
fn an_address_is_resolved_inside_its_variable() {
    let runtime = runtime(Arch::Cayman);
    let variables = [buffer(1, 5000), pointer(2, 1, false), list(3, &[1])];
    let model = load(&runtime.core(0).unwrap(), SubgraphPlan { variables: &variables, ..NOTHING }).unwrap();
    let base = model.variable_address(0, 1, 0, 5000).unwrap();
    assert_eq!(model.variable_address(0, 1, 4999, 1), Ok(base + 4999));
    assert_eq!(model.variable_address(0, 1, 5000, 0), Ok(base + 5000));
    let outside = |offset, size, limit| Err(Error { status: Status::Invalid, cause: Cause::OutOfBounds { offset, size, limit } });
    assert_eq!(model.variable_address(0, 1, 4999, 2), outside(4999, 2, 5000));
    assert_eq!(model.variable_address(0, 1, u64::MAX, 2), outside(u64::MAX, 2, 5000));
    // A pointer variable is one word; an offset in it means nothing.
    assert!(model.variable_address(0, 2, 0, 8).is_ok());
    assert_eq!(model.variable_address(0, 2, 4, 4), outside(4, 4, 8));
    for variable in [3, 77] {
        let unknown = Error { status: Status::Invalid, cause: Cause::UnknownVariable(variable) };
        assert_eq!(model.variable_address(0, variable, 0, 0), Err(unknown));
        assert_eq!(model.read_variable(0, variable, 0, &mut [0]), Err(unknown));
    }
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn pointer_variables_are_words_that_hold_the_address_of_their_target() {
    on_every_arch(|runtime| {
        // Enough words for several pieces of the copy engine, so that pieces begin in the middle of the list.
        let mut variables = vec![buffer(1, 100), plan(2, VariableKind::StateBuffer, 0), local(3, 4096, 4096)];
        variables.extend((0..80).map(|n| pointer(100 + n, [1, 2, 3, 90, 91][n as usize % 5], n % 5 > 2)));
        let subgraph =
            SubgraphPlan { variables: &variables, inputs: &INPUTS, outputs: &OUTPUTS, local_scratchpad_bytes: MIB, ..NOTHING };
        let model = load(&runtime.core(0).unwrap(), subgraph).unwrap();
        let address = |variable| model.variable_address(0, variable, 0, 1).unwrap();
        let expected = [address(1), address(2), address(3), u64::MAX, u64::MAX];
        let first = address(100);
        for n in 0..80_u32 {
            assert_eq!(address(100 + n), first + 8 * u64::from(n));
            assert_eq!(word(runtime, 0, &model, address(100 + n)), expected[n as usize % 5], "pointer {n}");
            // SAFETY: a record of a resident model.
            let arm = unsafe { (*record(runtime, 0, &model, 100 + n)).u.ptr };
            assert_eq!((arm.ptr_mem_addr, arm.mr_ptr_id), (first + 8 * u64::from(n), [1, 2, 3, 90, 91][n as usize % 5]));
            assert_eq!(arm.is_io, n % 5 > 2);
        }
        // One allocation for all, of the model.
        let usage = model.usage(0).unwrap();
        assert_eq!((usage.bytes[Usage::Generic.number()], usage.allocations), (640, 2));
        model.unload().unwrap();
    });
}

#[test]
fn lists_and_pointer_tables_are_kept_on_the_host() {
    let runtime = runtime(Arch::Cayman);
    let many: Vec<u32> = [1, 2, 90, 30, 91].into_iter().cycle().take(400).collect();
    let variables = [
        buffer(1, 100),
        plan(2, VariableKind::StateBuffer, 0),
        pointer(30, 1, false),
        list(10, &[91, 1, 12, 10]),
        list(11, &[]),
        table(12, &[1, 90]),
        table(13, &many),
        table(14, &[]),
    ];
    let subgraph = SubgraphPlan { variables: &variables, inputs: &INPUTS, outputs: &OUTPUTS, ..NOTHING };
    runtime.driver().watch_all();
    let model = load(&runtime.core(0).unwrap(), subgraph).unwrap();
    let asked = runtime.driver().seen();
    let address = |variable| model.variable_address(0, variable, 0, 1).unwrap();
    let known = [address(1), address(2), u64::MAX, address(30), u64::MAX];
    // SAFETY: records of a resident model; their arrays have `length` entries.
    unsafe {
        let ids = |variable| {
            let arm = (*record(&runtime, 0, &model, variable)).u.list;
            std::slice::from_raw_parts(
                if arm.list.is_null() { std::ptr::dangling() } else { arm.list.cast_const() },
                arm.length as usize,
            )
        };
        assert_eq!((ids(10), ids(11)), (&[91, 1, 12, 10][..], &[][..]));
        for (index, variable, length) in [(0, 12, 2), (1, 13, 400), (2, 14, 0)] {
            let arm = (*record(&runtime, 0, &model, variable)).u.ptr_table;
            assert_eq!((arm.table_index, arm.length), (index, length));
            for at in 0..length as usize {
                let target = arm.var_ids.add(at).read();
                let which = [1, 2, 90, 30, 91].iter().position(|id| *id == target).unwrap();
                assert_eq!((*arm.addrs.add(at), *arm.needs_translation.add(at)), (known[which], which == 2 || which == 4));
            }
        }
        let last = (*record(&runtime, 0, &model, 13)).u.ptr_table;
        assert_eq!(std::slice::from_raw_parts(last.var_ids, 400), many);
    }
    model.unload().unwrap();
    // The same without lists asks the driver for as much.
    runtime.driver().watch_all();
    load(&runtime.core(0).unwrap(), SubgraphPlan { variables: &variables[..3], ..subgraph }).unwrap().unload().unwrap();
    assert_eq!(asked, runtime.driver().seen() - 2, "two allocations were freed");
    finish(&runtime);
}

#[test]
fn a_remote_variable_borrows_the_memory_of_another_subgraph() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    // In both directions: the source of the first core's comes later, so a single pass would not find it.
    let first = [buffer(1, 3000), remote(2, 1, 1, 1000), pointer(3, 2, false), remote(5, 1, 4, 4096)];
    let second = [buffer(1, 2000), remote(2, 0, 1, 3000), local(4, 4096, 4096)];
    let subgraphs = [
        SubgraphPlan { variables: &first, ..NOTHING },
        SubgraphPlan { variables: &second, local_scratchpad_bytes: MIB, ..NOTHING },
    ];
    let model = core.load(&ModelPlan { name: "m", subgraphs: &subgraphs }).unwrap();
    let address = |relative, variable| model.variable_address(relative, variable, 0, 1).unwrap();
    assert_eq!((address(0, 2), address(1, 2)), (address(1, 1), address(0, 1)));
    assert_eq!(address(0, 5), address(1, 4));
    assert_eq!(word(&runtime, 0, &model, address(0, 3)), address(1, 1));
    // SAFETY: records of a resident model.
    unsafe {
        let (borrowed, source) = (record(&runtime, 0, &model, 2), record(&runtime, 1, &model, 1));
        assert_eq!(((*borrowed).r#type, (*borrowed).remote, (*source).remote), (mr_type::REMOTE, true, false));
        assert_eq!((*borrowed).u.staged.mem, (*source).u.staged.mem);
    }
    let mut bytes = [0; 1000];
    model.read_variable(0, 2, 0, &mut bytes).unwrap();
    assert_eq!(bytes[..], formula(0, 1000));
    assert!(model.read_variable(0, 2, 1, &mut bytes).is_err(), "its own size counts");
    // Nothing was allocated for it.
    assert_eq!((model.usage(0).unwrap().allocations, model.usage(1).unwrap().allocations), (2, 1));
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn all_twenty_two_usages_can_be_asked_for_and_hang_on_the_heap_they_belong_to() {
    on_every_arch(|runtime| {
        let core = runtime.core(0).unwrap();
        let before = books(runtime);
        let regions: Vec<_> = (0..22)
            .map(|usage| RegionPlan {
                name: "all",
                ..region(usage, Usage::from_number(usage).unwrap(), 1000 + u64::from(usage), None)
            })
            .collect();
        let model = load(&core, SubgraphPlan { regions: &regions, ..NOTHING }).unwrap();
        let usage = model.usage(0).unwrap();
        assert_eq!(usage.allocations, 22);
        for number in 0..22 {
            assert_eq!(usage.bytes[number], 1000 + number as u64);
            assert_eq!(held(&core, 0, Usage::from_number(number as u32).unwrap()), 1000 + number as u64);
        }
        // Notifications, scratchpad, tensors, standard output and collectives are of the core (`dmem` §18).
        assert_eq!(raw::sizes(raw::global(runtime, 0)), [1007, 1011, 1012, 1014, 1015, 1017]);
        // SAFETY: the heap and the list of a resident model.
        unsafe {
            let record = raw::model(runtime, 0, model.id());
            assert_eq!(raw::nodes((*record).dmem_allocator).len(), 16);
            assert_eq!(raw::group((*record).gc_tracker).len(), 22);
        }
        // All go with the model.
        model.unload().unwrap();
        assert_eq!(books(runtime), before);
    });
    // Host memory has all but three.
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    for usage in (0..22).filter_map(Usage::from_number) {
        let regions = [RegionPlan { location: Location::Host, ..region(1, usage, 100, None) }];
        let loaded = load(&core, SubgraphPlan { regions: &regions, ..NOTHING }).map(|model| model.unload().unwrap());
        let rule = PlanRule::Usage { usage, location: Location::Host };
        let expected = if [11, 15, 16].contains(&usage.number()) { Err(broken_variable(0, 1, rule)) } else { Ok(()) };
        assert_eq!(loaded, expected);
    }
    finish(&runtime);
}

#[test]
fn the_variable_of_an_input_or_output_leads_to_its_name() {
    let runtime = runtime(Arch::Cayman);
    let inputs = [io("x", 1, 7), io("a name of some length", 1, 39), io("z", 1, u32::MAX)];
    let outputs = [io("x", 1, 71), io("", 1, 0)];
    let variables = [buffer(8, 1)];
    let plan = SubgraphPlan { inputs: &inputs, outputs: &outputs, variables: &variables, ..NOTHING };
    let model = load(&runtime.core(0).unwrap(), plan).unwrap();
    let name = |variable| model.with_io_name(0, variable, |name, is_input| (name.to_owned(), is_input)).unwrap();
    for (list, is_input) in [(&inputs[..], true), (&outputs[..], false)] {
        for io in list {
            assert_eq!(name(io.variable), Some((io.name.to_owned(), is_input)));
        }
    }
    assert_eq!((name(8), name(6)), (None, None));
    // SAFETY: the map of a resident model.
    unsafe {
        let map = (*raw::model(&runtime, 0, model.id())).io_mr_to_name_map;
        let mut keys: Vec<_> = raw::chained(map).iter().map(|node| (**node).key.load(Relaxed)).collect();
        keys.sort_unstable();
        assert_eq!(keys, [0, 7, 39, 71, u64::from(u32::MAX)]);
    }
    model.unload().unwrap();
    finish(&runtime);
}
