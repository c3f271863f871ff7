//! The command: see [`nrt_capacity::cli`].

use std::io::{self, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let (exit, out, errors) = nrt_capacity::cli::run(&arguments);
    let written = io::stdout().write_all(out.as_bytes()).and_then(|()| io::stdout().flush());
    let _ = io::stderr().write_all(errors.as_bytes());
    if let Err(error) = written {
        let _ = writeln!(io::stderr(), "nrt-capacity: standard output cannot be written: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::from(exit)
}
