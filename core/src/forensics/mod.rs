//! What is told when memory runs out (fact sheet `dmem` §15): who asked for what, who holds the bytes, how much is free and
//! in what pieces, and what happened last.
//!
//! The facts are recorded where the driver refuses, because the failed operation gives back what it had before anybody can
//! look. The report is rendered at the public entry, when every lock is released; it allocates nothing and goes to the log
//! hook line by line: the report itself as errors, the event ring below it, as CSV, at level info.

mod record;
mod report;
mod space;
mod table;

pub(crate) use record::OomRecords;

use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::system::System;

impl<D: Driver, H: Hooks> System<D, H> {
    /// Hands a result through; tells about it when memory has run out. For public entries: no lock is held.
    #[inline]
    pub(crate) fn tell<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.tell_of(error))
    }

    /// Hands an error through. Apart, so that a success is not carried along with room for it.
    #[cold]
    fn tell_of(&self, error: Error) -> Error {
        if let Cause::OutOfMemory(oom) = &error.cause {
            self.report_out_of_memory(oom);
        }
        error
    }
}
