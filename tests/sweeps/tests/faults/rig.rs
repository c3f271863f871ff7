//! One driver, one set of hooks, one storage, used again and again.

use nrt_core::driver::{Call, Driver, Errno, FaultInjector};
use nrt_core::reserved_hbm::{ReserveStatistics, ReserveStorage, ReservedHbm};
use nrt_core::{Arch, Config, Error, Runtime, Storage};
use nrt_sim::{DriverVersion, Hazards, Live, Sim, SimConfig};
use nrt_tests::TestDriver;

use crate::hooks::FaultyHooks;

/// In front of every driver under test, with and without something reserved.
pub(crate) type Reserved = &'static ReservedHbm<TestDriver, &'static FaultyHooks>;
pub(crate) type FaultyRuntime = Runtime<Reserved, &'static FaultyHooks>;

/// Small enough for a model of two pages.
pub(crate) const PAGE: u64 = 1 << 20;

/// The error numbers the core has a name for: those of the driver's memory path, of a file that is no device or fails, and the
/// positive return value.
pub(crate) static ERRNOS: [Errno; 12] = [
    Errno::EPERM,
    Errno::ENOENT,
    Errno::EINTR,
    Errno::EIO,
    Errno::ENOMEM,
    Errno::EACCES,
    Errno::EFAULT,
    Errno::EBUSY,
    Errno::ENODEV,
    Errno::EINVAL,
    Errno::ENOTSUPP,
    Errno::SHORT,
];

/// The others that the driver's description names, whichever request they are described for.
pub(crate) static NAMELESS: [Errno; 7] = [ENXIO, E2BIG, EAGAIN, ENOTTY, ENOSYS, EPROTONOSUPPORT, EALREADY];
/// An address that belongs to no allocation.
const ENXIO: Errno = Errno(6);
/// A core beyond those of the device.
const E2BIG: Errno = Errno(7);
/// A list that is longer than the room for it.
const EAGAIN: Errno = Errno(11);
/// What one unknown request is answered with.
const ENOTTY: Errno = Errno(25);
/// A kind of unit that has no such thing.
const ENOSYS: Errno = Errno(38);
/// A kernel too old for it.
const EPROTONOSUPPORT: Errno = Errno(93);
/// A cooperative lock that its last holder asks for again.
const EALREADY: Errno = Errno(114);

/// Architectures and logical core sizes under test.
pub(crate) const MACHINES: [(Arch, u32); 5] =
    [(Arch::Sunda, 1), (Arch::Cayman, 1), (Arch::Cayman, 2), (Arch::Mariana, 1), (Arch::Mariana, 2)];

