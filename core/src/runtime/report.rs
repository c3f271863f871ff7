//! Who holds the bytes: per core, per usage, per model.

use crate::arena::ModelSlot;
use crate::context::ResolvedCore;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::ledger::{Event, TOTAL};
use crate::model::{Pinned, VariableInfo};
use crate::status::Status;
use crate::text;
use crate::usage::Usage;

use super::Runtime;
use core::ptr::NonNull;

/// Device bytes of a physical core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreUsage {
    /// Device index.
    pub device: u32,
    /// Core of the device.
    pub core: u32,
    /// Default HBM channel of the core.
    pub channel: u32,
    /// Bytes by usage number.
    pub bytes: [u64; Usage::COUNT],
    /// Sum of `bytes`.
    pub total: u64,
    /// Live allocations, host memory included.
    pub allocations: u32,
    /// Allocations the driver refused to take back.
    pub quarantined: u32,
}

/// What a model owns on a physical core, device and pinned host memory together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelUsage {
    /// Model id.
    pub id: u32,
    /// Bytes by usage number.
    pub bytes: [u64; Usage::COUNT],
    /// Live allocations.
    pub allocations: u32,
}

impl<D: Driver, H: Hooks> Runtime<D, H> {
    pub(super) fn core_usage(&self, core: &ResolvedCore) -> CoreUsage {
        let system = &self.system;
        let counters = system.usage_of(core);
        let side = system.arenas.core(core.device, core.core);
        let mut bytes = super::handles::NO_USAGE;
        bytes.copy_from_slice(&counters[..Usage::COUNT]);
        CoreUsage {
            device: core.device,
            core: core.core,
            channel: system.settings.arch.default_channel(core.core),
            bytes,
            total: counters[TOTAL],
            allocations: side.live_nodes.load(core::sync::atomic::Ordering::Relaxed),
            quarantined: side.quarantined.load(core::sync::atomic::Ordering::Relaxed),
        }
    }

