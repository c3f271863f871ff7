//! Freed nodes that a core keeps back are not lost to the others.

use nrt_core::driver::{Call, Errno};
use nrt_core::model::{ModelPlan, SubgraphPlan};
use nrt_core::{Arch, Pool, Status, Usage};

use crate::pools::{EMPTY, block, full, pieces, state, tiny};

/// A core keeps 64 nodes; of 100 freed ones the rest is shared at once.
#[test]
fn another_core_gets_every_node() {
    let (runtime, driver) = tiny::<100, 1, 64, 1>(Arch::Cayman, 1);
    for (giver, taker) in [(0, 1), (1, 7), (7, 0), (3, 3)] {
        let (giver, taker) = (runtime.core(giver).unwrap(), runtime.core(taker).unwrap());
        let given: Vec<_> = (0..100).map(|_| giver.allocate(0, &block(Usage::Weight)).unwrap()).collect();
        full(&runtime, driver, Pool::Nodes, || taker.allocate(0, &block(Usage::Weight)));
        drop(given);
        let taken: Vec<_> = (0..100).map(|_| taker.allocate(0, &block(Usage::Generic)).unwrap()).collect();
        for core in [giver, taker] {
            full(&runtime, driver, Pool::Nodes, || core.allocate(0, &block(Usage::Weight)));
        }
        assert_eq!(runtime.live_nodes(), 100);
        drop(taken);
        assert_eq!(runtime.live_nodes(), 0);
    }
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}

/// Every node lies in a magazine, some in each; one core collects them all, by allocations and by a load.
#[test]
fn one_core_collects_from_all() {
    let (runtime, driver) = tiny::<64, 2, 64, 1>(Arch::Mariana, 2);
    for round in 0..4 {
        let held: Vec<_> =
            (0..64_u32).map(|node| runtime.core(node % 4).unwrap().allocate(node / 4 % 2, &block(Usage::Cc)).unwrap()).collect();
        drop(held);
        let core = runtime.core(round).unwrap();
        let regions = [pieces(40)];
        let plan = ModelPlan { name: "collector", subgraphs: &[SubgraphPlan { regions: &regions, ..EMPTY }] };
        let model = core.load(&plan).unwrap();
        let held: Vec<_> = (0..24).map(|_| core.allocate(1, &block(Usage::XtCc)).unwrap()).collect();
        full(&runtime, driver, Pool::Nodes, || core.allocate(0, &block(Usage::Weight)));
        drop(held);
        model.unload().unwrap();
    }
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}

/// A refused allocation takes no node, also when the next one is somebody else's.
#[test]
fn a_refused_allocation_leaves_the_magazines() {
    let (runtime, driver) = tiny::<8, 1, 64, 1>(Arch::Sunda, 1);
    let (giver, taker) = (runtime.core(0).unwrap(), runtime.core(1).unwrap());
    drop((0..8).map(|_| giver.allocate(0, &block(Usage::Weight)).unwrap()).collect::<Vec<_>>());
    let mut held = Vec::new();
    for taken in 0..8 {
        let before = state(&runtime, driver);
        driver.watch(&[Call::Alloc]);
        driver.fail_nth(1, Errno::ENOMEM);
        let error = taker.allocate(0, &block(Usage::Weight)).err().unwrap();
        assert_eq!(error.status, Status::Resource);
        assert_eq!(state(&runtime, driver), before);
        driver.reset();
        held.push(taker.allocate(0, &block(Usage::Weight)).unwrap());
        assert_eq!(runtime.live_nodes(), taken + 1);
    }
    full(&runtime, driver, Pool::Nodes, || taker.allocate(0, &block(Usage::Weight)));
    drop(held);
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}
