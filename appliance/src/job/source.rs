//! Where the weights come from: files, opened before anything is allocated, or seeds.

use core::cell::Cell;
use core::ffi::CStr;

use heapless::Vec;
use nrt_core::model::{ByteSource, SourceError};
use nrt_linux::file::{File, PathBuffer, ReadError};

use super::say::{Reason, Unread, say};
use crate::cli::Exit;
use crate::deployment::{Deployment, MAX_BYTES, MAX_MODELS, WeightSource};
use crate::quote::Quote;
use crate::weights;

/// The weights of one model.
pub(super) enum Source {
    /// In a file, read where and when they are needed.
    File {
        file: File,
        /// Size when it was opened. A file that becomes shorter is an error then; what is appended is not looked at.
        bytes: u64,
    },
    /// Computed.
    Seed { seed: u64, bytes: u64 },
}

impl Source {
    /// Bytes of the weights.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::File { bytes, .. } | Self::Seed { bytes, .. } => *bytes,
        }
    }

    /// Fills `buffer` from `offset` on.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        match self {
            Self::File { file, .. } => file.read_exact_at(buffer, offset),
            Self::Seed { seed, .. } => {
                weights::fill(buffer, *seed, offset);
                Ok(())
            }
        }
    }
}

/// A source during one load, with what it has to say about a failure.
pub(super) struct Reading<'a> {
    source: &'a Source,
    failure: Cell<Option<ReadError>>,
}

impl<'a> Reading<'a> {
    pub(super) const fn new(source: &'a Source) -> Self {
        Self { source, failure: Cell::new(None) }
    }

    /// Why the last read failed, if one did.
    pub(super) fn failure(&self) -> Option<ReadError> {
        self.failure.get()
    }
}

impl ByteSource for Reading<'_> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
        self.source.read(offset, buffer).map_err(|failure| {
            self.failure.set(Some(failure));
            "the weights file cannot be read"
        })
    }
}

/// Bytes of a seed, for what a deployment gives the size of but not the content.
pub(super) struct Seeded(pub(super) u64);

impl ByteSource for Seeded {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
        weights::fill(buffer, self.0, offset);
        Ok(())
    }
}

/// The weights of all models, in the order of the deployment.
pub(super) type Sources = Vec<Source, MAX_MODELS>;

/// Opens the weights files of all models and checks that they can be read. `path` is that of the deployment, empty for the
/// one built in.
///
/// # Errors
/// [`Exit::Usage`] when a file cannot be used; each one has been reported.
#[inline(never)]
pub(super) fn open_all(deployment: &Deployment, path: &CStr) -> Result<Sources, Exit> {
    let mut sources = Sources::new();
    let mut refused = false;
    for model in deployment.models() {
        let source = match model.weights() {
            WeightSource::Seed { seed, bytes } => Ok(Source::Seed { seed, bytes }),
            WeightSource::File(name) => open(path, name).inspect_err(|fault| {
                let name = Quote { bytes: name.as_bytes(), limit: 200 };
                let model = &model.name;
                match fault {
                    Fault::System(errno) => say_fault(model, &name, format_args!("{}", Reason(*errno))),
                    Fault::Read(error) => say_fault(model, &name, format_args!("{}", Unread(*error))),
                    Fault::Empty => say_fault(model, &name, format_args!("the file is empty, expected at least one byte")),
                    Fault::TooLarge(bytes) => {
                        say_fault(model, &name, format_args!("the file has {bytes} bytes, expected at most {MAX_BYTES}"));
                    }
                }
            }),
        };
        // There is room: a deployment has at most MAX_MODELS models.
        refused |= source.map(|source| sources.push(source).is_err()).unwrap_or(true);
    }
    if refused { Err(Exit::Usage) } else { Ok(sources) }
}

fn say_fault(model: &str, file: &Quote<'_>, text: core::fmt::Arguments<'_>) {
    say(format_args!("model \"{model}\", key \"weights.file\": {file}: {text}"));
}

/// Why a weights file cannot be used.
enum Fault {
    System(nrt_linux::Errno),
    Read(ReadError),
    Empty,
    TooLarge(u64),
}

#[inline(never)]
fn open(deployment: &CStr, name: &str) -> Result<Source, Fault> {
    let path = PathBuffer::beside(deployment, name.as_bytes()).map_err(Fault::System)?;
    let file = File::open(path.as_c_str()).map_err(Fault::System)?;
    let bytes = file.size().map_err(Fault::System)?;
    if bytes == 0 {
        return Err(Fault::Empty);
    }
    if bytes > MAX_BYTES {
        return Err(Fault::TooLarge(bytes));
    }
    for offset in [0, bytes - 1] {
        file.read_exact_at(&mut [0], offset).map_err(Fault::Read)?;
    }
    Ok(Source::File { file, bytes })
}
