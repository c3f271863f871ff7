//! The runtime's memory as a debugger reads it: through the documented structs, from the root of the tree.
//!
//! Nobody else uses the runtime while these functions run, so plain reads see settled values.

use std::ffi::CStr;
use std::ptr::null;
use std::sync::atomic::Ordering::Relaxed;

use nrt_core::abi::{
    dma_mem_log_t, dmem_allocator_t, dmem_list_t, dmem_t, ht_node_t, ht_t, mla_t, model_t, ndl_mem_info_t, tpb_t,
};
use nrt_core::driver::Driver as _;
use nrt_tests::TestRuntime;

/// Record of a device.
pub(crate) fn mla(runtime: &TestRuntime, device: u32) -> *const mla_t {
    runtime.with_tree(|tree| tree.mla(device)).unwrap().unwrap().as_ptr()
}

/// Record of a core.
pub(crate) fn tpb(runtime: &TestRuntime, device: u32, core: u32) -> *const tpb_t {
    runtime.with_tree(|tree| tree.resolve(device, core)).unwrap().unwrap().tpb.as_ptr()
}

/// Ledger of a device.
pub(crate) fn ledger(runtime: &TestRuntime, device: u32) -> *const dma_mem_log_t {
    // SAFETY: a place inside the device's record.
    unsafe { &raw const (*mla(runtime, device)).dmem_logger }
}

/// Column of a core's row in the ledger.
pub(crate) fn column(runtime: &TestRuntime, core: u32, column: usize) -> usize {
    // SAFETY: the ledger of an open device.
    unsafe { (&(*ledger(runtime, 0)).memory_usage_nc)[core as usize][column].load(Relaxed) }
}

/// The GLOBAL heap of a core.
pub(crate) fn global(runtime: &TestRuntime, core: u32) -> *const dmem_allocator_t {
    // SAFETY: the record of an owned core.
    unsafe { (*tpb(runtime, 0, core)).tpb_allocator }
}

/// Nodes between the sentinels of an allocator, after a check of every link.
pub(crate) fn nodes(allocator: *const dmem_allocator_t) -> Vec<*const dmem_t> {
    // SAFETY: a live allocator; its list links live nodes.
    unsafe {
        let (head, tail) = (&raw const (*allocator).dummy_head, &raw const (*allocator).dummy_tail);
        assert_eq!(((*head).prev.load(Relaxed).cast_const(), (*tail).next.load(Relaxed).cast_const()), (null(), null()));
        let mut found = Vec::new();
        let (mut before, mut at) = (head, (*head).next.load(Relaxed).cast_const());
        while at != tail {
            assert_eq!((*at).prev.load(Relaxed).cast_const(), before);
            assert_eq!((*at).allocator.load(Relaxed).cast_const(), allocator);
            found.push(at);
            (before, at) = (at, (*at).next.load(Relaxed).cast_const());
        }
        assert_eq!((*tail).prev.load(Relaxed).cast_const(), before);
        found
    }
}

/// Sizes of the nodes of an allocator.
pub(crate) fn sizes(allocator: *const dmem_allocator_t) -> Vec<usize> {
    // SAFETY: live nodes.
    nodes(allocator).into_iter().map(|node| unsafe { (*node).size }).collect()
}

/// Hint of a node.
pub(crate) fn hint(node: *const dmem_t) -> String {
    // SAFETY: a live node; its hint is NUL-terminated.
    unsafe { CStr::from_ptr((*node).hint) }.to_str().unwrap().to_owned()
}

/// The driver's range of a node.
pub(crate) fn range<'a>(node: *const dmem_t) -> &'a ndl_mem_info_t {
    // SAFETY: the handle of a live node points to the driver library's record beside it.
    unsafe { &*std::ptr::with_exposed_provenance((*node).mem_handle as usize) }
}

/// The first bytes of a node's memory on device 0.
pub(crate) fn bytes(runtime: &TestRuntime, node: *const dmem_t, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    runtime.driver().inner().read(0, range(node), 0, &mut bytes).unwrap();
    bytes
}

/// What a group list releases.
pub(crate) fn group(list: *const dmem_list_t) -> Vec<*const dmem_t> {
    // SAFETY: a live list.
    unsafe {
        let (mut found, mut entry, mut last) = (Vec::new(), (*list).head, null());
        while !entry.is_null() {
            found.push((*entry).dmem.cast_const());
            last = entry.cast_const();
            entry = (*entry).next;
        }
        assert_eq!((*list).tail.cast_const(), last);
        found
    }
}

/// Nodes of a chained table, after a check that each sits in its bucket.
pub(crate) fn chained(table: *const ht_t) -> Vec<*const ht_node_t> {
    // SAFETY: a live table; its buckets follow the header.
    unsafe {
        let buckets = table.byte_add(32).cast::<ht_node_t>();
        assert_eq!((*table).size_mask, (*table).size - 1);
        let mut found = Vec::new();
        for bucket in 0..(*table).size {
            let mut at = (*buckets.add(bucket as usize)).next.load(Relaxed).cast_const();
            while !at.is_null() {
                assert_eq!(((*at).bucket, (*at).key.load(Relaxed) & (*table).size_mask), (bucket, bucket));
                found.push(at);
                at = (*at).next.load(Relaxed).cast_const();
            }
        }
        assert_eq!((*table).count.load(Relaxed), found.len() as u64);
        found
    }
}

/// The model with this id in the database of a core.
pub(crate) fn model(runtime: &TestRuntime, core: u32, id: u32) -> *const model_t {
    // SAFETY: nodes of the database are embedded in models at the documented offset.
    unsafe {
        let nodes = chained((*tpb(runtime, 0, core)).model_db);
        let node = nodes.into_iter().find(|node| (**node).key.load(Relaxed) == u64::from(id));
        node.expect("a resident model").byte_sub(7496).cast()
    }
}
