//! The report.

use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::abi::dmem_allocator_t;
use crate::arena::ModelSlot;
use crate::context::ResolvedCore;
use crate::driver::Driver;
use crate::error::OutOfMemory;
use crate::hooks::{Hooks, Level};
use crate::ledger::Event;
use crate::size::Size;
use crate::system::System;
use crate::text;
use crate::usage::{Class, Location, Usage};

use super::record::Facts;
use super::space::Space;
use super::table::{Owner, Row};

/// What the driver aligns to anyway.
const DRIVER_GRANULE: u64 = 4096;

impl<D: Driver, H: Hooks> System<D, H> {
    /// Renders the report of a refusal. No lock is held, and none while a line is handed to the log.
    #[cold]
    pub(super) fn report_out_of_memory(&self, oom: &OutOfMemory) {
        let rendering = self.oom_rendering(oom);
        let facts = rendering.as_ref().map(|rendering| rendering.facts());
        let hint = facts.map_or("", |facts| text::from_nul_terminated(&facts.hint));
        self.error_line(format_args!("{}", Headline { oom, hint }));
        self.hbm_line(oom);
        match oom.location {
            Location::Device => self.device_space_lines(oom, facts),
            Location::Host => self.error_line(format_args!(
                "pinned host memory comes from the kernel, whose free amount is not known here; one request cannot be larger \
                 than the kernel's largest block, often 4MB; held by this process on ND {}:",
                oom.device
            )),
        }
        self.holder_table(oom, facts);
        self.name_lines(oom, facts);
        if facts.is_none() {
            self.error_line(format_args!(
                "more threads than can be recorded ran out of memory at once: these are the bytes of now"
            ));
        }
        self.event_lines(oom.device, facts.map_or(u64::MAX, |facts| facts.event_time));
    }

    fn error_line(&self, text: fmt::Arguments<'_>) {
        self.hooks.log(Level::Error, text);
    }

    fn hbm_line(&self, oom: &OutOfMemory) {
        let group = self.settings.arch.cores_per_hbm();
        let first = oom.channel * group;
        let mut owned = heapless::Vec::<u32, 2>::new();
        for core in (first..first + group).filter(|core| self.tree.resolve(oom.device, *core).is_ok()) {
            // A group has two cores at most.
            let _ = owned.push(core);
        }
        let size = self.settings.logical_core_size;
        self.error_line(format_args!(
            "logical core size {size}; ND {} HBM {} is shared by NC {}; this process owns NC {}",
            oom.device,
            oom.channel,
            Listed(first..first + group),
            Listed(owned.iter().copied())
        ));
    }

    /// What is known about the space: the driver's list where it has one, else what this process holds.
    fn device_space_lines(&self, oom: &OutOfMemory, facts: Option<&Facts>) {
        let held = facts.map_or_else(|| self.channel_bytes(oom.device, oom.channel as usize), |facts| facts.on_channel);
        let (device, channel, limit) = (oom.device, oom.channel, self.settings.arch.hbm_bytes());
        match facts.map_or_else(|| self.space(device, channel), |facts| facts.space) {
            Some(space) => {
                let Space { chunks, reserved, free, largest_run } = space;
                self.error_line(format_args!(
                    "ND {device} HBM {channel}: {} free, largest free run {}, by the driver's list of all processes ({chunks} \
                     allocations, {} reserved by the driver); this process held {}",
                    Size(free),
                    Size(largest_run),
                    Size(reserved),
                    Size(held)
                ));
                self.error_line(format_args!("{}", Verdict { oom, space }));
            }
            None => self.error_line(format_args!(
                "ND {device} HBM {channel}: this process held {} of {}, so at most {} are free; what other processes hold and \
                 the largest free run are not known, the driver does not list its allocations",
                Size(held),
                Size(limit),
                Size(limit.saturating_sub(held))
            )),
        }
        if oom.align > DRIVER_GRANULE {
            self.error_line(format_args!(
                "an aligned request can fail although there is room, when no free run holds it from a multiple of {} on",
                Size(oom.align)
            ));
        }
    }

