//! A logical core: where models, tensors and allocations are made.

use core::ptr::NonNull;

use crate::context::ResolvedCore;
use crate::dmem::DmemRequest;
use crate::driver::Driver;
use crate::error::{Cause, Error, Pool, Result};
use crate::hooks::Hooks;
use crate::ledger::MemoryStats;
use crate::model::{Binding, Executor, MAX_BOUND, ModelPlan};
use crate::scratchpad::PageAdvice;
use crate::status::Status;
use crate::sync::InFlight;
use crate::tensor::{Placement, TensorRef};
use crate::usage::{Location, Usage};

use super::{CoreUsage, Dmem, Draining, Model, Runtime, Tensor, TensorSet};

/// Arguments of an allocation in the GLOBAL heap of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation<'a> {
    /// Bytes; not 0.
    pub bytes: u64,
    /// Alignment of the device address: 0, or a power of two. What the driver cannot align takes its alignment on top.
    pub align: u64,
    /// Where.
    pub location: Location,
    /// HBM channel; `None` = the default of the core.
    pub channel: Option<u32>,
    /// What for.
    pub usage: Usage,
    /// What to call it; the first 59 bytes are kept.
    pub hint: &'a str,
}

/// A logical core of an open runtime.
pub struct LogicalCore<'r, D: Driver, H: Hooks> {
    pub(super) runtime: &'r Runtime<D, H>,
    pub(super) vnc: u32,
}

impl<D: Driver, H: Hooks> Clone for LogicalCore<'_, D, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Driver, H: Hooks> Copy for LogicalCore<'_, D, H> {}

