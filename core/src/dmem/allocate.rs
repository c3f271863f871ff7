//! Allocation (fact sheet `dmem` §§6, 15, 19).

use core::hint::spin_loop;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::abi::{dma_mem_location_t, dma_mem_usage_type_t, dmem_allocator_t, dmem_list_t, dmem_t, ndl_mem_info_t};
use crate::arena::GroupSlot;
use crate::context::ResolvedCore;
use crate::driver::{AllocRequest, Call, DeviceRange, Driver, Errno};
use crate::error::{Cause, Error, OutOfMemory, Pool, Result};
use crate::hooks::{Hooks, Level};
use crate::ledger::Action;
use crate::observer::{Operation, Subject, observed};
use crate::status::Status;
use crate::system::System;
use crate::text;
use crate::usage::{Location, Usage};

/// Granule of the driver: what every allocation is aligned to anyway.
pub(super) const DRIVER_GRANULE: u64 = 4096;

/// Looks at all places in which a free node can be before the pool counts as full. They are looked at one after the other: a node
/// that is given back to a core already passed, while one further on is taken, is missed by a single look.
const LOOKS: u32 = 16;

/// Arguments of an allocation.
#[derive(Clone, Copy)]
pub(crate) struct DmemRequest<'a> {
    /// Bytes.
    pub(crate) size: u64,
    /// Alignment of the device address, a power of two; 0 = none.
    pub(crate) align: u64,
    pub(crate) location: Location,
    /// HBM channel.
    pub(crate) channel: u32,
    pub(crate) usage: Usage,
    /// What to call it; cut to 59 bytes in the node.
    pub(crate) hint: &'a str,
    /// Group list that takes over the reference: freeing the list frees the node.
    pub(crate) group: Option<NonNull<dmem_list_t>>,
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Allocates from `allocator`. All or nothing.
    ///
    /// The documented order with one exception: the node is taken after the driver answered, together with list, counters
    /// and ring under one lock round; a look at the pool beforehand refuses early when it is full.
    ///
    /// # Errors
    /// `NRT_INVALID` for a size of 0, a bad alignment or channel, or a usage that is not allowed at the location;
    /// `NRT_RESOURCE` when a pool is full or the driver has no device memory; `NRT_FAIL_HOST_MEM_ALLOC` when it has no
    /// pinned host memory; `NRT_FAILURE` when it answers anything else.
    ///
    /// # Concurrency
    /// The memory lock of the core, once, and no lock while the driver works.
    ///
    /// # Safety
    /// `allocator` is live; `request.group` is a live list only this caller changes.
    pub(crate) unsafe fn dmem_alloc(
        &self,
        allocator: NonNull<dmem_allocator_t>,
        request: &DmemRequest<'_>,
    ) -> Result<NonNull<dmem_t>> {
        // SAFETY: the allocator is live, its core written before it was published.
        let core = unsafe { self.resolve((*allocator.as_ptr()).pcore)? };
        // SAFETY: by contract.
        unsafe { self.dmem_alloc_on(&core, allocator, request) }
    }

    /// As [`dmem_alloc`](Self::dmem_alloc), for a caller that has the core.
    ///
    /// # Errors
    /// As [`dmem_alloc`](Self::dmem_alloc).
    ///
    /// # Safety
    /// As [`dmem_alloc`](Self::dmem_alloc); the allocator is of `core`.
    #[inline]
    pub(crate) unsafe fn dmem_alloc_on(
        &self,
        core: &ResolvedCore,
        allocator: NonNull<dmem_allocator_t>,
        request: &DmemRequest<'_>,
    ) -> Result<NonNull<dmem_t>> {
        let subject = Subject::on(core, request.size, Some(request.usage), request.hint);
        // SAFETY: by contract.
        observed(&self.hooks, Operation::Allocate, subject, || unsafe { self.dmem_alloc_unobserved(core, allocator, request) })
    }

    /// # Safety
    /// As [`dmem_alloc_on`](Self::dmem_alloc_on).
    // Not inlined, so that the closure around it is: its arguments go in registers then.
    #[inline(never)]
    unsafe fn dmem_alloc_unobserved(
        &self,
        core: &ResolvedCore,
        allocator: NonNull<dmem_allocator_t>,
        request: &DmemRequest<'_>,
    ) -> Result<NonNull<dmem_t>> {
        let category = self.check(request)?;
        if self.no_node_is_free() {
            return Err(Error::pool_full(Pool::Nodes));
        }
        let entry = request.group.map(|_| self.arenas.group.take()).transpose()?;
        let mut range = EMPTY_RANGE;
        // SAFETY: a place inside the live device record.
        range.device = unsafe { (*core.mla.as_ptr()).device.cast() };
        let node = match self.ask(core, request, category, &mut range) {
            // SAFETY: as above; the range is fresh.
            Ok(allocated) => unsafe { self.dmem_publish(allocator, core, request, allocated, &range) },
            Err(error) => {
                if let Cause::OutOfMemory(oom) = error.cause {
                    // SAFETY: by contract.
                    unsafe { self.oom_record(core, allocator, request, oom) };
                }
                Err(error)
            }
        };
        match (node, request.group, entry) {
            (Ok(node), Some(group), Some(entry)) => {
                // SAFETY: the list and the entry are this caller's.
                unsafe { self.group_append(group, entry, node) };
                Ok(node)
            }
            (node, _, entry) => {
                if let Some(entry) = entry {
                    self.give_group_entry(entry);
                }
                node
            }
        }
    }

    /// The checks that need no driver; gives the driver category.
    fn check(&self, request: &DmemRequest<'_>) -> Result<u8> {
        let DmemRequest { usage, location, .. } = *request;
        let category = usage.category(location).ok_or(Error::invalid(Cause::UsageNotAllowed { usage, location }))?;
        if request.size == 0 {
            return Err(Error::invalid(Cause::ZeroSize));
        }
        let channels = self.settings.arch.channels_per_device();
        if request.channel >= channels {
            return Err(Error::invalid(Cause::ChannelOutOfRange { channel: request.channel, channels }));
        }
        if request.align != 0 && !request.align.is_power_of_two() {
            return Err(Error::invalid(Cause::Alignment(request.align)));
        }
        Ok(category)
    }

    /// Asks the driver for memory, aligned by it or, where it cannot do that, over-allocated by the alignment (`dmem` §6.1).
    /// Gives the bytes asked for.
    ///
    /// The driver never aligns host memory; its granule is enough for alignments up to 4096. That it cannot align device
    /// memory is remembered for the life of the runtime, and only the answer "not supported" counts as that.
    fn ask(&self, core: &ResolvedCore, request: &DmemRequest<'_>, category: u8, range: &mut DeviceRange) -> Result<usize> {
        let host = request.location == Location::Host;
        let aligns = !host && (request.align == 0 || self.driver_aligns.load(Relaxed));
        let mut arguments = AllocRequest {
            size: request.size,
            align: if aligns { request.align } else { 0 },
            host,
            channel: request.channel,
            nc_id: core.core,
            category,
        };
        if aligns || (host && request.align <= DRIVER_GRANULE) {
            match self.driver.alloc(core.device, &arguments, range) {
                Ok(()) => return Ok(arguments.size as usize),
                Err(Errno::ENOTSUPP) if arguments.align != 0 => self.driver_cannot_align(core),
                Err(errno) => return Err(refused(core, request, errno)),
            }
            arguments.align = 0;
        }
        let padded = request.size.checked_add(request.align).ok_or(refused(core, request, Errno::ENOMEM))?;
        arguments.size = padded;
        self.driver.alloc(core.device, &arguments, range).map_err(|errno| refused(core, request, errno))?;
        Ok(padded as usize)
    }

    #[cold]
    fn driver_cannot_align(&self, core: &ResolvedCore) {
        if self.driver_aligns.swap(false, Relaxed) {
            self.hooks.log(
                Level::Warn,
                format_args!(
                    "the driver of ND{} does not align memory: aligned allocations take their alignment on top",
                    core.device
                ),
            );
        }
    }

    /// Gives the range a node, links it, books it.
    ///
    /// # Safety
    /// As [`dmem_alloc`](Self::dmem_alloc); `range` was just allocated on the device of `core`, with `allocated` bytes.
    pub(super) unsafe fn dmem_publish(
        &self,
        allocator: NonNull<dmem_allocator_t>,
        core: &ResolvedCore,
        request: &DmemRequest<'_>,
        allocated: usize,
        range: &DeviceRange,
    ) -> Result<NonNull<dmem_t>> {
        let mut looks = LOOKS;
        let side = self.arenas.core(core.device, core.core);
        loop {
            let held = self.memory_lock(core);
            if let Some(index) = self.pop_node(core) {
                self.arenas.nodes.begin_life(index);
                let slot = self.arenas.nodes.pointer(index);
                let node = slot.cast::<dmem_t>();
                // SAFETY: the slot was free, so nobody else looks at its plain fields; the list, counters and ring of this
                // core are guarded by the lock held here.
                unsafe {
                    (*slot.as_ptr()).range = *range;
                    let raw = node.as_ptr();
                    (*raw).pcore = (*allocator.as_ptr()).pcore;
                    (*raw).mem_handle = (&raw const (*slot.as_ptr()).range).expose_provenance() as u64;
                    (*raw).size = request.size as usize;
                    (*raw)._pa = range.pa;
                    (*raw)._va.store(null_mut(), Relaxed);
                    (*raw).align_offset = shift(range.pa, request, allocated);
                    (*raw).allocated_size = allocated;
                    (*raw).mem_type = dma_mem_location_t(request.location as u32);
                    (*raw).mem_usage_type = dma_mem_usage_type_t(request.usage as u32);
                    (*raw).tdram_channel = request.channel;
                    let hint = &raw mut (*raw).spare_44_hint;
                    text::put_here(&mut *hint, request.hint);
                    (*raw).hint = hint.cast();
                    (*raw).cpy_buf = side.cpy_buf.load(Relaxed);
                    (*raw).ref_count.store(1, Relaxed);
                    self.link(allocator, node);
                    self.ledger_add(side, raw, Action::Alloc, Some(request.hint));
                }
                let live = &side.live_nodes;
                live.store(live.load(Relaxed) + 1, Release);
                drop(held);
                trace!(
                    "alloc {} bytes, usage {}, ND{}:NC{}, at {}",
                    request.size,
                    request.usage.name(),
                    core.device,
                    core.core,
                    range.pa
                );
                return Ok(node);
            }
            drop(held);
            // Another core may keep freed nodes back. Its lock is taken alone: memory locks never nest.
            match self.steal_node() {
                Some(index) => self.arenas.nodes.give_uncounted(index),
                None if looks > 1 => {
                    looks -= 1;
                    spin_loop();
                }
                None => {
                    self.give_range_back(core, range);
                    return Err(Error::pool_full(Pool::Nodes));
                }
            }
        }
    }

    /// Appends a node in front of the tail sentinel: list order is allocation order.
    ///
    /// # Safety
    /// The caller holds the memory lock of the allocator's core; the node is on no list.
    unsafe fn link(&self, allocator: NonNull<dmem_allocator_t>, node: NonNull<dmem_t>) {
        // SAFETY: live by contract; the links only change under the lock.
        unsafe {
            let raw = allocator.as_ptr();
            let tail = &raw mut (*raw).dummy_tail;
            let last = (*tail).prev.load(Relaxed);
            (*node.as_ptr()).prev.store(last, Relaxed);
            (*node.as_ptr()).next.store(tail, Relaxed);
            (*node.as_ptr()).allocator.store(raw, Release);
            (*last).next.store(node.as_ptr(), Release);
            (*tail).prev.store(node.as_ptr(), Relaxed);
        }
    }

    /// A free node: from the core's magazine, else from the shared stack, else a never-used one. Under the memory lock.
    fn pop_node(&self, core: &ResolvedCore) -> Option<u32> {
        self.pop_magazine(core.device, core.core).or_else(|| self.arenas.nodes.take_uncounted())
    }

    /// Takes a node out of some core's magazine. Holds no lock before and after.
    fn steal_node(&self) -> Option<u32> {
        let mut stolen = None;
        self.for_each_core(|core| {
            if stolen.is_none() && self.arenas.core(core.device, core.core).magazine_len.load(Relaxed) > 0 {
                let _held = self.memory_lock(core);
                stolen = self.pop_magazine(core.device, core.core);
            }
        });
        stolen
    }

    /// Whether no node was found free in [`LOOKS`] looks.
    #[inline]
    pub(super) fn no_node_is_free(&self) -> bool {
        self.arenas.nodes.looks_empty() && self.no_node_is_found()
    }

    #[cold]
    fn no_node_is_found(&self) -> bool {
        for _ in 0..LOOKS {
            if !self.arenas.nodes.looks_empty() || self.any_magazine() {
                return false;
            }
            spin_loop();
        }
        true
    }

    fn any_magazine(&self) -> bool {
        let mut any = false;
        self.for_each_core(|core| any |= self.arenas.core(core.device, core.core).magazine_len.load(Acquire) > 0);
        any
    }

    /// Puts a range for which no node was left back into the driver's hands. If the driver refuses even that, there is no
    /// slot to remember the range in: it is counted as quarantined without a node, and closing the device frees it.
    fn give_range_back(&self, core: &ResolvedCore, range: &DeviceRange) {
        if let Err(errno) = self.driver.free(core.device, range) {
            let side = self.arenas.core(core.device, core.core);
            let held = self.memory_lock(core);
            side.quarantined.store(side.quarantined.load(Relaxed) + 1, Relaxed);
            side.quarantined_bytes.fetch_add(range.size, Relaxed);
            drop(held);
            self.log_refused_free(core, range.size, "undone allocation", errno);
        }
    }
}

