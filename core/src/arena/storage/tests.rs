//! What is told about the bytes of a storage against the storages themselves.

use super::*;

fn check<const N: usize, const M: usize, const R: usize, const T: usize, const L: usize>() {
    let capacities = Capacities { nodes: N, models: M, mem_refs: R, tensors: T, ring: L };
    assert_eq!(capacities.storage_bytes(), size_of::<Storage<N, M, R, T, L>>(), "{capacities:?}");
}

/// `model-db` §1, `tensor` §10: with as many the chains are as long as in the original.
#[test]
fn tables_have_the_documented_buckets() {
    use crate::arena::slots::{MEM_REF_BUCKETS, MODEL_DB_BUCKETS, SET_BUCKETS};
    assert_eq!((MODEL_DB_BUCKETS, MEM_REF_BUCKETS, SET_BUCKETS), (256, 1024, 1024));
}

#[test]
fn the_bytes_of_a_storage_are_those_of_its_type() {
    let Capacities { nodes: 8, models: 1, mem_refs: 1, tensors: 1, ring: 8 } = Capacities::LEAST else { panic!("LEAST") };
    check::<8, 1, 1, 1, 8>();
    check::<9, 1, 1, 1, 8>();
    check::<8, 2, 3, 5, 9>();
    check::<57, 6, 71, 26, 17>();
    check::<1024, 16, 1024, 64, 256>();
    check::<32_768, 512, 16_384, 4_096, 4_096>();
    check::<131_072, 2_048, 65_536, 16_384, 16_384>();
}

#[test]
fn one_entry_more_costs_what_is_said_but_for_padding() {
    let base = Capacities { nodes: 64, models: 64, mem_refs: 64, tensors: 64, ring: 64 };
    let each = Capacities::ENTRY_BYTES;
    let more = [
        (Capacities { nodes: 128, ..base }, each.nodes),
        (Capacities { models: 128, ..base }, each.models),
        (Capacities { mem_refs: 128, ..base }, each.mem_refs),
        (Capacities { tensors: 128, ..base }, each.tensors),
        (Capacities { ring: 128, ..base }, each.ring),
    ];
    for (larger, bytes) in more {
        // 64 entries are whole cache lines of every member, so no padding comes between.
        assert_eq!(larger.storage_bytes() - base.storage_bytes(), 64 * bytes, "{larger:?}");
    }
}
