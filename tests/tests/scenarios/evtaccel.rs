//! `model-load` §8: the EVTACCEL reservation of the state buffer.

use nrt_core::model::{Carveout, ModelPlan, SubgraphPlan};
use nrt_core::{Arch, CarveoutRule, Cause, Error, Status};
use nrt_tests::{TestRuntime, runtime};

use crate::books::{MIB, books, finish};
use crate::plans::{NOTHING, load, refused, weights};
use crate::raw;

const RIGHT: Carveout = Carveout { kind: 1, partition_start: 0, partition_count: 128, offset: 0x37FF8, size: 8 };

/// The flag in the model: byte 0x1C32.
fn valid(runtime: &TestRuntime, id: u32) -> bool {
    let model = raw::model(runtime, 0, id);
    // SAFETY: a resident model.
    unsafe {
        let flag = *model.byte_add(0x1C32).cast::<bool>();
        assert_eq!((flag, flag), ((*model).cc_ctx.sbuf_evt_accel_valid, (*model).reset_evt_accel));
        assert!(!(*model).program_fp8_cfg);
        flag
    }
}

#[test]
fn the_right_reservation_is_accepted_and_noted_in_the_model() {
    let runtime = runtime(Arch::Cayman);
    let other = Carveout { kind: 0, partition_start: 9, ..RIGHT };
    for (carveouts, expected) in [(&[RIGHT][..], true), (&[other, RIGHT], true), (&[], false), (&[other], false)] {
        let model = load(&runtime.core(0).unwrap(), SubgraphPlan { carveouts, ..NOTHING }).unwrap();
        assert_eq!(valid(&runtime, model.id()), expected);
        model.unload().unwrap();
    }
    finish(&runtime);
}

#[test]
fn each_rule_is_checked_in_its_order_and_a_broken_one_refuses_the_load() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    let cases = [
        (Carveout { partition_start: 1, ..RIGHT }, CarveoutRule::PartitionStart),
        (Carveout { partition_start: 1, partition_count: 0, offset: 0, size: 0, ..RIGHT }, CarveoutRule::PartitionStart),
        (Carveout { partition_count: 127, ..RIGHT }, CarveoutRule::PartitionCount),
        (Carveout { partition_count: 129, offset: 0, size: 0, ..RIGHT }, CarveoutRule::PartitionCount),
        (Carveout { offset: 0x37FF0, ..RIGHT }, CarveoutRule::Offset),
        (Carveout { offset: 0x38000, size: 0, ..RIGHT }, CarveoutRule::Offset),
        (Carveout { size: 4, ..RIGHT }, CarveoutRule::Size),
        (Carveout { size: 16, ..RIGHT }, CarveoutRule::Size),
    ];
    let full = SubgraphPlan { regions: &[weights(5000)], local_scratchpad_bytes: MIB, ..NOTHING };
    runtime.driver().watch_all();
    for (carveout, rule) in cases {
        let broken = SubgraphPlan { carveouts: &[carveout], ..full };
        let expected = Error { status: Status::Invalid, cause: Cause::Carveout(rule) };
        assert_eq!(refused(load(&core, broken)), expected);
        // Also on the second core.
        assert_eq!(refused(core.load(&ModelPlan { name: "m", subgraphs: &[full, broken] })), expected);
    }
    // Before a byte of the weights is placed or staged.
    assert_eq!((runtime.driver().seen(), books(&runtime)), (0, before));
    finish(&runtime);
}

#[test]
fn the_first_reservation_of_the_kind_decides() {
    let runtime = runtime(Arch::Cayman);
    let wrong = Carveout { size: 4, ..RIGHT };
    let core = runtime.core(0).unwrap();
    load(&core, SubgraphPlan { carveouts: &[RIGHT, wrong], ..NOTHING }).unwrap().unload().unwrap();
    runtime.driver().watch_all();
    let error = refused(load(&core, SubgraphPlan { carveouts: &[wrong, RIGHT], regions: &[weights(5000)], ..NOTHING }));
    assert_eq!((error.cause, runtime.driver().seen()), (Cause::Carveout(CarveoutRule::Size), 0));
    finish(&runtime);
}

#[test]
fn other_architectures_do_not_look() {
    for arch in [Arch::Sunda, Arch::Mariana] {
        let runtime = runtime(arch);
        let wrong = Carveout { partition_start: 1, ..RIGHT };
        for carveouts in [[RIGHT], [wrong]] {
            let model = load(&runtime.core(0).unwrap(), SubgraphPlan { carveouts: &carveouts, ..NOTHING }).unwrap();
            assert!(!valid(&runtime, model.id()));
            model.unload().unwrap();
        }
        finish(&runtime);
    }
}

#[test]
fn the_fp8_flag_is_that_of_the_plan() {
    for arch in Arch::ALL {
        let runtime = runtime(arch);
        let core = runtime.core(0).unwrap();
        for program_fp8_config in [true, false] {
            let model = load(&core, SubgraphPlan { program_fp8_config, ..NOTHING }).unwrap();
            let record = raw::model(&runtime, 0, model.id());
            // SAFETY: a resident model; byte 7,585 of its record is this flag.
            let told = unsafe { (*record.byte_add(7585).cast::<bool>(), (*record).program_fp8_cfg) };
            assert_eq!(told, (program_fp8_config, program_fp8_config));
            model.unload().unwrap();
        }
        finish(&runtime);
    }
}
