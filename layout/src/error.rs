//! The one error of this crate: something that had to be read could not be.

use std::fmt;

/// Something could not be read: where, what was wrong, and what was expected instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// File, table line or tool the fault is in.
    pub place: String,
    /// What was found there.
    pub fault: String,
    /// What was expected.
    pub expected: String,
    /// Whether the fault is in how the program was called.
    pub usage: bool,
}

impl Unreadable {
    /// Builds the error from its three parts.
    pub fn new(place: impl Into<String>, fault: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { place: place.into(), fault: fault.into(), expected: expected.into(), usage: false }
    }

    /// Builds an error of usage from the same parts.
    pub fn usage(place: impl Into<String>, fault: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { usage: true, ..Self::new(place, fault, expected) }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}; expected {}", self.place, self.fault, self.expected)
    }
}

impl std::error::Error for Unreadable {}
