//! Loading (fact sheet `model-load` §§2–7).
//!
//! 1. Check the plan, mint the handle.
//! 2. Per core: a slot with an empty MODEL heap, an empty variable index, an empty group list and a cleanup record; the
//!    four are named by a shared slot (`vtpb_info_shared_mr_set_t`).
//! 3. Reserve scratchpad on all cores.
//! 4. Per core: allocate every region from the MODEL heap, stage its bytes, record its variable.
//! 5. Per core: move the four pointers into the model and zero the shared slot; check the carveout; share or stage the
//!    microcode library; write the input and output contract.
//! 6. Publish: the second core first, the first core last. Nothing after that can fail.
//!
//! Whatever fails before 6, everything is taken back.

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{H_MODEL, al_hal_tpb_arch_type_t, dmem_allocator_type_t, kbl_fmap_t, mr_type, vtpb_info_shared_mr_set_t};
use crate::arch::Arch;
use crate::arena::{MAX_CORES_PER_VCORE, ModelSlot};
use crate::dmem::DmemRequest;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::{Hooks, Level};
use crate::ledger::TOTAL;
use crate::scratchpad::Need;
use crate::status::Status;
use crate::system::System;
use crate::text;
use crate::usage::Usage;

use super::carveout::check_evtaccel;
use super::{ByteSource, IoPlan, ModelPlan, RegionPlan, SubgraphPlan};

