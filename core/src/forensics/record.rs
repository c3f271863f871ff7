//! The facts, as they were when the driver refused.

use core::cell::UnsafeCell;
use core::mem::{MaybeUninit, offset_of};
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{dmem_allocator_t, dmem_allocator_type_t, pthread_mutex_t};
use crate::arena::{MAX_CORES_PER_DEVICE, ModelSlot};
use crate::context::ResolvedCore;
use crate::dmem::DmemRequest;
use crate::driver::{ChunkInfo, Driver};
use crate::error::OutOfMemory;
use crate::hooks::Hooks;
use crate::sync;
use crate::system::System;
use crate::text;
use crate::usage::{Location, Usage};

use super::space::Space;

/// Threads whose facts are kept at the same time; of more, the oldest facts give way.
const RECORDS: usize = 4;
/// Chunks of an HBM that can be listed: 96 KiB, touched only when memory has run out.
const CHUNKS: usize = 4096;
/// Bytes of a name that are kept, NUL included.
const NAME: usize = 64;

/// A model whose load ran out of memory, and what it held by then.
#[derive(Clone, Copy)]
pub(super) struct Requester {
    pub(super) name: [u8; NAME],
    /// Bytes by usage, at the location that was asked for.
    pub(super) bytes: [u64; Usage::COUNT],
}

/// The facts of one refusal.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    pub(super) oom: OutOfMemory,
    pub(super) hint: [u8; NAME],
    /// No event of the device up to the refusal has a later stamp.
    pub(super) event_time: u64,
    /// Bytes this process held on the HBM channel.
    pub(super) on_channel: u64,
    /// How much of the HBM was free, if the driver tells.
    pub(super) space: Option<Space>,
    /// Device bytes of each core of the device, by usage.
    pub(super) cores: [[u64; Usage::COUNT]; MAX_CORES_PER_DEVICE],
    pub(super) requester: Option<Requester>,
}

struct OomRecord {
    /// Thread that ran out of memory, or 0.
    thread: u64,
    /// Counts the recordings.
    stamp: u64,
    /// While this is set only the thread that renders touches the record.
    rendering: bool,
    facts: MaybeUninit<Facts>,
}

/// The records of all threads, and room for the driver's list. Zeroed memory is an empty set.
pub(crate) struct OomRecords {
    lock: pthread_mutex_t,
    newest: UnsafeCell<u64>,
    records: UnsafeCell<[OomRecord; RECORDS]>,
    chunks_lock: pthread_mutex_t,
    chunks: UnsafeCell<[ChunkInfo; CHUNKS]>,
}

/// The facts of the calling thread's refusal, for as long as they are rendered.
pub(super) struct Rendering<'a, D: Driver, H: Hooks> {
    system: &'a System<D, H>,
    record: NonNull<OomRecord>,
}

impl<D: Driver, H: Hooks> Rendering<'_, D, H> {
    pub(super) fn facts(&self) -> &Facts {
        // SAFETY: written when it was recorded; while it is rendered nobody else touches it.
        unsafe { (*self.record.as_ptr()).facts.assume_init_ref() }
    }
}

