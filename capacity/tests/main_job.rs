//! The main job on the storages themselves: with the derived ones no pool is ever full, with a slot less of any one is.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
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
            // It has no std and cannot unwind, whatever the tests around it are built to do.
            .env("CARGO_PROFILE_DEV_PANIC", "abort")
            .status()
            .expect("cargo");
        assert!(status.success(), "fit-check does not build");
        target.join("debug/fit-check")
    })
}

/// A deployment, on the storage of this name, with these variables in the environment.
#[derive(Clone, Debug)]
struct Case {
    storage: String,
    path: PathBuf,
    environment: Vec<(&'static str, &'static str)>,
}

/// Every deployment that ships, and those that strain single pools or the cut of the scratchpads.
fn cases() -> Vec<Case> {
    let appliance = Path::new(env!("CARGO_MANIFEST_DIR")).join("../appliance");
    let folders = [appliance.join("deployments"), appliance.join("src/fit-check/deployments")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    assert!(paths.len() >= 9, "{paths:?}");
    let plain = |path: PathBuf| Case { storage: name(&path), path, environment: Vec::new() };
    let mut cases: Vec<_> = paths.into_iter().map(plain).collect();
    let path = folders[1].join("pages.json");
    let page = ("NEURON_SCRATCHPAD_PAGE_SIZE", "2");
    let one_core = ("NEURON_RT_DBG_SCRATCHPAD_ON_SINGLE_CORE", "1");
    for (storage, environment) in [("pages_of_2_mib", vec![page]), ("pages_of_2_mib_on_one_core", vec![page, one_core])] {
        cases.push(Case { storage: storage.into(), path: path.clone(), environment });
    }
    cases
}

fn name(path: &Path) -> String {
    path.file_stem().expect("a name").to_str().expect("UTF-8").replace('-', "_")
}

impl Case {
    /// The program on the storage, with a slot less of a pool if one is named.
    fn output(&self, short: &str) -> Output {
        let mut command = Command::new(executable());
        command.arg(&self.storage).arg(short).arg(&self.path).envs(self.environment.iter().copied());
        command.stdin(Stdio::null()).output().expect("it runs")
    }

    /// Its status and report.
    fn run(&self, short: &str) -> (Option<i32>, Value) {
        let output = self.output(short);
        let report = serde_json::from_slice(&output.stdout);
        (output.status.code(), report.unwrap_or_else(|error| panic!("{self:?} {short}: {error}: {output:?}")))
    }
}

#[test]
fn a_derived_storage_is_never_full() {
    for case in cases() {
        let (status, report) = case.run("");
        assert_eq!((status, report["errors"].as_array().map(Vec::len)), (Some(0), Some(0)), "{case:?}: {report}");
        assert!(report["requests"].as_u64() > Some(0) && report["reloads"].as_u64() > Some(0), "{case:?}: {report}");
    }
}

#[test]
fn a_slot_less_of_any_pool_is_not_enough() {
    for case in cases() {
        let fit = Fit::read(&case.path).unwrap();
        for pool in POOLS {
            let (status, report) = case.run(pool);
            let errors = report["errors"].to_string();
            if SLACK.contains(&(&case.storage, pool)) {
                assert_eq!(status, Some(0), "{case:?} {pool}: tight after all: {errors}");
                continue;
            }
            let tables = fit.demand(nrt_core::Pool::Tables) > fit.demand(nrt_core::Pool::MemRefs);
            let full = match pool {
                "mem_refs" if tables => "the pool of tables of variables and library functions is full".into(),
                pool => format!("the pool of {pool} is full"),
            };
            assert!(status == Some(1) && errors.contains(&full), "{case:?} {pool}: {errors}");
        }
    }
}

/// A storage that is exact for a deployment is too small when the environment cuts the scratchpads into more pieces, which is said
/// before anything is allocated. A longer event ring than it has is none of its needs.
#[test]
fn what_the_environment_adds_is_refused_in_front() {
    let pages = cases().into_iter().find(|case| case.storage == "pages").unwrap();
    let with = |variable| Case { environment: vec![variable], ..pages.clone() }.output("");
    let output = with(("NEURON_SCRATCHPAD_PAGE_SIZE", "2"));
    let errors = String::from_utf8(output.stderr).unwrap();
    let message = "the deployment does not fit the static memory: 22 nodes are needed, there are 18;";
    assert!(output.status.code() == Some(2) && errors.contains(message), "{errors}");
    let output = with(("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "257"));
    let errors = String::from_utf8(output.stderr).unwrap();
    let message = "NEURON_RT_DEBUG_MEMLOG_MAX_SIZE: 257 entries are wanted, a device has room for 256";
    assert!(output.status.success() && errors.contains(message), "{errors}");
}
