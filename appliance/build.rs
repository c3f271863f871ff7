//! How the programs of this package are linked: static, at a fixed address, with nothing from the system.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let arguments = [
        // No startup files and no libraries: `start` is all there is.
        "-nostartfiles",
        "-nostdlib",
        "-static",
        // Nobody would relocate the program.
        "-no-pie",
        "-Wl,--gc-sections,-z,noexecstack,--build-id=none",
        // Nobody unwinds, so nobody searches the unwind tables; debuggers do without the index.
        "-Wl,--no-eh-frame-hdr",
    ];
    for argument in arguments {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
