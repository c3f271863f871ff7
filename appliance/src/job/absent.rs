//! The driver that a program is built without.
#![allow(unsafe_code, reason = "implements the unsafe trait of the core")]

use core::convert::Infallible;
use core::marker::PhantomData;

use nrt_core::driver::{Call, DriverResult, Errno, ForwardDriver};
use nrt_core::environment::CoreSelection;

use super::driver::{Held, Machine};
use super::findings::Findings;

/// It does not exist, so nothing can be asked of it.
pub(super) struct Absent<'a>(Infallible, PhantomData<&'a ()>);

impl Absent<'_> {
    /// Whatever is wanted of what does not exist.
    pub(super) fn never<T>(&self) -> T {
        match self.0 {}
    }
}

// SAFETY: no request is ever made.
unsafe impl ForwardDriver for Absent<'_> {
    type Inner = Self;

    fn forward(&self, _: Call) -> DriverResult<&Self> {
        self.never()
    }
}

impl Machine for Absent<'_> {
    type Driver = Self;

    fn driver(&self) -> &Self {
        self.never()
    }

    fn devices(&self) -> u32 {
        self.never()
    }

    fn cores(&self, _: CoreSelection) -> CoreSelection {
        self.never()
    }

    fn held(&self, _: u32) -> Result<Held, Errno> {
        self.never()
    }

    fn check_closed(&self, _: &Findings) {
        self.never::<()>();
    }
}
