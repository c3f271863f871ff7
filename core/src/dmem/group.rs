//! Group lists: every entry is a duty to drop exactly one reference (fact sheet `dmem` §9, errata 20).

use core::ptr::{NonNull, null_mut};

use crate::abi::{dmem_list_t, dmem_t};
use crate::arena::GroupSlot;
use crate::driver::Driver;
use crate::hooks::Hooks;
use crate::system::System;

impl<D: Driver, H: Hooks> System<D, H> {
    /// Appends `node`; the list takes over one reference.
    ///
    /// # Safety
    /// `list` is live and only this caller changes it; `entry` was taken for it.
    pub(super) unsafe fn group_append(&self, list: NonNull<dmem_list_t>, entry: NonNull<GroupSlot>, node: NonNull<dmem_t>) {
        // SAFETY: by contract.
        unsafe {
            let raw = &raw mut (*entry.as_ptr()).entry;
            (*raw).dmem = node.as_ptr();
            (*raw).next = null_mut();
            let list = list.as_ptr();
            if (*list).tail.is_null() {
                (*list).head = raw;
            } else {
                (*(*list).tail).next = raw;
            }
            (*list).tail = raw;
        }
    }

    /// Calls `visit` with the node of every entry.
    ///
    /// # Safety
    /// `list` is live and does not change meanwhile, its nodes are live.
    pub(crate) unsafe fn group_for_each(&self, list: NonNull<dmem_list_t>, mut visit: impl FnMut(NonNull<dmem_t>)) {
        // SAFETY: by contract.
        unsafe {
            let mut entry = (*list.as_ptr()).head;
            while !entry.is_null() {
                if let Some(node) = NonNull::new((*entry).dmem) {
                    visit(node);
                }
                entry = (*entry).next;
            }
        }
    }

    /// Drops one reference per entry and empties the list. The header stays.
    ///
    /// # Safety
    /// As [`group_append`](Self::group_append); nobody uses the nodes through the references the list held.
    pub(crate) unsafe fn group_free(&self, list: NonNull<dmem_list_t>) {
        // SAFETY: by contract; entries are the first member of their slots, whose array their pointers cover.
        unsafe {
            let list = list.as_ptr();
            while let Some(entry) = NonNull::new((*list).head) {
                (*list).head = (*entry.as_ptr()).next;
                if let Some(node) = NonNull::new((*entry.as_ptr()).dmem) {
                    self.dmem_free(node);
                }
                self.give_group_entry(entry.cast::<GroupSlot>());
            }
            (*list).tail = null_mut();
        }
    }
}
