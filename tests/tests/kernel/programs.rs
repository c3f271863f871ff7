//! The programs, and running them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a run left.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// The folder with both programs, built on first use.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // The target folder of the workspace: what it has built already is not built again.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder for temporary files in the target folder");
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
        for what in [["--package=nrt-emulate", "--bin=nrt-emulate"], ["--package=nrt-linux", "--example=device"]] {
            let status = Command::new(env!("CARGO"))
                .args(["build", "--quiet"])
                .args(what)
                .args([OsStr::new("--manifest-path"), OsStr::new(manifest), OsStr::new("--target-dir"), target.as_os_str()])
                .status()
                .expect("cargo");
            assert!(status.success(), "{what:?} does not build");
        }
        target.join("debug")
    })
}

/// The program that shows and checks devices.
pub(crate) fn device() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| built().join("examples/device").into_os_string().into_string().expect("UTF-8"))
}

/// Runs `program` under the emulator; `$DIR` is a fresh folder.
pub(crate) fn emulate(options: &[&str], program: &[&str]) -> Outcome {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = format!("kernel-{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(run);
    std::fs::create_dir_all(&folder).expect("a folder");
    let output = Command::new(built().join("nrt-emulate"))
        .args(options)
        .arg("--")
        .args(program)
        .env("DIR", &folder)
        .stdin(Stdio::null())
        .output()
        .expect("the emulator runs");
    let _ = std::fs::remove_dir_all(folder);
    output.into()
}

/// Runs a line of shell without the emulator.
pub(crate) fn shell(line: &str) -> Outcome {
    Command::new("sh").args(["-c", line]).stdin(Stdio::null()).output().expect("a shell").into()
}
