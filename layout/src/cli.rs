//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::error::Unreadable;
use crate::header::header;
use crate::report::Report;
use crate::routes::{check_file, check_implementation};
use crate::source::SourceArguments;
use crate::table::Table;
use crate::types::Options;

const EXAMPLES: &str = "\
Examples:
  cargo layout check                    what nrt-core implements, on four independent routes
  cargo layout check --json             the same as one JSON object
  cargo layout check ./libnrt.so        the debug information (and byte tables) of a file
  cargo layout check --table my.csv     against another documented table
  cargo layout show ./libnrt.so dmem_t  one type with offsets, holes and cache lines
  cargo layout diff old.so new.so       what changed, and whether it is compatible
  cargo layout header > layout.h        the documented structs as a C header
  cargo layout completions bash         completions for a shell
  cargo layout man DIR                  manual pages into a directory

Exit codes:
  0  everything agrees
  1  something differs
  2  wrong usage
  3  something could not be read: the file, its debug information, the table, or no C compiler";

/// Compares struct layouts with the documented table.
#[derive(Debug, Parser)]
#[command(name = "nrt-layout", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

/// Only `show`: the one task that is so quick that making the others' arguments would be seen.
#[derive(Debug, Parser)]
#[command(name = "nrt-layout")]
enum Quick {
    Show(crate::show::Show),
}

impl Arguments {
    /// The arguments of this program. What is told of wrong ones comes from the whole command, whichever it is.
    fn parsed() -> Result<Self, clap::Error> {
        if std::env::args_os().nth(1).is_some_and(|word| word == "show")
            && let Ok(Quick::Show(show)) = Quick::try_parse()
        {
            return Ok(Self { command: Task::Show(show) });
        }
        Self::try_parse()
    }
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Compare layouts and say what differs.
    #[command(after_help = EXAMPLES)]
    Check {
        /// ELF file whose debug information is compared; without it, nrt-core itself is.
        elf: Option<PathBuf>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Documented table to use instead of the built-in layout.csv.
        #[arg(long, value_name = "FILE")]
        table: Option<PathBuf>,
        #[command(flatten)]
        source: SourceArguments,
    },
    /// Draw layouts, or the context tree, as SVG.
    #[command(after_help = crate::draw::EXAMPLES)]
    Draw(crate::draw::Request),
    /// Write definitions in a language, or the table itself, from the documented table or from a file.
    #[command(after_help = crate::emit::EXAMPLES)]
    Emit(crate::emit::Request),
    /// Say why a documented number is what it is: confidence, source, witnesses, errata.
    #[command(after_help = crate::explain::EXAMPLES)]
    Explain(crate::explain::Request),
    Diff(crate::diff::Diff),
    Show(crate::show::Show),
    /// Print completions for a shell.
    Completions {
        /// Shell.
        shell: clap_complete::Shell,
    },
    /// Write manual pages into a directory.
    Man {
        /// Directory; made if it is not there.
        directory: PathBuf,
    },
    /// Print the implemented structs as a C header made of the documented table.
    Header {
        /// Documented table to use instead of the built-in layout.csv.
        #[arg(long, value_name = "FILE")]
        table: Option<PathBuf>,
    },
}

/// Runs the program on the arguments it was given.
#[must_use]
pub fn run() -> ExitCode {
    let arguments = match Arguments::parsed() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are no errors; a reader that went away is none either.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match execute(arguments.command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("nrt-layout: {error}");
            ExitCode::from(if error.usage { 2 } else { 3 })
        }
    }
}

fn execute(task: Task) -> Result<ExitCode, Unreadable> {
    match task {
        Task::Check { elf, json, table, source } => {
            let table = read_table(table)?;
            let mut options = Options::all();
            source.apply(&mut options);
            let report = elf.map_or_else(|| check_implementation(&table), |elf| check_file(&table, &elf, options))?;
            print(&report, json)?;
            Ok(ExitCode::from(u8::from(!report.is_clean())))
        }
        Task::Draw(request) => finish(crate::draw::run(&request)?),
        Task::Emit(request) => finish(crate::emit::run(&request)?),
        Task::Explain(request) => finish(crate::explain::run(&request)?),
        Task::Diff(diff) => diff.run(),
        Task::Show(show) => show.run(),
        Task::Completions { shell } => crate::manual::completions(shell, &mut Arguments::command()),
        Task::Man { directory } => crate::manual::pages(&directory, Arguments::command()),
        Task::Header { table } => {
            let table = read_table(table)?;
            let names = crate::routes::reflection::names();
            let text = header(&table, names.iter().copied().filter(|name| table.structure(name).is_some()))?;
            crate::output::write(&text)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn read_table(path: Option<PathBuf>) -> Result<Table, Unreadable> {
    let Some(path) = path else { return Table::built_in() };
    let place = path.display().to_string();
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Unreadable::new(&place, error.to_string(), "a readable csv table in UTF-8"))?;
    Table::with_layout(&text, &place)
}

fn print(report: &Report, json: bool) -> Result<(), Unreadable> {
    report.print(json).map_err(|error| Unreadable::new("standard output", error.to_string(), "room to write"))
}

/// Prints what a task found and exits with its code.
fn finish((text, code): (String, u8)) -> Result<ExitCode, Unreadable> {
    crate::output::write(&text)?;
    Ok(ExitCode::from(code))
}
