//! `cargo layout`: see the crate [`nrt_layout`].

// The unwinder is linked in, where the compiler's own library has it: one shared library less to find and to relocate is a
// tenth of the time of a short answer.
#[cfg(all(target_os = "linux", target_env = "gnu", not(debug_assertions)))]
#[link(name = "gcc_eh")]
unsafe extern "C" {}

fn main() -> std::process::ExitCode {
    nrt_layout::cli::run()
}
