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

/// What is different, whatever it is different in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Another offset.
    Moved,
    /// Another size or alignment.
    Resized,
    /// Another kind of type.
    Retyped,
    /// Another array bound.
    Bound,
    /// Another value: of an enumerator, a table byte, a constant.
    Value,
    /// Documented, not found.
    Missing,
    /// Found, not documented.
    Extra,
}

impl Class {
    /// All classes in the order they are printed in.
    pub const ALL: [Self; 7] = [Self::Moved, Self::Resized, Self::Retyped, Self::Bound, Self::Value, Self::Missing, Self::Extra];

    /// Word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::Resized => "resized",
            Self::Retyped => "retyped",
            Self::Bound => "bound",
            Self::Value => "value",
            Self::Missing => "missing",
            Self::Extra => "extra",
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
    /// What differs: `offset`, `size`, `count`, `type`, `struct_size`, `struct_align`, `missing_struct`, `extra_struct`,
    /// `missing_field`, `extra_field`, `enum_size`, `enum_value`, `missing_enum`, `extra_enum`, `table_byte`, `constant`.
    pub kind: &'static str,
    /// Route that found it.
    pub route: Route,
}

impl Mismatch {
    /// Class of the difference.
    #[must_use]
    pub fn class(&self) -> Class {
        match self.kind {
            "offset" => Class::Moved,
            "size" | "struct_size" | "struct_align" | "enum_size" => Class::Resized,
            "type" => Class::Retyped,
            "count" => Class::Bound,
            "missing_struct" | "missing_field" | "missing_enum" => Class::Missing,
            "extra_struct" | "extra_field" | "extra_enum" => Class::Extra,
            "enum_value" if self.found.is_null() => Class::Missing,
            "enum_value" if self.expected.is_null() => Class::Extra,
            _ => Class::Value,
        }
    }
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
    /// The file that was read, if one was.
    pub file: Option<CheckedFile>,
}

/// The file that was compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedFile {
    /// Its path.
    pub path: String,
    /// Its build id in hexadecimal; empty = none.
    pub build_id: String,
    /// Whether it is the documented build.
    pub documented: bool,
}

impl CheckedFile {
    fn line(&self) -> String {
        let id = if self.build_id.is_empty() { "none".to_owned() } else { self.build_id.clone() };
        let verdict = if self.documented { "the documented build" } else { "not the documented build" };
        format!("{}: build id {id}, {verdict}", self.path)
    }
}

impl Report {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.mismatches.is_empty()
    }

    /// Differences of one class.
    #[must_use]
    pub fn count(&self, class: Class) -> usize {
        self.mismatches.iter().filter(|mismatch| mismatch.class() == class).count()
    }

    /// The report as one JSON object: `schema/check.schema.json`.
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
                    "class": mismatch.class().word(),
                    "route": mismatch.route.name(),
                })
            })
            .collect();
        let counts: serde_json::Map<String, Value> =
            Class::ALL.iter().map(|class| (class.word().to_owned(), json!(self.count(*class)))).collect();
        let mut out = json!({
            "structs": most(|route| route.structs),
            "fields": most(|route| route.fields),
            "counts": counts,
            "mismatches": mismatches,
        });
        if let Some(file) = &self.file {
            out["file"] = json!(file.path);
            out["build_id"] = json!(file.build_id);
            out["documented_build"] = json!(file.documented);
        }
        out
    }

    /// The report for people, with colour if `colour`.
    #[must_use]
    pub fn human(&self, colour: bool) -> String {
        let paint = |code: &str, text: &str| if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() };
        let mut out = self.file.as_ref().map_or_else(String::new, |file| format!("{}\n", file.line()));
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
        for class in Class::ALL.into_iter().filter(|class| self.count(*class) > 0) {
            let _ = writeln!(out, "{}", paint("1", &format!("{}: {}", class.word(), self.count(class))));
            for mismatch in self.mismatches.iter().filter(|mismatch| mismatch.class() == class) {
                let dot = if mismatch.field.is_empty() { "" } else { "." };
                let name = format!("{}{dot}{}", mismatch.structure, mismatch.field);
                let route = paint("31", mismatch.route.name());
                let (expected, found) = (plain(&mismatch.expected), plain(&mismatch.found));
                let _ =
                    writeln!(out, "{route}: {name}: {}: documented {expected}, found {found}", mismatch.kind.replace('_', " "));
            }
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
