//! Owning handles: dropping one gives its resource back. A handle that outlived the runtime's close is inert.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use crate::abi::dmem_t;
use crate::arena::{Handle, NodeSlot};
use crate::driver::Driver;
use crate::error::Result;
use crate::hooks::{Hooks, Level};
use crate::model::{Executor, Removal, VariableInfo};
use crate::status::Status;
use crate::sync::InFlight;
use crate::usage::Usage;

use super::logical_core::live;
use super::{LogicalCore, ModelUsage, Runtime};

/// Device or pinned host memory of a core's GLOBAL heap.
pub struct Dmem<'r, D: Driver, H: Hooks> {
    runtime: &'r Runtime<D, H>,
    handle: Handle,
}

impl<'r, D: Driver, H: Hooks> Dmem<'r, D, H> {
    pub(super) fn new(runtime: &'r Runtime<D, H>, node: NonNull<dmem_t>) -> Self {
        Self { runtime, handle: runtime.system.arenas.nodes.handle(node.cast::<NodeSlot>()) }
    }

    fn node(&self) -> Result<NonNull<dmem_t>> {
        live(self.runtime.system.arenas.nodes.get(self.handle)).map(NonNull::cast)
    }

    fn with<T>(&self, work: impl FnOnce(NonNull<dmem_t>) -> Result<T>) -> Result<T> {
        let _inside = self.runtime.enter()?;
        work(self.node()?)
    }

    /// A second handle to the same memory: takes a reference, and the memory goes when the last handle does.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    ///
    /// # Cost
    /// One read-modify-write besides the gate.
    pub fn share(&self) -> Result<Self> {
        // SAFETY: live, and the handle holds a reference.
        self.with(|node| Ok(Self::new(self.runtime, unsafe { self.runtime.system.dmem_acquire(node) })))
    }

    /// Bytes asked for.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    pub fn bytes(&self) -> Result<u64> {
        // SAFETY: live, and the handle holds a reference.
        self.with(|node| Ok(unsafe { (*node.as_ptr()).size as u64 }))
    }

    /// Device address of the first byte.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    pub fn address(&self) -> Result<u64> {
        // SAFETY: as above.
        self.with(|node| Ok(unsafe { self.runtime.system.dmem_address(node, 0) }))
    }

    /// Address of the memory in this process, mapped on first use and valid as long as the handle.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the driver refuses to map, `NRT_CLOSED` after close.
    pub fn map(&self) -> Result<NonNull<u8>> {
        // SAFETY: as above.
        self.with(|node| unsafe { self.runtime.system.dmem_va(node) })
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Errors
    /// `NRT_INVALID` when the span is empty or outside, or a source of bytes copies through the core that waits for it;
    /// `NRT_FAILURE` when the driver fails, `NRT_CLOSED` after close.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: as above.
        self.with(|node| unsafe { self.runtime.system.dmem_copy_in(node, offset, bytes) })
    }

    /// Copies from `offset` into `bytes`.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: as above.
        self.with(|node| unsafe { self.runtime.system.dmem_copy_out(node, offset, bytes) })
    }

    /// Sets `size` bytes at `offset` to `value`.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn fill(&self, offset: u64, value: u8, size: u64) -> Result<()> {
        // SAFETY: as above.
        self.with(|node| unsafe { self.runtime.system.dmem_fill(node, offset, value, size) })
    }
}

impl<D: Driver, H: Hooks> Dmem<'_, D, H> {
    /// Gives the reference back. Once, and by someone inside.
    #[inline(always)]
    fn give_back(&mut self) {
        if let Ok(node) = self.node() {
            // SAFETY: the reference is this handle's, which is used no more.
            unsafe { self.runtime.system.dmem_free(node) };
        }
    }

    /// Drops the handle without passing the gate again, if the caller is inside this runtime.
    #[inline(always)]
    pub(super) fn drop_inside(self, runtime: &Runtime<D, H>) {
        if core::ptr::eq(self.runtime, runtime) {
            let mut once = ManuallyDrop::new(self);
            once.give_back();
        }
    }
}

impl<D: Driver, H: Hooks> Drop for Dmem<'_, D, H> {
    fn drop(&mut self) {
        if let Ok(_inside) = self.runtime.enter_to_release() {
            self.give_back();
        }
    }
}

