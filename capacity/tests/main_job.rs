//! The main job on the storages themselves: with the derived ones no pool is ever full, with a slot less of any one is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use nrt_capacity::Fit;
use serde_json::Value;

/// Capacities of which one slot less is not enough, by the deployment; the documentation of `demand` says why the others
/// have more than is used.
const POOLS: [&str; 4] = ["nodes", "models", "mem_refs", "tensors"];
/// The scratchpad in one piece is counted for both ways it can go, and has room for what finds no place in it.
const SLACK: [(&str, &str); 1] = [("contiguous", "nodes")];

/// The program, built on first use, in the folder in which everything is built that the workspace's tests need.
fn executable() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder for temporary files in the target folder");
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "nrt-appliance", "--bin", "fit-check", "--manifest-path"])
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
            .arg("--target-dir")
            .arg(target)
            .status()
            .expect("cargo");
        assert!(status.success(), "fit-check does not build");
        target.join("debug/fit-check")
    })
}

/// Every deployment that ships, and those that strain single pools.
fn deployments() -> Vec<PathBuf> {
    let appliance = Path::new(env!("CARGO_MANIFEST_DIR")).join("../appliance");
    let folders = [appliance.join("deployments"), appliance.join("src/fit-check/deployments")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    assert!(paths.len() >= 8, "{paths:?}");
    paths
}

fn name(path: &Path) -> String {
    path.file_stem().expect("a name").to_str().expect("UTF-8").replace('-', "_")
}

/// Runs a deployment on its storage, with a slot less of a pool if one is named. Gives status and report.
fn run(path: &Path, short: &str) -> (Option<i32>, Value) {
    let output = Command::new(executable()).arg(name(path)).arg(short).arg(path).stdin(Stdio::null()).output().expect("it runs");
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{path:?} {short}: {error}: {output:?}"));
    (output.status.code(), report)
}

#[test]
fn a_derived_storage_is_never_full() {
    for path in deployments() {
        let (status, report) = run(&path, "");
        assert_eq!((status, report["errors"].as_array().map(Vec::len)), (Some(0), Some(0)), "{path:?}: {report}");
        assert!(report["requests"].as_u64() > Some(0) && report["reloads"].as_u64() > Some(0), "{path:?}: {report}");
    }
}

#[test]
fn a_slot_less_of_any_pool_is_not_enough() {
    for path in deployments() {
        let fit = Fit::read(&path).unwrap();
        for pool in POOLS {
            let (status, report) = run(&path, pool);
            let errors = report["errors"].to_string();
            if SLACK.contains(&(&name(&path), pool)) {
                assert_eq!(status, Some(0), "{path:?} {pool}: tight after all: {errors}");
                continue;
            }
            let tables = fit.demand(nrt_core::Pool::Tables) > fit.demand(nrt_core::Pool::MemRefs);
            let full = match pool {
                "mem_refs" if tables => "the pool of tables of variables and library functions is full".into(),
                pool => format!("the pool of {pool} is full"),
            };
            assert!(status == Some(1) && errors.contains(&full), "{path:?} {pool}: {errors}");
        }
    }
}
