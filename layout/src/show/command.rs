//! The arguments of `show`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::{Filter, Order, Shown, json_text, select, text};
use crate::error::Unreadable;
use crate::output;
use crate::source::SourceArguments;
use crate::types::{Database, Options};

/// Examples and exit codes of `show`.
pub const EXAMPLES: &str = "\
Examples:
  nrt-layout show ./libnrt.so dmem_t            one struct, with holes and cache lines
  nrt-layout show ./libnrt.so dmem_t --expand 3 and the structs in it, in place
  nrt-layout show a.out state --every           all definitions, where units differ
  nrt-layout show a.out -E '^tdrv_'             all whose name a pattern matches
  nrt-layout show a.out --holes --sort holes    where bytes are lost, most first
  nrt-layout show a.out --contains list_head    all that hold it by value, at any depth
  nrt-layout show libfoo.a foo --json           one JSON object a type (schema/show.schema.json)

Exit codes:
  0  every type was found
  1  a type was not found
  2  wrong usage
  3  the file could not be read, or has no debug information";

/// Show the layout of types.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Show {
    /// ELF file or archive.
    pub elf: PathBuf,
    /// Names of types, bare or with their scope; none = every type.
    pub types: Vec<String>,
    /// The names are regular expressions.
    #[arg(short = 'E', long)]
    pub regex: bool,
    /// Only types that hold this one by value, at any depth.
    #[arg(long, value_name = "TYPE")]
    pub contains: Option<String>,
    /// Only types with holes.
    #[arg(long)]
    pub holes: bool,
    /// Order.
    #[arg(long, value_enum, default_value_t = Order::Name)]
    pub sort: Order,
    /// Levels of named structs to expand in place; anonymous ones always are.
    #[arg(long, value_name = "LEVELS", default_value_t = 0)]
    pub expand: u32,
    /// Look on after the first definition of each name for others that differ.
    #[arg(long)]
    pub every: bool,
    /// Print a JSON array with one object a type.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    source: SourceArguments,
}

impl Show {
    /// Runs it.
    ///
    /// # Errors
    /// What [`Database::read`] refuses, or a pattern that is none.
    pub fn run(self) -> Result<ExitCode, Unreadable> {
        let mut options = if self.types.is_empty() {
            Options::all()
        } else if self.regex {
            Options::matching(output::patterns(&self.types)?)
        } else {
            Options::names(self.types.iter().cloned())
        };
        options.first_only = !self.every;
        // Nothing is said of what is inside of them.
        options.shallow = self.expand == 0 && self.contains.is_none();
        self.source.apply(&mut options);
        let types = Database::read(&self.elf, &options)?;
        for line in &types.left_out {
            eprintln!("nrt-layout: {}: {line}", self.elf.display());
        }
        let filter = Filter { contains: self.contains, holes: self.holes, sort: self.sort };
        let shown = select(&types, &filter);
        let missing: Vec<&String> = self.types.iter().filter(|name| !self.regex && types.named(name).is_empty()).collect();
        for name in &missing {
            eprintln!("nrt-layout: {}: no type {name}", self.elf.display());
        }
        if self.json {
            output::write(&json_text(&types, &shown))?;
        } else {
            let style = Shown { colour: output::colour(), expand: self.expand };
            let mut out = String::new();
            for (index, id) in shown.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "\n" });
                out.push_str(&text(&types, *id, style));
                if out.len() > 1 << 16 {
                    output::write(&out)?;
                    out.clear();
                }
            }
            output::write(&out)?;
        }
        let code = u8::from(!missing.is_empty() || (shown.is_empty() && (self.regex || self.types.is_empty())));
        // The program ends here: to give back thousands of pieces of memory one by one would only take time.
        std::mem::forget(types);
        Ok(ExitCode::from(code))
    }
}
