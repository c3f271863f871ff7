//! Shell completions and manual pages, made of the same declarations as `--help`.

use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;

use crate::error::Unreadable;
use crate::output;

/// Prints the completions for a shell.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions(shell: Shell, command: &mut Command) -> Result<ExitCode, Unreadable> {
    let mut out = Vec::new();
    clap_complete::generate(shell, command, "nrt-layout", &mut out);
    output::write(&String::from_utf8_lossy(&out))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes one manual page for the program and one for each of its commands.
///
/// # Errors
/// The directory cannot be made or written to.
pub fn pages(directory: &Path, mut command: Command) -> Result<ExitCode, Unreadable> {
    let place = directory.display().to_string();
    let refuse = |error: std::io::Error| Unreadable::new(&place, error.to_string(), "a directory that can be written to");
    std::fs::create_dir_all(directory).map_err(refuse)?;
    command.build();
    let mut commands = vec![("nrt-layout".to_owned(), command.clone())];
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        commands.push((format!("nrt-layout-{}", inner.get_name()), inner.clone()));
    }
    for (name, command) in commands {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).title(&name).render(&mut page).map_err(refuse)?;
        std::fs::write(directory.join(format!("{name}.1")), page).map_err(refuse)?;
    }
    Ok(ExitCode::SUCCESS)
}
