//! What has to be known of the machine to read the numbers.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::{c, measure};

/// Kind and number of processors. No host name, no paths.
#[must_use]
pub fn machine() -> Value {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let virtual_machine = field("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    json!({
        "cpu": field("model name"),
        "processors": measure::processors().len(),
        "virtual": virtual_machine,
        "arch": std::env::consts::ARCH,
        "os": std::env::consts::OS,
    })
}

/// Versions of what is compared and of what compiled it.
#[must_use]
pub fn versions() -> Value {
    json!({
        "nrt": env!("CARGO_PKG_VERSION"),
        "rustc": env!("NRT_BENCH_RUSTC"),
        "cc": env!("NRT_BENCH_CC"),
        "cc_flags": "-O2 -pthread",
        "libc": c::library_version(),
        "mimalloc": c::mimalloc_version(),
        "crates": crates(),
    })
}

/// Peers that are crates.
const CRATES: [&str; 11] = [
    "arc-swap",
    "heapless",
    "mimalloc",
    "offset-allocator",
    "papaya",
    "range-alloc",
    "rlsf",
    "scc",
    "sharded-slab",
    "slotmap",
    "talc",
];

/// Their versions, from the lock file this program was built with.
fn crates() -> serde_json::Map<String, Value> {
    let mut lines = include_str!("../../Cargo.lock").lines();
    let mut found = serde_json::Map::new();
    while let Some(line) = lines.next() {
        let value = |line: &str, key| line.strip_prefix(key).map(|rest: &str| rest.trim_matches('"').to_owned());
        let Some(name) = value(line, "name = ").filter(|name| CRATES.contains(&name.as_str())) else { continue };
        let version = lines.next().and_then(|line| value(line, "version = "));
        found.insert(name, json!(version));
    }
    found
}

/// Where results go: `nrt-bench` in the target directory this program was built in.
#[must_use]
pub fn results_directory() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let target = program.ancestors().skip(1).find(|directory| directory.join("CACHEDIR.TAG").exists());
    target.map_or_else(|| PathBuf::from("target"), PathBuf::from).join("nrt-bench")
}
