//! Parts of operations by themselves, for measuring. Not part of the interface: nothing here is stable.
//!
//! A public operation enters the gate, resolves its core and does several things; how long one of them takes can only be
//! told by doing that one alone. The code that runs is the runtime's own.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::abi::dmem_t;
use crate::arena::{ModelDb, NodeSlot, PoolWords, SlotPool};
use crate::context::ResolvedCore;
use crate::driver::Driver;
use crate::error::{Cause, Error, Pool, Result};
use crate::hooks::Hooks;
use crate::model_db::COUNT_WORDS;
use crate::status::Status;
use crate::system::System;

/// Static memory of a [`NodePool`]. Zeroed = unclaimed.
#[repr(C)]
pub struct NodeMemory<const NODES: usize> {
    claimed: AtomicU32,
    words: PoolWords,
    slots: UnsafeCell<[NodeSlot; NODES]>,
}

// SAFETY: whoever claims it has it alone; the pool over it hands a slot to one owner at a time.
unsafe impl<const NODES: usize> Sync for NodeMemory<NODES> {}

impl<const NODES: usize> NodeMemory<NODES> {
    /// Unclaimed memory, for a `static`.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "it lives in a static, and a value of it on the stack would be large")]
    pub const fn new() -> Self {
        // SAFETY: integers, atomics and raw pointers only; zero is a value of each.
        unsafe { core::mem::zeroed() }
    }
}

/// The runtime's pool of nodes (`dmem_t` in a slot of 256 bytes), with nothing around it.
pub struct NodePool(SlotPool<NodeSlot>);

/// A node of a [`NodePool`], 192 zeroed bytes: all but the two words of the pool, which the pool writes.
pub struct BareNode(u32);

impl NodePool {
    /// The only pool over this memory; `None` when there is one.
    pub fn new<const NODES: usize>(memory: &'static NodeMemory<NODES>) -> Option<Self> {
        memory.claimed.compare_exchange(0, 1, AcqRel, Acquire).ok()?;
        let base = NonNull::new(memory.slots.get().cast())?;
        // SAFETY: `NODES` slots that live for ever and that only this pool handles, as the exchange has made sure.
        Some(Self(unsafe { SlotPool::new(base, NODES as u32, &memory.words, Pool::Nodes) }))
    }

    /// Takes a node off the stack, begins its life and zeroes it; `None` when all are taken.
    #[inline]
    pub fn take(&self) -> Option<BareNode> {
        let index = self.0.take_uncounted()?;
        self.0.begin_life(index);
        let node: NonNull<u8> = self.0.pointer(index).cast();
        const WORDS: usize = core::mem::offset_of!(dmem_t, spare_b0_link);
        const { assert!(WORDS == 176 && size_of::<dmem_t>() == 192) };
        // SAFETY: the node is this caller's alone and nobody has a pointer to it; the words of the pool are left out.
        unsafe {
            node.write_bytes(0, WORDS);
            node.add(WORDS + 8).write_bytes(0, 8);
        }
        Some(BareNode(index))
    }

    /// The bytes of a node.
    #[inline]
    pub fn bytes(&self, node: &BareNode) -> NonNull<u8> {
        self.0.pointer(node.0).cast()
    }

    /// Ends the life of a node of this pool and puts it back.
    #[inline]
    pub fn give(&self, node: BareNode) {
        self.0.end_life(node.0);
        self.0.give_uncounted(node.0);
    }
}

/// The model database of one physical core, without gate and resolving.
pub struct Database<'r, D: Driver, H: Hooks> {
    system: &'r System<D, H>,
    chains: &'r ModelDb,
    core: ResolvedCore,
}

// SAFETY: the pointers name records of a tree that lives as long as the system, and are used as the system uses them, which
// is shared between threads itself.
unsafe impl<D: Driver, H: Hooks> Sync for Database<'_, D, H> {}
// SAFETY: as above; nothing is tied to a thread.
unsafe impl<D: Driver, H: Hooks> Send for Database<'_, D, H> {}

impl<'r, D: Driver, H: Hooks> Database<'r, D, H> {
    pub(crate) fn new(system: &'r System<D, H>, core: ResolvedCore) -> Self {
        Self { system, chains: system.database_chains(&core), core }
    }

    /// Takes a model, reads a word of it (its id), gives it back.
    ///
    /// # Errors
    /// `NRT_FAILURE` when it is not resident.
    #[inline(always)]
    pub fn take_read_release(&self, id: u32) -> Result<u32> {
        let reference = self.system.database_acquire_on(self.chains, &self.core, id)?;
        // SAFETY: a reference is held; the id is an aligned word of a live model that is not written while it is resident.
        let read = unsafe { AtomicU32::from_ptr(&raw mut (*reference.slot.as_ptr()).model.h_model.id) }.load(Relaxed);
        self.system.database_release(reference);
        Ok(read)
    }

    /// References held on a model now: of each word that can count them, the documented one first.
    ///
    /// # Errors
    /// `NRT_FAILURE` when it is not resident.
    pub fn references(&self, id: u32) -> Result<[u64; COUNT_WORDS]> {
        let unknown = Error::new(Status::Failure, Cause::UnknownModel(id));
        self.system.references_by_word(&self.core, id).ok_or(unknown)
    }

    /// Makes a model unfindable, waits until nobody holds it, makes it findable again.
    ///
    /// # Errors
    /// `NRT_FAILURE` when it is not resident.
    pub fn drain_and_restore(&self, id: u32) -> Result<()> {
        let slot = self.system.database_remove(&self.core, id)?;
        self.system.drained(slot, None);
        // SAFETY: removed from this core just now; nothing of it was given back, it is as complete as before.
        unsafe { self.system.database_restore(&self.core, slot) }
    }
}
