//! What the tests share: running the program, and small C files.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) fn layout(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nrt-layout")).args(arguments).output().expect("the program starts")
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("killed: {:?}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn write(directory: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, content).expect("a small file can be written");
    path
}

/// Compiles a C file; `flags` come before it.
pub(crate) fn compile(directory: &Path, source: &str, flags: &[&str]) -> PathBuf {
    let file = write(directory, "sample.c", source.as_bytes());
    let out = directory.join("sample.out");
    let built = Command::new("cc").args(flags).arg("-o").arg(&out).arg(file).output().expect("a C compiler is installed");
    assert!(built.status.success(), "{}", text(&built.stderr));
    out
}

/// Leaves counts of a test for whoever runs it: `layout-NAME.txt` in the folder for temporary files of the build.
pub(crate) fn leave(name: &str, lines: &str) {
    write(Path::new(env!("CARGO_TARGET_TMPDIR")), &format!("layout-{name}.txt"), lines.as_bytes());
}

/// Says that a part of a test could not be done; fails where `NRT_TOOLS_REQUIRED` names the tool.
pub(crate) fn absent(tool: &str, what: &str) {
    let required = std::env::var("NRT_TOOLS_REQUIRED").unwrap_or_default();
    assert!(!required.split_whitespace().any(|name| name == tool), "{tool} is required (NRT_TOOLS_REQUIRED): {what}");
    // Past the capture of the test harness: nobody sees what a passing test prints.
    let _ = writeln!(std::io::stderr().lock(), "NOT TESTED, {tool} is missing: {what}");
}
