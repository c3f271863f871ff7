//! What a check found, and how it is printed.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use serde_json::{Value, json};

/// The four independent routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Route {
    /// The reflection of the declarations in `nrt-core`.
    Reflection,
    /// Debug information of a compiled artifact.
    Dwarf,
    /// A C header emitted from the table and laid out by the C compiler.
    Gcc,
    /// Constants seen in the original's instructions.
    Witness,
}

impl Route {
    /// Name as printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reflection => "reflection",
            Self::Dwarf => "dwarf",
            Self::Gcc => "gcc",
            Self::Witness => "witness",
        }
    }
}

/// One difference between the documented table and what a route found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Struct, enumeration or byte table.
    pub structure: String,
    /// Field, enumerator or usage; empty for the struct as a whole.
    pub field: String,
    /// What the table says; null = nothing.
    pub expected: Value,
    /// What the route found; null = nothing.
    pub found: Value,
    /// What differs: `offset`, `size`, `count`, `struct_size`, `struct_align`, `missing_struct`, `extra_struct`,
    /// `missing_field`, `extra_field`, `enum_size`, `enum_value`, `missing_enum`, `extra_enum`, `table_byte`, `constant`.
    pub kind: &'static str,
    /// Route that found it.
    pub route: Route,
}

/// What one route compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The route.
    pub route: Route,
    /// Structs compared.
    pub structs: usize,
    /// Named fields compared, over all those structs.
    pub fields: usize,
    /// Other things compared, in words: enumerations, table bytes, constants.
    pub others: Vec<(usize, &'static str)>,
}

/// Outcome of a check.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One entry a route.
    pub compared: Vec<Compared>,
    /// Every difference, in route order.
    pub mismatches: Vec<Mismatch>,
    /// A line on what was left out, empty if nothing was.
    pub left_out: String,
}

impl Report {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.mismatches.is_empty()
    }

    /// The report as one JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        let most = |count: fn(&Compared) -> usize| self.compared.iter().map(count).max().unwrap_or(0);
        let mismatches: Vec<_> = self
            .mismatches
            .iter()
            .map(|mismatch| {
                json!({
                    "struct": mismatch.structure,
                    "field": mismatch.field,
                    "expected": mismatch.expected,
                    "found": mismatch.found,
                    "kind": mismatch.kind,
                    "route": mismatch.route.name(),
                })
            })
            .collect();
        json!({ "structs": most(|route| route.structs), "fields": most(|route| route.fields), "mismatches": mismatches })
    }

    /// The report for people, with colour if `colour`.
    #[must_use]
    pub fn human(&self, colour: bool) -> String {
        let paint = |code: &str, text: &str| if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() };
        let mut out = String::new();
        for route in &self.compared {
            let wrong = self.mismatches.iter().filter(|mismatch| mismatch.route == route.route).count();
            let verdict = if wrong == 0 { paint("32", "ok") } else { paint("31", &plural(wrong, "mismatch", "mismatches")) };
            let mut counts = Vec::new();
            if route.structs > 0 {
                counts.push(plural(route.structs, "struct", "structs"));
                counts.push(plural(route.fields, "field", "fields"));
            }
            counts.extend(route.others.iter().map(|(count, what)| format!("{count} {what}")));
            let _ = writeln!(out, "{:<11} {:<62} {verdict}", route.route.name(), counts.join(", "));
        }
        for mismatch in &self.mismatches {
            let name = if mismatch.field.is_empty() {
                mismatch.structure.clone()
            } else {
                format!("{}.{}", mismatch.structure, mismatch.field)
            };
            let route = paint("31", mismatch.route.name());
            let (expected, found) = (plain(&mismatch.expected), plain(&mismatch.found));
            let _ = writeln!(out, "{route}: {name}: {}: documented {expected}, found {found}", mismatch.kind.replace('_', " "));
        }
        if !self.left_out.is_empty() {
            let _ = writeln!(out, "{}", self.left_out);
        }
        out
    }

    /// Prints the report. A reader that went away is not an error.
    ///
    /// # Errors
    /// Any other failure to write.
    pub fn print(&self, json: bool) -> io::Result<()> {
        let stdout = io::stdout();
        let colour = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let text = if json { format!("{}\n", self.json()) } else { self.human(colour) };
        match stdout.lock().write_all(text.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
