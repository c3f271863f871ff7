//! The arguments of `diff`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::{Change, ChangeKind, Changes, Suppressions, compare, compare_names};
use crate::error::Unreadable;
use crate::output;
use crate::report::{Class, Report};
use crate::routes::check_file;
use crate::source::SourceArguments;
use crate::table::Table;
use crate::types::{Database, Options};

/// Examples and exit codes of `diff`.
pub const EXAMPLES: &str = "\
Examples:
  nrt-layout diff old.so new.so                      every type of either
  nrt-layout diff old.so new.so dmem_t tpb_t         these, and what they hold by value
  nrt-layout diff old.so new.so -E '^tdrv_'          those whose name a pattern matches
  nrt-layout diff table.csv new.so                   a documented table and a file
  nrt-layout diff old.so new.so --suppress known.txt --fail-on incompatible

A suppression file has one accepted change a line: TYPE or TYPE.FIELD, with * for any characters, and, if wanted, a kind
of change after it.

Incompatible: moved, resized, retyped, bound, value, missing, extra.
Compatible:   appended, padding_used, renamed, added.

Exit codes:
  0  no change, or none that --fail-on asks for
  1  something changed
  2  wrong usage, or a name that neither file has
  3  something could not be read";

/// Compare two files, or a documented table and a file.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diff {
    /// Old ELF file, archive, or table (a name that ends in .csv).
    pub old: PathBuf,
    /// New ELF file or archive, or a table.
    pub new: PathBuf,
    /// Names of types, bare or with their scope; none = every type.
    pub types: Vec<String>,
    /// The names are regular expressions.
    #[arg(short = 'E', long)]
    pub regex: bool,
    /// File of accepted changes.
    #[arg(long, value_name = "FILE")]
    pub suppress: Option<PathBuf>,
    /// Changes that exit with 1.
    #[arg(long, value_enum, default_value_t = FailOn::Any)]
    pub fail_on: FailOn,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    source: SourceArguments,
}

/// Changes that exit with 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Any change.
    Any,
    /// Incompatible changes only.
    Incompatible,
}

impl Diff {
    /// Runs it.
    ///
    /// # Errors
    /// A file that cannot be read, a pattern or a suppression that is none.
    pub fn run(self) -> Result<ExitCode, Unreadable> {
        let is_table = |path: &Path| path.extension().is_some_and(|extension| extension == "csv");
        let mut changes = match (is_table(&self.old), is_table(&self.new)) {
            (false, false) => self.two_files()?,
            (true, false) => self.with_table(&self.old, &self.new, false)?,
            (false, true) => self.with_table(&self.new, &self.old, true)?,
            (true, true) => {
                return Err(Unreadable::usage("diff", "both are tables", "an ELF file on one side at least"));
            }
        };
        if let Some(path) = &self.suppress {
            let place = path.display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|error| Unreadable::new(&place, error.to_string(), "a readable suppression file"))?;
            for line in Suppressions::parse(&text, &place)?.apply(&mut changes) {
                eprintln!("nrt-layout: {place}, line {line}: suppresses nothing");
            }
        }
        let (old, new) = (self.old.display().to_string(), self.new.display().to_string());
        if self.json {
            output::write(&format!("{}\n", changes.json(&old, &new)))?;
        } else {
            output::write(&changes.text(output::colour()))?;
        }
        let differs = match self.fail_on {
            FailOn::Any => !changes.changes.is_empty(),
            FailOn::Incompatible => changes.is_incompatible(),
        };
        Ok(ExitCode::from(u8::from(differs)))
    }

    fn two_files(&self) -> Result<Changes, Unreadable> {
        let mut options = if self.types.is_empty() {
            Options::all()
        } else if self.regex {
            Options::matching(output::patterns(&self.types)?)
        } else {
            Options::names(self.types.iter().cloned())
        };
        self.source.apply(&mut options);
        // Each file has its own debug file; only directories can be given for both.
        if options.debug_file.is_some() {
            return Err(Unreadable::usage("--debug-file", "is for one file", "--debug-dir for two"));
        }
        let (old, new) = (Database::read(&self.old, &options)?, Database::read(&self.new, &options)?);
        self.known(|name| !old.named(name).is_empty() || !new.named(name).is_empty())?;
        if self.types.is_empty() || self.regex {
            return Ok(compare(&old, &new));
        }
        Ok(compare_names(&old, &new, self.types.clone()))
    }

    /// Refuses a name that nothing has: nothing would be compared, and nothing said to differ.
    fn known(&self, is: impl Fn(&str) -> bool) -> Result<(), Unreadable> {
        match self.types.iter().find(|name| !self.regex && !is(name)) {
            Some(name) => Err(Unreadable::usage(name, "is a type of neither file", "a type of one of them")),
            None => Ok(()),
        }
    }

    /// A table is compared as `check` does; `backwards` = the table is the new side.
    fn with_table(&self, table: &Path, elf: &Path, backwards: bool) -> Result<Changes, Unreadable> {
        let place = table.display().to_string();
        let text = std::fs::read_to_string(table)
            .map_err(|error| Unreadable::new(&place, error.to_string(), "a readable csv table in UTF-8"))?;
        let table = Table::with_layout(&text, &place)?;
        self.known(|name| table.structure(name).is_some() || table.enumeration(name).is_some())?;
        let mut options = Options::all();
        self.source.apply(&mut options);
        let report: Report = check_file(&table, elf, options)?;
        let patterns = if self.regex { output::patterns(&self.types)? } else { Vec::new() };
        let wanted = |name: &str| {
            self.types.is_empty()
                || patterns.iter().any(|pattern| pattern.is_match(name))
                || self.types.iter().any(|own| own == name)
        };
        let mut changes = Changes { compared: report.compared.iter().map(|route| route.structs).sum(), ..Changes::default() };
        for mismatch in report.mismatches.iter().filter(|mismatch| wanted(&mismatch.structure)) {
            let kind = match (mismatch.class(), backwards) {
                (Class::Moved, _) => ChangeKind::Moved,
                (Class::Resized, _) => ChangeKind::Resized,
                (Class::Retyped, _) => ChangeKind::Retyped,
                (Class::Bound, _) => ChangeKind::Bound,
                (Class::Value, _) => ChangeKind::Value,
                (Class::Missing, false) | (Class::Extra, true) => ChangeKind::Missing,
                (Class::Extra, false) | (Class::Missing, true) => ChangeKind::Extra,
            };
            let words = |value: &serde_json::Value| match value {
                serde_json::Value::Null => String::new(),
                serde_json::Value::String(text) => text.clone(),
                other if mismatch.kind.ends_with("_field") => format!("offset {other}"),
                other => format!("{} {other}", mismatch.kind.replace('_', " ")),
            };
            let (mut old, mut new) = (words(&mismatch.expected), words(&mismatch.found));
            if backwards {
                std::mem::swap(&mut old, &mut new);
            }
            changes.changes.push(Change { structure: mismatch.structure.clone(), field: mismatch.field.clone(), kind, old, new });
        }
        Ok(changes)
    }
}
