//! `model-load` §§4, 7: pointer variables that point to inputs and outputs hold the address of what a run binds.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use nrt_core::driver::Errno;
use nrt_core::model::{IoPlan, ModelPlan, SubgraphPlan};
use nrt_core::{Arch, Cause, Error, Placement, Status};
use nrt_tests::runtime;

use crate::books::{TestTensor, books, finish, on_every_arch};
use crate::plans::{Inside, NOTHING, io, load};
use crate::variables::{buffer, pointer, word};

const UNBOUND: u64 = u64::MAX;

#[test]
fn words_hold_the_addresses_of_what_a_run_binds() {
    on_every_arch(|runtime| {
        let mut variables = vec![buffer(1, 100)];
        variables.extend((0..80).map(|n| pointer(100 + n, [1, 90, 91, 92][n as usize % 4], n % 4 != 0)));
        let (inputs, outputs) = ([io("a", 64, 90), io("b", 64, 91)], [io("y", 64, 92)]);
        let core = runtime.core(0).unwrap();
        let flat = core.physical(0).unwrap().1;
        let subgraph = SubgraphPlan { variables: &variables, inputs: &inputs, outputs: &outputs, ..NOTHING };
        let model = load(&core, subgraph).unwrap();
        let address = |variable| model.variable_address(0, variable, 0, 1).unwrap();
        let holds = |expected: [u64; 4]| {
            for n in 0..80_u32 {
                assert_eq!(word(runtime, flat, &model, address(100 + n)), expected[n as usize % 4], "pointer {n}");
            }
        };
        holds([address(1), UNBOUND, UNBOUND, UNBOUND]);
        let [a, whole, y] = ["a", "whole", "y"].map(|name| core.tensor(Placement::Device, 256, name).unwrap());
        let b = whole.slice(128, 64, "b").unwrap();
        let at = |tensor: &TestTensor<'_>| tensor.address().unwrap();
        assert_eq!(at(&b), at(&whole) + 128);
        // When the executor begins, the words are there.
        let ran = AtomicU32::new(0);
        let executor = Inside(|_| {
            holds([address(1), at(&a), at(&b), at(&y)]);
            ran.fetch_add(1, Relaxed);
            Ok(())
        });
        model.run(&[&a, &b], &[&y], None, &executor).unwrap();
        // By name, and exchanged: each run binds anew.
        let [inputs, outputs] = [(); 2].map(|()| runtime.tensor_set().unwrap());
        inputs.add("a", &b).unwrap();
        inputs.add("b", &a).unwrap();
        outputs.add("y", &whole).unwrap();
        let executor = Inside(|_| {
            holds([address(1), at(&b), at(&a), at(&whole)]);
            ran.fetch_add(1, Relaxed);
            Ok(())
        });
        model.run_sets(&inputs, &outputs, None, &executor).unwrap();
        // Plain host memory has no device address.
        let plain = runtime.host_tensor(64, "plain").unwrap();
        let executor = Inside(|_| {
            holds([address(1), UNBOUND, at(&a), at(&y)]);
            ran.fetch_add(1, Relaxed);
            Ok(())
        });
        model.run(&[&plain, &a], &[&y], None, &executor).unwrap();
        assert_eq!(ran.load(Relaxed), 3);
        model.unload().unwrap();
    });
}

