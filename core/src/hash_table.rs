//! The intrusive hash table of the C library over integer keys and names (fact sheet `model-db` §1).
//!
//! Header and buckets are one block; a bucket is a node whose `next` starts the chain. Bucket = `key & size_mask`. The
//! hash of the original is not documented; the rule is observable only in the `bucket` field. Payloads are found from
//! their embedded node by subtracting its offset, never from a bucket.

use core::ffi::c_char;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::abi::{ht_key_type_t, ht_node_t, ht_t};

/// The find of the C library, with its polarity: **0 = found**, the node then in `node`; anything else = absent, `node`
/// untouched. Who reads it as "node or nothing" inverts the duplicate check and inserts twice.
///
/// # Safety
/// `table` points to a live header whose block (header and buckets) the pointer covers; its chains do not change meanwhile.
pub unsafe fn ht_find(table: *const ht_t, key: u64, node: &mut *mut ht_node_t) -> i32 {
    // SAFETY: by contract; buckets follow the header.
    let found = unsafe {
        let buckets = (&raw const (*table).nodes).cast::<ht_node_t>().cast_mut();
        HashTable { table: NonNull::new_unchecked(table.cast_mut()), buckets: NonNull::new_unchecked(buckets) }.find(key)
    };
    match found {
        Some(found) => {
            *node = found.as_ptr();
            0
        }
        None => 1,
    }
}

/// Key of a name: the 64-bit FNV-1a hash of its bytes. The original's hash is not documented.
const fn name_key(name: &[u8]) -> u64 {
    let (mut hash, mut at) = (0xCBF2_9CE4_8422_2325_u64, 0);
    while at < name.len() {
        hash = (hash ^ name[at] as u64).wrapping_mul(0x100_0000_01B3);
        at += 1;
    }
    hash
}

/// A table in memory of its owner. Not synchronised: the caller holds the lock the table belongs to.
#[derive(Clone, Copy)]
pub(crate) struct HashTable {
    table: NonNull<ht_t>,
    buckets: NonNull<ht_node_t>,
}

impl HashTable {
    /// # Safety
    /// `table` and `buckets` stay valid while the view is used; `buckets` has `table.size` elements (a power of two), and
    /// follows the header.
    pub(crate) const unsafe fn new(table: NonNull<ht_t>, buckets: NonNull<ht_node_t>) -> Self {
        Self { table, buckets }
    }

    /// Writes an empty table of `size` buckets.
    ///
    /// # Safety
    /// Nobody uses the table yet; `buckets` has room for `size` nodes and `size` is a power of two.
    pub(crate) unsafe fn initialise(self, size: u64) {
        debug_assert!(size.is_power_of_two());
        // SAFETY: exclusive by contract; field by field.
        unsafe {
            let table = self.table.as_ptr();
            (*table).size = size;
            (*table).size_mask = size - 1;
            (*table).count.store(0, Relaxed);
            (*table).free_node_fn = None;
            for bucket in 0..size {
                let node = self.buckets.as_ptr().add(bucket as usize);
                (*node).key.store(0, Relaxed);
                (*node).bucket = bucket;
                (*node).next.store(null_mut(), Relaxed);
            }
        }
    }

    /// The node with this key that `matches`, and the node before it (a bucket for the first one).
    fn locate(self, key: u64, matches: impl Fn(&ht_node_t) -> bool) -> Option<(NonNull<ht_node_t>, NonNull<ht_node_t>)> {
        // SAFETY: the header and buckets are valid by construction; chains hold live nodes only, under the caller's lock.
        unsafe {
            let bucket = (key & (*self.table.as_ptr()).size_mask) as usize;
            let mut before = self.buckets.add(bucket);
            while let Some(node) = NonNull::new(before.as_ref().next.load(Acquire)) {
                if node.as_ref().key.load(Acquire) == key && matches(node.as_ref()) {
                    return Some((before, node));
                }
                before = node;
            }
        }
        None
    }

    /// The node with this key.
    pub(crate) fn find(self, key: u64) -> Option<NonNull<ht_node_t>> {
        self.locate(key, |_| true).map(|(_, node)| node)
    }

    /// The node with this name, compared byte by byte.
    pub(crate) fn find_name(self, name: &[u8]) -> Option<NonNull<ht_node_t>> {
        let same = |node: &ht_node_t| {
            // SAFETY: nodes of a table of names carry a name of `buf_size` bytes that lives as long as they are linked.
            node.buf_size == name.len() && unsafe { core::slice::from_raw_parts(node.val.name.cast::<u8>(), name.len()) } == name
        };
        self.locate(name_key(name), same).map(|(_, node)| node)
    }

    /// Links `node` under `key`. The key becomes visible last, so that a reader without the lock never sees a half-built
    /// node. The caller has made sure that the key is absent.
    ///
    /// # Safety
    /// `node` is embedded in a live slot, in no table, and stays valid until it is removed.
    pub(crate) unsafe fn insert(self, key: u64, node: NonNull<ht_node_t>) {
        // SAFETY: by contract; the plain fields are written before the node is reachable.
        unsafe {
            (*node.as_ptr()).buf_size = 0;
            (*node.as_ptr()).key_type = ht_key_type_t::INTEGER;
            self.link(key, node);
        }
    }

