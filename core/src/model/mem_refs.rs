//! The index of a model's variables (fact sheet `model-load` §§3, 4): 1,024 buckets by variable id.
//!
//! Every variable of a plan is entered before anything is allocated, so that an id that occurs twice and a reference that leads
//! nowhere are found first. What is placed later gets its address in place.

use core::mem::offset_of;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{dmem_t, ht_node_t, mem_ref_t, mem_ref_t_list, mem_ref_t_ptr, mem_ref_t_ptr_table, mem_ref_t_staged, mr_type};
use crate::arena::{MEM_REF_BUCKETS, MemRefSlot, ModelSlot, POINTER_TABLE_ENTRY};
use crate::driver::Driver;
use crate::error::{Cause, Error, PlanFault, PlanPart, PlanRule, Result};
use crate::hash_table::HashTable;
use crate::hooks::Hooks;
use crate::system::System;
use crate::text;
use crate::usage::Usage;

use super::{SubgraphPlan, VariableKind, VariablePlan};

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
    /// Device address: of its memory, of the word a pointer variable is; all ones when it has none (yet).
    pub address: u64,
    /// What its memory is for; `None` without memory.
    pub usage: Option<Usage>,
    /// Whether its memory belongs to another subgraph of the model.
    pub remote: bool,
}

/// What a new record says.
#[derive(Clone, Copy)]
struct Entry<'a> {
    variable: u32,
    kind: mr_type,
    name: &'a str,
    bytes: u64,
    element_type: &'a str,
    shape: &'a [u64],
}

impl<'a> Entry<'a> {
    const fn plain(variable: u32, kind: mr_type, name: &'a str, bytes: u64) -> Self {
        Self { variable, kind, name, bytes, element_type: "", shape: &[] }
    }
}