/// Bytes from the start of an over-allocated range to its aligned part: 1 to the alignment, never 0, so that an address that
/// is aligned already moves by a whole alignment. 0 for a range the driver aligned.
fn shift(pa: u64, request: &DmemRequest<'_>, allocated: usize) -> usize {
    if allocated as u64 == request.size {
        return 0;
    }
    let aligned = pa.wrapping_add(request.align) & request.align.wrapping_neg();
    aligned.wrapping_sub(pa) as usize
}

/// No memory.
pub(crate) const EMPTY_RANGE: ndl_mem_info_t = ndl_mem_info_t {
    device: null_mut(),
    driver_handle: 0,
    pa: 0,
    mmap_offset: 0,
    size: 0,
    align: 0,
    pad_2c: 0,
    mmap_va: null_mut(),
    host_memory: 0,
    nc_id: 0,
};

/// The documented status of a refusal (errata 22).
pub(super) fn refused(core: &ResolvedCore, request: &DmemRequest<'_>, errno: Errno) -> Error {
    if errno != Errno::ENOMEM {
        return Error::driver(Call::Alloc, core.device, errno);
    }
    let status = match request.location {
        Location::Device => Status::Resource,
        Location::Host => Status::FailHostMemAlloc,
    };
    Error::new(
        status,
        Cause::OutOfMemory(OutOfMemory {
            size: request.size,
            align: request.align,
            usage: request.usage,
            location: request.location,
            device: core.device,
            core: core.core,
            channel: request.channel,
        }),
    )
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Gives a group entry back to its pool.
    pub(super) fn give_group_entry(&self, entry: NonNull<GroupSlot>) {
        self.arenas.group.give(entry);
    }
}