    /// Calls `visit` for every physical core of this process.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    pub fn for_each_core_usage(&self, mut visit: impl FnMut(&CoreUsage)) -> Result<()> {
        let _inside = self.enter()?;
        self.calling(None, || self.system.for_each_core(|core| visit(&self.core_usage(core))));
        Ok(())
    }

    /// Calls `visit` for every model resident on a physical core, with its name, by rising id. Each model is pinned while
    /// it is visited; no lock is held. Models that come or go meanwhile may be missed.
    ///
    /// # Errors
    /// `NRT_INVALID` when the core is not owned by this process, `NRT_CLOSED` after close.
    pub fn for_each_model_usage(&self, device: u32, core: u32, mut visit: impl FnMut(&ModelUsage, &str)) -> Result<()> {
        let _inside = self.enter()?;
        let system = &self.system;
        let core = system.tree.resolve(device, core)?;
        let (vnc, relative) = system.settings.locate(&core);
        let mut id = 0;
        while let Some(next) = system.next_resident(&core, id) {
            id = next;
            let visited = self.visit_model(vnc, id, relative, |slot| {
                let usage = self.usage_of_slot(slot)?;
                // SAFETY: pinned, so published and unchanging.
                visit(&usage, text::from_nul_terminated(unsafe { &(*slot.as_ptr()).model.name }));
                Ok(())
            });
            // A model that left between the look and the pin is passed over.
            if let Err(error) = visited
                && error.status != Status::InvalidHandle
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Calls `visit` for the events of a device that are still in its ring, oldest first.
    ///
    /// # Errors
    /// `NRT_INVALID` when this process owns no core of such a device, `NRT_CLOSED` after close.
    pub fn for_each_event(&self, device: u32, visit: impl FnMut(&Event)) -> Result<()> {
        let _inside = self.enter()?;
        self.system.owned_device(device)?;
        self.calling(None, || self.system.for_each_event(device, u64::MAX, visit));
        Ok(())
    }

    /// Writes the per-device sums of a device's ledger to their documented places in the tree, those of the event ring's entries
    /// included.
    ///
    /// # Errors
    /// `NRT_INVALID` when this process owns no core of such a device, `NRT_CLOSED` after close.
    pub fn refresh_ledger(&self, device: u32) -> Result<()> {
        let _inside = self.enter()?;
        self.system.owned_device(device)?;
        self.system.ring_write_totals(device);
        self.system.ledger_refresh(device)
    }

    fn usage_of_slot(&self, slot: NonNull<ModelSlot>) -> Result<ModelUsage> {
        // SAFETY: resident or pinned, so its allocator is live.
        unsafe {
            let allocator = NonNull::new_unchecked(&raw mut (*slot.as_ptr()).allocator);
            let (mut bytes, mut allocations) = self.system.allocator_usage(allocator)?;
            // What it owns in the heap of the core hangs on its group list, which does not change while it is resident.
            self.system.group_for_each(NonNull::new_unchecked(&raw mut (*slot.as_ptr()).group), |node| {
                if !core::ptr::eq((*node.as_ptr()).allocator.load(core::sync::atomic::Ordering::Relaxed), allocator.as_ptr()) {
                    bytes[(*node.as_ptr()).mem_usage_type.0 as usize] += (*node.as_ptr()).allocated_size as u64;
                    allocations += 1;
                }
            });
            Ok(ModelUsage { id: (*slot.as_ptr()).model.h_model.id, bytes, allocations })
        }
    }

    /// Does `work`, in which nothing of the application runs, with a model that stays meanwhile.
    fn at_model<T>(&self, vnc: u32, id: u32, relative: u32, work: impl FnOnce(NonNull<ModelSlot>) -> Result<T>) -> Result<T> {
        let _inside = self.enter()?;
        let mut pinned = Pinned::nothing(&self.system);
        pinned.take(vnc, id)?;
        let unknown = Error::new(Status::InvalidHandle, Cause::UnknownModel(id));
        let (_, reference) = pinned.held.get(relative as usize).copied().flatten().ok_or(unknown)?;
        work(reference.slot)
    }

    /// Does `work`, which calls the application back, with a model that stays meanwhile.
    fn visit_model<T>(&self, vnc: u32, id: u32, relative: u32, work: impl FnOnce(NonNull<ModelSlot>) -> Result<T>) -> Result<T> {
        self.at_model(vnc, id, relative, |slot| self.calling(Some((vnc, id)), || work(slot)))
    }

    pub(super) fn model_usage(&self, vnc: u32, id: u32, relative: u32) -> Result<ModelUsage> {
        self.at_model(vnc, id, relative, |slot| self.usage_of_slot(slot))
    }

    pub(super) fn for_each_variable(
        &self,
        vnc: u32,
        id: u32,
        relative: u32,
        visit: impl FnMut(VariableInfo, &str),
    ) -> Result<()> {
        self.visit_model(vnc, id, relative, |slot| {
            // SAFETY: pinned.
            unsafe { self.system.for_each_variable(slot, visit) };
            Ok(())
        })
    }

    pub(super) fn variable_address(&self, vnc: u32, id: u32, relative: u32, variable: u32, span: (u64, u64)) -> Result<u64> {
        self.at_model(vnc, id, relative, |slot| {
            // SAFETY: pinned.
            unsafe { self.system.variable_address(slot, variable, span.0, span.1) }
        })
    }

    pub(super) fn scratchpad_address(&self, vnc: u32, id: u32, relative: u32, offset: u64, bytes: u64) -> Result<u64> {
        self.at_model(vnc, id, relative, |slot| {
            // SAFETY: pinned: the record is only read, and the pages it claims stay.
            unsafe {
                let record = &raw const (*slot.as_ptr()).cleanup;
                let none = Error::invalid(Cause::ScratchpadSpan { offset, size: bytes, page_size: 0 });
                let entry = (0..(*record).num_entries as usize).next().ok_or(none)?;
                let core = self.system.resolve((*record).pcores[entry])?;
                let (page, in_page) = self.system.scratchpad_span(&core, Some((*record).sizes[entry]), offset, bytes)?;
                Ok(self.system.dmem_address(page, in_page))
            }
        })
    }

    pub(super) fn with_io_name<T>(
        &self,
        vnc: u32,
        id: u32,
        relative: u32,
        variable: u32,
        work: impl FnOnce(&str, bool) -> T,
    ) -> Result<Option<T>> {
        self.visit_model(vnc, id, relative, |slot| {
            // SAFETY: pinned.
            Ok(unsafe { self.system.io_name(slot, variable) }.map(|(name, is_input)| work(name, is_input)))
        })
    }

    pub(super) fn read_variable(
        &self,
        vnc: u32,
        id: u32,
        relative: u32,
        variable: u32,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<()> {
        self.at_model(vnc, id, relative, |slot| {
            // SAFETY: pinned; the memory lives as long as the model.
            unsafe { self.system.variable_read(slot, variable, offset, bytes) }
        })
    }
}