/// The slots of a model under construction, one per subgraph.
struct Building {
    slots: [Option<NonNull<ModelSlot>>; MAX_CORES_PER_VCORE],
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
        let before = self.usage_of(&self.core(vnc, 0)?)[TOTAL];
        let id = self.mint();
        let mut building = Building { slots: [None; MAX_CORES_PER_VCORE], shared: [EMPTY_SET; MAX_CORES_PER_VCORE] };
        match self.build(vnc, id, plan, &mut building) {
            Ok(()) => {
                let core = self.core(vnc, 0)?;
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
                Ok(id)
            }
            Err(error) => {
                // SAFETY: an unpublished model is this thread's alone.
                building.slots.into_iter().flatten().for_each(|slot| unsafe { self.model_free(slot) });
                Err(error)
            }
        }
    }

    fn build(&self, vnc: u32, id: u32, plan: &ModelPlan<'_>, building: &mut Building) -> Result<()> {
        let Building { slots, shared } = building;
        for (relative, set) in (0..).zip(shared.iter_mut().take(plan.subgraphs.len())) {
            let slot = self.arenas.models.take()?;
            slots[relative as usize] = Some(slot);
            // SAFETY: the slot was free and is this thread's until it is published.
            unsafe {
                self.begin_model(vnc, relative, slot, set);
                // Early: when the load runs out of memory the report names it.
                text::put(&mut (*slot.as_ptr()).model.name, plan.name);
            }
        }
        self.reserve_scratchpad(vnc, plan, slots)?;
        for (relative, subgraph) in plan.subgraphs.iter().enumerate() {
            let Some(slot) = slots[relative] else { continue };
            // SAFETY: as above.
            unsafe {
                self.stage(vnc, relative as u32, slot, subgraph)?;
                self.add(vnc, relative as u32, id, plan.name, slot, &mut shared[relative], subgraph)?;
            }
        }
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
            (*raw).uses_ulib.store(0, Relaxed);
            (*raw).model.static_mr_set = null_mut();
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
    fn reserve_scratchpad(
        &self,
        vnc: u32,
        plan: &ModelPlan<'_>,
        slots: &[Option<NonNull<ModelSlot>>; MAX_CORES_PER_VCORE],
    ) -> Result<()> {
        let count = plan.subgraphs.len();
        let mut needs = [Need::default(); MAX_CORES_PER_VCORE];
        let mut records = [NonNull::dangling(); MAX_CORES_PER_VCORE];
        for (relative, subgraph) in plan.subgraphs.iter().enumerate() {
            needs[relative] = Need { local: subgraph.local_scratchpad_bytes, shared: subgraph.shared_scratchpad_bytes };
            let slot = slots[relative].ok_or(Error::new(Status::Failure, Cause::StaleHandle))?;
            // SAFETY: a place in a slot of this thread's.
            records[relative] = unsafe { NonNull::new_unchecked(&raw mut (*slot.as_ptr()).cleanup) };
        }
        // SAFETY: the records are this thread's alone.
        unsafe { self.scratchpad_model_init(vnc, &needs[..count], &records[..count]).map(|_| ()) }
    }

    /// Step 4.
    ///
    /// # Safety
    /// The slot is this caller's alone.
    unsafe fn stage(&self, vnc: u32, relative: u32, slot: NonNull<ModelSlot>, subgraph: &SubgraphPlan<'_>) -> Result<()> {
        let core = self.core(vnc, relative)?;
        for region in subgraph.regions {
            // SAFETY: by contract.
            unsafe { self.stage_region(core.core, slot, region)? };
        }
        for (io, kind) in inputs_and_outputs(subgraph) {
            // SAFETY: by contract. Inputs and outputs are bound when the model runs.
            unsafe { self.mem_ref_add(slot, io.variable, kind, io.name, io.bytes, None)? };
        }
        Ok(())
    }

    /// # Safety
    /// As [`stage`](Self::stage).
    unsafe fn stage_region(&self, core: u32, slot: NonNull<ModelSlot>, region: &RegionPlan<'_>) -> Result<()> {
        let kind = match region.usage {
            Usage::ScratchpadNotShared | Usage::DramSpill => mr_type::TMP_BUF,
            _ => mr_type::BUFFER,
        };
        let channel = region.channel.unwrap_or(self.settings.arch.default_channel(core));
        for piece in region.pieces() {
            let request = DmemRequest {
                size: piece.bytes,
                align: region.align,
                location: region.location,
                channel,
                usage: region.usage,
                hint: region.name,
                // SAFETY: a place in a slot of this thread's.
                group: Some(unsafe { NonNull::new_unchecked(&raw mut (*slot.as_ptr()).group) }),
            };
            // SAFETY: the allocator and the list are live and this thread's.
            unsafe {
                let memory = self.dmem_alloc(NonNull::new_unchecked(&raw mut (*slot.as_ptr()).allocator), &request)?;
                if let Some(source) = region.source {
                    self.dmem_copy_in_from(memory, 0, piece.bytes, &mut |buffer, at| fill(source, piece.offset + at, buffer))?;
                }
                self.mem_ref_add(slot, piece.variable, kind, region.name, piece.bytes, Some(memory))?;
            }
        }
        Ok(())
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
            (*model).io_mr_to_name_map = null_mut();
            (*model).num_hw_exec_queue_descs = 0;
            (*model).cc_ctx.model_allocator = (*model).dmem_allocator;
            (*model).cc_ctx.sbuf_evt_accel_valid = false;
            (*model).reset_evt_accel = false;
            (*model).program_fp8_cfg = false;
            if arch == Arch::Cayman {
                let valid = check_evtaccel(subgraph.carveouts)?;
                (*model).cc_ctx.sbuf_evt_accel_valid = valid;
                (*model).reset_evt_accel = valid;
                if !valid {
                    self.hooks
                        .log(Level::Info, format_args!("model {id} \"{name}\" has no EVTACCEL reservation in the state buffer"));
                }
            }
            (*model).ulib_set_info = null_mut();
            if arch == Arch::Sunda
                && let [library] = subgraph.libraries
            {
                (*model).ulib_set_info = self.ulib_attach(&self.core(vnc, relative)?, library)?;
                (*raw).uses_ulib.store(1, Relaxed);
            }
            let maps: *mut kbl_fmap_t = (&raw mut (*raw).feature_maps).cast();
            for (index, (io, _)) in inputs_and_outputs(subgraph).enumerate() {
                let map = maps.add(index);
                text::put(&mut (*map).name, io.name);
                (*map).size = io.bytes;
                (*map).var_id = io.variable;
            }
            (*model).input_fmap_set.fmaps = maps;
            (*model).input_fmap_set.n = subgraph.inputs.len() as u32;
            (*model).output_fmap_set.fmaps = maps.add(subgraph.inputs.len());
            (*model).output_fmap_set.n = subgraph.outputs.len() as u32;
        }
        Ok(())
    }
}

fn inputs_and_outputs<'a>(subgraph: &SubgraphPlan<'a>) -> impl Iterator<Item = (IoPlan<'a>, mr_type)> {
    let (inputs, outputs) = (subgraph.inputs, subgraph.outputs);
    inputs.iter().map(|io| (*io, mr_type::INPUT)).chain(outputs.iter().map(|io| (*io, mr_type::OUTPUT)))
}

/// Asks a source for bytes.
pub(crate) fn fill(source: &dyn ByteSource, offset: u64, buffer: &mut [u8]) -> Result<()> {
    source.read(offset, buffer).map_err(|what| Error::new(Status::Failure, Cause::Source(what)))
}
