//! In the place of the client of the kernel's driver, in a program that is built without it.

use nrt_core::arch::Arch;
use nrt_core::driver::Probe;
use nrt_core::environment::Environment;
use nrt_linux::env::Env;

use super::absent::Absent;
pub(super) use super::absent::Absent as Slice;
use super::say::say;
use crate::cli::{Exit, Info};
use crate::deployment::Deployment;

/// What [`connect`] never gives.
pub(super) type Connection = Absent<'static>;

/// Refuses.
///
/// # Errors
/// [`Exit::Usage`]; said.
pub(super) fn connect(_: u32, _: u32) -> Result<Connection, Exit> {
    say(format_args!(
        "this program is built without the client of the driver (feature `device`), expected --simulate or neither"
    ));
    Err(Exit::Usage)
}

/// Is not called: there is no connection.
pub(super) fn arch(connection: &Connection) -> Arch {
    connection.never()
}

/// Is not called: there is no connection.
///
/// # Errors
/// None.
pub(super) fn machine(connection: &Connection, _: &Deployment) -> Result<Probe, Exit> {
    connection.never()
}

/// Is not called: there is no connection.
///
/// # Errors
/// None.
pub(super) fn reserve<'d>(connection: &'d Connection, _: &Environment) -> Result<Slice<'d>, Exit> {
    connection.never()
}

/// Refuses.
///
/// # Errors
/// [`Exit::Usage`]; said.
pub(super) fn tell(_: &Info, _: &Env<'_>) -> Result<Exit, Exit> {
    connect(0, 1).map(|connection| connection.never())
}