/// The error of a variable that breaks a rule.
pub(super) const fn broken(subgraph: u32, variable: u32, rule: PlanRule) -> Error {
    Error::plan(PlanFault { subgraph, part: PlanPart::Variable(variable), rule })
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

    /// Enters every variable of a subgraph, without addresses.
    ///
    /// # Errors
    /// `NRT_INVALID` when an id occurs twice, `NRT_RESOURCE` when a pool is full. What was entered stays in the index.
    ///
    /// # Safety
    /// The slot is this caller's alone.
    pub(super) unsafe fn mem_refs_enter(&self, slot: NonNull<ModelSlot>, subgraph: &SubgraphPlan<'_>) -> Result<()> {
        // SAFETY: by contract.
        unsafe {
            for region in subgraph.regions {
                for piece in region.pieces() {
                    let kind = if region.is_temporary() { mr_type::TMP_BUF } else { mr_type::BUFFER };
                    self.mem_ref_enter(slot, Entry::plain(piece.variable, kind, region.name, piece.bytes))?;
                }
            }
            for (kind, list) in [(mr_type::INPUT, subgraph.inputs), (mr_type::OUTPUT, subgraph.outputs)] {
                for io in list {
                    self.mem_ref_enter(slot, Entry::plain(io.variable, kind, io.name, io.bytes))?;
                }
            }
            let mut tables = 0;
            for plan in subgraph.variables {
                let entry = Entry {
                    element_type: plan.element_type,
                    shape: plan.shape,
                    ..Entry::plain(plan.variable, plan.kind.raw(), plan.name, plan.bytes)
                };
                let record = self.mem_ref_enter(slot, entry)?;
                self.mem_ref_arm(record, plan, &mut tables)?;
            }
        }
        Ok(())
    }

    /// # Safety
    /// The slot is this caller's alone.
    unsafe fn mem_ref_enter(&self, slot: NonNull<ModelSlot>, entry: Entry<'_>) -> Result<NonNull<MemRefSlot>> {
        let index = self.mem_refs(slot);
        if index.find(u64::from(entry.variable)).is_some() {
            // SAFETY: an atomic of a live slot.
            let subgraph = unsafe { (*slot.as_ptr()).relative.load(Relaxed) };
            return Err(broken(subgraph, entry.variable, PlanRule::Duplicate));
        }
        let record = self.arenas.mem_refs.take()?;
        // SAFETY: the record was free; nobody else looks at it before it is linked.
        unsafe {
            let text = &raw mut (*record.as_ptr()).name;
            text::put(&mut *text, entry.name);
            let raw: *mut mem_ref_t = &raw mut (*record.as_ptr()).mem_ref;
            (*raw).name = text.cast();
            (*raw).r#type = entry.kind;
            (*raw).size = entry.bytes;
            (*raw).var_id = entry.variable;
            (*raw).remote = false;
            (*raw).shared_virtual_scratchpad = false;
            (*raw).u.staged = mem_ref_t_staged { physical_address: UNSTAGED, mem: null_mut(), mem_offset: 0, va: null_mut() };
            (*raw).dtype = [0; 16];
            text::put(&mut (*raw).dtype, entry.element_type);
            let mut shape = [0; 8];
            shape.iter_mut().zip(entry.shape).for_each(|(extent, wanted)| *extent = *wanted);
            (*raw).shape = shape;
            (*raw).debug_md = null_mut();
            index.insert(u64::from(entry.variable), NonNull::new_unchecked(&raw mut (*raw).ht_node));
        }
        Ok(record)
    }

    /// Writes the arm of a variable that is kept on the host: pointers, lists, tables.
    ///
    /// # Safety
    /// The record is this caller's alone.
    unsafe fn mem_ref_arm(&self, record: NonNull<MemRefSlot>, plan: &VariablePlan<'_>, tables: &mut u32) -> Result<()> {
        // SAFETY: by contract; the memory that is taken has room for the entries, and belongs to the record from then on.
        unsafe {
            let raw = &raw mut (*record.as_ptr()).mem_ref;
            match plan.kind {
                VariableKind::Pointer { target, io } => {
                    (*raw).u.ptr = mem_ref_t_ptr { ptr_mem_addr: UNSTAGED, mr_ptr_id: target.into(), is_io: io };
                }
                VariableKind::List { variables } => {
                    // Until the memory is there the list is empty: a failure finds nothing to give back.
                    (*raw).u.list = mem_ref_t_list { length: 0, list: null_mut() };
                    if !variables.is_empty() {
                        let list: *mut u32 = self.arenas.tables.take(&self.hooks, size_of_val(variables))?.as_ptr().cast();
                        list.copy_from_nonoverlapping(variables.as_ptr(), variables.len());
                        (*raw).u.list = mem_ref_t_list { length: variables.len() as u32, list };
                    }
                }
                VariableKind::PointerTable { variables } => {
                    let table_index = *tables;
                    *tables += 1;
                    let empty = mem_ref_t_ptr_table {
                        length: 0,
                        var_ids: null_mut(),
                        needs_translation: null_mut(),
                        addrs: null_mut(),
                        table_index,
                    };
                    (*raw).u.ptr_table = empty;
                    let count = variables.len();
                    if count != 0 {
                        // Addresses first, since they need the largest alignment; then ids; then marks.
                        let addrs: *mut u64 = self.arenas.tables.take(&self.hooks, count * POINTER_TABLE_ENTRY)?.as_ptr().cast();
                        let var_ids: *mut u32 = addrs.add(count).cast();
                        let needs_translation: *mut bool = var_ids.add(count).cast();
                        for (at, variable) in variables.iter().enumerate() {
                            addrs.add(at).write(UNSTAGED);
                            var_ids.add(at).write(*variable);
                            needs_translation.add(at).write(false);
                        }
                        (*raw).u.ptr_table =
                            mem_ref_t_ptr_table { length: count as u32, var_ids, needs_translation, addrs, ..empty };
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Gives a variable its memory.
    ///
    /// # Safety
    /// The slot is this caller's alone; `memory` is a live node that the model owns or borrows.
    pub(super) unsafe fn mem_ref_place(
        &self,
        slot: NonNull<ModelSlot>,
        variable: u32,
        memory: NonNull<dmem_t>,
        offset: u64,
    ) -> Result<NonNull<mem_ref_t>> {
        let record = self.mem_ref(slot, variable).ok_or(Error::invalid(Cause::UnknownVariable(variable)))?;
        // SAFETY: by contract.
        unsafe {
            let address = self.dmem_address(memory, offset);
            (*record.as_ptr()).u.staged =
                mem_ref_t_staged { physical_address: address, mem: memory.as_ptr(), mem_offset: offset, va: null_mut() };
        }
        Ok(record)
    }

    /// Frees every record and the lists it owns, not the memory they name.
    ///
    /// # Safety
    /// The slot is this caller's alone.
    pub(super) unsafe fn mem_refs_free(&self, slot: NonNull<ModelSlot>) {
        let index = self.mem_refs(slot);
        index.for_each(|node| {
            let record = record_of(node);
            // SAFETY: exclusive by contract; the arm is the one its type says, and owns its memory.
            unsafe {
                let raw = &raw const (*record.as_ptr()).mem_ref;
                let owned = match (*raw).r#type {
                    mr_type::LIST => (*raw).u.list.list.cast(),
                    mr_type::PTR_TABLE => (*raw).u.ptr_table.addrs.cast(),
                    _ => null_mut(),
                };
                if let Some(owned) = NonNull::new(owned) {
                    self.arenas.tables.give(&self.hooks, owned);
                }
            }
            self.arenas.mem_refs.give(record);
        });
        // SAFETY: exclusive by contract; the chains named records that are gone.
        unsafe { self.mem_refs_initialise(slot) };
    }

    /// The record of a variable.
    pub(super) fn mem_ref(&self, slot: NonNull<ModelSlot>, variable: u32) -> Option<NonNull<mem_ref_t>> {
        self.mem_refs(slot).find(u64::from(variable)).map(|node| {
            // SAFETY: a place inside the record around the node.
            unsafe { NonNull::new_unchecked(&raw mut (*record_of(node).as_ptr()).mem_ref) }
        })
    }

    /// Calls `visit` with the record of every variable, in no particular order.
    pub(super) fn for_each_mem_ref(&self, slot: NonNull<ModelSlot>, mut visit: impl FnMut(NonNull<mem_ref_t>)) {
        self.mem_refs(slot).for_each(|node| {
            // SAFETY: a place inside the record around the node.
            visit(unsafe { NonNull::new_unchecked(&raw mut (*record_of(node).as_ptr()).mem_ref) });
        });
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
                let mem_ref = NonNull::new_unchecked(&raw mut (*record).mem_ref);
                let memory = memory_of(mem_ref);
                let usage = memory.and_then(|memory| Usage::from_number((*memory.as_ptr()).mem_usage_type.0));
                let info = VariableInfo {
                    variable: (*record).mem_ref.var_id,
                    kind: (*record).mem_ref.r#type.0,
                    bytes: (*record).mem_ref.size,
                    address: address_of(mem_ref),
                    usage,
                    remote: (*record).mem_ref.remote,
                };
                visit(info, text::from_nul_terminated(&(*record).name));
            }
        });
    }
}

/// The memory of a variable, whatever its kind.
///
/// # Safety
/// The record is live and not written by others.
pub(super) unsafe fn memory_of(record: NonNull<mem_ref_t>) -> Option<NonNull<dmem_t>> {
    // SAFETY: by contract; the arm is the one the type says.
    unsafe {
        match (*record.as_ptr()).r#type {
            mr_type::PTR | mr_type::LIST | mr_type::PTR_TABLE => None,
            _ => NonNull::new((*record.as_ptr()).u.staged.mem),
        }
    }
}

/// Where a variable lies, or all ones.
///
/// # Safety
/// As [`memory_of`].
pub(super) unsafe fn address_of(record: NonNull<mem_ref_t>) -> u64 {
    // SAFETY: as in `memory_of`.
    unsafe {
        match (*record.as_ptr()).r#type {
            mr_type::LIST | mr_type::PTR_TABLE => UNSTAGED,
            mr_type::PTR => (*record.as_ptr()).u.ptr.ptr_mem_addr,
            _ => (*record.as_ptr()).u.staged.physical_address,
        }
    }
}

fn record_of(node: NonNull<ht_node_t>) -> NonNull<MemRefSlot> {
    const OFFSET: usize = offset_of!(MemRefSlot, mem_ref) + offset_of!(mem_ref_t, ht_node);
    // SAFETY: nodes of a mem_ref index are embedded in records at this offset; the pointers cover the record array.
    unsafe { node.byte_sub(OFFSET).cast() }
}
