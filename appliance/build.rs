//! How the programs of this package are linked: static, at a fixed address, with nothing from the system.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=no-unwind-tables.ld");
    let arguments = [
        // No startup files and no libraries: `start` is all there is.
        "-nostartfiles",
        "-nostdlib",
        "-static",
        // Nobody would relocate the program.
        "-no-pie",
        "-Wl,--gc-sections,-z,noexecstack,--build-id=none",
        // Nobody unwinds, so nobody searches the unwind tables.
        "-Wl,--no-eh-frame-hdr",
    ];
    for argument in arguments {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
    // Nor are they needed at all; a debugger that wants to walk the stack does so in a debug build, which keeps them.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/no-unwind-tables.ld");
    }
}
