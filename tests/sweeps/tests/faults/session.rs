//! One run under observation: each operation is compared with the same operation of a run without faults.

use nrt_core::driver::{Call, Errno};
use nrt_core::{Allocation, Cause, CloseReport, Error, Location, Result, Status, Usage};

use crate::plans::HOST_SIZES;
use crate::rig::{FaultyRuntime, Rig};
use crate::snapshot::{Holdings, Snapshot};

/// Requests that not every driver has. The runtime does without them.
const OPTIONAL: [Call; 3] = [Call::ZeroCopyWrite, Call::ZeroCopyRead, Call::CopyBatches];

/// The run cannot go on: requests keep failing.
pub(crate) struct Stop;

/// What a run without faults looks like.
pub(crate) struct Reference {
    steps: Vec<(&'static str, Snapshot, Holdings)>,
    report: CloseReport,
    pub(crate) requests: u64,
}

/// The fault of a run.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    None,
    /// The n-th request fails.
    Once(u64, Errno),
    /// Every request from the n-th on fails.
    From(u64, Errno),
    /// The driver does not have the requests that not every driver has, whatever it advertises.
    Lacks,
    /// Something else than the driver fails once; the operation must answer this.
    Other(Error),
}

pub(crate) struct Session<'a> {
    pub(crate) rig: &'a Rig,
    reference: Option<&'a Reference>,
    fault: Fault,
    steps: Vec<(&'static str, Snapshot, Holdings)>,
    now: Option<(Snapshot, Holdings)>,
    /// Releases the driver has refused so far.
    refused: u32,
    /// Error records logged before the run.
    logged: u64,
    /// Faults outside the driver that an operation has answered.
    pub(crate) answered: u32,
}

impl<'a> Session<'a> {
    pub(crate) fn new(rig: &'a Rig, reference: Option<&'a Reference>, fault: Fault) -> Self {
        let logged = rig.hooks.errors();
        let session = Self { rig, reference, fault, steps: Vec::new(), now: None, refused: 0, logged, answered: 0 };
        session.arm();
        session
    }

    fn arm(&self) {
        let driver = self.rig.driver;
        driver.watch_all();
        match self.fault {
            Fault::Once(n, errno) => driver.fail_nth(n, errno),
            Fault::From(n, errno) => driver.fail_from(n, errno),
            Fault::Lacks => {
                driver.watch(&OPTIONAL);
                driver.fail_from(1, Errno::ENOTSUPP);
            }
            Fault::None | Fault::Other(_) => {}
        }
    }

    /// The runtime learns that the driver does not align. Faults come after that.
    fn learn(&self, runtime: &FaultyRuntime) {
        self.rig.driver.watch(&[Call::Alloc]);
        self.rig.driver.fail_nth(1, Errno::ENOTSUPP);
        let block =
            Allocation { bytes: 1, align: 8192, location: Location::Device, channel: None, usage: Usage::Generic, hint: "first" };
        drop(runtime.core(0).unwrap().allocate(0, &block).unwrap());
        assert_eq!(self.rig.driver.injected(), 1);
        self.arm();
    }

    fn sticky(&self) -> bool {
        matches!(self.fault, Fault::From(..))
    }

    /// Brings a runtime up. Once more when that failed.
    pub(crate) fn init(&mut self) -> std::result::Result<FaultyRuntime, Stop> {
        if self.rig.unaligned {
            // The fault waits for what comes after.
            self.rig.driver.reset();
        }
        loop {
            let before = self.rig.driver.injected();
            match self.rig.init() {
                Ok(runtime) => {
                    if self.rig.driver.injected() > before {
                        self.check_tolerated();
                    }
                    if self.rig.unaligned {
                        self.learn(&runtime);
                    }
                    self.step("init", &runtime);
                    return Ok(runtime);
                }
                Err(error) => {
                    self.check_answer("init", &error);
                    if self.sticky() {
                        return Err(Stop);
                    }
                    self.rig.settle();
                }
            }
        }
    }

