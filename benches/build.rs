//! Compiles the C peers and records the versions of both compilers.

use std::process::Command;

fn main() {
    let mut build = cc::Build::new();
    build
        .files(["c/object_path.c", "c/model_path.c", "c/thread.c"])
        .opt_level(2)
        .debug(false)
        .flag("-pthread")
        .warnings(true)
        .extra_warnings(true);
    build.compile("nrt_bench_peers");
    println!("cargo::rerun-if-changed=c");

    let c_compiler = build.get_compiler();
    println!("cargo::rustc-env=NRT_BENCH_CC={}", version(&mut c_compiler.to_command()));
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    println!("cargo::rustc-env=NRT_BENCH_RUSTC={}", version(&mut Command::new(rustc)));
}

/// First line of what a compiler says about itself.
fn version(compiler: &mut Command) -> String {
    let answer = compiler.arg("--version").output();
    let text = answer.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}
