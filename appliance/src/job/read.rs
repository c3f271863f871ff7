//! The deployment: its text, read into static memory, and what the parser makes of it.

use core::ffi::CStr;

use nrt_core::arch::Arch;
use nrt_linux::file::{File, PathBuffer};

use super::say::{Reason, say};
use super::statics::{DEPLOYMENT, TEXT};
use crate::cli::{Exit, Run};
use crate::deployment::{DEFAULT_DEPLOYMENT, Deployment, parse_into};
use crate::quote::Quote;

/// Longest part of a path that a message shows, in characters.
const SHOWN: usize = 200;

/// Reads and checks the deployment that the command line names, or the one built in, for `arch` instead of its own
/// architecture if there is one. `path` becomes its path, empty for the one built in. Can be called once.
///
/// # Errors
/// [`Exit::Usage`] for a file that cannot be read or a text that is refused; the fault has been reported.
#[inline(never)]
pub(super) fn deployment(run: &Run<'_>, arch: Option<Arch>, path: &mut PathBuffer) -> Result<&'static Deployment, Exit> {
    let deployment = DEPLOYMENT.take();
    let (name, text): (&[u8], &[u8]) = match run.deployment {
        None => (b"the deployment built in", DEFAULT_DEPLOYMENT.as_bytes()),
        Some(name) => {
            let unreadable = |errno| {
                say(format_args!("{}: {}", Quote { bytes: name, limit: SHOWN }, Reason(errno)));
                Exit::Usage
            };
            *path = PathBuffer::new(name).map_err(unreadable)?;
            (name, read(path.as_c_str(), TEXT.take()).map_err(unreadable)?)
        }
    };
    parse_into(text, arch, deployment).map_err(|error| {
        say(format_args!("{}: {error}", Quote { bytes: name, limit: SHOWN }));
        Exit::Usage
    })?;
    Ok(deployment)
}

/// The content of a file, or as much of it as the buffer holds.
fn read<'t>(path: &CStr, text: &'t mut [u8]) -> Result<&'t [u8], nrt_linux::Errno> {
    let file = File::open(path)?;
    let mut used = 0;
    while used < text.len() {
        match file.read_at(&mut text[used..], used as u64)? {
            0 => break,
            count => used += count,
        }
    }
    Ok(&text[..used])
}
