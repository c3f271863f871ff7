//! The same random requests in process and under the emulator.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use nrt_core::arch::Arch;
use nrt_sim::{DriverVersion, SimConfig, SimStorage};

use crate::door::Kernel;
use crate::replay::Door;
use crate::replay::in_process::{InProcess, Machine};
use crate::replay::random::Wanderer;

/// Name of the test.
pub(crate) const NAME: &str = "random-requests";

/// Requests of the long run and of the others.
const STEPS: [u64; 3] = [10_000, 100_000, 10_000];

static STORAGES: [SimStorage<200_000, 1>; 3] = [const { SimStorage::new() }; 3];

/// What came of each step.
fn transcript<D: Door>(door: D, seed: u64, steps: u64) -> Vec<u64> {
    let mut wanderer = Wanderer::new(door, seed);
    (0..steps).map(|_| wanderer.step()).collect()
}

/// The inner program: writes its transcript to a file.
pub(crate) fn run(seed: &str, steps: &str, file: &str) -> ExitCode {
    let (seed, steps) = (seed.parse().expect("a number"), steps.parse().expect("a number"));
    let bytes: Vec<u8> = transcript(Kernel, seed, steps).into_iter().flat_map(u64::to_le_bytes).collect();
    fs::write(file, bytes).expect("a transcript");
    ExitCode::SUCCESS
}

/// Compares both transcripts for every architecture and driver version.
pub(crate) fn passes() -> bool {
    let own = std::env::current_exe().expect("this program has a path");
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("transcript");
    let kinds = [
        ("trn1", Arch::Sunda, "2.24.7", DriverVersion::V2_24_7),
        ("trn2", Arch::Cayman, "2.25.4", DriverVersion::V2_25_4),
        ("trn3", Arch::Mariana, "2.26.5", DriverVersion::V2_26_5),
    ];
    kinds.into_iter().zip(STEPS).zip(1_u64..).zip(&STORAGES).all(|((((name, arch, driver, version), steps), seed), storage)| {
        let status = Command::new(env!("CARGO_BIN_EXE_nrt-emulate"))
            .args(["--arch", name, "--driver", driver, "--"])
            .arg(&own)
            .args(["wander", &seed.to_string(), &steps.to_string()])
            .arg(&file)
            .status()
            .expect("the emulator starts");
        let bytes = fs::read(&file).unwrap_or_default();
        let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(std::array::from_fn(|index| word[index])));
        let supervised: Vec<u64> = words.collect();
        let machine = Machine::new(storage, SimConfig { version, strict: false, ..SimConfig::new(arch) });
        let ours = transcript(InProcess::new(&machine, 1000), seed, steps);
        let first = ours.iter().zip(&supervised).position(|(ours, theirs)| ours != theirs);
        let same = status.success() && ours.len() == supervised.len() && first.is_none();
        println!("{NAME}: {name}, driver {driver}: {} steps, {}", ours.len(), if same { "equal" } else { "DIFFERENT" });
        if !same {
            println!("  {status}, {} steps under the emulator, first different: {first:?}", supervised.len());
        }
        same
    })
}
