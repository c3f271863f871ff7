//! Random operations against a plain reference model.
//!
//! After each operation the books of the touched core are those of the reference, and the driver holds what all books say; after each sixteenth everything is
//! compared: all cores, scratchpad pages, libraries, models, the driver, and that no two live ranges overlap. At the end
//! of a round everything goes and the runtime is closed and opened again.
//!
//! `NRT_RANDOM_OPS` sets the operations of a seed, `NRT_RANDOM_SEED` runs one seed only (on every machine).

mod arena;
mod books;
mod checks;
mod memory;
mod models;
mod recipe;
mod rng;
mod sets;
mod tensors;
mod views;
mod world;

use nrt_core::environment::CoreSelection;
use nrt_core::{Arch, Config, Runtime};
use nrt_linux::hooks::LinuxHooks;
use nrt_linux::log::Log;
use nrt_linux::output::stderr;
use nrt_sim::{DriverVersion, Live, SimConfig};
use nrt_tests::TestStorage;

use arena::Mode;
use rng::Rng;
use world::World;

/// With five machines a million operations, and some.
const OPERATIONS: u64 = 51_000;
const SEEDS: u64 = 4;
/// Operations between two closes.
const ROUND: u64 = 5_000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

fn machine(arch: Arch, size: u32) {
    let operations = setting("NRT_RANDOM_OPS").unwrap_or(OPERATIONS);
    let seeds = setting("NRT_RANDOM_SEED").map_or_else(|| (1..=SEEDS).collect(), |seed| vec![seed]);
    for seed in seeds {
        println!("{arch}, logical core size {size}, seed {seed}");
        let counts = one_seed(arch, size, seed, operations);
        println!("{arch}, logical core size {size}, seed {seed}: {counts}");
        if operations >= OPERATIONS {
            let world::Counts { slices, exchanges, batches, runs, runs_by_sets, compared, .. } = counts;
            let fewest = [slices, exchanges, batches, runs, runs_by_sets, compared].into_iter().min().unwrap();
            assert!(fewest >= 100, "the walk leaves something out");
            let contiguous = mode(arch, size, seed).0.contiguous;
            assert_eq!(contiguous, counts.short_arenas > 0, "{} arenas shorter than they should be", counts.short_arenas);
        }
    }
}

/// Every second seed has a part of the device, as a process that shares it would.
fn slice(arch: Arch, size: u32, seed: u64) -> CoreSelection {
    match (seed % 2, arch, size) {
        (1, ..) => CoreSelection::All,
        (_, Arch::Sunda, _) => CoreSelection::Exact { first: 1, count: 1 },
        (_, _, 1) => CoreSelection::Exact { first: 3, count: 4 },
        _ => CoreSelection::Exact { first: 1, count: 2 },
    }
}

/// The last two of four seeds have a driver with batches, and do without the bounce buffer.
fn copies(arch: Arch, seed: u64) -> (DriverVersion, bool) {
    if matches!(seed % 4, 1 | 2) { (SimConfig::new(arch).version, false) } else { (DriverVersion::V2_26_5, true) }
}

/// The second and third of four seeds ask for contiguous scratchpads, which not every machine has: it then has pages as the
/// others. The fourth has pages of an odd size and, with pairs, all of a pair's on its first core.
fn mode(arch: Arch, size: u32, seed: u64) -> (Mode, bool) {
    let wanted = matches!(seed % 4, 2 | 3);
    let contiguous = wanted && (arch == Arch::Sunda || size == 2);
    let page = match (contiguous, seed % 4) {
        (true, _) => 64 << 20,
        (false, 0) => 200 << 10,
        (false, _) => 1 << 20,
    };
    (Mode { page, contiguous, one_core: contiguous || (size == 2 && seed.is_multiple_of(4)) }, wanted)
}

fn one_seed(arch: Arch, size: u32, seed: u64, operations: u64) -> world::Counts {
    let (version, zero_copy) = copies(arch, seed);
    let (mode, contiguous_wanted) = mode(arch, size, seed);
    let driver = nrt_tests::driver(SimConfig { version, host_bytes: 64 << 20, ..SimConfig::new(arch) });
    let storage: &'static TestStorage = nrt_tests::storage();
    let mut rng = Rng::new(seed ^ u64::from(size) << 32 ^ u64::from(arch as u32) << 40);
    let mut counts = world::Counts::default();
    while counts.operations < operations {
        let hooks = LinuxHooks::with_log(Log::new(stderr(), None));
        let cores = slice(arch, size, seed);
        let config = Config {
            logical_core_size: Some(size),
            cores,
            scratchpad_page_size: if mode.contiguous { 1 << 20 } else { mode.page },
            contiguous_scratchpad: contiguous_wanted,
            scratchpad_on_single_core: mode.one_core && !mode.contiguous,
            zero_copy,
            // Every second round, on the storage of the round before.
            striped_references: counts.operations / ROUND % 2 == 1,
            ..Config::new(hooks).side_by_side()
        };
        let runtime = Runtime::init(storage, driver, config).unwrap();
        assert_eq!(runtime.contiguous_scratchpad(), mode.contiguous);
        let mut world = World::new(&runtime, driver, mode, rng, counts);
        world.run(ROUND.min(operations - counts.operations));
        (rng, counts) = world.finish();
        let report = runtime.close(Some(0)).unwrap();
        assert!(report.is_clean(), "{report:?}");
        assert_eq!((runtime.device_bytes(), runtime.live_nodes()), (0, 0));
        assert_eq!(driver.inner().live(0), Live::default());
    }
    counts
}

#[test]
fn sunda() {
    machine(Arch::Sunda, 1);
}

#[test]
fn cayman_single() {
    machine(Arch::Cayman, 1);
}

#[test]
fn cayman_pairs() {
    machine(Arch::Cayman, 2);
}

#[test]
fn mariana_single() {
    machine(Arch::Mariana, 1);
}

#[test]
fn mariana_pairs() {
    machine(Arch::Mariana, 2);
}
