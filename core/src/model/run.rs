//! Running a model (fact sheet `model-db` §7): one at a time on a core, through an executor.
//!
//! Running the engines is outside this system; what "run" does is up to an [`Executor`]. The core guarantees that the model
//! stays, that its core is its own, and that what is bound fits.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::arena::MAX_CORES_PER_VCORE;
use crate::context::ResolvedCore;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::model_db::ModelRef;
use crate::status::Status;
use crate::sync;
use crate::system::System;
use crate::tensor::{Access, Pending, TensorRef};

use super::binding::Binding;

/// Does the work of one execution.
pub trait Executor {
    /// Executes. The core is held and the model pinned; calling back into the same core gives `NRT_INVALID`.
    ///
    /// # Errors
    /// Whatever the executor finds; the caller of `run` gets it.
    fn execute<D: Driver, H: Hooks>(&self, run: &Run<'_, D, H>) -> Result<()>;
}

/// Moves bytes from the inputs to the outputs, device to device: output *k* gets input *k* mod *n*, repeated or cut to its
/// size. It stands in for the engines, so that what is read back can be checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyExecutor;

impl Executor for CopyExecutor {
    fn execute<D: Driver, H: Hooks>(&self, run: &Run<'_, D, H>) -> Result<()> {
        if run.inputs() == 0 {
            return Ok(());
        }
        for output in 0..run.outputs() {
            let input = output % run.inputs();
            let (length, total) = (run.input_bytes(input), run.output_bytes(output));
            let mut done = 0;
            while done < total {
                let bytes = length.min(total - done);
                run.copy(input, 0, output, done, bytes)?;
                done += bytes;
            }
        }
        Ok(())
    }
}

/// One execution, as an executor sees it.
pub struct Run<'a, D, H> {
    system: &'a System<D, H>,
    model: u32,
    inputs: &'a [TensorRef],
    outputs: &'a [TensorRef],
}

impl<D: Driver, H: Hooks> Run<'_, D, H> {
    /// Id of the running model.
    #[must_use]
    pub fn model(&self) -> u32 {
        self.model
    }

    /// Number of bound inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Number of bound outputs.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Bound tensors in plain host memory, or of a size without bytes: no engine reaches them.
    #[must_use]
    pub fn host_tensors(&self) -> usize {
        self.inputs.iter().chain(self.outputs).filter(|tensor| tensor.is_plain()).count()
    }

    /// Bytes of an input tensor; 0 when there is none of that index.
    #[must_use]
    pub fn input_bytes(&self, input: usize) -> u64 {
        self.inputs.get(input).map_or(0, |tensor| tensor.bytes)
    }

    /// Bytes of an output tensor; 0 when there is none of that index.
    #[must_use]
    pub fn output_bytes(&self, output: usize) -> u64 {
        self.outputs.get(output).map_or(0, |tensor| tensor.bytes)
    }

    /// Copies from an input to an output.
    ///
    /// # Errors
    /// `NRT_INVALID` when there is no such tensor, or it is one that [`Tensor::copy_to`](crate::Tensor::copy_to) refuses;
    /// `NRT_FAILURE` when the driver fails.
    pub fn copy(&self, input: usize, input_offset: u64, output: usize, output_offset: u64, bytes: u64) -> Result<()> {
        let missing = |output, index: usize| Error::invalid(Cause::Binding { output, index: index as u32, need: bytes, have: 0 });
        let src = self.inputs.get(input).ok_or(missing(false, input))?;
        let dst = self.outputs.get(output).ok_or(missing(true, output))?;
        self.system.tensor_copy(src, input_offset, dst, output_offset, bytes)
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Holds logical core `vnc`, pins the model, checks the binding, points the model's pointers to it, executes.
    ///
    /// # Errors
    /// `NRT_INVALID` when the calling thread executes on this core already, or the tensors do not fit the contract;
    /// `NRT_TIMEOUT` when the core did not become free in time; `NRT_INVALID_HANDLE` when the model is not resident;
    /// `NRT_FAILURE` when the driver does not take the addresses of what is bound, and nothing ran; what the executor answers.
    ///
    /// # Concurrency
    /// The execution lock of the first core for the whole execution; the database lock of each core, one at a time.
    ///
    /// # Safety
    /// What `binding` names stays alive during the call.
    pub(crate) unsafe fn run(
        &self,
        vnc: u32,
        id: u32,
        binding: &Binding<'_>,
        deadline_ns: Option<u64>,
        executor: &impl Executor,
    ) -> Result<()> {
        let first = self.core(vnc, 0)?;
        let running_thread = &self.arenas.core(first.device, first.core).running_thread;
        let this_thread = self.hooks.thread_id();
        if running_thread.load(Relaxed) == this_thread {
            return Err(Error::invalid(Cause::Reentered));
        }
        // SAFETY: the record of an owned core lives for ever; the reference covers the lock alone.
        let lock = unsafe { &(*first.tpb.as_ptr()).hw_exec_queue.compute_req_lock };
        let _held = sync::lock_until(lock, &self.hooks, deadline_ns)
            .ok_or(Error::new(Status::Timeout, Cause::TimedOut("the core to become free")))?;
        let pinned = self.pin(vnc, id)?;
        // SAFETY: by contract.
        let bound = unsafe { self.bind(&pinned, vnc, binding)? };
        self.point_to_bound(&pinned, &bound)?;
        let (inputs, outputs) = (bound.inputs(), bound.outputs());
        let _reading = Pending::begin(self, inputs, Access::Read);
        let _writing = Pending::begin(self, outputs, Access::Write);
        let running = Running::begin(self, &pinned, id, running_thread, this_thread);
        trace!("run model {} on ND{}:NC{}", id, first.device, first.core);
        let result = executor.execute(&Run { system: self, model: id, inputs, outputs });
        drop(running);
        if result.is_ok() {
            outputs.iter().for_each(|output| self.tensor_completed(output));
        }
        result
    }

    /// Refuses the thread that executes on this logical core: it would wait for itself.
    ///
    /// # Errors
    /// `NRT_INVALID`.
    pub(crate) fn refuse_reentry(&self, vnc: u32) -> Result<()> {
        let first = self.core(vnc, 0)?;
        let running = self.arenas.core(first.device, first.core).running_thread.load(Relaxed);
        if running != 0 && running == self.hooks.thread_id() { Err(Error::invalid(Cause::Reentered)) } else { Ok(()) }
    }

    /// References to a model on all its cores. Written in its place ([`Pinned::take`]) it would take fewer instructions here, but
    /// what follows in [`run`](Self::run) would then not be inlined any more, and take more.
    ///
    /// # Errors
    /// As [`Pinned::take`].
    fn pin(&self, vnc: u32, id: u32) -> Result<Pinned<'_, D, H>> {
        let mut pinned = Pinned::nothing(self);
        pinned.take(vnc, id)?;
        Ok(pinned)
    }

    fn set_running(&self, pinned: &Pinned<'_, D, H>, id: u32) {
        for (core, _) in pinned.held.iter().flatten() {
            // SAFETY: the field belongs to a live record, is aligned, and is only ever accessed atomically after init.
            unsafe { AtomicU32::from_ptr(&raw mut (*core.tpb.as_ptr()).h_running_model.id) }.store(id, Relaxed);
        }
    }

    /// Model that executes on a core, or 0.
    pub(crate) fn running_model(&self, core: &ResolvedCore) -> u32 {
        // SAFETY: as in `set_running`.
        unsafe { AtomicU32::from_ptr(&raw mut (*core.tpb.as_ptr()).h_running_model.id) }.load(Relaxed)
    }
}