impl<'r, D: Driver, H: Hooks> LogicalCore<'r, D, H> {
    /// Index of the core.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.vnc
    }

    /// (device, core of the device) of one of its physical cores.
    ///
    /// # Errors
    /// `NRT_INVALID` when `relative` is not below the logical core size, `NRT_CLOSED` after close.
    pub fn physical(&self, relative: u32) -> Result<(u32, u32)> {
        let _inside = self.runtime.enter()?;
        self.resolve(relative).map(|core| (core.device, core.core))
    }

    /// The model database of its first physical core by itself, for measuring; not part of the interface.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    #[doc(hidden)]
    pub fn bare_database(&self) -> Result<crate::bare::Database<'r, D, H>> {
        let _inside = self.runtime.enter()?;
        Ok(crate::bare::Database::new(&self.runtime.system, self.resolve(0)?))
    }

    fn resolve(&self, relative: u32) -> Result<ResolvedCore> {
        if relative >= self.runtime.logical_core_size() {
            return Err(Error::invalid(Cause::CoreOutOfRange(relative)));
        }
        self.runtime.system.core(self.vnc, relative)
    }

    /// Loads a model. All or nothing.
    ///
    /// # Errors
    /// `NRT_INVALID` for a plan that does not fit; `NRT_RESOURCE` and `NRT_FAIL_HOST_MEM_ALLOC` when memory or a pool runs
    /// out; `NRT_FAILURE` when the driver or a source fails, or for more than nine libraries; `NRT_INVALID_HANDLE` when the
    /// next id is that of a resident model, after 2³² loads; `NRT_CLOSED` after close.
    ///
    /// # Concurrency
    /// Loads on one core go on side by side; the copy-buffer lock serialises their staging.
    pub fn load(&self, plan: &ModelPlan<'_>) -> Result<Model<'r, D, H>> {
        let _inside = self.runtime.enter()?;
        let system = &self.runtime.system;
        let id = system.tell(self.runtime.calling(None, || system.load(self.vnc, plan)))?;
        self.runtime.note_peak();
        Ok(Model { runtime: self.runtime, vnc: self.vnc, id })
    }

    /// Runs a resident model by its id: holds the core, pins the model, checks the binding, executes.
    ///
    /// `timeout_ns` bounds the wait for the core, not the execution; `None` waits for ever.
    ///
    /// # Errors
    /// `NRT_INVALID_HANDLE` when the model is not resident (it may be reloading), or a tensor is of another runtime;
    /// `NRT_TIMEOUT` when the core stayed busy; `NRT_INVALID` when a tensor does not fit or an executor calls back into its own
    /// core; `NRT_RESOURCE` for more than 64 tensors; `NRT_FAILURE` when the driver does not take the addresses for the model's
    /// pointers to what is bound, and nothing ran; `NRT_CLOSED` after close; what the executor answers.
    pub fn run(
        &self,
        id: u32,
        inputs: &[&Tensor<'_, D, H>],
        outputs: &[&Tensor<'_, D, H>],
        timeout_ns: Option<u64>,
        executor: &impl Executor,
    ) -> Result<()> {
        let _inside = self.runtime.enter()?;
        let mut bound = heapless::Vec::<TensorRef, MAX_BOUND>::new();
        for tensor in inputs.iter().chain(outputs) {
            bound.push(tensor.reference(self.runtime)?).map_err(|_| Error::pool_full(Pool::FeatureMaps))?;
        }
        let (inputs, outputs) = bound.split_at(inputs.len());
        let binding = Binding::Lists { inputs, outputs };
        // SAFETY: the caller's borrows keep the tensors.
        unsafe { self.runtime.system.run(self.vnc, id, &binding, self.runtime.deadline(timeout_ns), executor) }
    }

    /// Runs a resident model with tensors by name: each name it declares must be in the set. Names it does not declare are
    /// not looked at. The tensors are held while the model runs.
    ///
    /// # Errors
    /// As [`run`](Self::run); `NRT_INVALID` when a name is missing, or another thread exchanges the storage of its tensor just
    /// then; `NRT_INVALID_HANDLE` when its tensor is gone or a set is of another runtime.
    pub fn run_sets(
        &self,
        id: u32,
        inputs: &TensorSet<'_, D, H>,
        outputs: &TensorSet<'_, D, H>,
        timeout_ns: Option<u64>,
        executor: &impl Executor,
    ) -> Result<()> {
        let _inside = self.runtime.enter()?;
        let binding = Binding::Sets { inputs: inputs.slot(self.runtime)?, outputs: outputs.slot(self.runtime)? };
        // SAFETY: the caller's borrows keep the sets.
        unsafe { self.runtime.system.run(self.vnc, id, &binding, self.runtime.deadline(timeout_ns), executor) }
    }

    /// Unloads a resident model by its id, however long its users take.
    ///
    /// # Errors
    /// `NRT_INVALID_HANDLE` when it is not resident; `NRT_INVALID` when an executor unloads on the core it runs on, or a visitor
    /// the model it looks at; `NRT_CLOSED` after close.
    pub fn unload(&self, id: u32) -> Result<()> {
        let _inside = self.runtime.enter()?;
        self.unload_inside(id)
    }

    pub(super) fn unload_inside(&self, id: u32) -> Result<()> {
        let system = &self.runtime.system;
        system.refuse_reentry(self.vnc)?;
        self.runtime.refuse_pinned(self.vnc, id)?;
        let mut removal = system.begin_removal(self.vnc, id).map_err(|error| Error::new(Status::InvalidHandle, error.cause))?;
        while !system.continue_removal(&mut removal, None) {}
        system.finish_removal(&removal);
        Ok(())
    }

    /// Begins to unload a resident model by its id and gives the token that finishes it.
    ///
    /// # Errors
    /// As [`unload`](Self::unload).
    pub fn begin_unload(&self, id: u32) -> Result<Draining<'r, D, H>> {
        let inside = self.runtime.enter()?;
        self.begin_unload_inside(id, inside)
    }

    pub(super) fn begin_unload_inside(&self, id: u32, inside: InFlight<'r, H>) -> Result<Draining<'r, D, H>> {
        self.runtime.system.refuse_reentry(self.vnc)?;
        self.runtime.refuse_pinned(self.vnc, id)?;
        let removal =
            self.runtime.system.begin_removal(self.vnc, id).map_err(|error| Error::new(Status::InvalidHandle, error.cause))?;
        Ok(Draining::new(self.runtime, removal, inside))
    }

    /// Allocates a tensor.
    ///
    /// # Errors
    /// `NRT_RESOURCE` for pinned host memory on CAYMAN, a full pool or no device memory; `NRT_FAIL_HOST_MEM_ALLOC` when
    /// there is no host memory; `NRT_INVALID` for a size of 0 or a name over 255 bytes; `NRT_FAILURE` when the driver answers
    /// anything else; `NRT_CLOSED` after close.
    pub fn tensor(&self, placement: Placement, bytes: u64, name: &str) -> Result<Tensor<'r, D, H>> {
        let _inside = self.runtime.enter()?;
        let system = &self.runtime.system;
        let slot = system.tell(system.tensor_allocate(Some(self.vnc), placement, bytes, name))?;
        self.runtime.note_peak();
        Ok(Tensor::new(self.runtime, slot))
    }

    /// Allocates in the GLOBAL heap of one of the physical cores.
    ///
    /// # Errors
    /// `NRT_INVALID` for a size of 0, a bad alignment or channel, a usage that is not allowed at the location, or no such
    /// core; `NRT_RESOURCE` when a pool is full or the device has no room; `NRT_FAIL_HOST_MEM_ALLOC` when there is no pinned
    /// host memory; `NRT_FAILURE` when the driver answers anything else; `NRT_CLOSED` after close.
    ///
    /// # Cost
    /// One round of the core's memory lock and the gate besides the driver's work. Who allocates at a high rate passes the gate once
    /// for many: see [`Runtime::stay`].
    pub fn allocate(&self, relative: u32, allocation: &Allocation<'_>) -> Result<Dmem<'r, D, H>> {
        let _inside = self.runtime.enter()?;
        self.allocate_inside(relative, allocation)
    }

    #[inline(always)]
    pub(super) fn allocate_inside(&self, relative: u32, allocation: &Allocation<'_>) -> Result<Dmem<'r, D, H>> {
        let core = self.resolve(relative)?;
        let system = &self.runtime.system;
        let request = DmemRequest {
            size: allocation.bytes,
            align: allocation.align,
            location: allocation.location,
            channel: allocation.channel.unwrap_or(system.settings.arch.default_channel(core.core)),
            usage: allocation.usage,
            hint: allocation.hint,
            group: None,
        };
        // SAFETY: the GLOBAL heap of an owned core is live while the gate is open.
        let node = system.tell(unsafe { system.dmem_alloc_on(&core, system.global_allocator(&core), &request) })?;
        Ok(Dmem::new(self.runtime, node))
    }

    /// Memory statistics (`nrt_get_vnc_memory_stats`).
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    pub fn memory_stats(&self) -> Result<MemoryStats> {
        let _inside = self.runtime.enter()?;
        self.runtime.system.memory_stats(self.vnc)
    }

    /// Bytes of one of its physical cores, by usage.
    ///
    /// # Errors
    /// `NRT_INVALID` when there is no such core, `NRT_CLOSED` after close.
    pub fn usage(&self, relative: u32) -> Result<CoreUsage> {
        let _inside = self.runtime.enter()?;
        let core = self.resolve(relative)?;
        Ok(self.runtime.core_usage(&core))
    }

    /// Id of the model that executes on a physical core now, or 0.
    ///
    /// # Errors
    /// `NRT_INVALID` when there is no such core, `NRT_CLOSED` after close.
    pub fn running_model(&self, relative: u32) -> Result<u32> {
        let _inside = self.runtime.enter()?;
        Ok(self.runtime.system.running_model(&self.resolve(relative)?))
    }

    /// Scratchpad pages of a physical core; `refs[i]` becomes the number of models that count on page `i`.
    ///
    /// # Errors
    /// `NRT_INVALID` when there is no such core, `NRT_CLOSED` after close.
    pub fn scratchpad_pages(&self, relative: u32, refs: &mut [u32]) -> Result<u32> {
        let _inside = self.runtime.enter()?;
        Ok(self.runtime.system.scratchpad_pages(&self.resolve(relative)?, refs))
    }

    /// The page size that would hold the largest scratchpad variable that got memory of its own, of all resident models;
    /// `None` when every one lies in a page.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    pub fn scratchpad_advice(&self) -> Result<Option<PageAdvice>> {
        let _inside = self.runtime.enter()?;
        self.runtime.system.page_advice(self.vnc)
    }

    /// Device address of a span of a physical core's scratchpad arena as it is now. In contiguous mode the arena of a model
    /// starts where its own last page lies: ask the [`Model`] then.
    ///
    /// # Errors
    /// `NRT_INVALID` when the live pages do not hold it (a single one, in paged mode) or there is no such core, `NRT_CLOSED` after close.
    pub fn scratchpad_address(&self, relative: u32, offset: u64, bytes: u64) -> Result<u64> {
        let _inside = self.runtime.enter()?;
        let system = &self.runtime.system;
        let (page, in_page) = system.scratchpad_span(&self.resolve(relative)?, None, offset, bytes)?;
        // SAFETY: a page of a live arena; the address is only computed.
        Ok(unsafe { system.dmem_address(page, in_page) })
    }

    /// Models that use the shared microcode library of a physical core, and whether it is staged.
    ///
    /// # Errors
    /// `NRT_INVALID` when there is no such core, `NRT_CLOSED` after close.
    pub fn library_users(&self, relative: u32) -> Result<(u32, bool)> {
        let _inside = self.runtime.enter()?;
        Ok(self.runtime.system.ulib_users(&self.resolve(relative)?))
    }

    /// Models resident on a physical core.
    ///
    /// # Errors
    /// `NRT_INVALID` when there is no such core, `NRT_CLOSED` after close.
    pub fn resident_models(&self, relative: u32) -> Result<u64> {
        let _inside = self.runtime.enter()?;
        Ok(self.runtime.system.resident(&self.resolve(relative)?))
    }
}

/// The node a handle names, if that life goes on.
pub(super) fn live<T>(slot: Option<NonNull<T>>) -> Result<NonNull<T>> {
    slot.ok_or(Error::new(Status::InvalidHandle, Cause::StaleHandle))
}
