//! Loading (fact sheet `model-load` §§2–7).
//!
//! 1. Check the plan, mint the handle.
//! 2. Per core: a slot with an empty MODEL heap, an empty variable index, an empty group list and a cleanup record; the
//!    four are named by a shared slot (`vtpb_info_shared_mr_set_t`). Every variable is entered in the index; then what
//!    variables say about each other is checked. Up to here the driver is not asked.
//! 3. Size and reserve scratchpad on all cores.
//! 4. Per core: place every region and variable, and stage its bytes. Then, in a second pass, remote variables.
//! 5. Per core: move the four pointers into the model and zero the shared slot; check the carveout; write the input and output
//!    contract and the map to its names; resolve pointers; stage or share the microcode libraries.
//! 6. Publish: the second core first, the first core last. Nothing after that can fail.
//!
//! Whatever fails before 6, everything is taken back.

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{H_MODEL, al_hal_tpb_arch_type_t, dmem_allocator_type_t, kbl_fmap_t, vtpb_info_shared_mr_set_t};
use crate::arch::Arch;
use crate::arena::{MAX_CORES_PER_VCORE, ModelSlot};
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::{Hooks, Level};
use crate::ledger::TOTAL;
use crate::scratchpad::{Need, PageAdvice, Placement};
use crate::status::Status;
use crate::system::System;
use crate::text;
use crate::ulib::user;

use super::carveout::check_evtaccel;
use super::references::Slots;
use super::{ByteSource, ModelPlan, SubgraphPlan, VariableKind};

/// The slots of a model under construction, one per subgraph.
struct Building {
    slots: Slots,
    shared: [vtpb_info_shared_mr_set_t; MAX_CORES_PER_VCORE],
}

const EMPTY_SET: vtpb_info_shared_mr_set_t = vtpb_info_shared_mr_set_t {
    mem_ref_set: null_mut(),
    model_allocator: null_mut(),
    gc_tracker: null_mut(),
    scratchpad_cleanup_info: null_mut(),
};

impl<D: Driver, H: Hooks> System<D, H> {
    /// Loads a model on logical core `vnc`, which the caller has checked to exist. All or nothing.
    ///
    /// # Errors
    /// What [`ModelPlan::check`], the pools, the allocator, the scratchpad and the sources answer.
    pub(crate) fn load(&self, vnc: u32, plan: &ModelPlan<'_>) -> Result<u32> {
        plan.check(self.settings.arch, self.settings.logical_core_size)?;
        let mut before = [0; MAX_CORES_PER_VCORE];
        for (relative, bytes) in (0..self.settings.logical_core_size).zip(&mut before) {
            *bytes = self.usage_of(&self.core(vnc, relative)?)[TOTAL];
        }
        let id = self.mint();
        let mut building = Building { slots: [None; MAX_CORES_PER_VCORE], shared: [EMPTY_SET; MAX_CORES_PER_VCORE] };
        match self.build(vnc, id, plan, &mut building) {
            Ok(()) => {
                // Each core of the logical core: a model of one subgraph may have its shared scratchpad on another core.
                for (relative, before) in (0..self.settings.logical_core_size).zip(before) {
                    let core = self.core(vnc, relative)?;
                    self.hooks.log(
                        Level::Info,
                        format_args!(
                            "Added model {id} \"{}\" on ND{}:NC{}, mem_usage before {before} after {}",
                            plan.name,
                            core.device,
                            core.core,
                            self.usage_of(&core)[TOTAL]
                        ),
                    );
                }
                Ok(id)
            }
            Err(error) => {
                if let Cause::OutOfMemory(oom) = error.cause {
                    // SAFETY: as below; what the model holds is still there.
                    unsafe { self.oom_name_requester(&oom, &building.slots) };
                }
                // SAFETY: an unpublished model is this thread's alone.
                building.slots.into_iter().flatten().for_each(|slot| unsafe { self.model_free(slot) });
                Err(error)
            }
        }
    }

