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

/// Says that a part of a test could not be done; fails where `NRT_TOOLS_REQUIRED` says that nothing may be left out.
pub(crate) fn absent(tool: &str, what: &str) {
    let required = std::env::var_os("NRT_TOOLS_REQUIRED").is_some_and(|value| !value.is_empty());
    assert!(!required, "{tool} is required (NRT_TOOLS_REQUIRED): {what}");
    // Past the capture of the test harness: nobody sees what a passing test prints.
    let _ = writeln!(std::io::stderr().lock(), "NOT TESTED, {tool} is missing: {what}");
}
