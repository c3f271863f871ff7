//! What goes wrong while several threads work: kept in the report, and a sign for all to stop.

use core::fmt;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Release};

use super::locked::Locked;
use crate::report::Report;

/// The report under construction.
pub(super) struct Findings {
    report: Locked<&'static mut Report>,
    stop: AtomicBool,
    no_device: AtomicBool,
}

impl Findings {
    pub(super) const fn new(report: &'static mut Report) -> Self {
        Self { report: Locked::new(report), stop: AtomicBool::new(false), no_device: AtomicBool::new(false) }
    }

    /// Keeps an error; the work goes on.
    pub(super) fn error(&self, text: fmt::Arguments<'_>) {
        self.report.with(|report| report.error(text));
    }

    /// Keeps an error after which there is no point in going on.
    pub(super) fn fail(&self, text: fmt::Arguments<'_>) {
        self.error(text);
        self.stop.store(true, Release);
    }

    /// Whether something has failed.
    pub(super) fn failed(&self) -> bool {
        self.stop.load(Acquire)
    }

    /// Keeps that a device cannot be opened: there is nothing to report on.
    pub(super) fn no_device(&self) {
        self.no_device.store(true, Release);
    }

    /// Whether that was kept.
    pub(super) fn has_no_device(&self) -> bool {
        self.no_device.load(Acquire)
    }

    /// Writes into the report.
    pub(super) fn report<R>(&self, work: impl FnOnce(&mut Report) -> R) -> R {
        self.report.with(|report| work(report))
    }

    /// The report, when everybody has finished.
    pub(super) fn into_report(self) -> &'static mut Report {
        self.report.into_inner()
    }
}
