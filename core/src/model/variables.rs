//! Where each variable of a subgraph goes (fact sheets `model-load` §4, `scratchpad` §8).
//!
//! | kind | place |
//! | --- | --- |
//! | state buffer | a fixed address, nothing is allocated |
//! | buffer, temporary | device memory of its own, with its content |
//! | virtual temporary | the scratchpad; memory of its own when the pages do not hold it |
//! | staged buffer, input, output | none here |
//! | pointer, list, table, remote | see [`references`](super::references) |

use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{dmem_t, tdrv_scratchpad_info_t};
use crate::arch::Arch;
use crate::arena::ModelSlot;
use crate::context::ResolvedCore;
use crate::dmem::DmemRequest;
use crate::driver::Driver;
use crate::error::{Cause, Error, PlanRule, Result};
use crate::hooks::Hooks;
use crate::scratchpad::{self, Placement};
use crate::system::System;
use crate::usage::{Location, Usage};

use super::load::fill;
use super::mem_refs::broken;
use super::references::{Slots, fixed};
use super::{Arena, ByteSource, RegionPlan, SubgraphPlan, VariableKind, VariablePlan};

impl Placement {
    /// The slice an arena is of a subgraph.
    fn slice(&self, relative: usize, arena: Arena) -> &tdrv_scratchpad_info_t {
        match arena {
            Arena::Shared => &self.shared,
            _ => &self.local[relative],
        }
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Checks where scratchpad variables will start, before a page is reserved.
    ///
    /// # Errors
    /// `NRT_INVALID` when one would not start at a multiple of 4 KiB.
    pub(super) fn check_arena(
        &self,
        core: &ResolvedCore,
        relative: usize,
        subgraph: &SubgraphPlan<'_>,
        placement: &Placement,
    ) -> Result<()> {
        let page_size = self.scratchpad_page_bytes(core);
        for plan in subgraph.variables {
            let VariableKind::VirtualTemporary { arena, offset } = plan.kind else { continue };
            // Slice and variable lie inside what was sized, so the sum is one of 64 bits.
            let start = placement.slice(relative, arena).offset + offset;
            if !(start % page_size).is_multiple_of(scratchpad::REQUIRED_ALIGN) {
                return Err(broken(relative as u32, plan.variable, PlanRule::ArenaAddress(start)));
            }
        }
        Ok(())
    }

    /// Places the regions and variables of a subgraph.
    ///
    /// # Errors
    /// What the pools, allocation, copying and the sources answer.
    ///
    /// # Safety
    /// The slots are this caller's alone, entered and with their claims.
    pub(super) unsafe fn place_all(
        &self,
        vnc: u32,
        relative: usize,
        slots: &Slots,
        subgraph: &SubgraphPlan<'_>,
        placement: &Placement,
    ) -> Result<()> {
        let Some(slot) = slots[relative] else { return Ok(()) };
        let core = self.core(vnc, relative as u32)?;
        // SAFETY: by contract.
        unsafe {
            for region in subgraph.regions {
                self.place_region(&core, slot, region)?;
            }
            for plan in subgraph.variables {
                match plan.kind {
                    VariableKind::StateBuffer => {
                        let record =
                            self.mem_ref(slot, plan.variable).ok_or(Error::invalid(Cause::UnknownVariable(plan.variable)))?;
                        (*record.as_ptr()).u.staged = fixed(self.settings.arch.state_buffer(core.core));
                        (*record.as_ptr()).size = Arch::STATE_BUFFER_BYTES;
                    }
                    VariableKind::Buffer { source } => self.place_own(&core, slot, plan, Usage::Weight, source)?,
                    VariableKind::Temporary { source } => {
                        self.place_own(&core, slot, plan, Usage::ScratchpadNotShared, source)?;
                    }
                    VariableKind::VirtualTemporary { arena, offset } => {
                        let slice = placement.slice(relative, arena);
                        self.place_virtual(&core, slots, slot, plan, slice, arena, offset)?;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`place_all`](Self::place_all).
    unsafe fn place_region(&self, core: &ResolvedCore, slot: NonNull<ModelSlot>, region: &RegionPlan<'_>) -> Result<()> {
        let channel = region.channel.unwrap_or(self.settings.arch.default_channel(core.core));
        for piece in region.pieces() {
            // SAFETY: by contract; the allocators and the list are live.
            unsafe {
                let heap = if region.is_global() {
                    self.global_allocator(core)
                } else {
                    NonNull::new_unchecked(&raw mut (*slot.as_ptr()).allocator)
                };
                let request = DmemRequest {
                    size: piece.bytes,
                    align: region.align,
                    location: region.location,
                    channel,
                    usage: region.usage,
                    hint: region.name,
                    group: Some(NonNull::new_unchecked(&raw mut (*slot.as_ptr()).group)),
                };
                let memory = self.dmem_alloc(heap, &request)?;
                if let Some(source) = region.source {
                    self.dmem_copy_in_from(memory, 0, piece.bytes, &mut |buffer, at| fill(source, piece.offset + at, buffer))?;
                }
                self.mem_ref_place(slot, piece.variable, memory, 0)?;
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`place_all`](Self::place_all).
    unsafe fn place_own(
        &self,
        core: &ResolvedCore,
        slot: NonNull<ModelSlot>,
        plan: &VariablePlan<'_>,
        usage: Usage,
        source: Option<&dyn ByteSource>,
    ) -> Result<()> {
        // SAFETY: by contract; the allocator and the list are live.
        unsafe {
            let request = DmemRequest {
                size: plan.bytes,
                align: plan.align,
                location: Location::Device,
                channel: self.settings.arch.default_channel(core.core),
                usage,
                hint: plan.name,
                group: Some(NonNull::new_unchecked(&raw mut (*slot.as_ptr()).group)),
            };
            let memory = self.dmem_alloc(NonNull::new_unchecked(&raw mut (*slot.as_ptr()).allocator), &request)?;
            if let Some(source) = source {
                self.dmem_copy_in_from(memory, 0, plan.bytes, &mut |buffer, at| fill(source, at, buffer))?;
            }
            self.mem_ref_place(slot, plan.variable, memory, 0).map(drop)
        }
    }

    /// # Safety
    /// As [`place_all`](Self::place_all).
    #[expect(clippy::too_many_arguments, reason = "the placement of a variable takes these of the original")]
    unsafe fn place_virtual(
        &self,
        core: &ResolvedCore,
        slots: &Slots,
        slot: NonNull<ModelSlot>,
        plan: &VariablePlan<'_>,
        slice: &tdrv_scratchpad_info_t,
        arena: Arena,
        offset: u64,
    ) -> Result<()> {
        // SAFETY: by contract; the slice names a handle of this system, and the records are those of this model.
        unsafe {
            let records = slots.iter().flatten().map(|slot| NonNull::new_unchecked(&raw mut (*slot.as_ptr()).cleanup));
            let claimed = self.scratchpad_claimed(records, slice.pcore);
            let start = slice.offset + offset;
            let found: Result<(NonNull<dmem_t>, u64)> =
                self.scratchpad_span(&self.resolve(slice.pcore)?, Some(claimed), start, plan.bytes);
            let Ok((page, in_page)) = found else {
                let largest = &(*slot.as_ptr()).allocator.largest_oversized_scratchpad_var;
                self.place_own(core, slot, plan, Usage::ScratchpadNotShared, None)?;
                largest.fetch_max(plan.bytes as usize, Relaxed);
                return Ok(());
            };
            let record = self.mem_ref_place(slot, plan.variable, page, in_page)?;
            (*record.as_ptr()).shared_virtual_scratchpad = arena == Arena::Shared;
            let mut records = slots.iter().flatten().map(|slot| (*slot.as_ptr()).cleanup.contiguous_scratchpad_va);
            if let Some(mapped) = records.find(|va| !va.is_null()) {
                (*record.as_ptr()).u.staged.va = mapped.wrapping_byte_add(start as usize);
            }
        }
        Ok(())
    }
}
