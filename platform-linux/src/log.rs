//! Log records as lines on a descriptor.

use core::fmt::{self, Write as _};
use core::sync::atomic::{AtomicU8, Ordering};

use nrt_core::hooks::Level;
use rustix::fd::BorrowedFd;

use crate::output::{Buffered, stderr};

/// Value of the filter that lets nothing through; a level lets itself and every graver one through.
const SILENT: u8 = 0;

const fn rank(level: Level) -> u8 {
    match level {
        Level::Error => 1,
        Level::Warn => 2,
        Level::Info => 3,
        Level::Trace => 4,
    }
}

const fn name(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Info => "info",
        Level::Trace => "trace",
    }
}

/// A filter by level in front of a descriptor.
///
/// # Concurrency
/// Any thread may log and set the level at any time. A record of up to [`crate::output::ATOMIC_BYTES`] bytes leaves in
/// one write; longer ones in several, between which records of other threads may appear.
#[derive(Debug)]
pub struct Log<'fd> {
    fd: BorrowedFd<'fd>,
    most: AtomicU8,
}

impl Log<'static> {
    /// A log on standard error that shows errors and warnings.
    #[must_use]
    pub const fn to_stderr() -> Self {
        Self::new(stderr(), Some(Level::Warn))
    }
}

impl<'fd> Log<'fd> {
    /// A log on `fd` that shows `level` and graver records, or none at all.
    #[must_use]
    pub const fn new(fd: BorrowedFd<'fd>, level: Option<Level>) -> Self {
        let most = match level {
            Some(level) => rank(level),
            None => SILENT,
        };
        Self { fd, most: AtomicU8::new(most) }
    }

    /// Shows `level` and graver records from now on, or none at all.
    pub fn set_level(&self, level: Option<Level>) {
        self.most.store(level.map_or(SILENT, rank), Ordering::Relaxed);
    }

    /// Whether a record of this level is shown.
    #[must_use]
    pub fn shows(&self, level: Level) -> bool {
        rank(level) <= self.most.load(Ordering::Relaxed)
    }

    /// Writes `nrt <level>: <text>` and a line feed, if the level is shown.
    ///
    /// There is nobody to tell that a log cannot be written: such errors are passed over.
    pub fn record(&self, level: Level, text: fmt::Arguments<'_>) {
        if !self.shows(level) {
            return;
        }
        let mut line: Buffered<'_> = Buffered::new(self.fd);
        let complete = writeln!(line, "nrt {}: {text}", name(level)).is_ok();
        if !complete {
            // A `Display` in the text gave up (or the descriptor did, then this goes nowhere).
            let _ = line.write_str(" [record cut short by a formatting error]\n");
        }
    }
}
