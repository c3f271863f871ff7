//! What an application holds: the runtime and its handles.

mod callers;
mod close;
mod config;
mod handles;
mod init;
mod inside;
mod logical_core;
mod look_up;
mod report;
mod routing;
mod settle;
mod tensor;
mod tensor_list;
mod tensor_set;

pub use close::CloseReport;
pub use config::Config;
pub use handles::{Dmem, Draining, Model};
pub use inside::Inside;
pub use logical_core::{Allocation, LogicalCore};
pub use look_up::HbmCores;
pub use report::{CoreUsage, ModelUsage};
pub use tensor::{Tensor, Underway};
pub use tensor_list::TensorList;
pub use tensor_set::TensorSet;

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::context::{self, Tree};
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::instance::Instance;
use crate::status::Status;
use crate::sync::{Gate, InFlight};
use crate::system::System;

use callers::Callers;

/// An open runtime: the devices, cores and memory of this process.
///
/// Every public operation passes a gate; [`close`](Self::close) shuts it, waits for those inside, and takes everything down.
/// Dropping an open runtime closes it.
///
/// # Concurrency
/// All methods take `&self` and may be called from any thread.
pub struct Runtime<D: Driver, H: Hooks> {
    system: System<D, H>,
    gate: Gate,
    callers: Callers,
    peak: AtomicU64,
    /// Bit i: the driver refused to close device i.
    unclosed: AtomicU32,
}

impl<D: Driver, H: Hooks> Runtime<D, H> {
    /// Enters the gate.
    fn enter(&self) -> Result<InFlight<'_, H>> {
        self.gate.enter(&self.system.hooks).ok_or(Error::new(Status::Closed, Cause::NotOpen))
    }

    /// Enters to give something back, also while a close waits.
    fn enter_to_release(&self) -> Result<InFlight<'_, H>> {
        self.gate.enter_to_release(&self.system.hooks).ok_or(Error::new(Status::Closed, Cause::NotOpen))
    }

    /// Number of logical cores.
    #[must_use]
    pub fn logical_cores(&self) -> u32 {
        self.system.settings.vcores
    }

    /// Physical cores of a logical core: 1 or 2.
    #[must_use]
    pub fn logical_core_size(&self) -> u32 {
        self.system.settings.logical_core_size
    }

    /// Whether the scratchpad of an HBM is one piece of 64 MiB pages: asked for, and possible on this machine.
    #[must_use]
    pub fn contiguous_scratchpad(&self) -> bool {
        self.system.settings.contiguous_scratchpad
    }

    /// Architecture of the devices.
    #[must_use]
    pub fn arch(&self) -> crate::arch::Arch {
        self.system.settings.arch
    }

    /// Feature bits of the driver, see [`feature`](crate::driver::feature).
    #[must_use]
    pub fn driver_features(&self) -> u64 {
        self.system.settings.features
    }

    /// Kind of the machine, as configured and completed by the architecture.
    #[must_use]
    pub fn instance(&self) -> Instance {
        self.system.settings.instance
    }

    /// Logical core `vnc`.
    ///
    /// # Errors
    /// `NRT_INVALID` when there is no such core, `NRT_CLOSED` after close.
    pub fn core(&self, vnc: u32) -> Result<LogicalCore<'_, D, H>> {
        let _inside = self.enter()?;
        let count = self.system.settings.vcores;
        if vnc >= count {
            return Err(Error::invalid(Cause::VncOutOfRange { vnc, count }));
        }
        Ok(LogicalCore { runtime: self, vnc })
    }

    /// Calls `look` with the context tree, which stays as it is meanwhile.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    pub fn with_tree<T>(&self, look: impl FnOnce(&Tree) -> T) -> Result<T> {
        let _inside = self.enter()?;
        Ok(self.calling(None, || look(&self.system.tree)))
    }

    /// Makes the tree of a runtime that stands [`side_by_side`](Config::side_by_side) with others the process-wide
    /// `tdrv_ctx_0`, where debuggers and analysers look for it. The runtime of the process has done so in init.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the process has one already, `NRT_CLOSED` after close.
    pub fn install(&self) -> Result<()> {
        let _inside = self.enter()?;
        context::install(&self.system.tree)
    }

    /// Does `work`, which calls the application back and has `pinned` a model (logical core, id) meanwhile.
    fn calling<T>(&self, pinned: Option<(u32, u32)>, work: impl FnOnce() -> T) -> T {
        self.callers.calling(&self.system.hooks, pinned, work)
    }

    /// Whether the calling thread is inside an operation of this runtime that calls the application back.
    fn calls_back(&self) -> bool {
        self.callers.calls(&self.system.hooks) || self.system.executes()
    }

    /// Refuses a thread that would wait for a model it has pinned itself.
    fn refuse_pinned(&self, vnc: u32, id: u32) -> Result<()> {
        let pinned = self.callers.pins(&self.system.hooks, (vnc, id));
        if pinned { Err(Error::invalid(Cause::WaitsForItself)) } else { Ok(()) }
    }

    /// The driver underneath.
    #[must_use]
    pub fn driver(&self) -> &D {
        &self.system.driver
    }

    /// The platform underneath.
    #[must_use]
    pub fn hooks(&self) -> &H {
        &self.system.hooks
    }

    /// Device bytes held now, on all devices together; 0 after close.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        // A look at the tree must not meet its teardown.
        self.enter_to_release().map_or(0, |_inside| self.system.device_bytes())
    }

    /// Largest number of device bytes held after any load or tensor allocation.
    #[must_use]
    pub fn peak_device_bytes(&self) -> u64 {
        self.peak.load(Relaxed)
    }

    /// Live allocations, device and pinned host memory; 0 after close.
    #[must_use]
    pub fn live_nodes(&self) -> u64 {
        self.enter_to_release().map_or(0, |_inside| self.system.live_nodes())
    }

    /// Remembers the peak.
    fn note_peak(&self) {
        self.peak.fetch_max(self.system.device_bytes(), Relaxed);
    }

    /// Absolute deadline of a time-out in nanoseconds.
    fn deadline(&self, timeout_ns: Option<u64>) -> Option<u64> {
        timeout_ns.map(|timeout| self.system.hooks.now_ns().saturating_add(timeout))
    }
}
