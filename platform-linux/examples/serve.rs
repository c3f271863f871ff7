//! Serves a small model on the Neuron devices of this machine: an ordinary program with std, a libc and std threads, on the
//! same library the libc-free appliance uses.
//!
//! It reserves the cores that `NEURON_RT_VISIBLE_CORES` and the like name, brings up the runtime, loads a model on each of
//! them, lets a thread per model put bytes in, run it and get them out again, reads the weights back, unloads, closes, and
//! checks that the runtime's books and the driver's are at zero.
//!
//! ```text
//! cargo run -p nrt-linux --example serve
//! ```
//! Exit status: 0 fine, 1 a check failed, 3 no device or no driver that serves this runtime.

use std::process::ExitCode;

use nrt_core::driver::Driver as _;
use nrt_core::environment::{CoreSelection, Environment};
use nrt_core::model::{ByteSource, CopyExecutor, IoPlan, ModelPlan, RegionPlan, SubgraphPlan};
use nrt_core::{Config, Location, LogicalCore, Placement, Runtime, SmallStorage, Usage};
use nrt_linux::LinuxHooks;
use nrt_linux::neuron::{LinuxDriver, Reservation, Selection};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
type Core<'a> = LogicalCore<'a, &'a Reservation<'a>, LinuxHooks>;

/// Bytes of the weights of a model.
const WEIGHT_BYTES: usize = 3_000_001;
/// Bytes of a tensor.
const TENSOR_BYTES: usize = 70_000;
/// Runs of each model.
const RUNS: usize = 20;
/// Variable number of the weights in the model; the next two are its input and its output.
const WEIGHTS: u32 = 1;

/// All memory of the runtime.
static STORAGE: SmallStorage = SmallStorage::new();

fn main() -> ExitCode {
    let driver = match LinuxDriver::connect(Selection::All) {
        Ok(driver) => driver,
        Err(error) => {
            eprintln!("serve: {error}");
            return ExitCode::from(3);
        }
    };
    match serve(&driver) {
        Ok(models) => {
            println!("served {} runs of {models} models, nothing is left", models * RUNS);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("serve: {error}");
            ExitCode::from(1)
        }
    }
}

/// From the reservation to the last look at the driver's books; gives the number of models.
fn serve(driver: &LinuxDriver) -> Outcome<usize> {
    let probe = driver.probe().map_err(|errno| errno.to_string())?;
    let values: Vec<(String, String)> = std::env::vars().collect();
    let pairs: Vec<(&str, &str)> = values.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let environment = Environment::parse(&pairs, &probe)?;
    let slice = driver.reserve(environment.cores, environment.logical_core_size)?;
    let cores = slice.runtime_cores();
    let mut config = Config::from_environment(LinuxHooks::new(), &environment);
    config.cores = CoreSelection::Exact { first: cores.start, count: cores.len() as u32 };
    let runtime = Runtime::init(&STORAGE, &slice, config)?;
    let served = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores.len() as u32)
            .map(|vnc| {
                scope.spawn({
                    let runtime = &runtime;
                    move || life(&runtime.core(vnc)?, vnc)
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    });
    let held = held_by_us(driver, &slice);
    let report = runtime.close(Some(1_000_000_000))?;
    served?;
    if !report.is_clean() {
        return Err(format!("the runtime left something: {report:?}").into());
    }
    let (device_bytes, host_bytes) = held?;
    // Unloaded, a core keeps its 2 MiB for staged copies.
    let bounce = u64::from(slice.cores().len()) << 21;
    if device_bytes != 0 || host_bytes != bounce {
        return Err(format!(
            "the driver counts {device_bytes} device bytes and {host_bytes} host bytes, expected 0 and {bounce}"
        )
        .into());
    }
    for device in slice.devices() {
        let info = driver.info(device)?;
        println!("neuron{}: {} bytes in use", info.node, info.channel_used.iter().flatten().sum::<u64>());
    }
    Ok(cores.len())
}

/// Device and host bytes that the driver counts for this process.
fn held_by_us(driver: &LinuxDriver, slice: &Reservation<'_>) -> Outcome<(u64, u64)> {
    let mut sum = (0, 0);
    for device in slice.devices() {
        for process in driver.attached_processes(device)?.iter().filter(|process| process.pid == std::process::id()) {
            sum = (sum.0 + process.device_bytes, sum.1 + process.host_bytes);
        }
    }
    Ok(sum)
}

/// Bytes that differ from place to place and from seed to seed.
struct Pattern(u32);

impl Pattern {
    fn byte(&self, at: u64) -> u8 {
        (at ^ at >> 8 ^ u64::from(self.0).wrapping_mul(37)) as u8
    }

    fn bytes(&self, count: usize) -> Vec<u8> {
        (0..count as u64).map(|at| self.byte(at)).collect()
    }
}

impl ByteSource for Pattern {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), &'static str> {
        for (at, byte) in (offset..).zip(buffer) {
            *byte = self.byte(at);
        }
        Ok(())
    }
}

/// A model from load to unload on one logical core.
fn life(core: &Core<'_>, seed: u32) -> Outcome {
    let weights = Pattern(seed);
    let region = RegionPlan {
        name: "weights",
        first_variable: WEIGHTS,
        usage: Usage::Weight,
        location: Location::Device,
        channel: None,
        align: 65536,
        bytes: WEIGHT_BYTES as u64,
        chunks: None,
        source: Some(&weights),
    };
    let bytes = TENSOR_BYTES as u64;
    let subgraph = SubgraphPlan {
        regions: &[region],
        local_scratchpad_bytes: 65536,
        inputs: &[IoPlan { name: "x", bytes, variable: WEIGHTS + 1 }],
        outputs: &[IoPlan { name: "y", bytes, variable: WEIGHTS + 2 }],
        ..SubgraphPlan::EMPTY
    };
    let model = core.load(&ModelPlan { name: "echo", subgraphs: &[subgraph] })?;
    let (x, y) = (core.tensor(Placement::Device, bytes, "x")?, core.tensor(Placement::Device, bytes, "y")?);
    for run in 0..RUNS {
        let sent = Pattern(seed * 1000 + run as u32).bytes(TENSOR_BYTES);
        x.write(0, &sent)?;
        model.run(&[&x], &[&y], None, &CopyExecutor)?;
        let mut back = vec![0; TENSOR_BYTES];
        y.read(0, &mut back)?;
        if back != sent {
            return Err(format!("core {seed}, run {run}: the output differs from the input").into());
        }
    }
    let mut held = vec![0; WEIGHT_BYTES];
    model.read_variable(0, WEIGHTS, 0, &mut held)?;
    if held != weights.bytes(WEIGHT_BYTES) {
        return Err(format!("core {seed}: the weights on the device differ from their source").into());
    }
    drop((x, y));
    Ok(model.unload()?)
}