    /// An operation that completes or changes nothing. It is repeated after it failed.
    pub(crate) fn forward<T>(
        &mut self,
        runtime: &FaultyRuntime,
        step: &'static str,
        operation: impl Fn() -> Result<T>,
    ) -> std::result::Result<T, Stop> {
        let (snapshot, holdings) = self.now.clone().unwrap();
        let before = self.rig.driver.injected();
        let refused = self.refusals();
        let error = match operation() {
            Ok(value) => {
                let unfailed = self.rig.driver.injected() == before;
                assert!(
                    unfailed || self.does_without(step),
                    "{step} succeeded although a request failed: {:?}",
                    self.rig.driver.last_failed()
                );
                if !unfailed && self.rig.failed(Call::Alloc) {
                    // The run goes on with other sizes than the reference.
                    let reference = self.reference.take().map(|reference| reference.steps[self.steps.len()].1.clone());
                    self.step(step, runtime);
                    let short = reference.is_some_and(|whole| self.pages_in_use() < whole.bytes(Usage::Scratchpad));
                    assert_eq!(short, matches!(self.fault, Fault::Once(_, Errno::ENOMEM)), "{step}: a shorter arena");
                    return Ok(value);
                }
                self.step(step, runtime);
                return Ok(value);
            }
            Err(error) => error,
        };
        self.check_answer(step, &error);
        // What the way back could not release is in quarantine.
        self.refused += (self.refusals() - refused) as u32;
        let (after, held) = Snapshot::take(runtime, self.rig);
        assert_eq!(after, snapshot, "{step} failed and left something");
        held.check(&holdings, self.refused, self.rig, step);
        if self.sticky() {
            return Err(Stop);
        }
        let value = operation().unwrap_or_else(|error| panic!("{step}, repeated: {error}"));
        self.step(step, runtime);
        Ok(value)
    }

    /// Refused releases so far.
    fn refusals(&self) -> u64 {
        self.rig.driver.injected_of(Call::Free) + self.rig.driver.injected_of(Call::Unmap)
    }

    /// The fault was a request this driver does not have: an allocation that it cannot align, which the runtime aligns then,
    /// or a way of copying that it does another way then. Or there was no room for a page of a contiguous arena, of which the
    /// large model says what lies in it.
    fn does_without(&self, step: &str) -> bool {
        let failed = self.rig.driver.last_failed();
        let lacking = failed == Some(Call::Alloc) || failed.is_some_and(|call| OPTIONAL.contains(&call));
        match self.fault {
            Fault::Once(_, Errno::ENOTSUPP) | Fault::Lacks => lacking,
            Fault::Once(_, Errno::ENOMEM) => self.rig.contiguous() && step.ends_with("load large") && failed == Some(Call::Alloc),
            _ => false,
        }
    }

    /// An operation that completes whatever the driver says.
    pub(crate) fn teardown(&mut self, runtime: &FaultyRuntime, step: &'static str, operation: impl FnOnce()) {
        let before = self.rig.driver.injected();
        operation();
        let refused = self.rig.driver.injected() - before;
        if refused > 0 {
            assert!(matches!(self.rig.driver.last_failed(), Some(Call::Free | Call::Unmap)), "{step}");
            self.refused += refused as u32;
        }
        self.step(step, runtime);
        if refused > 0 && self.rig.contiguous() && self.rig.scratchpad_bytes() > self.pages_in_use() {
            // The driver kept a page: arenas end there from now on, and that of the reference did not.
            self.reference = None;
        }
    }

    /// Bytes of scratchpad pages that the runtime has.
    fn pages_in_use(&self) -> u64 {
        self.now.as_ref().map_or(0, |(snapshot, _)| snapshot.bytes(Usage::Scratchpad))
    }

    /// Compares the state behind an operation with the reference.
    fn step(&mut self, step: &'static str, runtime: &FaultyRuntime) {
        let (snapshot, holdings) = Snapshot::take(runtime, self.rig);
        if let Some(reference) = self.reference {
            let (name, expected, held) = &reference.steps[self.steps.len()];
            assert_eq!(*name, step, "the runs go the same way");
            assert_eq!(snapshot, *expected, "{step}");
            holdings.check(held, self.refused, self.rig, step);
        }
        // Holdings without what is in quarantine, so that later comparisons start from the same.
        let expected = self.reference.map_or(holdings, |reference| reference.steps[self.steps.len()].2.clone());
        self.steps.push((step, snapshot.clone(), expected.clone()));
        self.now = Some((snapshot, expected));
    }

