//! A driver that fails on purpose, around any other.
//!
//! Useful to everybody who wants to know what their program does when the device misbehaves.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64};

use super::{Call, Driver, DriverResult, Errno, ForwardDriver};

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
    /// Requests failed, by kind.
    injected: [AtomicU64; Call::ALL.len()],
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
            injected: [const { AtomicU64::new(0) }; Call::ALL.len()],
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
        self.injected.iter().for_each(|count| count.store(0, Release));
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
        self.injected.iter().map(|count| count.load(Acquire)).sum()
    }

    /// Requests of one kind failed since the last reset.
    pub fn injected_of(&self, kind: Call) -> u64 {
        self.injected[kind as usize].load(Acquire)
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
            self.injected[call as usize].fetch_add(1, AcqRel);
            self.last.store(call as u32 + 1, Release);
            return Err(Errno(self.errno.load(Acquire)));
        }
        Ok(())
    }
}

const fn bit(call: Call) -> u32 {
    1 << call as u32
}

// SAFETY: every request that is not failed goes to the driver inside; a failed request changes nothing, which is what the
// contract asks of an error. A failed `unmap` or `free` leaves mapping and range alive.
unsafe impl<D: Driver> ForwardDriver for FaultInjector<D> {
    type Inner = D;

    fn forward(&self, call: Call) -> DriverResult<&D> {
        self.pass(call)?;
        Ok(&self.inner)
    }
}
