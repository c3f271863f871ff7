//! What variables say about each other: checked when all are entered, filled in when all are placed (fact sheet `model-load`
//! §§3, 4, 7).

use core::ptr::{NonNull, null_mut};

use crate::abi::{dmem_t, mem_ref_t, mem_ref_t_staged, mr_type};
use crate::arena::{MAX_CORES_PER_VCORE, ModelSlot};
use crate::dmem::DmemRequest;
use crate::driver::Driver;
use crate::error::{Cause, Error, PlanRule, Result};
use crate::hooks::Hooks;
use crate::system::System;
use crate::usage::{Location, Usage};

use super::mem_refs::{UNSTAGED, address_of, broken, memory_of};
use super::{ModelPlan, SubgraphPlan, VariableKind, VariablePlan};

/// The slots of a model, one for each subgraph.
pub(super) type Slots = [Option<NonNull<ModelSlot>>; MAX_CORES_PER_VCORE];

/// Bytes of a pointer.
const POINTER: u64 = 8;

/// Whether a kind has an address of its own core's memory once it is placed.
const fn is_placed(kind: mr_type) -> bool {
    matches!(kind, mr_type::SB | mr_type::BUFFER | mr_type::TMP_BUF | mr_type::VIRTUAL_TMP_BUF)
}