/// A name that two subgraphs declare is one tensor, whatever variable it is on each.
#[test]
fn every_subgraph_points_to_what_its_names_bind() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(1).unwrap();
    let flats = [0, 1].map(|relative| core.physical(relative).unwrap().1);
    let first: ([IoPlan<'_>; 2], [IoPlan<'_>; 1]) = ([io("x", 64, 90), io("w", 64, 93)], [io("y", 64, 91)]);
    let second: ([IoPlan<'_>; 2], [IoPlan<'_>; 2]) = ([io("own", 64, 90), io("x", 64, 80)], [io("z", 64, 91), io("y", 64, 82)]);
    let pointers = [
        vec![pointer(100, 90, true), pointer(101, 93, true), pointer(102, 91, true)],
        vec![pointer(200, 90, true), pointer(201, 80, true), pointer(202, 91, true), pointer(203, 82, true)],
    ];
    let subgraphs = [
        SubgraphPlan { variables: &pointers[0], inputs: &first.0, outputs: &first.1, ..NOTHING },
        SubgraphPlan { variables: &pointers[1], inputs: &second.0, outputs: &second.1, ..NOTHING },
    ];
    let model = core.load(&ModelPlan { name: "both", subgraphs: &subgraphs }).unwrap();
    let [x, w, own, y, z] = ["x", "w", "own", "y", "z"].map(|name| core.tensor(Placement::Device, 64, name).unwrap());
    let held = |subgraph: usize| -> Vec<u64> {
        let variables = pointers[subgraph].iter().map(|plan| plan.variable);
        let place = |variable| model.variable_address(subgraph as u32, variable, 0, 8).unwrap();
        variables.map(|variable| word(&runtime, flats[subgraph], &model, place(variable))).collect()
    };
    let at = |tensors: &[&TestTensor<'_>]| tensors.iter().map(|tensor| tensor.address().unwrap()).collect::<Vec<_>>();
    let executor = Inside(|_| {
        assert_eq!(held(0), at(&[&x, &w, &y]));
        assert_eq!(held(1), at(&[&own, &x, &z, &y]));
        Ok(())
    });
    model.run(&[&x, &w, &own], &[&y, &z], None, &executor).unwrap();
    assert_eq!(held(1), at(&[&own, &x, &z, &y]));
    model.unload().unwrap();
    drop((x, w, own, y, z));
    finish(&runtime);
}

/// A model without such pointers asks the driver nothing; a driver that does not take the words leaves a model that can run.
#[test]
fn a_driver_that_does_not_take_the_words_leaves_the_model_usable_and_not_run() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let (inputs, outputs) = ([io("x", 64, 90)], [io("y", 64, 91)]);
    let (with, without) = ([buffer(1, 100), pointer(2, 90, true), pointer(3, 1, false)], [buffer(1, 100), pointer(3, 1, false)]);
    let plan = |variables| SubgraphPlan { variables, inputs: &inputs, outputs: &outputs, ..NOTHING };
    let model = load(&core, plan(&with)).unwrap();
    let plain = load(&core, plan(&without)).unwrap();
    let [x, y] = [(); 2].map(|()| core.tensor(Placement::Device, 64, "t").unwrap());
    let before = books(&runtime);
    let ran = AtomicU32::new(0);
    let executor = Inside(|_| {
        ran.fetch_add(1, Relaxed);
        Ok(())
    });
    runtime.driver().watch_all();
    plain.run(&[&x], &[&y], None, &executor).unwrap();
    assert_eq!((ran.load(Relaxed), runtime.driver().seen()), (1, 0));
    model.run(&[&x], &[&y], None, &executor).unwrap();
    let requests = runtime.driver().seen();
    assert!(requests > 0);
    let (place, flat) = (model.variable_address(0, 2, 0, 8).unwrap(), core.physical(0).unwrap().1);
    for nth in 1..=requests {
        y.reset_completions().unwrap();
        ran.store(0, Relaxed);
        runtime.driver().watch_all();
        runtime.driver().fail_nth(nth, Errno::EIO);
        let Error { status, cause } = model.run(&[&x], &[&y], None, &executor).unwrap_err();
        assert_eq!(status, Status::Failure);
        assert!(matches!(cause, Cause::Driver { errno: Errno::EIO, .. }), "{cause:?}");
        assert_eq!((ran.load(Relaxed), y.completions(), core.running_model(0)), (0, Ok(0), Ok(0)), "not run");
        // Nothing is under way, and the words are there in the next run.
        y.write(0, &[1]).unwrap();
        model.run(&[&x], &[&y], None, &executor).unwrap();
        assert_eq!((ran.load(Relaxed), y.completions()), (1, Ok(1)));
        assert_eq!(word(&runtime, flat, &model, place), x.address().unwrap());
    }
    assert_eq!(books(&runtime), before);
    model.unload().unwrap();
    plain.unload().unwrap();
    drop((x, y));
    finish(&runtime);
}