/// A loaded model.
///
/// Dropping it unloads it if nobody uses it at that moment; otherwise it stays resident under its id, which is logged, and
/// goes with the runtime's close. Call [`unload`](Self::unload) to wait.
#[must_use]
pub struct Model<'r, D: Driver, H: Hooks> {
    pub(super) runtime: &'r Runtime<D, H>,
    pub(super) vnc: u32,
    pub(super) id: u32,
}

impl<'r, D: Driver, H: Hooks> Model<'r, D, H> {
    /// Id of the model (`H_MODEL`), never 0.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its logical core.
    #[must_use]
    pub fn core(&self) -> LogicalCore<'r, D, H> {
        LogicalCore { runtime: self.runtime, vnc: self.vnc }
    }

    /// Gives the model into the care of its id; it stays resident.
    #[must_use]
    pub fn into_id(self) -> u32 {
        ManuallyDrop::new(self).id
    }

    /// Runs it, see [`LogicalCore::run`].
    ///
    /// # Errors
    /// As [`LogicalCore::run`].
    pub fn run(
        &self,
        inputs: &[&super::Tensor<'_, D, H>],
        outputs: &[&super::Tensor<'_, D, H>],
        timeout_ns: Option<u64>,
        executor: &impl Executor,
    ) -> Result<()> {
        self.core().run(self.id, inputs, outputs, timeout_ns, executor)
    }

    /// Runs it with tensor sets, see [`LogicalCore::run_sets`].
    ///
    /// # Errors
    /// As [`LogicalCore::run_sets`].
    pub fn run_sets(
        &self,
        inputs: &super::TensorSet<'_, D, H>,
        outputs: &super::TensorSet<'_, D, H>,
        timeout_ns: Option<u64>,
        executor: &impl Executor,
    ) -> Result<()> {
        self.core().run_sets(self.id, inputs, outputs, timeout_ns, executor)
    }

    /// Unloads it, however long its users take.
    ///
    /// # Errors
    /// `NRT_INVALID_HANDLE` when somebody unloaded it by its id already; `NRT_INVALID` when the calling thread uses it itself:
    /// it then stays resident under its id; `NRT_CLOSED` after close.
    pub fn unload(self) -> Result<()> {
        let _inside = self.runtime.enter_to_release()?;
        let core = self.core();
        core.unload_inside(self.into_id())
    }

    /// Unloads it if its users leave within `timeout_ns`; otherwise gives the token to go on with.
    ///
    /// # Errors
    /// As [`unload`](Self::unload).
    pub fn unload_within(self, timeout_ns: u64) -> Result<Option<Draining<'r, D, H>>> {
        let inside = self.runtime.enter_to_release()?;
        let core = self.core();
        let mut draining = core.begin_unload_inside(self.into_id(), inside)?;
        Ok(if draining.wait(Some(timeout_ns)) { None } else { Some(draining) })
    }

    /// What the model owns on one of its physical cores.
    ///
    /// # Errors
    /// `NRT_INVALID_HANDLE` when the model is not resident there, `NRT_CLOSED` after close.
    pub fn usage(&self, relative: u32) -> Result<ModelUsage> {
        self.runtime.model_usage(self.vnc, self.id, relative)
    }

    /// Calls `visit` with every variable of the model on one of its physical cores, and its name; in no particular order.
    ///
    /// # Errors
    /// `NRT_INVALID_HANDLE` when the model is not resident there, `NRT_CLOSED` after close.
    pub fn for_each_variable(&self, relative: u32, visit: impl FnMut(VariableInfo, &str)) -> Result<()> {
        self.runtime.for_each_variable(self.vnc, self.id, relative, visit)
    }

    /// Device address of a span of a variable; of a pointer variable the address of the word it is.
    ///
    /// # Errors
    /// `NRT_INVALID` when the model has no such variable, it has no address, or the span lies outside; `NRT_INVALID_HANDLE`
    /// when the model is not resident there, `NRT_CLOSED` after close.
    pub fn variable_address(&self, relative: u32, variable: u32, offset: u64, bytes: u64) -> Result<u64> {
        self.runtime.variable_address(self.vnc, self.id, relative, variable, (offset, bytes))
    }

    /// Device address of a span of the scratchpad arena, as this model sees it on one of its physical cores: by the pages it
    /// counts on itself.
    ///
    /// # Errors
    /// `NRT_INVALID` when its pages do not hold the span (a single one, in paged mode); `NRT_INVALID_HANDLE` when the model is
    /// not resident there, `NRT_CLOSED` after close.
    pub fn scratchpad_address(&self, relative: u32, offset: u64, bytes: u64) -> Result<u64> {
        self.runtime.scratchpad_address(self.vnc, self.id, relative, offset, bytes)
    }

    /// Calls `work` with the name of the input or output that a variable is, and whether it is an input; `None` when it is
    /// neither.
    ///
    /// # Errors
    /// `NRT_INVALID_HANDLE` when the model is not resident there, `NRT_CLOSED` after close.
    pub fn with_io_name<T>(&self, relative: u32, variable: u32, work: impl FnOnce(&str, bool) -> T) -> Result<Option<T>> {
        self.runtime.with_io_name(self.vnc, self.id, relative, variable, work)
    }

    /// Reads the memory of a variable.
    ///
    /// # Errors
    /// `NRT_INVALID` when the variable has no memory, or the span is empty or lies outside; `NRT_INVALID_HANDLE` when the model is
    /// not resident there; `NRT_FAILURE` when the driver fails; `NRT_CLOSED` after close.
    pub fn read_variable(&self, relative: u32, variable: u32, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.runtime.read_variable(self.vnc, self.id, relative, variable, offset, bytes)
    }
}

