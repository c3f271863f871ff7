//! Starting programs under the emulator.
#![allow(dead_code, reason = "each test program uses a part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The emulator with options.
pub(crate) fn emulate(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nrt-emulate"));
    command.args(options).arg("--");
    command
}

/// A file for this test alone.
pub(crate) fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Compiles a C program.
pub(crate) fn compile_file(source: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let out = scratch(name);
    let status = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&out).arg(source).args(flags).status();
    assert!(status.expect("these tests need a C compiler, cc").success(), "{name} does not compile");
    out
}

/// Compiles a C program of the tests' folder.
pub(crate) fn compile(source: &str, name: &str, flags: &[&str]) -> PathBuf {
    compile_file(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source), name, flags)
}

/// Succeeds, or shows what the program said.
pub(crate) fn good(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}{err}", output.status);
    assert!(!err.contains("seccomp user notification is not available"), "{err}");
    out.into_owned()
}
