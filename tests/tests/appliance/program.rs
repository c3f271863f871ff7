//! Building and running the program, and deployments to run it on.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

/// Most anonymous memory that may be resident at the end of a run, in bytes.
pub(crate) const RESIDENT_LIMIT: u64 = 8 << 20;

/// The program, built on first use.
pub(crate) fn executable() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // The target folder of the workspace: what it has built already is not built again.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder for temporary files in the target folder");
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "--package", "nrt-appliance", "--bin", "nrt-appliance"])
            .args([OsStr::new("--manifest-path"), OsStr::new(manifest), OsStr::new("--target-dir"), target.as_os_str()])
            .status()
            .expect("cargo");
        assert!(status.success(), "the appliance does not build");
        target.join("release/nrt-appliance")
    })
}

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

impl Outcome {
    /// The report, after checking that it is one JSON object on one line and all there is on standard output.
    #[track_caller]
    pub(crate) fn report(&self) -> Value {
        assert_eq!(self.stdout.matches('\n').count(), 1, "{self:?}");
        let report: Value = serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert!(report.is_object(), "{self:?}");
        report
    }

    /// The report of a run in which every check held.
    #[track_caller]
    pub(crate) fn held(&self) -> Value {
        let report = self.report();
        assert_eq!((self.status, &report["errors"], self.stderr.as_str()), (Some(0), &json!([]), ""), "{self:?}");
        assert_eq!((&report["weights_verified"], &report["outputs_verified"]), (&json!(true), &json!(true)));
        assert_nothing_left(&report);
        report
    }

    /// The report of a run in which some check failed, and its errors, one to a line.
    #[track_caller]
    pub(crate) fn failed(&self) -> (Value, String) {
        let report = self.report();
        let errors = report["errors"].as_array().expect("an array");
        assert!(self.status == Some(1) && !errors.is_empty(), "{self:?}");
        let errors = errors.iter().map(|error| error.as_str().expect("a string")).collect::<Vec<_>>().join("\n");
        (report, errors)
    }

    /// The message of a run that was refused before it began.
    #[track_caller]
    pub(crate) fn refused(&self, status: i32) -> &str {
        assert_eq!((self.status, self.stdout.as_str()), (Some(status), ""), "{self:?}");
        &self.stderr
    }
}

/// Nothing is left on the device, and little memory was used on the way.
#[track_caller]
pub(crate) fn assert_nothing_left(report: &Value) {
    assert_eq!((&report["live_device_bytes_at_exit"], &report["live_nodes_at_exit"]), (&json!(0), &json!(0)), "{report}");
    let resident = report["resident_anonymous_bytes_at_exit"].as_u64().expect("a number");
    assert!(resident > 0 && resident <= RESIDENT_LIMIT, "{resident} bytes are resident");
}

/// A command that runs the program.
pub(crate) fn command(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(executable());
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) fn run<A: AsRef<OsStr> + Debug>(arguments: impl IntoIterator<Item = A>) -> Outcome {
    command(arguments).output().expect("the program runs").into()
}

/// A folder that is gone at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("appliance-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("a file");
        path
    }

    /// Writes a deployment and runs it.
    pub(crate) fn run(&self, deployment: &Value) -> Outcome {
        run([self.file("deployment.json", deployment.to_string()).as_os_str(), OsStr::new("--json")])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a deployment that needs no other file.
pub(crate) fn run_deployment(deployment: &Value) -> Outcome {
    Folder::new().run(deployment)
}

/// A small model with an input and an output; `more` adds keys or replaces some.
pub(crate) fn model(name: &str, vnc: u32, weights: Value, more: Value) -> Value {
    let mut model = json!({
        "name": name, "vnc": vnc, "weights": weights,
        "inputs": [{ "name": "x", "bytes": 4096 }], "outputs": [{ "name": "y", "bytes": 4096 }]
    });
    model.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    model
}

/// Path of a deployment that ships with the appliance.
pub(crate) fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../appliance/deployments").join(name)
}
