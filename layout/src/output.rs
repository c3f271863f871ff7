//! Standard output: colour only on a terminal, and a reader that went away is no error.

use std::io::{self, IsTerminal, Write as _};

use regex_lite::Regex;

use crate::error::Unreadable;

/// Whether standard output is a terminal that wants colour.
#[must_use]
pub fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Writes to standard output.
///
/// # Errors
/// A failure other than a reader that went away.
pub fn write(text: &str) -> Result<(), Unreadable> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Unreadable::new("standard output", error.to_string(), "room to write"))
        }
        _ => Ok(()),
    }
}

/// Compiles regular expressions.
///
/// # Errors
/// One that is none: wrong usage.
pub fn patterns(texts: &[String]) -> Result<Vec<Regex>, Unreadable> {
    let compile = |text: &String| {
        Regex::new(text)
            .map_err(|error| Unreadable::usage(format!("pattern {text:?}"), error.to_string(), "a regular expression"))
    };
    texts.iter().map(compile).collect()
}
