//! The index of a model's variables (fact sheet `model-load` §§3, 4): 1,024 buckets by variable id.

use core::mem::offset_of;
use core::ptr::{NonNull, null_mut};

use crate::abi::{dmem_t, ht_node_t, mem_ref_t, mem_ref_t_staged, mr_type};
use crate::arena::{MEM_REF_BUCKETS, MemRefSlot, ModelSlot};
use crate::driver::Driver;
use crate::error::{Cause, Error, PlanFault, PlanPart, PlanRule, Result};
use crate::hash_table::HashTable;
use crate::hooks::Hooks;
use crate::system::System;
use crate::text;
use crate::usage::Usage;

/// Address of a variable that has no memory yet. Never 0, which is a legal device address.
pub(crate) const UNSTAGED: u64 = u64::MAX;

/// What a variable is and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableInfo {
    /// Variable id.
    pub variable: u32,
    /// `mr_type` number.
    pub kind: u32,
    /// Bytes.
    pub bytes: u64,
    /// Device address, or all ones when the variable has no memory of its own.
    pub address: u64,
    /// What its memory is for; `None` without memory.
    pub usage: Option<Usage>,
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// The index inside a model's slot.
    pub(super) fn mem_refs(&self, slot: NonNull<ModelSlot>) -> HashTable {
        // SAFETY: header and buckets are one block of a slot that lives for ever.
        unsafe {
            let index = &raw mut (*slot.as_ptr()).mem_refs;
            HashTable::new(
                NonNull::new_unchecked(&raw mut (*index).table),
                NonNull::new_unchecked((&raw mut (*index).buckets).cast()),
            )
        }
    }

    /// # Safety
    /// The slot is this caller's alone.
    pub(super) unsafe fn mem_refs_initialise(&self, slot: NonNull<ModelSlot>) {
        // SAFETY: exclusive by contract.
        unsafe { self.mem_refs(slot).initialise(MEM_REF_BUCKETS as u64) };
    }

    /// Records a variable; `memory` is where it was placed, or `None` for one that is resolved later.
    ///
    /// # Errors
    /// `NRT_INVALID` when the id occurs twice, `NRT_RESOURCE` when the pool is full.
    ///
    /// # Safety
    /// The slot is this caller's alone; `memory` is a live node.
    pub(super) unsafe fn mem_ref_add(
        &self,
        slot: NonNull<ModelSlot>,
        variable: u32,
        kind: mr_type,
        name: &str,
        bytes: u64,
        memory: Option<NonNull<dmem_t>>,
    ) -> Result<()> {
        let index = self.mem_refs(slot);
        if index.find(u64::from(variable)).is_some() {
            // SAFETY: a live slot.
            let subgraph = unsafe { (*slot.as_ptr()).relative.load(core::sync::atomic::Ordering::Relaxed) };
            return Err(Error::plan(PlanFault { subgraph, part: PlanPart::Variable(variable), rule: PlanRule::Duplicate }));
        }
        let record = self.arenas.mem_refs.take()?;
        // SAFETY: the record was free; nobody else looks at it before it is linked.
        unsafe {
            let address = memory.map_or(UNSTAGED, |memory| self.dmem_address(memory, 0));
            let text = &raw mut (*record.as_ptr()).name;
            text::put(&mut *text, name);
            let raw: *mut mem_ref_t = &raw mut (*record.as_ptr()).mem_ref;
            (*raw).name = text.cast();
            (*raw).r#type = kind;
            (*raw).size = bytes;
            (*raw).var_id = variable;
            (*raw).remote = false;
            (*raw).shared_virtual_scratchpad = false;
            (*raw).u.staged = mem_ref_t_staged {
                physical_address: address,
                mem: memory.map_or(null_mut(), NonNull::as_ptr),
                mem_offset: 0,
                va: null_mut(),
            };
            (*raw).dtype = [0; 16];
            (*raw).shape = [0; 8];
            (*raw).debug_md = null_mut();
            index.insert(u64::from(variable), NonNull::new_unchecked(&raw mut (*raw).ht_node));
        }
        Ok(())
    }

    /// Frees every record, not the memory they name.
    ///
    /// # Safety
    /// The slot is this caller's alone.
    pub(super) unsafe fn mem_refs_free(&self, slot: NonNull<ModelSlot>) {
        let index = self.mem_refs(slot);
        index.for_each(|node| self.arenas.mem_refs.give(record_of(node)));
        // SAFETY: exclusive by contract; the chains named records that are gone.
        unsafe { self.mem_refs_initialise(slot) };
    }

    /// Calls `visit` with every variable of a model, in no particular order.
    ///
    /// # Safety
    /// The caller holds a reference to the model.
    pub(crate) unsafe fn for_each_variable(&self, slot: NonNull<ModelSlot>, mut visit: impl FnMut(VariableInfo, &str)) {
        self.mem_refs(slot).for_each(|node| {
            let record = record_of(node).as_ptr();
            // SAFETY: a live record of a published model is only read; its memory lives as long as the model.
            unsafe {
                let staged = (*record).mem_ref.u.staged;
                let usage = NonNull::new(staged.mem).and_then(|memory| Usage::from_number((*memory.as_ptr()).mem_usage_type.0));
                let info = VariableInfo {
                    variable: (*record).mem_ref.var_id,
                    kind: (*record).mem_ref.r#type.0,
                    bytes: (*record).mem_ref.size,
                    address: staged.physical_address,
                    usage,
                };
                visit(info, text::from_nul_terminated(&(*record).name));
            }
        });
    }

    /// The memory of a variable.
    ///
    /// # Errors
    /// `NRT_INVALID` when the model has no such variable or it has no memory.
    ///
    /// # Safety
    /// The caller holds a reference to the model.
    pub(crate) unsafe fn variable_memory(&self, slot: NonNull<ModelSlot>, variable: u32) -> Result<NonNull<dmem_t>> {
        self.mem_refs(slot)
            .find(u64::from(variable))
            // SAFETY: as in `for_each_variable`.
            .and_then(|node| NonNull::new(unsafe { (*record_of(node).as_ptr()).mem_ref.u.staged.mem }))
            .ok_or(Error::invalid(Cause::UnknownVariable(variable)))
    }
}

fn record_of(node: NonNull<ht_node_t>) -> NonNull<MemRefSlot> {
    const OFFSET: usize = offset_of!(MemRefSlot, mem_ref) + offset_of!(mem_ref_t, ht_node);
    // SAFETY: nodes of a mem_ref index are embedded in records at this offset; the pointers cover the record array.
    unsafe { node.byte_sub(OFFSET).cast() }
}