    /// Device, HBM, cores, models. Cores and the failed load as they were when the driver refused, models as they are now.
    fn holder_table(&self, oom: &OutOfMemory, facts: Option<&Facts>) {
        let verbose = self.settings.verbose_memory_table;
        let line = |owner: Owner, bytes| self.error_line(format_args!("{}", Row { owner, bytes, verbose }));
        let (mut all, mut of_hbm) = ([0; Usage::COUNT], [0; Usage::COUNT]);
        self.for_each_core_of(oom.device, |core| {
            let bytes = self.core_bytes(core, oom.location, facts);
            add(&mut all, &bytes);
            if self.settings.arch.default_channel(core.core) == oom.channel {
                add(&mut of_hbm, &bytes);
            }
        });
        line(Owner::Heading(0), [0; Usage::COUNT]);
        line(Owner::Heading(1), [0; Usage::COUNT]);
        line(Owner::Device(oom.device), all);
        if oom.location == Location::Device {
            line(Owner::Hbm(oom.device, oom.channel), of_hbm);
        }
        self.for_each_core_of(oom.device, |core| {
            let bytes = self.core_bytes(core, oom.location, facts);
            // A core that holds nothing tells nothing, unless it is the one that asked.
            if bytes == [0; Usage::COUNT] && core.core != oom.core {
                return;
            }
            line(Owner::Core(core.core), bytes);
            self.for_each_model_of(core, |id, _, slot| {
                // SAFETY: a pinned model is live, and what it holds does not change.
                line(Owner::Model(id), unsafe { self.held_by_model(core, slot, oom.location) });
            });
            if let Some(requester) = facts.and_then(|facts| facts.requester.as_ref())
                && core.core == oom.core
            {
                line(Owner::Loading, requester.bytes);
            }
        });
    }

    fn name_lines(&self, oom: &OutOfMemory, facts: Option<&Facts>) {
        self.for_each_core_of(oom.device, |core| {
            let first = core.core % self.settings.logical_core_size == 0;
            self.for_each_model_of(core, |id, name, _| {
                // A model of several cores has one name.
                if first {
                    self.error_line(format_args!("model {id}: \"{name}\""));
                }
            });
        });
        if let Some(requester) = facts.and_then(|facts| facts.requester.as_ref()) {
            let name = text::from_nul_terminated(&requester.name);
            self.error_line(format_args!("(being loaded): \"{name}\", its memory has been given back"));
        }
    }

    /// The event ring up to the refusal, as CSV.
    fn event_lines(&self, device: u32, until: u64) {
        let line = |text: fmt::Arguments<'_>| self.hooks.log(Level::Info, text);
        line(format_args!("sequence,action,location,usage,channel,core,size,pa,align_offset,total_used,hint"));
        self.for_each_event(device, until, |event| line(format_args!("{}", Csv(event))));
    }

    /// Calls `visit` for every owned core of a device.
    fn for_each_core_of(&self, device: u32, mut visit: impl FnMut(&ResolvedCore)) {
        for core in self.settings.owned_of(device) {
            if let Ok(core) = self.tree.resolve(device, core) {
                visit(&core);
            }
        }
    }

    /// Calls `visit` with id, name and slot of every resident model of a core, by rising id; each is pinned meanwhile.
    fn for_each_model_of(&self, core: &ResolvedCore, mut visit: impl FnMut(u32, &str, NonNull<ModelSlot>)) {
        let mut id = 0;
        while let Some(next) = self.next_resident(core, id) {
            id = next;
            // A model that left meanwhile is passed over.
            let Ok(reference) = self.database_acquire(core, id) else { continue };
            let slot = reference.slot;
            // SAFETY: pinned, so published and unchanging.
            visit(id, text::from_nul_terminated(unsafe { &(*slot.as_ptr()).model.name }), slot);
            self.database_release(reference);
        }
    }

    /// Bytes of a core by usage: the recorded ones where there are any, else those of now.
    fn core_bytes(&self, core: &ResolvedCore, location: Location, facts: Option<&Facts>) -> [u64; Usage::COUNT] {
        match (location, facts) {
            (Location::Device, Some(facts)) => facts.cores[core.core as usize],
            (Location::Device, None) => {
                let mut bytes = [0; Usage::COUNT];
                bytes.copy_from_slice(&self.usage_of(core)[..Usage::COUNT]);
                bytes
            }
            // No counter has pinned memory: its lists do.
            (Location::Host, _) => {
                // SAFETY: the GLOBAL heap of an owned core is live.
                let mut bytes = unsafe { self.held_by(core, self.global_allocator(core), location) };
                // What models hold in the heap of the core is in there already.
                self.for_each_model_of(core, |_, _, slot| {
                    // SAFETY: the heap of a pinned model is live.
                    add(&mut bytes, &unsafe { self.held_by(core, model_heap(slot), location) });
                });
                if let Some(requester) = facts.and_then(|facts| facts.requester.as_ref())
                    && facts.is_some_and(|facts| facts.oom.core == core.core)
                {
                    add(&mut bytes, &requester.bytes);
                }
                bytes
            }
        }
    }

    /// Charged bytes of a model on one of its cores at a location, by usage: its own heap, and what hangs on its group list but
    /// lies in the heap of the core.
    ///
    /// # Safety
    /// The slot is pinned or this caller's alone, and of `core`.
    pub(super) unsafe fn held_by_model(
        &self,
        core: &ResolvedCore,
        slot: NonNull<ModelSlot>,
        location: Location,
    ) -> [u64; Usage::COUNT] {
        // SAFETY: by contract; the list does not change, and its nodes live as long as the model.
        unsafe {
            let heap = model_heap(slot);
            let mut bytes = self.held_by(core, heap, location);
            self.group_for_each(NonNull::new_unchecked(&raw mut (*slot.as_ptr()).group), |node| {
                let node = node.as_ptr();
                if !core::ptr::eq((*node).allocator.load(Relaxed), heap.as_ptr()) && (*node).mem_type.0 == location as u32 {
                    bytes[(*node).mem_usage_type.0 as usize] += (*node).allocated_size as u64;
                }
            });
            bytes
        }
    }