const fn is_io(kind: mr_type) -> bool {
    matches!(kind, mr_type::INPUT | mr_type::OUTPUT)
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Checks what the variables of a model say about each other. Nothing is placed yet.
    ///
    /// # Errors
    /// `NRT_INVALID` naming the first variable that breaks a rule.
    ///
    /// # Safety
    /// The slots are this caller's alone, with every variable entered.
    pub(super) unsafe fn check_references(&self, slots: &Slots, plan: &ModelPlan<'_>) -> Result<()> {
        for (index, (subgraph, slot)) in (0..).zip(plan.subgraphs.iter().zip(slots)) {
            let Some(slot) = *slot else { continue };
            for variable in subgraph.variables {
                let checked = match variable.kind {
                    VariableKind::Pointer { target, io } => self.check_target(slot, target, |kind| {
                        if io != is_io(kind) {
                            return Err(PlanRule::TargetKind { target, io });
                        }
                        let known = io || is_placed(kind) || kind == mr_type::REMOTE;
                        known.then_some(()).ok_or(PlanRule::TargetWithoutAddress(target))
                    }),
                    VariableKind::List { variables } => {
                        variables.iter().try_for_each(|target| self.check_target(slot, *target, |_| Ok(())))
                    }
                    VariableKind::PointerTable { variables } => variables.iter().try_for_each(|target| {
                        self.check_target(slot, *target, |kind| {
                            let known = is_io(kind) || is_placed(kind) || matches!(kind, mr_type::REMOTE | mr_type::PTR);
                            known.then_some(()).ok_or(PlanRule::TargetWithoutAddress(*target))
                        })
                    }),
                    VariableKind::Remote { subgraph, variable: target } => {
                        // The plan's check has seen to it that the subgraph exists.
                        match slots.get(subgraph as usize).copied().flatten() {
                            Some(source) => self.check_remote(source, target, variable),
                            None => Err(PlanRule::NoTarget(target)),
                        }
                    }
                    _ => Ok(()),
                };
                checked.map_err(|rule| broken(index, variable.variable, rule))?;
            }
        }
        Ok(())
    }

    fn check_target(
        &self,
        slot: NonNull<ModelSlot>,
        target: u32,
        rule: impl FnOnce(mr_type) -> core::result::Result<(), PlanRule>,
    ) -> core::result::Result<(), PlanRule> {
        let record = self.mem_ref(slot, target).ok_or(PlanRule::NoTarget(target))?;
        // SAFETY: a live record that only this caller's load writes.
        rule(unsafe { (*record.as_ptr()).r#type })
    }

    fn check_remote(
        &self,
        source: NonNull<ModelSlot>,
        target: u32,
        variable: &VariablePlan<'_>,
    ) -> core::result::Result<(), PlanRule> {
        self.check_target(source, target, |kind| is_placed(kind).then_some(()).ok_or(PlanRule::TargetWithoutAddress(target)))?;
        // SAFETY: as in `check_target`, which has found it.
        let bytes = self.mem_ref(source, target).map_or(0, |record| unsafe { (*record.as_ptr()).size });
        if variable.bytes > bytes {
            return Err(PlanRule::RemoteSize { bytes: variable.bytes, source: bytes });
        }
        Ok(())
    }

    /// The second pass: remote variables borrow what their sources got. Every core of the model is placed.
    ///
    /// # Safety
    /// The slots are this caller's alone; [`check_references`](Self::check_references) has passed.
    pub(super) unsafe fn borrow_remote(&self, slots: &Slots, plan: &ModelPlan<'_>) -> Result<()> {
        for (subgraph, slot) in plan.subgraphs.iter().zip(slots) {
            let Some(slot) = *slot else { continue };
            for variable in subgraph.variables {
                let VariableKind::Remote { subgraph, variable: target } = variable.kind else { continue };
                let missing = Error::invalid(Cause::UnknownVariable(target));
                let source = slots.get(subgraph as usize).copied().flatten().and_then(|slot| self.mem_ref(slot, target));
                let (source, record) = source.zip(self.mem_ref(slot, variable.variable)).ok_or(missing)?;
                // SAFETY: both records are live and this load's alone.
                unsafe {
                    let mem_ref_t_staged { physical_address, mem, mem_offset, va } = (*source.as_ptr()).u.staged;
                    (*record.as_ptr()).u.staged = mem_ref_t_staged { physical_address, mem, mem_offset, va };
                    (*record.as_ptr()).remote = true;
                }
            }
        }
        Ok(())
    }

    /// Pointer variables get their words in device memory, and pointer tables their addresses (the pointer-variable step of
    /// `kbl_model_add`). Every variable of the core is placed.
    ///
    /// A word holds the address of what it points to, all ones while that is an input or output nobody has bound. A run writes
    /// the addresses of what it binds.
    ///
    /// # Errors
    /// What allocation and copying answer.
    ///
    /// # Safety
    /// The slot is this caller's alone; [`check_references`](Self::check_references) has passed.
    pub(super) unsafe fn resolve_pointers(&self, core: u32, slot: NonNull<ModelSlot>, subgraph: &SubgraphPlan<'_>) -> Result<()> {
        let pointers = || {
            subgraph.variables.iter().filter_map(|variable| match variable.kind {
                VariableKind::Pointer { target, io } => Some((variable.variable, target, io)),
                _ => None,
            })
        };
        let count = pointers().count() as u64;
        // SAFETY: by contract; the allocator and the list are live and this caller's.
        unsafe {
            (*slot.as_ptr()).io_pointers = null_mut();
            if count != 0 {
                let request = DmemRequest {
                    size: count * POINTER,
                    align: 0,
                    location: Location::Device,
                    channel: self.settings.arch.default_channel(core),
                    usage: Usage::Generic,
                    hint: "pointer variables",
                    group: Some(NonNull::new_unchecked(&raw mut (*slot.as_ptr()).group)),
                };
                let words = self.dmem_alloc(NonNull::new_unchecked(&raw mut (*slot.as_ptr()).allocator), &request)?;
                for (at, (variable, _, io)) in (0..).zip(pointers()) {
                    let record = self.mem_ref(slot, variable).ok_or(Error::invalid(Cause::UnknownVariable(variable)))?;
                    (*record.as_ptr()).u.ptr.ptr_mem_addr = self.dmem_address(words, at * POINTER);
                    if io {
                        (*slot.as_ptr()).io_pointers = words.as_ptr();
                    }
                }
                self.write_pointers(slot, words, &|_| None)?;
            }
            for variable in subgraph.variables {
                if let (VariableKind::PointerTable { .. }, Some(record)) = (variable.kind, self.mem_ref(slot, variable.variable))
                {
                    self.resolve_table(slot, record);
                }
            }
        }
        Ok(())
    }

    /// Writes every pointer word of a core: the address of what it points to; for an input or output what `bound` answers, all
    /// ones without an answer.
    ///
    /// # Errors
    /// What copying answers. Some words may be written then.
    ///
    /// # Cost
    /// One transfer. Every piece of the copy engine looks at every variable once.
    ///
    /// # Safety
    /// The model is this caller's alone, or pinned and its core held; `words` is the memory of its pointer variables.
    pub(super) unsafe fn write_pointers(
        &self,
        slot: NonNull<ModelSlot>,
        words: NonNull<dmem_t>,
        bound: &dyn Fn(u32) -> Option<u64>,
    ) -> Result<()> {
        // SAFETY: by contract; records of a placed model are only read.
        unsafe {
            let (base, bytes) = (self.dmem_address(words, 0), (*words.as_ptr()).size as u64);
            self.dmem_copy_in_from(words, 0, bytes, &mut |piece, at| {
                let end = at + piece.len() as u64;
                self.for_each_mem_ref(slot, |record| {
                    if (*record.as_ptr()).r#type != mr_type::PTR {
                        return;
                    }
                    let pointer = (*record.as_ptr()).u.ptr;
                    let start = pointer.ptr_mem_addr - base;
                    if start >= end || start + POINTER <= at {
                        return;
                    }
                    let target = pointer.mr_ptr_id as u32;
                    let value =
                        if pointer.is_io { bound(target) } else { self.mem_ref(slot, target).map(|record| address_of(record)) };
                    // Pieces of the memory may end anywhere.
                    for (position, byte) in (start..).zip(value.unwrap_or(UNSTAGED).to_le_bytes()) {
                        let place = position.checked_sub(at).and_then(|position| piece.get_mut(position as usize));
                        if let Some(place) = place {
                            *place = byte;
                        }
                    }
                });
                Ok(())
            })
        }
    }

    /// # Safety
    /// The record is a pointer table of this caller's slot.
    unsafe fn resolve_table(&self, slot: NonNull<ModelSlot>, record: NonNull<mem_ref_t>) {
        // SAFETY: by contract; the three arrays have `length` entries.
        unsafe {
            let table = (*record.as_ptr()).u.ptr_table;
            for at in 0..table.length as usize {
                let Some(target) = self.mem_ref(slot, table.var_ids.add(at).read()) else { continue };
                table.addrs.add(at).write(address_of(target));
                table.needs_translation.add(at).write(is_io((*target.as_ptr()).r#type));
            }
        }
    }

    /// Device address of a span of a variable (the resolve of `model-load` §4).
    ///
    /// # Errors
    /// `NRT_INVALID` when the model has no such variable, the span does not lie inside it, it has no address, or an offset is
    /// asked for in a pointer variable, which the original asserts.
    ///
    /// # Safety
    /// The caller holds a reference to the model.
    pub(crate) unsafe fn variable_address(
        &self,
        slot: NonNull<ModelSlot>,
        variable: u32,
        offset: u64,
        length: u64,
    ) -> Result<u64> {
        let unknown = Error::invalid(Cause::UnknownVariable(variable));
        let record = self.mem_ref(slot, variable).ok_or(unknown)?;
        // SAFETY: a record of a pinned model is only read.
        unsafe {
            let size = if (*record.as_ptr()).r#type == mr_type::PTR { POINTER } else { (*record.as_ptr()).size };
            let outside = Error::invalid(Cause::OutOfBounds { offset, size: length, limit: size });
            if offset.checked_add(length).is_none_or(|end| end > size) {
                return Err(outside);
            }
            if (*record.as_ptr()).r#type == mr_type::PTR && offset != 0 {
                return Err(outside);
            }
            match address_of(record) {
                UNSTAGED => Err(unknown),
                address => address.checked_add(offset).ok_or(outside),
            }
        }
    }

    /// Copies a span of a variable out.
    ///
    /// # Errors
    /// `NRT_INVALID` when the model has no such variable, it has no memory, or the span is empty or outside; what copying
    /// answers.
    ///
    /// # Safety
    /// The caller holds a reference to the model, which is resident on `vnc`.
    pub(crate) unsafe fn variable_read(
        &self,
        slot: NonNull<ModelSlot>,
        variable: u32,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<()> {
        let unknown = Error::invalid(Cause::UnknownVariable(variable));
        let record = self.mem_ref(slot, variable).ok_or(unknown)?;
        // SAFETY: pinned, so record and memory stay; a scratchpad variable's pages are claimed by the model (or, for a remote
        // one, by the model's other core, which is pinned or published as long).
        unsafe {
            let memory = memory_of(record).ok_or(unknown)?;
            let (size, start) = ((*record.as_ptr()).size, (*record.as_ptr()).u.staged.mem_offset);
            crate::dmem::within(offset, bytes.len() as u64, size)?;
            self.dmem_copy_out_across(memory, start + offset, bytes)
        }
    }

    /// Copies out of memory that may go on in the scratchpad pages above it.
    ///
    /// # Safety
    /// As [`variable_read`](Self::variable_read).
    unsafe fn dmem_copy_out_across(&self, first: NonNull<dmem_t>, offset: u64, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: by contract.
        unsafe {
            let (mut memory, mut offset, mut rest) = (first, offset, bytes);
            loop {
                let size = (*memory.as_ptr()).size as u64;
                if offset < size {
                    let here = (size - offset).min(rest.len() as u64) as usize;
                    let (now, later) = rest.split_at_mut(here);
                    self.dmem_copy_out(memory, offset, now)?;
                    (rest, offset) = (later, size);
                }
                if rest.is_empty() {
                    return Ok(());
                }
                offset -= size;
                memory = self.scratchpad_page_above(memory)?.ok_or(Error::invalid(Cause::OutOfBounds {
                    offset,
                    size: rest.len() as u64,
                    limit: 0,
                }))?;
            }
        }
    }
}

/// The staged arm of an unplaced variable with a fixed address.
pub(super) const fn fixed(address: u64) -> mem_ref_t_staged {
    mem_ref_t_staged { physical_address: address, mem: null_mut(), mem_offset: 0, va: null_mut() }
}
