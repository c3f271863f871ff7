//! The map from the variable of an input or output to its name (`io_mr_to_name_map`, fact sheet `model-db` §§1.4, 4).

use core::ffi::CStr;
use core::mem::offset_of;
use core::ptr::NonNull;

use crate::abi::{ht_node_t, kbl_fmap_t};
use crate::arena::{IO_NAME_BUCKETS, IoName, ModelSlot};
use crate::driver::Driver;
use crate::hash_table::HashTable;
use crate::hooks::Hooks;
use crate::system::System;

impl<D: Driver, H: Hooks> System<D, H> {
    fn io_names(&self, slot: NonNull<ModelSlot>) -> HashTable {
        // SAFETY: header and buckets are one block of a slot that lives for ever.
        unsafe {
            let map = &raw mut (*slot.as_ptr()).io_names;
            HashTable::new(
                NonNull::new_unchecked(&raw mut (*map).table),
                NonNull::new_unchecked((&raw mut (*map).buckets).cast()),
            )
        }
    }

    /// Fills the map from the declarations in the slot, `inputs` of them and then `outputs`, and hangs it into the model.
    ///
    /// # Safety
    /// The slot is this caller's alone, its declarations are written, their ids are unique.
    pub(super) unsafe fn io_names_fill(&self, slot: NonNull<ModelSlot>, inputs: usize, outputs: usize) {
        let raw = slot.as_ptr();
        // SAFETY: by contract; there are as many entries as declarations.
        unsafe {
            let map = self.io_names(slot);
            map.initialise(IO_NAME_BUCKETS as u64);
            for index in 0..inputs + outputs {
                let declared: *const kbl_fmap_t = &raw const (*raw).feature_maps[index];
                let entry: *mut IoName = &raw mut (*raw).io_name_entries[index];
                (*entry).name = (&raw const (*declared).name).cast();
                (*entry).is_input = index < inputs;
                map.insert(u64::from((*declared).var_id), NonNull::new_unchecked(&raw mut (*entry).node));
            }
            (*raw).model.io_mr_to_name_map = &raw mut (*raw).io_names.table;
        }
    }

    /// Name of the input or output that a variable is, and whether it is an input.
    ///
    /// # Safety
    /// The caller holds a reference to the model for as long as it uses the name.
    pub(crate) unsafe fn io_name<'a>(&self, slot: NonNull<ModelSlot>, variable: u32) -> Option<(&'a str, bool)> {
        let node = self.io_names(slot).find(u64::from(variable))?;
        // SAFETY: an entry of a published model is only read; its name is NUL-terminated in the model's declarations.
        unsafe {
            let entry = entry_of(node).as_ptr();
            let name = CStr::from_ptr((*entry).name.cast());
            Some((name.to_str().unwrap_or_default(), (*entry).is_input))
        }
    }
}

fn entry_of(node: NonNull<ht_node_t>) -> NonNull<IoName> {
    // SAFETY: nodes of this map are embedded in entries at this offset; the pointers cover the entry.
    unsafe { node.byte_sub(offset_of!(IoName, node)).cast() }
}
