//! Parsing with the error as text, and a small valid deployment to break.

use nrt_appliance::deployment::{Deployment, parse_into};
use nrt_core::arch::Arch;

/// A valid deployment of one model; the scenarios replace one piece of it.
pub(crate) const BASE: &str = r#"{
  "arch": "cayman",
  "models": [
    {
      "name": "generate",
      "vnc": 0,
      "weights": { "seed": 1, "bytes": 4096 },
      "inputs": [{ "name": "x", "bytes": 64 }],
      "outputs": [{ "name": "y", "bytes": 64 }]
    }
  ]
}
"#;

/// Parses a text, for another architecture if one is given.
pub(crate) fn parse_as(text: impl AsRef<[u8]>, simulate: Option<Arch>) -> Result<Box<Deployment>, String> {
    let mut deployment = Box::new(Deployment::new());
    match parse_into(text.as_ref(), simulate, &mut deployment) {
        Ok(()) => Ok(deployment),
        Err(error) => {
            assert!(deployment.models().is_empty(), "a refused deployment has no models");
            Err(error.to_string())
        }
    }
}

/// Parses a text.
pub(crate) fn parse(text: impl AsRef<[u8]>) -> Result<Box<Deployment>, String> {
    parse_as(text, None)
}

/// [`BASE`] with one piece replaced.
pub(crate) fn with(from: &str, to: &str) -> String {
    assert_eq!(BASE.matches(from).count(), 1, "{from:?} is not one piece of the base");
    BASE.replace(from, to)
}

/// Checks that the base with one piece replaced is refused with this message.
#[track_caller]
pub(crate) fn refused(from: &str, to: &str, message: &str) {
    refused_text(with(from, to), message);
}

/// Checks that a text is refused with this message.
#[track_caller]
pub(crate) fn refused_text(text: impl AsRef<[u8]>, message: &str) {
    assert_eq!(parse(text).err().as_deref(), Some(message));
}
