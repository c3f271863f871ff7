//! The treap against an ordered map, and its shape.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::vec::Vec;

use spin::Mutex;

use zerocopy::FromZeros as _;

use super::{first, first_from, floor, insert, priority, remove, update};
use crate::record::{Link, NONE, Record, Records, Unused};

fn records(count: usize) -> Records {
    let all: Vec<Record> = (0..count).map(|_| Record::new_zeroed()).collect();
    Records::new(all.leak(), Box::leak(Box::new(Mutex::new(Unused::new()))))
}

/// Checks order, priorities, parents and longest runs; answers the depth.
fn check(records: &Records, root: Link, parent: Link, below: u32, above: u32) -> usize {
    if root == NONE {
        return 0;
    }
    assert_eq!(records.parent(root), parent);
    assert!(parent == NONE || priority(parent) >= priority(root));
    let start = records.start(root);
    assert!(below <= start && start < above);
    let (left, right) = (records.left(root), records.right(root));
    let depth = check(records, left, root, below, start).max(check(records, right, root, start + 1, above));
    let children = [left, right].into_iter().filter(|&child| child != NONE).map(|child| records.longest(child));
    assert_eq!(records.longest(root), records.pages(root).max(children.max().unwrap_or(0)));
    depth + 1
}

fn add(records: &Records, root: &mut Link, start: u32, pages: u32) -> Link {
    let link = records.take().unwrap();
    records.set_start(link, start);
    records.set_pages(link, pages);
    insert(records, root, link);
    link
}

#[test]
fn agrees_with_an_ordered_map() {
    let (records, mut root, mut map) = (records(2000), NONE, BTreeMap::<u32, (Link, u32)>::new());
    let mut state = 7u64;
    let mut random = |limit: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % limit
    };
    for step in 0..60_000 {
        let (start, pages) = (random(3000), 1 + random(50));
        match map.get(&start).copied() {
            Some((link, _)) if random(2) == 0 => {
                records.set_pages(link, pages);
                update(&records, link);
                map.insert(start, (link, pages));
            }
            Some((link, _)) => {
                remove(&records, &mut root, link);
                records.give_back(link);
                map.remove(&start);
            }
            None if map.len() < 1500 => {
                map.insert(start, (add(&records, &mut root, start, pages), pages));
            }
            None => {}
        }
        let (from, wanted) = (random(3100), 1 + random(60));
        let lowest = map.values().find(|(_, pages)| *pages >= wanted).map(|(link, _)| *link);
        assert_eq!(first(&records, root, wanted), lowest);
        let next = map.range(from..).find(|(_, (_, pages))| *pages >= wanted).map(|(_, (link, _))| *link);
        assert_eq!(first_from(&records, root, from, wanted), next);
        assert_eq!(floor(&records, root, from), map.range(..=from).next_back().map(|(_, (link, _))| *link));
        if step % 1000 == 0 {
            check(&records, root, NONE, 0, u32::MAX);
        }
    }
}

#[test]
fn stays_shallow_in_address_order() {
    let (records, mut root) = (records(130_001), NONE);
    for index in 0..130_000 {
        add(&records, &mut root, index * 2, 1);
    }
    let depth = check(&records, root, NONE, 0, u32::MAX);
    assert!(depth < 60, "depth {depth} for 130,000 runs");
}
