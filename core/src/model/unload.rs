//! Unloading (fact sheet `model-load` §9): unfindable first, then nobody inside, then gone.

use core::ptr::{NonNull, null_mut};

use crate::arena::{MAX_CORES_PER_VCORE, ModelSlot};
use crate::driver::Driver;
use crate::error::Result;
use crate::hooks::{Hooks, Level};
use crate::system::System;

/// A model on its way out: unfindable on the first `removed` cores, drained on the first `drained` of them.
///
/// Look-ups start at core 0, so core 0 is closed and drained first; after that nobody can get to the second one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Removal {
    pub(crate) vnc: u32,
    pub(crate) id: u32,
    cores: u32,
    slots: [Option<NonNull<ModelSlot>>; MAX_CORES_PER_VCORE],
    removed: u32,
    drained: u32,
}

// SAFETY: the pointers name slots of a runtime that may be used from any thread.
unsafe impl Send for Removal {}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Makes a model unfindable on its first core.
    ///
    /// # Errors
    /// `NRT_FAILURE` when it is not resident.
    pub(crate) fn begin_removal(&self, vnc: u32, id: u32) -> Result<Removal> {
        let cores = self.settings.logical_core_size;
        let mut removal = Removal { vnc, id, cores, slots: [None; MAX_CORES_PER_VCORE], removed: 0, drained: 0 };
        removal.slots[0] = Some(self.database_remove(&self.core(vnc, 0)?, id)?);
        removal.removed = 1;
        Ok(removal)
    }

    /// Goes on until the model is free on every core or the deadline passes. `true` when it is free.
    pub(crate) fn continue_removal(&self, removal: &mut Removal, deadline_ns: Option<u64>) -> bool {
        loop {
            if let Some(slot) = removal.slots[removal.drained as usize]
                && !self.drained(slot, deadline_ns)
            {
                return false;
            }
            removal.drained += 1;
            if removal.drained == removal.cores {
                return true;
            }
            // A model of one subgraph lives on the first core only; its absence on the second is no error.
            let next = removal.removed as usize;
            removal.slots[next] =
                self.core(removal.vnc, next as u32).and_then(|core| self.database_remove(&core, removal.id)).ok();
            removal.removed += 1;
        }
    }

    /// Undoes a removal that was not finished: the model is findable again, second core first.
    ///
    /// # Errors
    /// `NRT_INVALID_HANDLE` when the id was taken in the meantime, which cannot happen with minted ids.
    pub(crate) fn cancel_removal(&self, removal: &Removal) -> Result<()> {
        for relative in (0..removal.removed).rev() {
            if let Some(slot) = removal.slots[relative as usize] {
                // SAFETY: removed by this removal, and not freed.
                unsafe { self.database_restore(&self.core(removal.vnc, relative)?, slot)? };
            }
        }
        Ok(())
    }

    /// Frees what a finished removal took out.
    pub(crate) fn finish_removal(&self, removal: &Removal) {
        debug_assert_eq!(removal.drained, removal.cores);
        // SAFETY: unfindable and without references on every core, so this thread alone has the model.
        removal.slots.iter().flatten().for_each(|slot| unsafe { self.model_free(*slot) });
        self.hooks.log(Level::Info, format_args!("Removed model {} from logical core {}", removal.id, removal.vnc));
    }

    /// Frees a model and exactly the memory it owns (`model_free`, and the cleanup of a failed load).
    ///
    /// # Safety
    /// The slot is this caller's alone: never published, or removed and drained.
    pub(super) unsafe fn model_free(&self, slot: NonNull<ModelSlot>) {
        // SAFETY: exclusive by contract; what was not reached by a failed load is empty.
        unsafe {
            let raw = slot.as_ptr();
            (*raw).model.input_fmap_set.n = 0;
            (*raw).model.output_fmap_set.n = 0;
            self.scratchpad_cleanup(NonNull::new_unchecked(&raw mut (*raw).cleanup));
            self.ulib_remove(slot);
            self.mem_refs_free(slot);
            self.group_free(NonNull::new_unchecked(&raw mut (*raw).group));
            self.allocator_destroy(NonNull::new_unchecked(&raw mut (*raw).allocator));
            (*raw).model.static_mr_set = null_mut();
            (*raw).model.io_mr_to_name_map = null_mut();
            (*raw).model.gc_tracker = null_mut();
            (*raw).model.dmem_allocator = null_mut();
            (*raw).model.scratchpad_cleanup_info = null_mut();
            self.arenas.models.give(slot);
        }
    }
}
