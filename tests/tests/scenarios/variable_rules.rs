//! `model-load` §4: plans that cannot be, and what a load of variables leaves when it fails.

use nrt_core::driver::Errno;
use nrt_core::model::{Arena, ModelPlan, SubgraphPlan, VariableKind, VariablePlan};
use nrt_core::{Arch, Cause, Error, PlanPart, PlanRule, Pool, Status, Usage};
use nrt_tests::runtime;

use crate::books::{MIB, books, finish, on_every_arch};
use crate::plans::{Formula, NOTHING, broken, broken_variable, load, refused, region, unload};
use crate::variables::{INPUTS, OUTPUTS, buffer, list, local, plan, pointer, remote, table};

#[test]
fn a_broken_plan_is_refused_before_the_driver_is_asked() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    let long = "n".repeat(64);
    let shared = |offset, bytes| plan(1, VariableKind::VirtualTemporary { arena: Arena::Shared, offset }, bytes);
    let arena = |arena| plan(1, VariableKind::VirtualTemporary { arena, offset: 0 }, 4096);
    let outside = |offset, bytes, limit| PlanRule::OutsideArena { offset, bytes, limit };
    type Case<'a> = (Vec<VariablePlan<'a>>, u32, PlanRule);
    let cases: Vec<Case<'_>> = vec![
        (vec![buffer(1, 0)], 1, PlanRule::ZeroSize),
        (vec![plan(1, VariableKind::Temporary { source: None }, 0)], 1, PlanRule::ZeroSize),
        (vec![local(1, 0, 0)], 1, PlanRule::ZeroSize),
        (vec![remote(1, 1, 1, 0)], 1, PlanRule::ZeroSize),
        (vec![VariablePlan { align: 24, ..buffer(1, 1) }], 1, PlanRule::Alignment(24)),
        (vec![VariablePlan { name: &long, ..buffer(7, 1) }], 7, PlanRule::Name { length: 64, limit: 63 }),
        (vec![VariablePlan { name: "a\0b", ..buffer(7, 1) }], 7, PlanRule::NameWithNul),
        (
            vec![VariablePlan { element_type: "sixteen letters!", ..buffer(1, 1) }],
            1,
            PlanRule::ElementType { length: 16, limit: 15 },
        ),
        (vec![VariablePlan { shape: &[1; 9], ..buffer(1, 1) }], 1, PlanRule::Dimensions(9)),
        (vec![plan(1, VariableKind::StateBuffer, 0x200_0001)], 1, PlanRule::StateBuffer(0x200_0001)),
        (vec![arena(Arena::Sharded)], 1, PlanRule::Arena(Arena::Sharded)),
        (vec![arena(Arena::Main)], 1, PlanRule::Arena(Arena::Main)),
        (vec![local(1, MIB - 4096, 4097)], 1, outside(MIB - 4096, 4097, MIB)),
        (vec![local(1, u64::MAX, 2)], 1, outside(u64::MAX, 2, MIB)),
        // The shared slice is the largest of all subgraphs.
        (vec![shared(0, 2 * MIB + 1)], 1, outside(0, 2 * MIB + 1, 2 * MIB)),
        (vec![local(1, 100, 4096)], 1, PlanRule::ArenaAddress(2 * MIB + 100)),
        (vec![shared(2048, 4096)], 1, PlanRule::ArenaAddress(2048)),
        (vec![buffer(1, 1), buffer(1, 1)], 1, PlanRule::Duplicate),
        (vec![buffer(90, 1)], 90, PlanRule::Duplicate),
        (vec![buffer(80, 1)], 80, PlanRule::Duplicate),
        (vec![pointer(1, 2, false)], 1, PlanRule::NoTarget(2)),
        (vec![list(1, &[90, 3])], 1, PlanRule::NoTarget(3)),
        (vec![table(1, &[90, 4])], 1, PlanRule::NoTarget(4)),
        (vec![pointer(1, 90, false)], 1, PlanRule::TargetKind { target: 90, io: false }),
        (vec![pointer(1, 2, true), buffer(2, 1)], 1, PlanRule::TargetKind { target: 2, io: true }),
        (vec![pointer(1, 2, false), plan(2, VariableKind::StagedBuffer, 1)], 1, PlanRule::TargetWithoutAddress(2)),
        (vec![pointer(1, 2, false), pointer(2, 3, false), buffer(3, 1)], 1, PlanRule::TargetWithoutAddress(2)),
        (vec![table(1, &[2]), list(2, &[])], 1, PlanRule::TargetWithoutAddress(2)),
        (vec![remote(1, 2, 1, 1)], 1, PlanRule::NoSubgraph { subgraph: 2, count: 2 }),
        (vec![remote(1, 0, 5, 1)], 1, PlanRule::NoTarget(5)),
        (vec![remote(1, 0, 90, 1)], 1, PlanRule::TargetWithoutAddress(90)),
        (vec![remote(1, 0, 80, 101)], 1, PlanRule::RemoteSize { bytes: 101, source: 100 }),
        (vec![remote(1, 1, 2, 1), remote(2, 0, 80, 1)], 1, PlanRule::TargetWithoutAddress(2)),
    ];
    let weights = [region(80, Usage::Weight, 100, Some(&Formula))];
    let whole = SubgraphPlan {
        regions: &weights,
        inputs: &INPUTS,
        outputs: &OUTPUTS,
        local_scratchpad_bytes: MIB,
        shared_scratchpad_bytes: MIB,
        ..NOTHING
    };
    runtime.driver().watch_all();
    for (variables, variable, rule) in &cases {
        // The second core's plan is broken, so the first one's part is taken back too. Its local slice lies behind no shared
        // one, unlike that of the first.
        let second = SubgraphPlan { variables, shared_scratchpad_bytes: 2 * MIB, ..whole };
        let at = u32::from(!matches!(rule, PlanRule::ArenaAddress(start) if *start > MIB));
        let subgraphs = if at == 0 { [second, whole] } else { [whole, second] };
        let error = refused(core.load(&ModelPlan { name: "m", subgraphs: &subgraphs }));
        assert_eq!(error, broken_variable(at, *variable, *rule), "{error}");
        let text = error.to_string();
        assert!(text.starts_with(&format!("NRT_INVALID: plan of subgraph {at}, variable {variable}: ")), "{text}");
    }
    assert_eq!(runtime.driver().seen(), 0);
    assert_eq!(books(&runtime), before);
    let named = broken(0, PlanPart::Variable(90), PlanRule::Duplicate);
    assert_eq!(named.to_string(), "NRT_INVALID: plan of subgraph 0, variable 90: the id occurs twice");
    finish(&runtime);
}