/// Models, variables and tensors are counted out, so that a slot lost by a failed operation is missed when the operation
/// is repeated. A node more than needed may sit in quarantine.
pub(crate) enum Tight {
    One(&'static Storage<64, 2, 29, 5, 256>),
    Two(&'static Storage<64, 3, 48, 5, 256>),
}

pub(crate) struct Rig {
    pub(crate) arch: Arch,
    /// Logical core size.
    pub(crate) size: u32,
    pub(crate) driver: TestDriver,
    reserved: Reserved,
    /// Bytes reserved for each core on its channel; 0 = none.
    pub(crate) reserve: u64,
    /// What the configuration has beyond the defaults.
    adapt: fn(&mut Config<&'static FaultyHooks>),
    /// The driver does not align, and the runtime has learned it before the first fault.
    pub(crate) unaligned: bool,
    pub(crate) hooks: &'static FaultyHooks,
    storage: Tight,
    hazards: std::cell::Cell<Hazards>,
}

impl Rig {
    pub(crate) fn new(arch: Arch, size: u32) -> Self {
        Self::with(arch, size, SimConfig::new(arch).version, |_| ())
    }

    /// On a driver of that version, with a configuration of its own.
    pub(crate) fn with(arch: Arch, size: u32, version: DriverVersion, adapt: fn(&mut Config<&'static FaultyHooks>)) -> Self {
        let sim = SimConfig { version, cores_per_device: 2, host_bytes: 16 << 20, ..SimConfig::new(arch) };
        let driver = nrt_tests::driver(sim);
        let storage = if size == 1 { Tight::One(nrt_tests::storage()) } else { Tight::Two(nrt_tests::storage()) };
        let hooks: &'static FaultyHooks = Box::leak(Box::new(FaultyHooks::new()));
        // SAFETY: zeroed memory is an unclaimed storage.
        let ranges: &'static ReserveStorage<1, 2, 192> = unsafe { nrt_tests::leak_zeroed() };
        let reserved = Box::leak(Box::new(ReservedHbm::new(driver, hooks, ranges).unwrap()));
        Self {
            arch,
            size,
            driver,
            reserved,
            reserve: 0,
            adapt,
            unaligned: false,
            hooks,
            storage,
            hazards: std::cell::Cell::default(),
        }
    }

    pub(crate) fn sim(&self) -> &'static Sim {
        FaultInjector::inner(self.driver)
    }

    pub(crate) fn init(&self) -> Result<FaultyRuntime, Error> {
        let mut config =
            Config { logical_core_size: Some(self.size), scratchpad_page_size: PAGE, ..Config::new(self.hooks).side_by_side() };
        (self.adapt)(&mut config);
        let runtime = match self.storage {
            Tight::One(storage) => Runtime::init(storage, self.reserved, config),
            Tight::Two(storage) => Runtime::init(storage, self.reserved, config),
        }?;
        if self.reserve != 0 {
            for core in 0..2 {
                self.reserved.reserve(0, core, self.arch.default_channel(core), self.reserve)?;
            }
        }
        Ok(runtime)
    }

    /// With a driver that turns out not to align.
    pub(crate) fn unaligned(arch: Arch, size: u32) -> Self {
        Self { unaligned: true, ..Self::new(arch, size) }
    }

    /// With everything carved out of reservations that just hold it.
    pub(crate) fn with_reservations(arch: Arch, size: u32) -> Self {
        Self { reserve: 32 << 20, ..Self::new(arch, size) }
    }

    /// Nothing is carved or reserved.
    fn check_reservations(&self) {
        for core in 0..2 {
            let left = self.reserved.statistics(0, core, self.arch.default_channel(core)).unwrap();
            let peak = left.peak_carved_bytes;
            assert_eq!(left, ReserveStatistics { peak_carved_bytes: peak, ..ReserveStatistics::default() });
            assert!(peak == 0 || self.reserve != 0, "memory was carved although none was reserved");
        }
    }

    pub(crate) fn live(&self) -> Live {
        self.sim().live(0)
    }

    /// Nothing is held: not by the driver, not by the platform.
    pub(crate) fn settle(&self) {
        assert!(self.sim().close(0).is_err(), "the device is closed");
        assert_eq!(self.live(), Live::default());
        assert_eq!(self.hooks.live_bytes(), 0, "host memory");
        self.check_reservations();
    }

    /// What would have harmed a real device since the last look: only a refused unmap leads to a mapped range being freed, and
    /// only a refused release of a contiguous page to others being freed before it.
    pub(crate) fn check_hazards(&self, unmap_refused: bool) {
        let page_refused = self.contiguous() && (unmap_refused || self.failed(Call::Free));
        self.compare_hazards(self.hazards.get(), unmap_refused, false, page_refused);
    }

    /// The same of a driver that refused everything: a copy that nothing could wait for is abandoned by the close.
    pub(crate) fn check_hazards_of_refusals(&self) {
        self.compare_hazards(self.hazards.get(), true, true, self.contiguous());
    }

    /// Bytes that the driver holds as scratchpad, contiguous or not.
    pub(crate) fn scratchpad_bytes(&self) -> u64 {
        self.sim().category_usage(0, 11).bytes
    }

    /// Bytes of a scratchpad page.
    pub(crate) fn page(&self) -> u64 {
        if self.contiguous() { 64 << 20 } else { PAGE }
    }

    /// Whether the scratchpad is asked to be contiguous.
    pub(crate) fn contiguous(&self) -> bool {
        let mut config = Config::new(self.hooks).side_by_side();
        (self.adapt)(&mut config);
        config.contiguous_scratchpad
    }

    fn compare_hazards(&self, before: Hazards, unmap_refused: bool, wait_refused: bool, page_refused: bool) {
        let now = self.sim().hazards(0);
        let freed_while_mapped = if unmap_refused { now.freed_while_mapped } else { before.freed_while_mapped };
        let abandoned_async = if wait_refused { now.abandoned_async } else { before.abandoned_async };
        let contiguous_order = if page_refused { now.contiguous_order } else { before.contiguous_order };
        assert_eq!(now, Hazards { freed_while_mapped, abandoned_async, contiguous_order, ..before });
        self.hazards.set(now);
    }

    /// Whether the fault that was armed is a refused unmap.
    pub(crate) fn failed(&self, call: Call) -> bool {
        self.driver.last_failed() == Some(call)
    }
}
