//! `emit`: definitions in a language, or the table itself, from the documented table or from a file.

pub mod c;
pub mod data;
pub mod from_file;
pub mod from_table;
pub mod rust;
pub mod shape;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::error::Unreadable;
use crate::explain::claims::Claims;
use crate::source::SourceArguments;
use crate::table::Table;
use shape::Shapes;

/// Examples of the command line.
pub const EXAMPLES: &str = "\
Examples:
  cargo layout emit c dmem_t mla_t > layout.h       definitions and assertions, C11 and C++17
  cargo layout emit rust neuron_ioctl_mem_alloc_v2_mem_type64 -o ioctl.rs
  cargo layout emit csv --elf libnrt.so > new.csv   a table for another version of the library
  cargo layout check libnrt.so --table new.csv      ... which a later file can be compared with
  cargo layout emit json dmem_t                     one JSON object (schema/emit.schema.json)
  cargo layout emit gdb -o nrt.py                   commands for gdb: source nrt.py, then nrt tree

Exit codes:
  0  written
  2  wrong usage, or a name that is not there
  3  something could not be read or written";

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A module with assertions at compile time.
    Rust,
    /// A header with assertions, C11 and C++17 alike.
    C,
    /// A documented table, as --table reads it.
    Csv,
    /// One JSON object.
    Json,
    /// Commands and printers for gdb, with the offsets in them.
    Gdb,
}

/// What to emit.
#[derive(Debug, Args)]
pub struct Request {
    /// Form of the output.
    format: Format,
    /// Structs and enumerations by their C names; without any, all that the documented table has.
    #[arg(value_name = "TYPE")]
    types: Vec<String>,
    /// Read the layouts from the debug information of this file instead of the documented table.
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    elf: Option<PathBuf>,
    /// Documented table to use instead of the built-in layout.csv.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// File to write instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArguments,
}

/// Answers a request: the text to print and the exit code.
///
/// # Errors
/// A table or file that cannot be read, an output that cannot be written.
pub fn run(request: &Request) -> Result<(String, u8), Unreadable> {
    // The script needs what it walks, whatever is asked for.
    let types = if request.format == Format::Gdb { &[] } else { request.types.as_slice() };
    request.source.need(request.elf.as_deref())?;
    let (mut names, shapes) = match &request.elf {
        Some(path) => from_file(path, types, &request.source)?,
        None => from_documents(request.table.as_deref(), types)?,
    };
    if let Some(missing) = request.types.iter().find(|name| !known(&shapes, name)) {
        eprintln!("nrt-layout: {missing} is not in {}", shapes.origin);
        return Ok((String::new(), 2));
    }
    if names.is_empty() {
        names = shapes.records.iter().map(|record| record.name.clone()).collect();
    }
    let text = match request.format {
        Format::Rust => rust::module(&shapes),
        Format::C => c::header(&shapes),
        Format::Csv => data::csv(&shapes, &names)?,
        Format::Json => format!("{:#}\n", data::object(&shapes)),
        Format::Gdb => crate::gdb::script(&shapes)?,
    };
    deliver(text, request.output.as_deref())
}

/// Writes `text` to a file, or hands it back to be printed.
///
/// # Errors
/// A file that cannot be written.
pub fn deliver(text: String, output: Option<&Path>) -> Result<(String, u8), Unreadable> {
    let Some(path) = output else { return Ok((text, 0)) };
    std::fs::write(path, text)
        .map_err(|error| Unreadable::new(path.display().to_string(), error.to_string(), "a file that can be written"))?;
    Ok((String::new(), 0))
}

fn known(shapes: &Shapes, name: &str) -> bool {
    shapes.record(name).is_some() || shapes.enums.iter().any(|one| one.name == name)
}

/// Names asked for, or all of them, and their definitions, from a documented table.
///
/// # Errors
/// A table that cannot be read.
pub fn from_documents(path: Option<&Path>, types: &[String]) -> Result<(Vec<String>, Shapes), Unreadable> {
    let (table, text) = crate::explain::read(path)?;
    let claims = Claims::read(&text, "the table")?;
    let all = |table: &Table| -> Vec<String> {
        let structs = table.structs.iter().map(|documented| documented.name.clone());
        structs.chain(table.enums.iter().map(|documented| documented.name.clone())).collect()
    };
    let names = if types.is_empty() { all(&table) } else { types.to_vec() };
    let shapes = from_table::shapes(&table, &claims, &names)?;
    Ok((names, shapes))
}

/// Names asked for, or else all that the documented table has, and their definitions, from the debug information of a file.
///
/// # Errors
/// A file that cannot be read or has no debug information.
pub fn from_file(path: &Path, types: &[String], source: &SourceArguments) -> Result<(Vec<String>, Shapes), Unreadable> {
    let table = Table::built_in()?;
    let all = || {
        let structs = table.structs.iter().map(|documented| documented.name.clone());
        structs.chain(table.enums.iter().map(|documented| documented.name.clone())).collect()
    };
    let names = if types.is_empty() { all() } else { types.to_vec() };
    let shapes = from_file::shapes(path, &table, &names, source)?;
    Ok((names, shapes))
}
