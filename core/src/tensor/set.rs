//! Tensor sets: tensors by name, as a run binds them (`tensor` §10).
//!
//! A set is a table of 1024 buckets over names, which are compared byte by byte. It takes no reference: a tensor that is gone
//! is noticed when the set is used. The table never grows; its chains do.

use core::mem::offset_of;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{ht_node_t, kbl_feature_map_t};
use crate::arena::{Handle, SET_BUCKETS, SetEntrySlot, SetSlot, TENSOR_NAME, TensorSlot};
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hash_table::HashTable;
use crate::hooks::Hooks;
use crate::status::Status;
use crate::sync;
use crate::system::System;
use crate::text;

impl<D: Driver, H: Hooks> System<D, H> {
    /// An empty set.
    ///
    /// # Errors
    /// `NRT_RESOURCE` when the pool is full.
    ///
    /// # Cost
    /// Writes the 48 KiB of the buckets.
    pub(crate) fn set_allocate(&self) -> Result<NonNull<SetSlot>> {
        let set = self.arenas.sets.take()?;
        // SAFETY: the slot was free and is this thread's.
        unsafe {
            (*set.as_ptr()).lock.word.store(0, Relaxed);
            table(set).initialise(SET_BUCKETS as u64);
        }
        Ok(set)
    }

    fn set_lock(&self, set: NonNull<SetSlot>) -> sync::Guard<'_, H> {
        // SAFETY: slots live for ever; the reference covers the lock alone.
        sync::lock(unsafe { &(*set.as_ptr()).lock }, &self.hooks)
    }

    /// Puts a tensor into a set under `name`, in place of the one that has the name.
    ///
    /// # Errors
    /// `NRT_INVALID` for a name over 255 bytes or with a NUL in it, `NRT_RESOURCE` when the pool of entries is full.
    ///
    /// # Safety
    /// The set is live.
    pub(crate) unsafe fn set_add(&self, set: NonNull<SetSlot>, name: &str, tensor: Handle) -> Result<()> {
        if name.len() >= TENSOR_NAME {
            return Err(Error::invalid(Cause::NameTooLong { length: name.len(), limit: TENSOR_NAME - 1 }));
        }
        if name.bytes().any(|byte| byte == 0) {
            return Err(Error::invalid(Cause::NameWithNul));
        }
        let _held = self.set_lock(set);
        let table = table(set);
        // SAFETY: entries of a live set, under its lock; a new one is this thread's until it is linked.
        unsafe {
            let entry = match table.find_name(name.as_bytes()) {
                Some(node) => entry_of(node),
                None => {
                    let entry = self.arenas.set_entries.take()?;
                    let text = &raw mut (*entry.as_ptr()).name;
                    text::put(&mut *text, name);
                    let node = NonNull::new_unchecked(&raw mut (*entry.as_ptr()).map.ht_node);
                    table.insert_name(text.cast(), name.len(), node);
                    entry
                }
            };
            (*entry.as_ptr()).map.tensor = self.arenas.tensors.pointer(tensor.index()).as_ptr().cast();
            (*entry.as_ptr()).tensor_life = tensor.generation();
        }
        Ok(())
    }

    /// Takes a reference to the tensor of this name.
    ///
    /// # Errors
    /// `NRT_FAILURE` when there is none (errata 35), `NRT_INVALID_HANDLE` when it is gone.
    ///
    /// # Safety
    /// The set is live.
    pub(crate) unsafe fn set_acquire(&self, set: NonNull<SetSlot>, name: &[u8]) -> Result<NonNull<TensorSlot>> {
        let _held = self.set_lock(set);
        let node = table(set).find_name(name).ok_or(Error::new(Status::Failure, Cause::UnknownTensor))?;
        // SAFETY: a linked entry, under the set's lock; its tensor pointer was made from the pool of tensors.
        let handle = unsafe {
            let entry = entry_of(node).as_ptr();
            let tensor = NonNull::new_unchecked((*entry).map.tensor.cast::<TensorSlot>());
            Handle::new(self.arenas.tensors.index_of(tensor), (*entry).tensor_life)
        };
        self.tensor_acquire(handle)
    }

    /// Names in a set.
    ///
    /// # Safety
    /// The set is live.
    pub(crate) unsafe fn set_len(&self, set: NonNull<SetSlot>) -> u64 {
        table(set).count()
    }

    /// Gives a set and its entries back; the tensors stay.
    ///
    /// # Safety
    /// The set is live and nobody uses it.
    pub(crate) unsafe fn set_free(&self, set: NonNull<SetSlot>) {
        table(set).for_each(|node| self.arenas.set_entries.give(entry_of(node)));
        self.arenas.sets.give(set);
    }
}

fn table(set: NonNull<SetSlot>) -> HashTable {
    // SAFETY: header and buckets are one block of a slot that lives for ever.
    unsafe {
        let raw = set.as_ptr();
        HashTable::new(NonNull::new_unchecked(&raw mut (*raw).table), NonNull::new_unchecked((&raw mut (*raw).buckets).cast()))
    }
}

/// The entry around a linked node.
fn entry_of(node: NonNull<ht_node_t>) -> NonNull<SetEntrySlot> {
    // SAFETY: nodes of a set are embedded in entries, and their pointers carry the provenance of the entry array.
    unsafe { node.byte_sub(offset_of!(SetEntrySlot, map) + offset_of!(kbl_feature_map_t, ht_node)).cast() }
}