/// A model executes as long as this exists: also if the executor panics and the application goes on.
struct Running<'a, D: Driver, H: Hooks> {
    pinned: &'a Pinned<'a, D, H>,
    thread: &'a AtomicU64,
}

impl<'a, D: Driver, H: Hooks> Running<'a, D, H> {
    fn begin(system: &System<D, H>, pinned: &'a Pinned<'a, D, H>, id: u32, thread: &'a AtomicU64, this_thread: u64) -> Self {
        thread.store(this_thread, Relaxed);
        system.set_running(pinned, id);
        Self { pinned, thread }
    }
}

impl<D: Driver, H: Hooks> Drop for Running<'_, D, H> {
    fn drop(&mut self) {
        self.pinned.system.set_running(self.pinned, 0);
        self.thread.store(0, Relaxed);
    }
}

/// A model that cannot be unloaded while this exists.
pub(crate) struct Pinned<'a, D: Driver, H: Hooks> {
    system: &'a System<D, H>,
    pub(crate) held: [Option<(ResolvedCore, ModelRef)>; MAX_CORES_PER_VCORE],
}

impl<'a, D: Driver, H: Hooks> Pinned<'a, D, H> {
    /// Where a model can be pinned: in its place from the beginning, so that what is pinned is not moved.
    #[inline]
    pub(crate) const fn nothing(system: &'a System<D, H>) -> Self {
        Self { system, held: [None; MAX_CORES_PER_VCORE] }
    }

    /// References to a model on all its cores; nothing is pinned before.
    ///
    /// # Errors
    /// `NRT_INVALID_HANDLE` when it is not resident.
    pub(crate) fn take(&mut self, vnc: u32, id: u32) -> Result<()> {
        let unknown = |_| Error::new(Status::InvalidHandle, Cause::UnknownModel(id));
        for relative in 0..self.system.settings.logical_core_size {
            let core = self.system.core(vnc, relative)?;
            match self.system.database_acquire(&core, id) {
                Ok(reference) => self.held[relative as usize] = Some((core, reference)),
                // Models of one subgraph are resident on the first core only.
                Err(error) if relative == 0 => return Err(unknown(error)),
                Err(_) => break,
            }
        }
        Ok(())
    }
}

impl<D: Driver, H: Hooks> Drop for Pinned<'_, D, H> {
    fn drop(&mut self) {
        for (_, reference) in self.held.iter().rev().flatten() {
            self.system.database_release(*reference);
        }
    }
}
