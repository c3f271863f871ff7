//! `diff`: what changed between two files, or between a documented table and a file, and whether code built for the one
//! can use the other.

mod command;
mod compare;
mod shape;
mod suppress;

pub use command::{Diff, EXAMPLES};
pub use compare::{compare, compare_names};
pub use suppress::Suppressions;

use serde_json::{Value, json};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Type.
    pub structure: String,
    /// Member or enumerator; empty = the type as a whole.
    pub field: String,
    /// What changed.
    pub kind: ChangeKind,
    /// Before.
    pub old: String,
    /// After.
    pub new: String,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Another offset, or other bits.
    Moved,
    /// Another size, or another alignment of the whole.
    Resized,
    /// Another kind of type, or another struct.
    Retyped,
    /// Another array bound.
    Bound,
    /// Another value of an enumerator.
    Value,
    /// Gone.
    Missing,
    /// New, where something else was.
    Extra,
    /// New, after all that was there; or the growth that comes of it.
    Appended,
    /// New, in bytes that were padding or a hole.
    PaddingUsed,
    /// Same place and type, another name.
    Renamed,
    /// A type that was not there before.
    Added,
}

impl ChangeKind {
    /// All kinds, incompatible ones first.
    pub const ALL: [Self; 11] = [
        Self::Moved,
        Self::Resized,
        Self::Retyped,
        Self::Bound,
        Self::Value,
        Self::Missing,
        Self::Extra,
        Self::Appended,
        Self::PaddingUsed,
        Self::Renamed,
        Self::Added,
    ];

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
            Self::Appended => "appended",
            Self::PaddingUsed => "padding_used",
            Self::Renamed => "renamed",
            Self::Added => "added",
        }
    }

    /// Whether code built for the old layout still finds what it knows.
    #[must_use]
    pub const fn is_compatible(self) -> bool {
        matches!(self, Self::Appended | Self::PaddingUsed | Self::Renamed | Self::Added)
    }
}

/// All changes.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Types compared.
    pub compared: usize,
    /// Changes in order of type and place.
    pub changes: Vec<Change>,
    /// Changes that a suppression file takes out.
    pub suppressed: usize,
}

impl Changes {
    /// Changes of one kind.
    #[must_use]
    pub fn count(&self, kind: ChangeKind) -> usize {
        self.changes.iter().filter(|change| change.kind == kind).count()
    }

    /// Whether some change is incompatible.
    #[must_use]
    pub fn is_incompatible(&self) -> bool {
        self.changes.iter().any(|change| !change.kind.is_compatible())
    }

    /// As one JSON object: `schema/diff.schema.json`.
    #[must_use]
    pub fn json(&self, old: &str, new: &str) -> Value {
        let counts: serde_json::Map<String, Value> =
            ChangeKind::ALL.iter().map(|kind| (kind.word().to_owned(), json!(self.count(*kind)))).collect();
        let class = |kind: ChangeKind| if kind.is_compatible() { "compatible" } else { "incompatible" };
        let one = |change: &Change| {
            json!({
                "type": change.structure,
                "field": change.field,
                "kind": change.kind.word(),
                "class": class(change.kind),
                "old": change.old,
                "new": change.new,
            })
        };
        json!({
            "old": old,
            "new": new,
            "compared": self.compared,
            "counts": counts,
            "suppressed": self.suppressed,
            "changes": self.changes.iter().map(one).collect::<Vec<_>>(),
        })
    }

    /// For people.
    #[must_use]
    pub fn text(&self, colour: bool) -> String {
        let paint = |code: &str, text: String| if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text };
        let mut out = String::new();
        for change in &self.changes {
            let dot = if change.field.is_empty() { "" } else { "." };
            let code = if change.kind.is_compatible() { "33" } else { "31" };
            let kind = paint(code, format!("{:<12}", change.kind.word()));
            let (old, new) = (&change.old, &change.new);
            let words = match (old.as_str(), new.as_str()) {
                ("", new) => format!("now {new}"),
                (old, "") => format!("was {old}"),
                (old, new) => format!("{old} -> {new}"),
            };
            out.push_str(&format!("{kind} {}{dot}{}: {words}\n", change.structure, change.field));
        }
        let counts: Vec<String> = ChangeKind::ALL
            .iter()
            .map(|kind| (self.count(*kind), kind.word()))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let found = if counts.is_empty() { "no change".into() } else { counts.join(", ") };
        let hidden = if self.suppressed > 0 { format!(" ({} suppressed)", self.suppressed) } else { String::new() };
        let types = if self.compared == 1 { "type" } else { "types" };
        out.push_str(&format!("{} {types} compared: {found}{hidden}\n", self.compared));
        out
    }
}
