//! The model database of each core: who is resident, who uses it, and how one leaves (fact sheet `model-db` §§1–3).
//!
//! A chained table keyed by model id. Taking a reference needs no lock (see `docs/concurrency.md`); the documented shape,
//! in which it is counted up under the lock that guards the look-up, is what [`LookUps::Locked`] asks for, and what a
//! look-up falls back to when writers keep changing the chains. Leaving is *unlink, unlock, then drain*; the drain sleeps
//! instead of spinning and can have a deadline.
//!
//! References are counted in `model_t::ref_count`, or spread over that word and more of them on cache lines of their own
//! ([`Config::striped_references`](crate::Config::striped_references)): a thread takes and gives back on the word of its stripe,
//! a drain goes over all of them.

mod counts;

use core::hint::spin_loop;
use core::mem::offset_of;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::abi::{ht_node_t, model_t};
use crate::arena::{MODEL_DB_BUCKETS, ModelDb, ModelSlot, flat};
use crate::context::ResolvedCore;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hash_table::HashTable;
use crate::hooks::{Hooks, Wait};
use crate::status::Status;
use crate::sync::{self, Chains, Taken};
use crate::system::System;

pub(crate) use counts::{COUNT_WORDS, ModelRef, Taking};
use counts::{CountWord, low_half};

/// Looks at the count of a model before its drainer sleeps.
const LOOKS: u32 = 64;

/// How a model is found and a reference to it taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookUps {
    /// Without a lock; with it after some walks that writers disturbed.
    #[default]
    LockFree,
    /// Under the database lock of the core, as documented.
    Locked,
}

/// The database of a core as a reader without the lock sees it, who counts on this word of a model.
struct Walk<'a> {
    chains: &'a ModelDb,
    word: CountWord,
}

