//! Looking at a device node, without using it.

use core::ffi::CStr;
use core::fmt;

use rustix::fs::{FileType, Mode, OFlags, open, stat};
use rustix::io::Errno;

/// What is found at the path of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// Nothing.
    Absent,
    /// Something that is not a character device.
    NotADevice,
    /// A device, or a path, that the system does not let this process open.
    Refused(Errno),
    /// A device that can be opened.
    Opens,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("there is no such device"),
            Self::NotADevice => f.write_str("this is not a character device"),
            Self::Refused(errno) => write!(f, "the device cannot be opened: {errno}"),
            Self::Opens => f.write_str("the device is present and can be opened"),
        }
    }
}

/// Tells what is at `path`. A device is opened for reading and writing and closed again.
#[must_use]
pub fn probe(path: &CStr) -> Node {
    let result = stat(path).and_then(|stat| {
        // Only a device is opened: opening a pipe would wait for its other end.
        if FileType::from_raw_mode(stat.st_mode) != FileType::CharacterDevice {
            return Ok(Node::NotADevice);
        }
        open(path, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK, Mode::empty())?;
        Ok(Node::Opens)
    });
    match result {
        Ok(node) => node,
        Err(Errno::NOENT | Errno::NOTDIR) => Node::Absent,
        Err(errno) => Node::Refused(errno),
    }
}
