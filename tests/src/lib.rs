//! What the tests across crates share: a runtime on the modelled driver, with faults on request.

use std::ptr::NonNull;

use nrt_core::driver::FaultInjector;
use nrt_core::{Arch, Config, Runtime, Storage};
use nrt_linux::hooks::LinuxHooks;
use nrt_linux::memory::Mapping;
use nrt_sim::{Backing, Region, Sim, SimConfig, SimStorage};

/// The driver under test: the model behind a fault injector, both for the life of the process.
pub type TestDriver = &'static FaultInjector<Sim>;
/// A runtime under test.
pub type TestRuntime = Runtime<TestDriver, LinuxHooks>;
/// Storage of the tests: small enough to fill.
pub type TestStorage = Storage<512, 8, 256, 32, 256>;

/// Backs the modelled memory with sparse mappings that stay until the process ends. They take no descriptor, so a test binary
/// can start as many models as it likes.
pub struct SparseMemory;

// SAFETY: each call maps a new region of `bytes` zeroed, page-aligned bytes, which is never unmapped.
unsafe impl Backing for SparseMemory {
    fn region(&self, _: Region, bytes: u64) -> Option<NonNull<u8>> {
        Mapping::sparse(usize::try_from(bytes).ok()?).ok().map(|mapping| mapping.into_raw().0)
    }
}

/// A zeroed value that lives for ever. Storages are too large for a stack.
///
/// # Safety
/// Zeroed memory must be a valid `T`.
pub unsafe fn leak_zeroed<T>() -> &'static T {
    // SAFETY: by contract.
    Box::leak(unsafe { Box::<T>::new_zeroed().assume_init() })
}

/// A fresh storage of any capacity.
#[must_use]
pub fn storage<const N: usize, const M: usize, const R: usize, const T: usize, const L: usize>() -> &'static Storage<N, M, R, T, L>
{
    // SAFETY: zeroed memory is a valid storage; it is what `Storage::new` gives.
    unsafe { leak_zeroed() }
}

/// A fresh modelled driver.
#[must_use]
pub fn driver(config: SimConfig) -> TestDriver {
    // SAFETY: zeroed memory is a valid storage of the model.
    let storage = unsafe { leak_zeroed::<SimStorage<65_536>>() };
    let sim = Sim::new(storage, config, &SparseMemory).unwrap_or_else(|error| panic!("the model does not start: {error}"));
    Box::leak(Box::new(FaultInjector::new(sim)))
}

/// A fresh modelled driver of one device.
#[must_use]
pub fn one_device(arch: Arch) -> TestDriver {
    driver(SimConfig::new(arch))
}

/// An open runtime on a fresh driver of one device.
#[must_use]
pub fn runtime(arch: Arch) -> TestRuntime {
    open(one_device(arch), Config::new(LinuxHooks::new()).side_by_side())
}

/// An open runtime on `driver`.
#[must_use]
pub fn open(driver: TestDriver, config: Config<LinuxHooks>) -> TestRuntime {
    let storage: &'static TestStorage = storage();
    Runtime::init(storage, driver, config).unwrap_or_else(|error| panic!("init: {error}"))
}