impl<D: Driver, H: Hooks> Drop for Rendering<'_, D, H> {
    fn drop(&mut self) {
        let _held = sync::lock(&self.system.oom_records().lock, &self.system.hooks);
        // SAFETY: under the lock.
        unsafe {
            (*self.record.as_ptr()).thread = 0;
            (*self.record.as_ptr()).rendering = false;
        }
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    fn oom_records(&self) -> &OomRecords {
        // SAFETY: part of the storage, which lives for ever; what is behind the cells is touched under the lock only.
        unsafe { self.arenas.oom.as_ref() }
    }

    /// Lends the room for the driver's list, one borrower at a time.
    pub(super) fn with_chunks<T>(&self, work: impl FnOnce(&mut [ChunkInfo]) -> T) -> T {
        let records = self.oom_records();
        let _held = sync::lock(&records.chunks_lock, &self.hooks);
        // SAFETY: under its lock; every bit pattern is a value.
        work(unsafe { &mut *records.chunks.get() })
    }

    /// Forgets whatever an earlier runtime on this storage recorded.
    pub(crate) fn oom_initialise(&self) {
        let records = self.oom_records();
        let _held = sync::lock(&records.lock, &self.hooks);
        // SAFETY: under the lock.
        unsafe {
            for record in &mut *records.records.get() {
                (record.thread, record.rendering) = (0, false);
            }
        }
    }

    /// Records that the driver has no room for `request` of `allocator`, and asks it how full the HBM is. Takes the memory lock
    /// of the core, alone.
    ///
    /// # Safety
    /// `allocator` is live and of `core`.
    #[cold]
    pub(crate) unsafe fn oom_record(
        &self,
        core: &ResolvedCore,
        allocator: NonNull<dmem_allocator_t>,
        request: &DmemRequest<'_>,
        oom: OutOfMemory,
    ) {
        // SAFETY: live by contract. A MODEL heap is the one in a model's slot, and its pointer covers the slot array; the slot
        // is that of the model this thread loads.
        let requester = unsafe {
            (allocator.as_ref().r#type == dmem_allocator_type_t::DMEM_ALLOCATOR_TYPE_MODEL).then(|| {
                let slot = allocator.byte_sub(offset_of!(ModelSlot, allocator)).cast::<ModelSlot>();
                self.requester(core, slot, oom.location)
            })
        };
        let mut hint = [0; NAME];
        text::put(&mut hint, request.hint);
        let mut cores = [[0; Usage::COUNT]; MAX_CORES_PER_DEVICE];
        for index in self.settings.owned_of(core.device) {
            if let Ok(core) = self.tree.resolve(core.device, index) {
                cores[index as usize].copy_from_slice(&self.usage_of(&core)[..Usage::COUNT]);
            }
        }
        let space = if oom.location == Location::Device { self.space(oom.device, oom.channel) } else { None };
        let on_channel = self.channel_bytes(core.device, oom.channel as usize);
        let facts = Facts { oom, hint, event_time: self.event_time(core.device), on_channel, space, cores, requester };
        let records = self.oom_records();
        let thread = self.hooks.thread_id();
        let _held = sync::lock(&records.lock, &self.hooks);
        // SAFETY: under the lock; a record that is rendered is left alone.
        unsafe {
            let newest = &mut *records.newest.get();
            *newest += 1;
            let free = (&mut *records.records.get()).iter_mut().filter(|record| !record.rendering);
            // The thread's own, else a free one, else the oldest.
            let place = free.min_by_key(|record| match record.thread {
                own if own == thread => (0, 0),
                0 => (1, 0),
                _ => (2, record.stamp),
            });
            if let Some(record) = place {
                *record = OomRecord { thread, stamp: *newest, rendering: false, facts: MaybeUninit::new(facts) };
            }
        }
    }

    /// Who a model under construction is, and what it holds on a core.
    ///
    /// # Safety
    /// The slot is this caller's alone, and of `core`.
    unsafe fn requester(&self, core: &ResolvedCore, slot: NonNull<ModelSlot>, location: Location) -> Requester {
        let mut name = [0; NAME];
        // SAFETY: by contract.
        unsafe {
            text::put(&mut name, text::from_nul_terminated(&(*slot.as_ptr()).model.name));
            Requester { name, bytes: self.held_by_model(core, slot, location) }
        }
    }

    /// Completes what the calling thread recorded when the refused memory was to lie in the heap of a core (a page, a shared
    /// library, a region of a GLOBAL usage): it was for the model of these slots, which still holds what it has. On a core
    /// where the model has no subgraph it holds nothing.
    ///
    /// # Safety
    /// The slots are this caller's alone.
    #[cold]
    pub(crate) unsafe fn oom_name_requester(&self, oom: &OutOfMemory, slots: &[Option<NonNull<ModelSlot>>]) {
        let Ok(core) = self.tree.resolve(oom.device, oom.core) else { return };
        let (vnc, relative) = self.settings.locate(&core);
        let mut requester = None;
        for slot in slots.iter().flatten() {
            // SAFETY: by contract.
            unsafe {
                let raw = slot.as_ptr();
                if ((*raw).vnc.load(Relaxed), (*raw).relative.load(Relaxed)) == (vnc, relative) {
                    requester = Some(self.requester(&core, *slot, oom.location));
                } else if requester.is_none() {
                    let mut name = [0; NAME];
                    text::put(&mut name, text::from_nul_terminated(&(*raw).model.name));
                    requester = Some(Requester { name, bytes: [0; Usage::COUNT] });
                }
            }
        }
        let Some(requester) = requester else { return };
        let records = self.oom_records();
        let thread = self.hooks.thread_id();
        let _held = sync::lock(&records.lock, &self.hooks);
        // SAFETY: under the lock; facts of a record in use are written.
        unsafe {
            let mut all = (&mut *records.records.get()).iter_mut();
            let own =
                all.find(|record| record.thread == thread && !record.rendering && record.facts.assume_init_ref().oom == *oom);
            if let Some(record) = own {
                record.facts.assume_init_mut().requester.get_or_insert(requester);
            }
        }
    }

    /// The facts the calling thread recorded for this refusal; `None` when those of others took their place.
    pub(super) fn oom_rendering(&self, oom: &OutOfMemory) -> Option<Rendering<'_, D, H>> {
        let records = self.oom_records();
        let thread = self.hooks.thread_id();
        let _held = sync::lock(&records.lock, &self.hooks);
        // SAFETY: under the lock; facts of a record in use are written.
        unsafe {
            let mut all = (&mut *records.records.get()).iter_mut();
            let own =
                all.find(|record| record.thread == thread && !record.rendering && record.facts.assume_init_ref().oom == *oom)?;
            own.rendering = true;
            Some(Rendering { system: self, record: NonNull::from(own) })
        }
    }
}