#[test]
fn a_full_pool_of_tables_names_itself_and_leaves_nothing() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    // 256 blocks of 256 bytes: half of it is one list of 8,192 ids.
    let ids = vec![1; 8192];
    let half = [buffer(1, 10), list(2, &ids)];
    let plan = SubgraphPlan { variables: &half, ..NOTHING };
    let mut kept = vec![load(&core, plan).unwrap(), load(&core, plan).unwrap()];
    let before = books(&runtime);
    let one = [buffer(1, 10), list(2, &[1])];
    let full = Error { status: Status::Resource, cause: Cause::PoolFull(Pool::Tables) };
    for variables in [&half, &one, &[buffer(1, 10), table(2, &[1])]] {
        assert_eq!(refused(load(&core, SubgraphPlan { variables, ..NOTHING })), full);
        assert_eq!(books(&runtime), before);
    }
    kept.pop().unwrap().unload().unwrap();
    for _ in 0..3 {
        let model = load(&core, SubgraphPlan { variables: &one, ..NOTHING }).unwrap();
        assert_eq!(refused(load(&core, plan)), full);
        model.unload().unwrap();
        load(&core, plan).unwrap().unload().unwrap();
    }
    unload(kept);
    finish(&runtime);
}

#[test]
fn variables_that_fail_at_any_request_of_the_driver_leave_nothing() {
    on_every_arch(|runtime| {
        let core = runtime.core(0).unwrap();
        let size = runtime.logical_core_size() as usize;
        let variables = [
            VariablePlan { align: 8192, ..buffer(1, 70_000) },
            plan(2, VariableKind::Temporary { source: Some(&Formula) }, 100),
            local(3, 0, 4096),
            pointer(4, 1, false),
            table(5, &[1, 4, 90]),
            remote(6, size as u32 - 1, 1, 50),
        ];
        let subgraph = SubgraphPlan { variables: &variables, inputs: &INPUTS, local_scratchpad_bytes: MIB, ..NOTHING };
        let subgraphs = [subgraph; 2];
        let before = books(runtime);
        runtime.driver().watch_all();
        let mut failures = 0;
        for nth in 1.. {
            runtime.driver().fail_nth(nth, Errno::EIO);
            let loaded = core.load(&ModelPlan { name: "m", subgraphs: &subgraphs[..size] });
            let Err(error) = loaded else { break };
            assert_eq!(error.status, Status::Failure);
            assert_eq!(books(runtime), before, "request {nth}: {error}");
            failures += 1;
        }
        // Four allocations and three copies a core.
        assert!(failures >= 7 * size, "{failures}");
    });
}
