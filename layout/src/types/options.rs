//! What to read.

use std::collections::BTreeSet;
use std::path::PathBuf;

use regex_lite::Regex;

/// Which types a [`Database`](super::Database) is read for; those they hold by value come along.
#[derive(Clone, Debug)]
pub enum Selection {
    /// Every named struct, class, union, enumeration and typedef.
    All,
    /// Those of these names, each bare (`dmem_t`) or with its scope (`core::Arena`).
    Names(BTreeSet<String>),
    /// Those whose bare or full name a pattern matches.
    Matching(Vec<Regex>),
}

/// How a [`Database`](super::Database) is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Types to read.
    pub selection: Selection,
    /// Also read what the types only point to.
    pub follow_pointers: bool,
    /// Stop as soon as every name of a [`Selection::Names`] has one definition: the first one in the file.
    pub first_only: bool,
    /// With `first_only`: read of the named types that others hold by value only how large they are and how they are
    /// aligned. Their members have no names, their enumerators are missing.
    pub shallow: bool,
    /// File that holds the debug information instead of the one named or those it refers to.
    pub debug_file: Option<PathBuf>,
    /// Directories searched for separate debug files, before the file's own directory.
    pub debug_directories: Vec<PathBuf>,
}

impl Options {
    /// Reads everything.
    #[must_use]
    pub fn all() -> Self {
        Self {
            selection: Selection::All,
            follow_pointers: false,
            first_only: false,
            shallow: false,
            debug_file: None,
            debug_directories: vec![PathBuf::from("/usr/lib/debug")],
        }
    }

    /// Reads the types of these names.
    #[must_use]
    pub fn names<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { selection: Selection::Names(names.into_iter().map(Into::into).collect()), ..Self::all() }
    }

    /// Reads the types whose name a pattern matches.
    #[must_use]
    pub fn matching(patterns: Vec<Regex>) -> Self {
        Self { selection: Selection::Matching(patterns), ..Self::all() }
    }
}

impl Selection {
    /// Whether a type of this name is asked for.
    #[must_use]
    pub fn admits(&self, scope: Option<&str>, name: &str) -> bool {
        let full = || scope.map(|scope| format!("{scope}::{name}"));
        match self {
            Self::All => true,
            Self::Names(names) => names.contains(name) || full().is_some_and(|full| names.contains(&full)),
            Self::Matching(patterns) => {
                let full = full();
                let text = full.as_deref().unwrap_or(name);
                patterns.iter().any(|pattern| pattern.is_match(name) || pattern.is_match(text))
            }
        }
    }
}

/// The part of a qualified name after its last `::` that is not inside angle brackets.
#[must_use]
pub fn last_component(name: &str) -> &str {
    let bytes = name.as_bytes();
    let mut depth = 0_usize;
    for at in (0..bytes.len()).rev() {
        match bytes[at] {
            b'>' => depth += 1,
            b'<' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && at > 0 && bytes[at - 1] == b':' => return &name[at + 1..],
            _ => {}
        }
    }
    name
}
