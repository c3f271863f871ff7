//! The smallest appliance: one model on the first logical core of the Neuron devices of this machine, without a deployment
//! file, a report, or words for errors. What is left is the runtime and the client of the driver.
//!
//! It loads the model with its weights, serves some requests whose outputs it compares, unloads, and closes. Exit status: 0
//! when all of that went well, 3 without a device, else 1.
#![no_std]
#![no_main]
#![allow(unsafe_code, reason = "implements the unsafe trait of the platform services")]

#[path = "../start/mod.rs"]
mod start;

use core::fmt;
use core::ptr::NonNull;

use nrt_core::environment::CoreSelection;
use nrt_core::hooks::{Hooks, Level, Wait};
use nrt_core::model::{ByteSource, CopyExecutor, IoPlan, ModelPlan, RegionPlan, SourceError, SubgraphPlan};
use nrt_core::{Config, Location, Placement, Runtime, SmallStorage, Usage};
use nrt_linux::LinuxHooks;
use nrt_linux::args::Args;
use nrt_linux::env::Env;
use nrt_linux::neuron::{LinuxDriver, Selection};

static STORAGE: SmallStorage = SmallStorage::new();
static HOOKS: Silent = Silent(LinuxHooks::new());

const WEIGHT_BYTES: u64 = 3_000_001;
const TENSOR_BYTES: usize = 65_536;
const REQUESTS: u8 = 20;

/// The platform, without a log: no record is ever put into words.
struct Silent(LinuxHooks);

// SAFETY: every request goes to the platform behind unchanged, whose guarantees hold.
unsafe impl Hooks for Silent {
    fn wait(&self, word: *const u32, expected: u32, deadline_ns: Option<u64>) -> Wait {
        self.0.wait(word, expected, deadline_ns)
    }
    fn wake(&self, word: *const u32, count: u32) {
        self.0.wake(word, count);
    }
    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }
    fn thread_id(&self) -> u64 {
        self.0.thread_id()
    }
    fn host_map(&self, bytes: usize) -> Option<NonNull<u8>> {
        self.0.host_map(bytes)
    }
    unsafe fn host_unmap(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.0.host_unmap(memory, bytes) };
    }
    #[inline(always)]
    fn log(&self, _: Level, _: fmt::Arguments<'_>) {}
}

/// Weights that differ from place to place.
struct Weights;

impl ByteSource for Weights {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
        for (at, byte) in (offset..).zip(buffer) {
            *byte = (at ^ (at >> 8)) as u8;
        }
        Ok(())
    }
}

fn main(_: Args<'_>, _: Env<'_>) -> i32 {
    let Ok(driver) = LinuxDriver::connect(Selection::All) else { return 3 };
    let size = driver.machine().arch.default_logical_core_size(driver.machine().cores_per_device);
    let Ok(cores) = driver.reserve(CoreSelection::Count(1), size) else { return 3 };
    let mut config = Config::new(&HOOKS);
    config.cores = CoreSelection::Exact { first: cores.runtime_cores().start, count: 1 };
    config.logical_core_size = Some(size);
    let Ok(runtime) = Runtime::init(&STORAGE, &cores, config) else { return 1 };
    let served = serve(&runtime);
    let closed = runtime.close(None).is_ok_and(|report| report.is_clean());
    i32::from(served != Ok(true) || !closed)
}

/// From load to unload; whether every output was right.
fn serve<D: nrt_core::driver::Driver>(runtime: &Runtime<D, &'static Silent>) -> nrt_core::Result<bool> {
    let core = runtime.core(0)?;
    let region = RegionPlan {
        name: "weights",
        first_variable: 1,
        usage: Usage::Weight,
        location: Location::Device,
        channel: None,
        align: 0,
        bytes: WEIGHT_BYTES,
        chunks: None,
        source: Some(&Weights),
    };
    let bytes = TENSOR_BYTES as u64;
    let subgraph = SubgraphPlan {
        regions: &[region],
        local_scratchpad_bytes: 65_536,
        inputs: &[IoPlan { name: "x", bytes, variable: 2 }],
        outputs: &[IoPlan { name: "y", bytes, variable: 3 }],
        ..SubgraphPlan::EMPTY
    };
    let model = core.load(&ModelPlan { name: "least", subgraphs: &[subgraph] })?;
    let (x, y) = (core.tensor(Placement::Device, bytes, "x")?, core.tensor(Placement::Device, bytes, "y")?);
    let mut right = true;
    for request in 0..REQUESTS {
        let mut buffer = [request ^ 0x5a; TENSOR_BYTES];
        x.write(0, &buffer)?;
        model.run(&[&x], &[&y], None, &CopyExecutor)?;
        buffer.fill(0);
        y.read(0, &mut buffer)?;
        right &= buffer.iter().all(|byte| *byte == request ^ 0x5a);
    }
    drop((x, y));
    model.unload()?;
    Ok(right)
}
