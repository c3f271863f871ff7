//! A driver that fails on purpose, around any other.
//!
//! Useful to everybody who wants to know what their program does when the device misbehaves.

use core::ptr::NonNull;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64};

use super::{AllocRequest, Call, DeviceRange, Driver, DriverResult, Errno, OpenedDevice, Probe, RoutingIds};

/// Fails chosen requests of the driver inside.
///
/// Requests are counted from 1 in the order they arrive; only those of the watched kinds count. A failed request does not
/// reach the driver inside.
///
/// ```
/// use nrt_core::driver::{Call, Errno, FaultInjector};
/// # fn demo<D: nrt_core::driver::Driver>(driver: D) {
/// let faulty = FaultInjector::new(driver);
/// faulty.watch(&[Call::Alloc]);
/// faulty.fail_nth(3, Errno::ENOMEM); // the third allocation from here on
/// # }
/// ```
pub struct FaultInjector<D> {
    inner: D,
    watched: AtomicU32,
    seen: AtomicU64,
    fail_at: AtomicU64,
    /// Fail every watched request from `fail_at` on, not only that one.
    sticky: AtomicBool,
    errno: AtomicI32,
    injected: AtomicU64,
    /// Kind of the request failed last: index into [`Call::ALL`] plus 1.
    last: AtomicU32,
}

const EVERY_KIND: u32 = u32::MAX;
const NEVER: u64 = u64::MAX;

impl<D> FaultInjector<D> {
    /// Passes everything through until told otherwise.
    pub const fn new(inner: D) -> Self {
        Self {
            inner,
            watched: AtomicU32::new(EVERY_KIND),
            seen: AtomicU64::new(0),
            fail_at: AtomicU64::new(NEVER),
            sticky: AtomicBool::new(false),
            errno: AtomicI32::new(0),
            injected: AtomicU64::new(0),
            last: AtomicU32::new(0),
        }
    }

    /// The driver inside.
    pub const fn inner(&self) -> &D {
        &self.inner
    }

    /// Counts requests of these kinds only, and starts counting anew.
    pub fn watch(&self, kinds: &[Call]) {
        let bits = kinds.iter().fold(0, |bits, kind| bits | bit(*kind));
        self.watched.store(bits, Release);
        self.reset();
    }

    /// Counts requests of every kind, and starts counting anew.
    pub fn watch_all(&self) {
        self.watched.store(EVERY_KIND, Release);
        self.reset();
    }

    /// Starts counting anew and fails nothing.
    pub fn reset(&self) {
        self.fail_at.store(NEVER, Release);
        self.sticky.store(false, Release);
        self.seen.store(0, Release);
        self.injected.store(0, Release);
        self.last.store(0, Release);
    }

    /// Fails the `n`-th watched request from now on, once.
    pub fn fail_nth(&self, n: u64, errno: Errno) {
        self.arm(n, errno, false);
    }

    /// Fails every watched request from the `n`-th on.
    pub fn fail_from(&self, n: u64, errno: Errno) {
        self.arm(n, errno, true);
    }

    fn arm(&self, n: u64, errno: Errno, sticky: bool) {
        self.reset();
        self.errno.store(errno.0, Release);
        self.sticky.store(sticky, Release);
        self.fail_at.store(n, Release);
    }

    /// Watched requests since the last reset.
    pub fn seen(&self) -> u64 {
        self.seen.load(Acquire)
    }

    /// Requests failed since the last reset.
    pub fn injected(&self) -> u64 {
        self.injected.load(Acquire)
    }

    /// Kind of the request failed last, if any.
    pub fn last_failed(&self) -> Option<Call> {
        Call::ALL.get((self.last.load(Acquire) as usize).checked_sub(1)?).copied()
    }

    fn pass(&self, call: Call) -> DriverResult<()> {
        if self.watched.load(Acquire) & bit(call) == 0 {
            return Ok(());
        }
        let number = self.seen.fetch_add(1, AcqRel) + 1;
        let at = self.fail_at.load(Acquire);
        if number == at || (number > at && self.sticky.load(Acquire)) {
            self.injected.fetch_add(1, AcqRel);
            self.last.store(call as u32 + 1, Release);
            return Err(Errno(self.errno.load(Acquire)));
        }
        Ok(())
    }
}

const fn bit(call: Call) -> u32 {
    1 << call as u32
}

// SAFETY: every request that is not failed goes to the driver inside unchanged, whose guarantees hold; a failed request
// changes nothing, which is what the contract asks of an error. A failed `unmap` or `free` leaves mapping and range alive.
unsafe impl<D: Driver> Driver for FaultInjector<D> {
    fn probe(&self) -> DriverResult<Probe> {
        self.pass(Call::Probe)?;
        self.inner.probe()
    }

    fn routing_ids(&self) -> DriverResult<RoutingIds> {
        self.pass(Call::RoutingIds)?;
        self.inner.routing_ids()
    }

    fn open(&self, device: u32) -> DriverResult<OpenedDevice> {
        self.pass(Call::Open)?;
        self.inner.open(device)
    }

    fn close(&self, device: u32) -> DriverResult<()> {
        self.pass(Call::Close)?;
        self.inner.close(device)
    }

    fn alloc(&self, device: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()> {
        self.pass(Call::Alloc)?;
        self.inner.alloc(device, request, range)
    }

    fn free(&self, device: u32, range: &DeviceRange) -> DriverResult<()> {
        self.pass(Call::Free)?;
        self.inner.free(device, range)
    }

    fn map(&self, device: u32, range: &DeviceRange) -> DriverResult<NonNull<u8>> {
        self.pass(Call::Map)?;
        self.inner.map(device, range)
    }

    unsafe fn unmap(&self, device: u32, range: &DeviceRange, address: NonNull<u8>) -> DriverResult<()> {
        self.pass(Call::Unmap)?;
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.unmap(device, range, address) }
    }

    fn copy(
        &self,
        device: u32,
        src: &DeviceRange,
        src_offset: u64,
        dst: &DeviceRange,
        dst_offset: u64,
        size: u64,
    ) -> DriverResult<()> {
        self.pass(Call::Copy)?;
        self.inner.copy(device, src, src_offset, dst, dst_offset, size)
    }

    fn copy_start(
        &self,
        device: u32,
        src: &DeviceRange,
        src_offset: u64,
        dst: &DeviceRange,
        dst_offset: u64,
        size: u64,
        prefetch: u64,
        wait: &mut i32,
    ) -> DriverResult<()> {
        self.pass(Call::CopyStart)?;
        self.inner.copy_start(device, src, src_offset, dst, dst_offset, size, prefetch, wait)
    }

    fn copy_wait(&self, device: u32, src: &DeviceRange, dst: &DeviceRange, wait: i32) -> DriverResult<()> {
        self.pass(Call::CopyWait)?;
        self.inner.copy_wait(device, src, dst, wait)
    }

    fn write(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &[u8]) -> DriverResult<()> {
        self.pass(Call::Write)?;
        self.inner.write(device, range, offset, bytes)
    }

    fn read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        self.pass(Call::Read)?;
        self.inner.read(device, range, offset, bytes)
    }

    fn fill(&self, device: u32, range: &DeviceRange, offset: u64, value: u8, size: u64) -> DriverResult<()> {
        self.pass(Call::Fill)?;
        self.inner.fill(device, range, offset, value, size)
    }
}