    fn build(&self, vnc: u32, id: u32, plan: &ModelPlan<'_>, building: &mut Building) -> Result<()> {
        let Building { slots, shared } = building;
        for (relative, (subgraph, set)) in plan.subgraphs.iter().zip(shared.iter_mut()).enumerate() {
            let slot = self.arenas.models.take()?;
            slots[relative] = Some(slot);
            // SAFETY: the slot was free and is this thread's until it is published.
            unsafe {
                self.begin_model(vnc, relative as u32, slot, set);
                // Early: when the load runs out of memory the report names it.
                text::put(&mut (*slot.as_ptr()).model.name, plan.name);
                self.mem_refs_enter(slot, subgraph)?;
            }
        }
        // SAFETY: as above, here and below.
        unsafe {
            self.check_references(slots, plan)?;
            let placement = self.reserve_scratchpad(vnc, plan, slots)?;
            for (relative, subgraph) in plan.subgraphs.iter().enumerate() {
                self.place_all(vnc, relative, slots, subgraph, &placement)?;
            }
            self.borrow_remote(slots, plan)?;
            for (relative, subgraph) in plan.subgraphs.iter().enumerate() {
                let Some(slot) = slots[relative] else { continue };
                self.add(vnc, relative as u32, id, plan.name, slot, &mut shared[relative], subgraph)?;
            }
        }
        self.advise(id, plan.name, slots);
        // Core 0 is where a look-up starts, so it comes last: whoever finds the model there finds it everywhere.
        for relative in (0..plan.subgraphs.len()).rev() {
            let Some(slot) = slots[relative] else { continue };
            // SAFETY: complete and unpublished.
            let added = self.core(vnc, relative as u32).and_then(|core| unsafe { self.database_add(&core, slot) });
            if let Err(error) = added {
                self.take_back_published(vnc, id, relative + 1..plan.subgraphs.len());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Says which page size would have held what got memory of its own. The model is not published yet.
    fn advise(&self, id: u32, name: &str, slots: &Slots) {
        // SAFETY: an atomic of a slot of this load.
        let largest = slots
            .iter()
            .flatten()
            .map(|slot| unsafe { (*slot.as_ptr()).allocator.largest_oversized_scratchpad_var.load(Relaxed) as u64 });
        if let Some(advice) = largest.max().and_then(PageAdvice::new) {
            self.hooks.log(Level::Info, format_args!("model {id} \"{name}\": {advice}"));
        }
    }

    /// Makes a half-published model unfindable again. Nobody could take a reference, because look-ups start at core 0.
    fn take_back_published(&self, vnc: u32, id: u32, cores: core::ops::Range<usize>) {
        for relative in cores {
            if let Ok(slot) = self.core(vnc, relative as u32).and_then(|core| self.database_remove(&core, id)) {
                self.drained(slot, None);
            }
        }
    }

    /// Step 2: what the load allocates on the host for one core, and the shared slot that names it.
    ///
    /// # Safety
    /// The slot is this caller's alone.
    unsafe fn begin_model(&self, vnc: u32, relative: u32, slot: NonNull<ModelSlot>, set: &mut vtpb_info_shared_mr_set_t) {
        let raw = slot.as_ptr();
        // SAFETY: exclusive by contract. Counters and links of the slot are atomics and keep their values.
        unsafe {
            let allocator = NonNull::new_unchecked(&raw mut (*raw).allocator);
            self.allocator_create(allocator, self.pcore(vnc, relative), dmem_allocator_type_t::DMEM_ALLOCATOR_TYPE_MODEL);
            self.mem_refs_initialise(slot);
            (*raw).group.head = null_mut();
            (*raw).group.tail = null_mut();
            (*raw).cleanup.num_entries = 0;
            (*raw).vnc.store(vnc, Relaxed);
            (*raw).relative.store(relative, Relaxed);
            (*raw).uses_ulib.store(user::NONE, Relaxed);
            (*raw).model.static_mr_set = null_mut();
            (*raw).model.io_mr_to_name_map = null_mut();
            (*raw).model.ulib_set_info = null_mut();
            *set = vtpb_info_shared_mr_set_t {
                mem_ref_set: &raw mut (*raw).mem_refs.table,
                model_allocator: allocator.as_ptr(),
                gc_tracker: &raw mut (*raw).group,
                scratchpad_cleanup_info: &raw mut (*raw).cleanup,
            };
        }
    }

    /// Step 3.
    ///
    /// # Safety
    /// The slots are this caller's alone.
    unsafe fn reserve_scratchpad(&self, vnc: u32, plan: &ModelPlan<'_>, slots: &Slots) -> Result<Placement> {
        let count = plan.subgraphs.len();
        let mut needs = [Need::default(); MAX_CORES_PER_VCORE];
        let mut records = [NonNull::dangling(); MAX_CORES_PER_VCORE];
        for (relative, subgraph) in plan.subgraphs.iter().enumerate() {
            needs[relative] = Need {
                local: subgraph.local_scratchpad_bytes,
                shared: subgraph.shared_scratchpad_bytes,
                by_variable: subgraph.variables.iter().any(|plan| matches!(plan.kind, VariableKind::VirtualTemporary { .. })),
            };
            let slot = slots[relative].ok_or(Error::new(Status::Failure, Cause::StaleHandle))?;
            // SAFETY: a place in a slot of this thread's.
            records[relative] = unsafe { NonNull::new_unchecked(&raw mut (*slot.as_ptr()).cleanup) };
        }
        let placement = self.scratchpad_size(vnc, &needs[..count])?;
        for (relative, subgraph) in plan.subgraphs.iter().enumerate() {
            self.check_arena(&self.core(vnc, relative as u32)?, relative, subgraph, &placement)?;
        }
        // SAFETY: the records are this thread's alone.
        unsafe { self.scratchpad_claim(vnc, &placement, &needs[..count], &records[..count])? };
        Ok(placement)
    }

    /// Step 5.
    ///
    /// # Safety
    /// The slot and the set are this caller's alone.
    #[expect(clippy::too_many_arguments, reason = "the add step takes these of the original")]
    unsafe fn add(
        &self,
        vnc: u32,
        relative: u32,
        id: u32,
        name: &str,
        slot: NonNull<ModelSlot>,
        set: &mut vtpb_info_shared_mr_set_t,
        subgraph: &SubgraphPlan<'_>,
    ) -> Result<()> {
        let arch = self.settings.arch;
        // SAFETY: exclusive by contract; written field by field because readers of a stale handle may still look at the
        // counters and links of this slot.
        unsafe {
            let raw = slot.as_ptr();
            let model = &raw mut (*raw).model;
            text::put(&mut (*model).name, name);
            (*model).h_model = H_MODEL { id };
            (*model).static_mr_set = set.mem_ref_set;
            (*model).gc_tracker = set.gc_tracker;
            (*model).dmem_allocator = set.model_allocator;
            (*model).scratchpad_cleanup_info = set.scratchpad_cleanup_info;
            *set = EMPTY_SET;
            (*model).target = al_hal_tpb_arch_type_t(arch as u32);
            (*model).num_hw_exec_queue_descs = 0;
            (*model).cc_ctx.model_allocator = (*model).dmem_allocator;
            (*model).cc_ctx.sbuf_evt_accel_valid = false;
            (*model).reset_evt_accel = false;
            (*model).program_fp8_cfg = subgraph.program_fp8_config;
            if arch == Arch::Cayman {
                let valid = check_evtaccel(subgraph.carveouts)?;
                (*model).cc_ctx.sbuf_evt_accel_valid = valid;
                (*model).reset_evt_accel = valid;
                if !valid {
                    self.hooks
                        .log(Level::Info, format_args!("model {id} \"{name}\" has no EVTACCEL reservation in the state buffer"));
                }
            }
            let maps: *mut kbl_fmap_t = (&raw mut (*raw).feature_maps).cast();
            for (index, io) in subgraph.inputs.iter().chain(subgraph.outputs).enumerate() {
                let map = maps.add(index);
                text::put(&mut (*map).name, io.name);
                (*map).size = io.bytes;
                (*map).var_id = io.variable;
            }
            (*model).input_fmap_set.fmaps = maps;
            (*model).input_fmap_set.n = subgraph.inputs.len() as u32;
            (*model).output_fmap_set.fmaps = maps.add(subgraph.inputs.len());
            (*model).output_fmap_set.n = subgraph.outputs.len() as u32;
            self.io_names_fill(slot, subgraph.inputs.len(), subgraph.outputs.len());
            let core = self.core(vnc, relative)?;
            self.resolve_pointers(core.core, slot, subgraph)?;
            if arch == Arch::Sunda {
                self.ulib_add(&core, slot, subgraph)?;
            }
        }
        Ok(())
    }
}

/// Asks a source for bytes.
pub(crate) fn fill(source: &dyn ByteSource, offset: u64, buffer: &mut [u8]) -> Result<()> {
    source.read(offset, buffer).map_err(|what| Error::new(Status::Failure, Cause::Source(what)))
}
