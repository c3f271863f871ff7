//! `cargo layout`: see the crate [`nrt_layout`].

fn main() -> std::process::ExitCode {
    nrt_layout::cli::run()
}
