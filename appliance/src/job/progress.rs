//! A line that tells how far a long job is, for people who watch.

use core::fmt::{self, Write as _};

use nrt_core::hooks::Hooks;
use nrt_linux::output::{Buffered, stderr};

use super::statics::HOOKS;

/// Nothing is shown in the first two seconds.
const PATIENCE_NS: u64 = 2_000_000_000;
/// Time between two lines.
const STEP_NS: u64 = 250_000_000;

/// Shows one line on standard error, over and over in the same place, if that is a terminal.
pub(super) struct Progress {
    terminal: bool,
    /// When the next line may be shown.
    next: u64,
    shown: bool,
}

impl Progress {
    /// A job that starts now.
    pub(super) fn new() -> Self {
        let next = HOOKS.now_ns().saturating_add(PATIENCE_NS);
        Self { terminal: rustix::termios::isatty(stderr()), next, shown: false }
    }

    /// Shows a line unless it is too early; returns when there is anything to be shown next.
    pub(super) fn show(&mut self, text: fmt::Arguments<'_>) -> u64 {
        let now = HOOKS.now_ns();
        if !self.terminal {
            return u64::MAX;
        }
        if now >= self.next {
            let mut line: Buffered<'_> = Buffered::new(stderr());
            let _ = write!(line, "\r{text}\x1b[K");
            self.shown = true;
            self.next = now.saturating_add(STEP_NS);
        }
        self.next
    }

    /// Removes the line.
    pub(super) fn clear(&mut self) {
        if core::mem::take(&mut self.shown) {
            let mut line: Buffered<'_> = Buffered::new(stderr());
            let _ = line.write_str("\r\x1b[K");
        }
    }
}
