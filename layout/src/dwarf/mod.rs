//! Route 2: the debug information of a compiled artifact.
//!
//! | room | what it does |
//! | --- | --- |
//! | `elf`, `archive` | headers and section contents by positioned reads, decompressed; members of archives |
//! | `sections` | the debug sections of one file, joined and relocated, each loaded when first needed |
//! | `texts` | sections of strings, read where they are looked at |
//! | `locate` | the other files a file refers to: debug files, shared (dwz) ones, split units, packages |
//! | `world` | all units, and how entries refer to each other across them |
//! | `die`, `build` | one entry, and the type it makes |
//! | `context` | what is known of a unit before its entries are read |
//! | `abbreviations` | a table of them |
//! | `plans`, `cursor` | which bytes of an entry to pass over and which to read; going over the entries |
//! | `entries`, `near` | what is known by place in a unit |
//! | `known` | types by what their entries say |
//! | `windows` | the section of units, a few units at a time |
//! | `parallel` | those parts on two threads |
//! | `scan` | finds the entries that are asked for |
//! | `load` | all of it: [`Database::read`](crate::types::Database::read) |
//! | `documented` | looks up documented paths in the types that were read |

mod abbreviations;
mod archive;
mod build;
mod context;
mod cursor;
mod die;
mod documented;
mod elf;
mod entries;
mod known;
mod lines;
mod load;
mod locate;
mod near;
mod parallel;
mod plans;
mod scan;
mod sections;
mod symbols;
mod texts;
mod windows;
mod world;

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Unreadable;
use crate::found::Found;
use crate::table::Table;
use crate::types::{Database, Options};

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub struct Artifact {
    /// Layouts from its debug information.
    pub found: Found,
    /// The tables indexed by usage, where its symbols name them.
    pub tables: BTreeMap<&'static str, Vec<u8>>,
    /// Build id in hexadecimal; empty = none.
    pub build_id: String,
    /// Whether it is the build that the documented addresses are of.
    pub documented_build: bool,
}

/// Reads the documented structs that `usable` admits, and all documented enumerations.
///
/// # Errors
/// A file that cannot be read, is no ELF, is damaged, or describes none of those structs.
pub fn read(path: &Path, table: &Table, usable: &dyn Fn(&str) -> bool) -> Result<Artifact, Unreadable> {
    read_with(path, table, usable, Options::all())
}

/// The same, with the debug information taken from where `options` say; their selection is replaced.
///
/// # Errors
/// As [`read`].
pub fn read_with(path: &Path, table: &Table, usable: &dyn Fn(&str) -> bool, options: Options) -> Result<Artifact, Unreadable> {
    let structs = table.structs.iter().map(|documented| documented.name.clone()).filter(|name| usable(name));
    let names = structs.chain(table.enums.iter().map(|documented| documented.name.clone()));
    let options = Options { selection: Options::names(names).selection, ..options };
    let types = Database::read(path, &options)?;
    let found = documented::found(&types, table, usable);
    if found.structs.is_empty() {
        return Err(Unreadable::new(
            path.display().to_string(),
            "its debug information describes none of the documented structs",
            "a file that uses some of them",
        ));
    }
    let (tables, documented_build) = symbols::tables(path)?;
    let build_id = types.sources.first().map(|source| source.build_id.clone()).unwrap_or_default();
    Ok(Artifact { found, tables, build_id, documented_build })
}
