//! What the stress tests share.

use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use nrt_core::driver::Driver;
use nrt_core::hooks::Hooks;
use nrt_core::model::{ByteSource, Executor, IoPlan, ModelPlan, RegionPlan, Run, SourceError, SubgraphPlan};
use nrt_core::{Arch, Config, Error, Location, LogicalCore, Model, Runtime, Storage, Tensor, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_linux::log::Log;
use nrt_linux::output::stderr;
use nrt_sim::SimConfig;
use nrt_tests::{TestDriver, TestRuntime, TestStorage};

pub(crate) const PAGE: u64 = 1 << 20;
/// No part of a test takes this long unless it hangs.
const HANG: Duration = Duration::from_secs(240);

pub(crate) type TestModel<'r> = Model<'r, TestDriver, LinuxHooks>;
pub(crate) type TestCore<'r> = LogicalCore<'r, TestDriver, LinuxHooks>;
pub(crate) type TestTensor<'r> = Tensor<'r, TestDriver, LinuxHooks>;

/// `count` cycles, or a multiple.
pub(crate) fn cycles(count: u64) -> u64 {
    let factor = std::env::var("NRT_STRESS_CYCLES").ok().map_or(1, |text| text.parse().expect("a number"));
    count * factor
}

/// Ends the program when it is not dropped in time.
pub(crate) struct Watchdog(#[expect(dead_code, reason = "dropping it is the signal")] Sender<()>);

impl Watchdog {
    pub(crate) fn new(test: &'static str) -> Self {
        let (alive, watched) = channel();
        std::thread::spawn(move || {
            if watched.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{test} hangs");
                std::process::abort();
            }
        });
        Self(alive)
    }
}

/// Sets the flag when it is dropped: whoever panics stops the others.
pub(crate) struct Stops<'a>(pub(crate) &'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Release);
    }
}

/// Waits until the counter moves on.
pub(crate) fn one_more(served: &AtomicU64, stop: &AtomicBool) {
    let before = served.load(Acquire);
    while served.load(Acquire) == before {
        assert!(!stop.load(Acquire), "a thread failed");
        std::thread::yield_now();
    }
}

pub(crate) fn config(size: u32) -> Config<LinuxHooks> {
    let hooks = LinuxHooks::with_log(Log::new(stderr(), None));
    Config { logical_core_size: Some(size), scratchpad_page_size: PAGE, ..Config::new(hooks).side_by_side() }
}

pub(crate) fn open(arch: Arch, size: u32) -> (TestRuntime, TestDriver) {
    open_counting(arch, size, false)
}

/// References to models are counted on one word each, or striped.
pub(crate) fn open_counting(arch: Arch, size: u32, striped_references: bool) -> (TestRuntime, TestDriver) {
    let driver = nrt_tests::one_device(arch);
    let storage: &'static TestStorage = nrt_tests::storage();
    (Runtime::init(storage, driver, Config { striped_references, ..config(size) }).unwrap(), driver)
}

pub(crate) fn open_on<const N: usize>(storage: &'static Storage<N, 16, 128, 32, 64>, driver: TestDriver) -> TestRuntime {
    Runtime::init(storage, driver, config(2)).unwrap()
}

pub(crate) fn new_driver(arch: Arch) -> TestDriver {
    nrt_tests::driver(SimConfig::new(arch))
}

/// Every byte is the generation of the model.
pub(crate) struct Generation(pub(crate) u8);

impl ByteSource for Generation {
    fn read(&self, _: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
        buffer.fill(self.0);
        Ok(())
    }
}

pub(crate) const WEIGHT: u32 = 7;
pub(crate) const IO: u64 = 256;

/// Loads a model on every physical core of `core`, with weights that tell its generation.
pub(crate) fn load<'r>(core: TestCore<'r>, size: u32, source: &dyn ByteSource) -> Result<TestModel<'r>, Error> {
    let region = RegionPlan {
        name: "w",
        first_variable: WEIGHT,
        usage: Usage::Weight,
        location: Location::Device,
        channel: None,
        align: 0,
        bytes: 3000,
        chunks: None,
        source: Some(source),
    };
    let regions = [region, RegionPlan { name: "spill", first_variable: 8, usage: Usage::DramSpill, source: None, ..region }];
    let subgraph = SubgraphPlan {
        regions: &regions,
        local_scratchpad_bytes: PAGE + 1,
        inputs: &[IoPlan { name: "x", bytes: IO, variable: 1 }],
        outputs: &[IoPlan { name: "z", bytes: IO, variable: 2 }],
        ..SubgraphPlan::EMPTY
    };
    core.load(&ModelPlan { name: "stress", subgraphs: &vec![subgraph; size as usize] })
}

/// An executor made of a closure.
pub(crate) struct Executes<F>(pub(crate) F);

impl<F: Fn(u32) -> Result<(), Error>> Executor for Executes<F> {
    fn execute<D: Driver, H: Hooks>(&self, run: &Run<'_, D, H>) -> Result<(), Error> {
        (self.0)(run.model())?;
        run.copy(0, 0, 0, 0, IO)
    }
}