    /// Links `node` under a name that the caller has made sure is absent.
    ///
    /// # Safety
    /// As [`insert`](Self::insert); `name` has `length` bytes, does not change and lives as long as the node is linked.
    pub(crate) unsafe fn insert_name(self, name: *mut c_char, length: usize, node: NonNull<ht_node_t>) {
        // SAFETY: as above.
        unsafe {
            (*node.as_ptr()).val.name = name;
            (*node.as_ptr()).buf_size = length;
            (*node.as_ptr()).key_type = ht_key_type_t::NAME;
            self.link(name_key(core::slice::from_raw_parts(name.cast::<u8>(), length)), node);
        }
    }

    /// # Safety
    /// As [`insert`](Self::insert).
    unsafe fn link(self, key: u64, node: NonNull<ht_node_t>) {
        // SAFETY: valid by construction and by contract.
        unsafe {
            let table = self.table.as_ptr();
            let bucket = key & (*table).size_mask;
            let head = self.buckets.add(bucket as usize);
            let raw = node.as_ptr();
            (*raw).bucket = bucket;
            // With Release, although nobody finds the node yet: a reader may still stand on it from an earlier life, and must
            // see the mark of the change if it follows this link.
            (*raw).next.store(head.as_ref().next.load(Relaxed), Release);
            head.as_ref().next.store(raw, Release);
            (*raw).key.store(key, Release);
            (*table).count.fetch_add(1, Relaxed);
        }
    }

    /// Unlinks the node with this key and gives it.
    pub(crate) fn remove(self, key: u64) -> Option<NonNull<ht_node_t>> {
        let (before, node) = self.locate(key, |_| true)?;
        // SAFETY: both are live nodes of this table; the caller holds the lock.
        unsafe {
            before.as_ref().next.store(node.as_ref().next.load(Relaxed), Release);
            node.as_ref().key.store(0, Release);
            self.table.as_ref().count.fetch_sub(1, Relaxed);
        }
        Some(node)
    }

    /// Live entries.
    pub(crate) fn count(self) -> u64 {
        // SAFETY: valid by construction.
        unsafe { self.table.as_ref().count.load(Relaxed) }
    }

    /// Calls `visit` for every node; the node may be unlinked by then.
    pub(crate) fn for_each(self, mut visit: impl FnMut(NonNull<ht_node_t>)) {
        // SAFETY: valid by construction; the successor is read before the visitor runs.
        unsafe {
            for bucket in 0..(*self.table.as_ptr()).size {
                let mut next = self.buckets.add(bucket as usize).as_ref().next.load(Acquire);
                while let Some(node) = NonNull::new(next) {
                    next = node.as_ref().next.load(Acquire);
                    visit(node);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;
    use std::boxed::Box;

    #[repr(C)]
    struct Block {
        header: ht_t,
        buckets: [ht_node_t; 4],
    }

    #[repr(C)]
    struct Payload {
        value: u32,
        node: ht_node_t,
    }

    fn zeroed<T>() -> NonNull<T> {
        // SAFETY: both types of these tests hold integers, atomics and pointers only.
        NonNull::from(Box::leak(unsafe { Box::<T>::new_zeroed().assume_init() }))
    }

    /// `model-db` §1.3: 0 = found. Keys 3 and 7 share a bucket of 4.
    #[test]
    fn find_answers_zero_when_it_found() {
        let block = zeroed::<Block>().as_ptr();
        let payloads = [zeroed::<Payload>(), zeroed::<Payload>()];
        // SAFETY: blocks and payloads live for ever; pointers cover the whole block.
        unsafe {
            let buckets = NonNull::new_unchecked((&raw mut (*block).buckets).cast());
            let table = HashTable::new(NonNull::new_unchecked(block.cast()), buckets);
            table.initialise(4);
            for (payload, key) in payloads.iter().zip([3, 7]) {
                (*payload.as_ptr()).value = key as u32;
                table.insert(key, NonNull::new_unchecked(&raw mut (*payload.as_ptr()).node));
            }
            let mut node = null_mut();
            for key in [3_u64, 7] {
                assert_eq!(ht_find(block.cast(), key, &mut node), 0);
                let payload = node.byte_sub(offset_of!(Payload, node)).cast::<Payload>();
                assert_eq!((u64::from((*payload).value), (*node).bucket), (key, 3));
            }
            node = null_mut();
            assert_ne!(ht_find(block.cast(), 11, &mut node), 0);
            assert!(node.is_null());
            assert_eq!(table.count(), 2);
            assert!(table.remove(3).is_some() && table.remove(3).is_none());
            assert_ne!(ht_find(block.cast(), 3, &mut node), 0);
            assert_eq!(ht_find(block.cast(), 7, &mut node), 0);
            assert_eq!(table.count(), 1);
        }
    }
}
