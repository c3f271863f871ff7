//! In the place of the model of the driver, in a program that is built without it.

pub(super) use super::absent::Absent as Modelled;
use super::findings::Findings;
use super::say::say;
use crate::cli::Exit;
use crate::deployment::Deployment;

/// Whether this program has the model.
///
/// # Errors
/// [`Exit::Usage`]; said.
pub(super) fn available() -> Result<(), Exit> {
    say(format_args!("this program is built without the model of the driver (feature `simulate`), expected --device PATH"));
    Err(Exit::Usage)
}

/// Does not call `work`. [`available`] was asked before.
pub(super) fn with(_: &Deployment, findings: &Findings, _: impl FnOnce(Modelled<'_>)) {
    findings.fail(format_args!("this program is built without the model of the driver"));
}