impl Chains for Walk<'_> {
    type Word = AtomicU64;
    type Node = NonNull<ht_node_t>;

    #[inline]
    fn sequence(&self) -> &AtomicU64 {
        &self.chains.sequence
    }
    #[inline]
    fn first(&self, key: u64) -> Option<Self::Node> {
        const { assert!(MODEL_DB_BUCKETS.is_power_of_two()) };
        NonNull::new(self.chains.buckets[key as usize & (MODEL_DB_BUCKETS - 1)].next.load(Acquire))
    }
    #[inline]
    fn next(&self, node: Self::Node) -> Option<Self::Node> {
        // SAFETY: chains lead to nodes of slots only, which are type-stable; the reference covers the atomic alone.
        NonNull::new(unsafe { &(*node.as_ptr()).next }.load(Acquire))
    }
    #[inline]
    fn key(&self, node: Self::Node) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { &(*node.as_ptr()).key }
    }
    #[inline]
    fn count(&self, node: Self::Node) -> &AtomicU64 {
        self.word.in_slot(slot_of(node))
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    fn database(&self, core: &ResolvedCore) -> HashTable {
        // SAFETY: the record of an owned core; header and buckets are one block that lives for ever.
        unsafe {
            let db = self.arenas.databases.add(flat(core.device, core.core)).as_ptr();
            HashTable::new(NonNull::new_unchecked(&raw mut (*db).table), NonNull::new_unchecked((&raw mut (*db).buckets).cast()))
        }
    }

    /// Odd while the chains of a core change.
    #[inline]
    fn database_sequence(&self, core: &ResolvedCore) -> &AtomicU64 {
        // SAFETY: an atomic in the record of an owned core.
        unsafe { &(*self.arenas.databases.add(flat(core.device, core.core)).as_ptr()).sequence }
    }

    fn database_lock(&self, core: &ResolvedCore) -> sync::Guard<'_, H> {
        // SAFETY: the record of an owned core lives for ever; the reference covers the lock alone.
        sync::lock(unsafe { &(*core.tpb.as_ptr()).model_db_lock }, &self.hooks)
    }

    /// Writes the empty database of a core and hangs it into the core's record.
    ///
    /// # Safety
    /// Nobody uses the core yet.
    pub(crate) unsafe fn database_initialise(&self, core: &ResolvedCore) {
        // SAFETY: exclusive by contract.
        unsafe {
            self.database(core).initialise(MODEL_DB_BUCKETS as u64);
            let db = self.arenas.databases.add(flat(core.device, core.core)).as_ptr();
            (*db).sequence.store(0, Relaxed);
            (*core.tpb.as_ptr()).model_db_lock.word.store(0, Relaxed);
            (*core.tpb.as_ptr()).model_db = &raw mut (*db).table;
            (*core.tpb.as_ptr()).h_running_model.id = 0;
        }
    }

    /// A model id that was never used. 0 is reserved, also when the 64-bit counter is cut to 32 bits (the original tests
    /// the uncut sum).
    pub(crate) fn mint(&self) -> u32 {
        loop {
            let id = self.arenas.next_model.fetch_add(1, Relaxed).wrapping_add(1) as u32;
            if id != 0 {
                return id;
            }
        }
    }

    /// Makes a model findable on a core (`add_model`).
    ///
    /// # Errors
    /// `NRT_INVALID_HANDLE` when the id is resident already.
    ///
    /// # Safety
    /// `slot` holds a complete model of this core that is in no database.
    pub(crate) unsafe fn database_add(&self, core: &ResolvedCore, slot: NonNull<ModelSlot>) -> Result<()> {
        // SAFETY: written before publication.
        let id = unsafe { (*slot.as_ptr()).model.h_model.id };
        let _held = self.database_lock(core);
        let database = self.database(core);
        if database.find(u64::from(id)).is_some() {
            return Err(Error::new(Status::InvalidHandle, Cause::DuplicateModel(id)));
        }
        sync::change(self.database_sequence(core), || {
            // SAFETY: by contract; the node pointer keeps the provenance of the slot array.
            unsafe { database.insert(u64::from(id), NonNull::new_unchecked(&raw mut (*slot.as_ptr()).model.ht_node)) };
        });
        Ok(())
    }

    /// Finds a model and takes a reference: what the original calls `get_model_ref_count`.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the id is 0 or not resident; callers of the public interface see `NRT_INVALID_HANDLE`.
    ///
    /// # Cost
    /// One read-modify-write, on the model's own line or a stripe of it; three and the lock's line when the chains keep changing.
    #[inline]
    pub(crate) fn database_acquire(&self, core: &ResolvedCore, id: u32) -> Result<ModelRef> {
        self.database_acquire_on(self.database_chains(core), core, id)
    }

    /// The chains of a core, for a reader without the lock.
    #[inline]
    pub(crate) fn database_chains(&self, core: &ResolvedCore) -> &ModelDb {
        // SAFETY: the record of an owned core, initialised; its buckets' changing parts are atomics, and the sequence too.
        unsafe { self.arenas.databases.add(flat(core.device, core.core)).as_ref() }
    }

    /// [`database_acquire`](Self::database_acquire) for a caller who has the chains of the core.
    #[inline]
    pub(crate) fn database_acquire_on(&self, chains: &ModelDb, core: &ResolvedCore, id: u32) -> Result<ModelRef> {
        // What nearly always happens is one walk that finds the model; all else is out of the way. No model has the id 0, and it
        // is the key of an object that is not to be found.
        if id != 0
            && self.settings.taking == Taking::Usual
            && let Taken::Found(slot) = self.database_take(chains, id, CountWord::DOCUMENTED, 1)
        {
            return Ok(ModelRef::new(slot, CountWord::DOCUMENTED));
        }
        self.database_acquire_otherwise(core, id)
    }

    /// Finds a model without the lock, in so many walks at most, and counts the reference on this word.
    #[inline]
    fn database_take(&self, chains: &ModelDb, id: u32, word: CountWord, walks: u32) -> Taken<NonNull<ModelSlot>> {
        let walk = Walk { chains, word };
        let longest = self.arenas.capacities.models as u32;
        match sync::take(&walk, u64::from(id), longest, walks, |node| self.wake_drainer(walk.count(node))) {
            Taken::Found(node) => Taken::Found(slot_of(node)),
            Taken::Absent => Taken::Absent,
            Taken::Unsettled => Taken::Unsettled,
        }
    }

    /// Striped, with the lock, or what the first walk did not find.
    #[cold]
    fn database_acquire_otherwise(&self, core: &ResolvedCore, id: u32) -> Result<ModelRef> {
        let taking = self.settings.taking;
        let word = taking.own_word();
        let taken = match id {
            0 => Taken::Absent,
            _ if taking.locked() => Taken::Unsettled,
            _ => self.database_take(self.database_chains(core), id, word, sync::WALKS),
        };
        let slot = match taken {
            Taken::Found(slot) => Some(slot),
            Taken::Absent => None,
            Taken::Unsettled => self.database_take_locked(core, id, word),
        };
        slot.map(|slot| ModelRef::new(slot, word)).ok_or(Error::new(Status::Failure, Cause::UnknownModel(id)))
    }

    /// The documented shape: found and counted under the lock.
    fn database_take_locked(&self, core: &ResolvedCore, id: u32, word: CountWord) -> Option<NonNull<ModelSlot>> {
        let _held = self.database_lock(core);
        let slot = slot_of(self.database(core).find(u64::from(id))?);
        sync::enter(word.in_slot(slot));
        Some(slot)
    }

    /// Gives a reference back. Takes no lock.
    #[inline]
    pub(crate) fn database_release(&self, reference: ModelRef) {
        if sync::leave(reference.count) {
            self.wake_drainer(reference.count);
        }
    }

    /// Wakes whoever waits for the last reference that a word counts.
    #[cold]
    fn wake_drainer(&self, count: &AtomicU64) {
        self.hooks.wake(low_half(count), i32::MAX as u32);
    }

    /// The words that count the references to a model.
    fn counts(&self, slot: NonNull<ModelSlot>) -> impl Iterator<Item = &'static AtomicU64> {
        (0..self.settings.taking.words()).map(move |word| CountWord::of(word).in_slot(slot))
    }

    /// Makes a model unfindable and announces the drain. The model is the caller's once [`drained`](Self::drained) said so.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the id is not resident.
    pub(crate) fn database_remove(&self, core: &ResolvedCore, id: u32) -> Result<NonNull<ModelSlot>> {
        let slot = {
            let _held = self.database_lock(core);
            let node = sync::change(self.database_sequence(core), || self.database(core).remove(u64::from(id)));
            slot_of(node.ok_or(Error::new(Status::Failure, Cause::UnknownModel(id)))?)
        };
        // Outside the lock: draining under it would keep out those who must look up.
        sync::begin_drain_all(self.counts(slot));
        Ok(slot)
    }

    /// Waits until nobody holds a removed model any more; `false` when the deadline passed first.
    pub(crate) fn drained(&self, slot: NonNull<ModelSlot>, deadline_ns: Option<u64>) -> bool {
        // The low half holds the count: a release in between changes it and the wait returns at once. A reference may be one of
        // a look-up, which gives it back within some instructions: a few looks before going to sleep.
        sync::wait_all_drained(self.counts(slot), |count, now| {
            for _ in 0..LOOKS {
                if count.load(Relaxed) as u32 != now {
                    return Wait::Woken;
                }
                spin_loop();
            }
            self.hooks.wait(low_half(count), now, deadline_ns)
        })
    }

    /// Makes a removed model findable again; its references were never disturbed.
    ///
    /// # Errors
    /// As [`database_add`](Self::database_add).
    ///
    /// # Safety
    /// `slot` was removed from `core` and not drained.
    pub(crate) unsafe fn database_restore(&self, core: &ResolvedCore, slot: NonNull<ModelSlot>) -> Result<()> {
        sync::cancel_drain_all(self.counts(slot));
        // SAFETY: by contract.
        unsafe { self.database_add(core, slot) }
    }

    /// References held on a model right now.
    pub(crate) fn references(&self, slot: NonNull<ModelSlot>) -> u64 {
        sync::all_outstanding(self.counts(slot))
    }

    /// References held on a resident model right now, word by word.
    pub(crate) fn references_by_word(&self, core: &ResolvedCore, id: u32) -> Option<[u64; COUNT_WORDS]> {
        let _held = self.database_lock(core);
        let slot = slot_of(self.database(core).find(u64::from(id))?);
        Some(core::array::from_fn(|word| sync::outstanding(CountWord::of(word).in_slot(slot))))
    }

    /// Models resident on a core.
    pub(crate) fn resident(&self, core: &ResolvedCore) -> u64 {
        let _held = self.database_lock(core);
        self.database(core).count()
    }

    /// The smallest id above `after` that is resident on a core: lets a caller visit all models without holding the lock.
    ///
    /// # Cost
    /// A visit to every bucket and model.
    pub(crate) fn next_resident(&self, core: &ResolvedCore, after: u32) -> Option<u32> {
        let mut next = None;
        self.for_each_resident(core, |slot| {
            // SAFETY: resident, so published and unchanging.
            let id = unsafe { (*slot.as_ptr()).model.h_model.id };
            if id > after && next.is_none_or(|best| id < best) {
                next = Some(id);
            }
        });
        next
    }

    /// The largest id that is resident on a core.
    ///
    /// # Cost
    /// A visit to every bucket and model.
    pub(crate) fn newest_resident(&self, core: &ResolvedCore) -> Option<u32> {
        let mut newest = None;
        // SAFETY: resident, so published and unchanging.
        self.for_each_resident(core, |slot| newest = newest.max(Some(unsafe { (*slot.as_ptr()).model.h_model.id })));
        newest
    }

    /// Calls `visit` with every resident model of a core, under the database lock.
    pub(crate) fn for_each_resident(&self, core: &ResolvedCore, mut visit: impl FnMut(NonNull<ModelSlot>)) {
        let _held = self.database_lock(core);
        self.database(core).for_each(|node| visit(slot_of(node)));
    }
}

/// The slot around an embedded node; never called with a bucket.
fn slot_of(node: NonNull<ht_node_t>) -> NonNull<ModelSlot> {
    const OFFSET: usize = offset_of!(ModelSlot, model) + offset_of!(model_t, ht_node);
    // SAFETY: chain nodes are embedded in slots at this offset, and were linked through pointers that cover the slot array.
    unsafe { node.byte_sub(OFFSET).cast() }
}
