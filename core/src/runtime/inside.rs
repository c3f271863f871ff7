//! A stay inside the gate, for many operations.

use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::status::Status;
use crate::sync::InFlight;

use super::{Allocation, Dmem, LogicalCore, Runtime};

/// A stay inside the runtime: what is done through it does not pass the gate again, which is two read-modify-writes less for
/// each operation.
///
/// For loops that allocate and release at a high rate: one stay for a request that is served, not one for the life of a
/// thread. [`close`](Runtime::close) counts a stay as an operation under way: with a deadline it gives up and says so, without
/// one it waits. A thread that closes while it stays waits for itself.
///
/// ```
/// # use nrt_core::{Allocation, Arch, Config, Location, Runtime, SmallStorage, Usage};
/// # use nrt_linux::LinuxHooks;
/// # use nrt_sim::{Backing, Region, Sim, SimConfig, SimStorage};
/// # struct Memory;
/// # // SAFETY: each call maps a new zeroed, page-aligned, shared region that is never unmapped.
/// # unsafe impl Backing for Memory {
/// #     fn region(&self, _: Region, bytes: u64) -> Option<core::ptr::NonNull<u8>> {
/// #         let region = nrt_linux::memory::SharedRegion::new(c"memory", bytes as usize).ok()?;
/// #         let base = region.base();
/// #         core::mem::forget(region);
/// #         Some(base)
/// #     }
/// # }
/// # static STORAGE: SmallStorage = SmallStorage::new();
/// # static MODELLED: SimStorage<4096, 1> = SimStorage::new();
/// # let driver = Sim::new(&MODELLED, SimConfig::new(Arch::Cayman), &Memory).unwrap();
/// # let runtime = Runtime::init(&STORAGE, driver, Config::new(LinuxHooks::new()))?;
/// let core = runtime.core(0)?;
/// let request = Allocation { bytes: 4096, align: 0, location: Location::Device, channel: None, usage: Usage::Tensor, hint: "x" };
/// let inside = runtime.stay()?;
/// for _ in 0..1000 {
///     let memory = inside.allocate(&core, 0, &request)?;
///     inside.release(memory);
/// }
/// drop(inside);
/// assert!(runtime.close(None)?.is_clean());
/// # Ok::<(), nrt_core::Error>(())
/// ```
#[must_use = "the stay ends when it is dropped"]
pub struct Inside<'r, D: Driver, H: Hooks> {
    runtime: &'r Runtime<D, H>,
    _inside: InFlight<'r, H>,
}

impl<D: Driver, H: Hooks> Runtime<D, H> {
    /// Goes inside for many operations.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close, and while one waits.
    pub fn stay(&self) -> Result<Inside<'_, D, H>> {
        Ok(Inside { runtime: self, _inside: self.enter()? })
    }
}

impl<'r, D: Driver, H: Hooks> Inside<'r, D, H> {
    /// As [`LogicalCore::allocate`].
    ///
    /// # Errors
    /// As [`LogicalCore::allocate`], and `NRT_INVALID_HANDLE` for a core of another runtime.
    ///
    /// # Cost
    /// One round of the core's memory lock besides the driver's work: one read-modify-write, two where the platform cannot
    /// have other threads fence.
    // Inlined, so that the handle is made where it is kept instead of being handed over through memory.
    #[inline(always)]
    pub fn allocate(&self, core: &LogicalCore<'r, D, H>, relative: u32, allocation: &Allocation<'_>) -> Result<Dmem<'r, D, H>> {
        if !core::ptr::eq(core.runtime, self.runtime) {
            return Err(Error::new(Status::InvalidHandle, Cause::StaleHandle));
        }
        core.allocate_inside(relative, allocation)
    }

    /// Drops a handle: gives its reference to the memory back, and the memory with the last one.
    ///
    /// # Cost
    /// As [`allocate`](Self::allocate) when it is the last reference, else one read-modify-write.
    #[inline(always)]
    pub fn release(&self, memory: Dmem<'r, D, H>) {
        memory.drop_inside(self.runtime);
    }
}
