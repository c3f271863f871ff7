//! How much a product takes: code and constants of each set of drivers, resident memory, time until it is ready. The table
//! is in `docs/footprint.md`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::image::{Elf, text_bytes};
use super::program::{executable, run, shipped};

/// Bytes of code and constants of each program, by the features it is built with. A figure may not grow; when it has become
/// smaller by more than [`SLACK`], it is to be put here.
const SIZES: [(&str, &str, u64); 4] = [
    ("nrt-appliance", "device,simulate", 297_300),
    ("nrt-appliance", "device", 272_900),
    ("nrt-appliance", "simulate", 256_500),
    ("least", "device", 103_000),
];
/// What another release of the compiler may do, in bytes.
const SLACK: u64 = 6 << 10;

/// Most anonymous memory that is resident at the end of the main job of a shipped deployment, in bytes.
const RESIDENT_LIMIT: u64 = 4 << 20;
/// Longest time from `main` to an open runtime on the model of the driver, in microseconds.
const READY_LIMIT_US: u64 = 2_000;

/// A program with these drivers. Those with one driver are built in a folder of their own, so that the one that all other
/// tests run stays where it is.
fn built(program: &str, drivers: &str) -> PathBuf {
    if drivers.contains(',') {
        return executable().into();
    }
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = temporary.join("footprint");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--package", "nrt-appliance", "--bin", program])
        .args(["--no-default-features", "--features", drivers, "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .args([OsStr::new("--target-dir"), target.as_os_str()])
        // What it is built from is that of all others.
        .env("CARGO_BUILD_BUILD_DIR", temporary.parent().expect("a folder for temporary files in the target folder"))
        .status()
        .expect("cargo");
    assert!(status.success(), "{program} does not build with {drivers}");
    target.join("release").join(program)
}

/// Exit status and standard error of a program.
fn outcome(program: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(program).args(arguments).output().expect("it runs");
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

#[test]
fn each_set_of_drivers_has_its_size_and_refuses_the_other() {
    for (name, drivers, limit) in SIZES {
        let program = built(name, drivers);
        let file = fs::read(&program).expect("the program");
        let text = text_bytes(&Elf::parse(file.as_slice()).expect("an ELF file"));
        println!("{name} with {drivers}: {text} bytes of code and constants");
        assert!(text <= limit, "{name} with {drivers}: {text} bytes of code and constants, expected at most {limit}");
        assert!(text + SLACK > limit, "{name} with {drivers}: {text} bytes are less than {limit}: put that into SIZES");
        match (name, drivers) {
            (_, "simulate") => {
                for arguments in [["--device", "/dev/neuron0"].as_slice(), &["--info"]] {
                    let (status, errors) = outcome(&program, arguments);
                    assert!(status == Some(2) && errors.contains("(feature `device`)"), "{arguments:?}: {errors}");
                }
                assert_eq!(outcome(&program, &["--json"]), (Some(0), String::new()));
            }
            ("nrt-appliance", "device") => {
                let (status, errors) = outcome(&program, &["--simulate", "cayman"]);
                assert!(status == Some(2) && errors.contains("(feature `simulate`)"), "{errors}");
                // Without an option it serves on the first device; there may be none.
                let (status, errors) = outcome(&program, &[]);
                assert!(status == Some(0) || (status == Some(3) && !errors.is_empty()), "{errors}");
            }
            // Where there are devices it may serve; where there are none it says so by its status.
            ("least", _) => assert!(matches!(outcome(&program, &[]).0, Some(0 | 3))),
            _ => {}
        }
    }
}

#[test]
fn resident_memory_and_time_to_ready() {
    for file in fs::read_dir(shipped("")).expect("a folder") {
        let path = file.expect("a file").path();
        // What disturbs a run makes it longer: the shortest one is what the program itself takes.
        let reports: Vec<_> = (0..9).map(|_| run([path.as_os_str(), OsStr::new("--json")]).held()).collect();
        let all = |key: &str| {
            let mut figures: Vec<_> = reports.iter().map(|report| report[key].as_u64().expect("a number")).collect();
            figures.sort_unstable();
            figures
        };
        let (resident, ready, serving) = (all("resident_anonymous_bytes_at_exit"), all("ready_us"), all("serving_us"));
        println!("{path:?}: resident {resident:?}, ready {ready:?} us, serving {serving:?} us");
        assert!(resident[8] <= RESIDENT_LIMIT, "{path:?}: {resident:?} bytes are resident");
        assert!((1..=READY_LIMIT_US).contains(&ready[0]), "{path:?}: ready after {ready:?} us");
        assert!(serving[0] >= ready[0], "{path:?}: models are loaded after the runtime is open");
    }
}