    /// Closes and compares the report. `complete` = the run got to its end.
    pub(crate) fn close(self, runtime: &FaultyRuntime, complete: bool) -> Reference {
        // Waits for copies that a failed transfer left behind are tried again at close.
        let (rig, releases) = (self.rig, || self.rig.driver.injected() - self.rig.driver.injected_of(Call::CopyWait));
        let injected = releases();
        let logged = rig.hooks.errors();
        let reservations = rig.hooks.reservations_refused();
        let report = runtime.close(Some(0)).unwrap();
        let late = releases() - injected;
        // A reservation that is refused at close is logged, and gone with the device.
        let reservations = rig.hooks.reservations_refused() - reservations;
        assert!(reservations == 0 || rig.reserve != 0);
        assert_eq!(
            CloseReport { models: 0, tensors: 0, allocations: 0, quarantined: 0, quarantined_bytes: 0, ..report },
            CloseReport { refused_requests: report.refused_requests, ..CloseReport::default() },
            "no bytes, nodes or slots are left"
        );
        assert_eq!(report.quarantined == 0, report.quarantined_bytes == 0);
        if self.sticky() {
            self.check_sticky_report(&report, late - reservations, rig.hooks.errors() - logged);
        } else if let Some(reference) = self.reference {
            assert!(complete);
            assert_eq!(report, reference.report, "what was refused once is taken back at close");
            // A node that was refused for the first time at close is logged; a buffer or device is just tried again.
            assert!(rig.hooks.errors() - logged <= late);
            assert!(late == 0 || !rig.failed(Call::Close) || rig.hooks.errors() == logged);
        }
        let error = runtime.close(None).unwrap_err();
        assert_eq!(error.status, Status::Closed);
        Reference { steps: self.steps, report, requests: rig.driver.seen() }
    }

    /// Each node in quarantine was refused and logged when it was released, and refused again at close; each bounce buffer and
    /// device was refused twice.
    fn check_sticky_report(&self, report: &CloseReport, late: u64, logged: u64) {
        assert!(late > 0 && report.refused_requests > 0, "the device was not closed");
        assert_eq!(late, logged + u64::from(report.quarantined) + 2 * u64::from(report.refused_requests));
        assert_eq!(u64::from(report.quarantined), self.rig.hooks.errors() - self.logged);
    }

    /// A request that failed although the operation succeeded: only the routing ids are not needed.
    fn check_tolerated(&self) {
        assert_eq!(self.rig.driver.last_failed(), Some(Call::RoutingIds));
        assert!(matches!(self.fault, Fault::Once(_, Errno::EINVAL) | Fault::From(_, Errno::EINVAL)));
    }

    /// The documented status and the cause of a failed request.
    fn check_answer(&mut self, step: &str, error: &Error) {
        let errno = match self.fault {
            Fault::None | Fault::Lacks => panic!("{step}: {error}"),
            Fault::Other(expected) => {
                assert_eq!(*error, expected, "{step}");
                self.answered += 1;
                return;
            }
            Fault::Once(_, errno) | Fault::From(_, errno) => errno,
        };
        assert!(self.rig.driver.injected() > 0, "{step}: {error}");
        match error.cause {
            Cause::OutOfMemory(facts) => {
                assert_eq!(errno, Errno::ENOMEM, "{step}: {error}");
                let host = HOST_SIZES.contains(&facts.size);
                assert_eq!(facts.location == Location::Host, host, "{step}: {error}");
                let expected = if host { Status::FailHostMemAlloc } else { Status::Resource };
                assert_eq!(error.status, expected, "{step}: {error}");
            }
            Cause::Driver { call, device, errno: told } => {
                assert_eq!((device, told), (0, errno), "{step}: {error}");
                if !self.sticky() {
                    assert_eq!(Some(call), self.rig.driver.last_failed(), "{step}: {error}");
                }
                let expected = match (call, errno) {
                    // The bounce buffers are pinned host memory.
                    (Call::Alloc, Errno::ENOMEM) if step == "init" => Status::FailHostMemAlloc,
                    (Call::Alloc, Errno::ENOMEM) => panic!("{step}: {error}"),
                    (Call::Probe, Errno::ENODEV) => Status::Invalid,
                    (Call::Free | Call::Unmap | Call::Close, _) => panic!("{step}: a refused release is no error"),
                    _ => Status::Failure,
                };
                assert_eq!(error.status, expected, "{step}: {error}");
            }
            _ => panic!("{step}: {error}"),
        }
    }
}
