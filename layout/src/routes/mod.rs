//! The four routes and the checks made of them.

pub mod gcc;
pub mod reflection;
pub mod witness;

use std::path::Path;

use crate::compare::{Outcome, Scope, compare};
use crate::dwarf;
use crate::error::Unreadable;
use crate::report::{CheckedFile, Compared, Report, Route};
use crate::table::Table;
use crate::types::Options;

/// Checks what `nrt-core` implements, on all four routes. The debug information is that of the running program.
///
/// # Errors
/// A route that cannot be taken: no debug information, no C compiler, a table that no header can be made of.
pub fn check_implementation(table: &Table) -> Result<Report, Unreadable> {
    let implemented = reflection::found();
    let mut report = Report::default();

    let mut outcome = compare(table, &implemented, Route::Reflection, Scope::Implementation);
    outcome.mismatches.extend(reflection::compare_bytes(table));
    outcome.mismatches.extend(reflection::missing_enums(table));
    outcome.compared.others.push((table.bytes.len(), "table bytes"));
    add(&mut report, outcome);

    let program = std::env::current_exe()
        .map_err(|error| Unreadable::new("the path of this program", error.to_string(), "a readable /proc/self/exe"))?;
    let names = reflection::names();
    let debug = dwarf::read(&program, table, &|name| names.contains(name))?;
    add(&mut report, compare(table, &debug.found, Route::Dwarf, Scope::Implementation));

    add(&mut report, compare(table, &gcc::found(table, &names)?, Route::Gcc, Scope::Implementation));

    let mismatches = witness::compare_constants(table, &implemented);
    let compared = Compared { route: Route::Witness, structs: 0, fields: 0, others: vec![(table.evidence.len(), "constants")] };
    add(&mut report, Outcome { compared, mismatches });

    let pending = table.structs.iter().filter(|structure| !names.contains(structure.name.as_str())).count();
    report.left_out = format!("documented, not yet implemented: {pending} structs");
    Ok(report)
}

/// Checks the debug information of a file, and the byte tables in it if its symbols name them.
///
/// # Errors
/// A file that cannot be read, is no 64-bit ELF, is damaged, or has no debug information on any documented struct.
pub fn check_file(table: &Table, path: &Path, options: Options) -> Result<Report, Unreadable> {
    let usable = |name: &str| table.structure(name).is_none_or(|structure| !structure.descriptive);
    let read = dwarf::read_with(path, table, &usable, options)?;
    let mut report = Report::default();
    let mut outcome = compare(table, &read.found, Route::Dwarf, Scope::Foreign);
    let (bytes, mismatches) = reflection::compare_symbols(table, &read.tables);
    outcome.mismatches.extend(mismatches);
    if bytes > 0 {
        outcome.compared.others.push((bytes, "table bytes"));
    }
    let described = table.structs.iter().filter(|structure| !usable(&structure.name)).count();
    let absent = table.structs.len().saturating_sub(described + outcome.compared.structs);
    add(&mut report, outcome);
    report.file =
        Some(CheckedFile { path: path.display().to_string(), build_id: read.build_id, documented: read.documented_build });
    report.left_out = format!(
        "documented, not in this file: {absent} structs; not looked for: {described}, whose names are descriptions of ours"
    );
    Ok(report)
}

fn add(report: &mut Report, outcome: Outcome) {
    report.compared.push(outcome.compared);
    report.mismatches.extend(outcome.mismatches);
}