    /// Charged bytes of an allocator at a location, by usage.
    ///
    /// # Safety
    /// `allocator` is live and of `core`.
    ///
    /// # Cost
    /// A visit to every node, under the memory lock of the core.
    pub(super) unsafe fn held_by(
        &self,
        core: &ResolvedCore,
        allocator: NonNull<dmem_allocator_t>,
        location: Location,
    ) -> [u64; Usage::COUNT] {
        let mut bytes = [0; Usage::COUNT];
        let _held = self.memory_lock(core);
        // SAFETY: by contract; the list only changes under the lock held here.
        unsafe {
            let raw = allocator.as_ptr();
            let tail = &raw const (*raw).dummy_tail;
            let mut node = (*raw).dummy_head.next.load(Acquire).cast_const();
            while !node.is_null() && !core::ptr::eq(node, tail) {
                if (*node).mem_type.0 == location as u32 {
                    bytes[(*node).mem_usage_type.0 as usize] += (*node).allocated_size as u64;
                }
                node = (*node).next.load(Acquire);
            }
        }
        bytes
    }
}

/// The heap of a model.
///
/// # Safety
/// The slot is live.
unsafe fn model_heap(slot: NonNull<ModelSlot>) -> NonNull<dmem_allocator_t> {
    // SAFETY: by contract; a member of a live slot.
    unsafe { NonNull::new_unchecked(&raw mut (*slot.as_ptr()).allocator) }
}

fn add(sum: &mut [u64; Usage::COUNT], bytes: &[u64; Usage::COUNT]) {
    sum.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum = sum.saturating_add(*bytes));
}

/// The documented first line, and what the memory was to be called.
struct Headline<'a> {
    oom: &'a OutOfMemory,
    hint: &'a str,
}

impl fmt::Display for Headline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfMemory { size, align, usage, location, device, core, .. } = *self.oom;
        write!(f, "Failed to allocate {} (alignment: ", Size(size))?;
        if align > 1 {
            write!(f, "{}", Size(align))?;
        } else {
            f.write_str("none")?;
        }
        write!(f, ", usage: {}) on ND{device:2}:NC{core:2}", Purpose(usage))?;
        write!(f, " in {} memory", location.name())?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, ", for \"{}\"", self.hint) }
    }
}

/// A usage by the name of its class, and its own where the class has several.
struct Purpose(Usage);

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class: Class = self.0.class();
        f.write_str(class.name())?;
        let several = Usage::ALL.into_iter().filter(|usage| usage.class() == class).count() > 1;
        if several { write!(f, " ({})", self.0.name()) } else { Ok(()) }
    }
}

/// Full or fragmented.
struct Verdict<'a> {
    oom: &'a OutOfMemory,
    space: Space,
}

impl fmt::Display for Verdict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Space { free, largest_run, .. } = self.space;
        let size = self.oom.size;
        if free < size {
            write!(f, "full: {} more are needed", Size(size - free))
        } else if largest_run < size {
            write!(f, "fragmented: enough is free, but the largest run is {} too short", Size(size - largest_run))
        } else {
            f.write_str("a run of that length was free: none is aligned, none is below the last scratchpad page, or it was given back just then")
        }
    }
}

/// Numbers with commas between them.
struct Listed<I>(I);

impl<I: Iterator<Item = u32> + Clone> fmt::Display for Listed<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        self.0.clone().try_for_each(|number| {
            write!(f, "{separator}{number}")?;
            separator = ", ";
            Ok(())
        })
    }
}

/// An event as a line of the CSV.
struct Csv<'a>(&'a Event);

impl fmt::Display for Csv<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = self.0;
        let action = if event.action == 1 { "alloc" } else { "free" };
        let location = if event.location == Location::Device as u32 { "device" } else { "host" };
        let usage = Usage::from_number(event.usage).map_or("", Usage::name);
        write!(f, "{},{action},{location},{usage},{},{},", event.sequence, event.channel, event.core)?;
        write!(f, "{},{:#x},{},{},\"", event.size, event.pa, event.align_offset, event.total_used)?;
        // As CSV has it: a quote inside quotes is doubled.
        let mut parts = event.hint().split('"');
        f.write_str(parts.next().unwrap_or_default())?;
        parts.try_for_each(|part| write!(f, "\"\"{part}"))?;
        f.write_str("\"")
    }
}