impl<D: Driver, H: Hooks> Drop for Model<'_, D, H> {
    fn drop(&mut self) {
        let Ok(inside) = self.runtime.enter_to_release() else { return };
        let gone = match self.core().begin_unload_inside(self.id, inside) {
            Ok(mut draining) => draining.try_finish(),
            Err(error) => error.status == Status::InvalidHandle,
        };
        if !gone {
            self.runtime
                .system
                .hooks
                .log(Level::Warn, format_args!("model {} is in use and stays resident on logical core {}", self.id, self.vnc));
        }
    }
}

/// A model that is on its way out: nobody can find it, somebody may still use it.
///
/// Dropping the token takes the removal back: the model is findable again.
#[must_use]
pub struct Draining<'r, D: Driver, H: Hooks> {
    runtime: &'r Runtime<D, H>,
    removal: Removal,
    finished: bool,
    _inside: InFlight<'r, H>,
}

impl<'r, D: Driver, H: Hooks> Draining<'r, D, H> {
    pub(super) fn new(runtime: &'r Runtime<D, H>, removal: Removal, inside: InFlight<'r, H>) -> Self {
        Self { runtime, removal, finished: false, _inside: inside }
    }

    /// Id of the model.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.removal.id
    }

    /// Waits for the users to leave, at most `timeout_ns` (`None` = for ever); `true` when the model is gone. When the calling
    /// thread is one of the users it does not wait.
    #[must_use]
    pub fn wait(&mut self, timeout_ns: Option<u64>) -> bool {
        let Removal { vnc, id, .. } = self.removal;
        let itself = self.runtime.refuse_pinned(vnc, id).is_err() || self.runtime.system.refuse_reentry(vnc).is_err();
        let deadline = self.runtime.deadline(if itself { Some(0) } else { timeout_ns });
        let system = &self.runtime.system;
        if !self.finished && system.continue_removal(&mut self.removal, deadline) {
            system.finish_removal(&self.removal);
            self.finished = true;
        }
        self.finished
    }

    /// Finishes if nobody uses the model at this moment.
    #[must_use]
    pub fn try_finish(&mut self) -> bool {
        self.wait(Some(0))
    }

    /// Takes the removal back and gives the model; `None` when it is gone already.
    #[must_use]
    pub fn cancel(self) -> Option<Model<'r, D, H>> {
        let (runtime, Removal { vnc, id, .. }, finished) = (self.runtime, self.removal, self.finished);
        drop(self);
        (!finished).then(|| Model { runtime, vnc, id })
    }
}

impl<D: Driver, H: Hooks> Drop for Draining<'_, D, H> {
    fn drop(&mut self) {
        if !self.finished {
            let restored = self.runtime.system.cancel_removal(&self.removal);
            debug_assert!(restored.is_ok(), "minted ids are unique");
        }
    }
}

/// Usages that hold something, largest first, is what reports want; this is the plain row.
pub(super) const NO_USAGE: [u64; Usage::COUNT] = [0; Usage::COUNT];
