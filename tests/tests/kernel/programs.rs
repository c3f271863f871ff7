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

/// A folder that every user may read, with copies of programs; gone at the end.
pub(crate) struct Shared(PathBuf);

impl Shared {
    /// Copies programs; each must have a name of its own.
    pub(crate) fn new(programs: &[&Path]) -> Self {
        let folder = std::env::temp_dir().join(format!("nrt-kernel-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let shared = Self(folder);
        shared.open(&shared.0);
        for program in programs {
            let copy = shared.path(program.file_name().and_then(OsStr::to_str).expect("a name"));
            std::fs::copy(program, &copy).expect("a copy");
            shared.open(Path::new(&copy));
        }
        shared
    }

    /// Lets every user read and execute.
    fn open(&self, path: &Path) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).into_os_string().into_string().expect("UTF-8")
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The folder with the programs of the debug build, built on first use.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // The target folder of the workspace: what it has built already is not built again.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder for temporary files in the target folder");
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
        for what in [
            ["--package=nrt-emulate", "--bin=nrt-emulate"],
            ["--package=nrt-linux", "--example=device"],
            ["--package=nrt-linux", "--example=serve"],
        ] {
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

/// The program that serves models with std.
pub(crate) fn serve() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| built().join("examples/serve").into_os_string().into_string().expect("UTF-8"))
}

/// The emulator.
pub(crate) fn emulator() -> PathBuf {
    built().join("nrt-emulate")
}

/// The appliance: a release build, built on first use. Alone, so that no std member adds std to what it shares.
pub(crate) fn appliance() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| built_alone("nrt-appliance"))
}

/// The smallest appliance, built the same way.
pub(crate) fn least() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| built_alone("least"))
}

fn built_alone(program: &str) -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder for temporary files in the target folder");
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--package=nrt-appliance", "--bin", program])
        .args([OsStr::new("--manifest-path"), OsStr::new(manifest), OsStr::new("--target-dir"), target.as_os_str()])
        .status()
        .expect("cargo");
    assert!(status.success(), "{program} does not build");
    target.join("release").join(program).into_os_string().into_string().expect("UTF-8")
}

/// The C program of the emulator's tests, dynamic or static, compiled on first use.
pub(crate) fn memory_path_in_c(static_: bool) -> &'static str {
    static PATHS: [OnceLock<String>; 2] = [const { OnceLock::new() }; 2];
    PATHS[usize::from(static_)].get_or_init(|| {
        let (name, flags): (_, &[&str]) = if static_ { ("memory-static", &["-static"]) } else { ("memory", &[]) };
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kernel-{name}"));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../emulate/tests/memory.c");
        let status = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&out).arg(source).args(flags).status();
        assert!(status.expect("these tests need a C compiler, cc").success(), "{name} does not compile");
        out.into_os_string().into_string().expect("UTF-8")
    })
}

/// A device node of this machine itself: under a test without the emulator, programs would see it.
pub(crate) fn has_devices() -> bool {
    (0..64).any(|number| Path::new(&format!("/dev/neuron{number}")).exists())
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
