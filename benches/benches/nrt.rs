//! `cargo bench -p nrt-benches`.

fn main() -> std::process::ExitCode {
    nrt_benches::cli::main()
}
