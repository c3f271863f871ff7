//! What is wrong with a deployment, and where.

use core::fmt::{self, Display};

use nrt_core::arch::Arch;

use super::reader::Place;
use crate::quote::Quote;
use nrt_core::Usage;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The text has something else in this place.
    Found,
    /// A number is outside its range.
    OutOfRange,
    /// The object has no such key.
    UnknownKey,
    /// The object lacks a key.
    Missing,
    /// A key appears a second time in its object.
    GivenTwice,
    /// A name appears a second time.
    NameTaken,
    /// A name or path has too many bytes.
    TooLong,
    /// An array has too many entries.
    TooMany,
    /// An array has no entry.
    Empty,
    /// The value does not go with another key of the object.
    Conflict,
    /// The text ends inside a string.
    UnterminatedString,
    /// A string holds an escape that JSON does not have, or half of a surrogate pair.
    BadEscape,
    /// The text is not UTF-8.
    NotUtf8,
    /// The text begins with a byte order mark.
    ByteOrderMark,
}

/// What should have been in the place of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// What the words say.
    Text(&'static str),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A number from the first to the second, both included.
    Between(u64, u64),
    /// At most this many bytes.
    AtMostBytes(usize),
    /// At most this many entries.
    AtMostEntries(usize),
    /// A logical core of the machine that the deployment describes.
    LogicalCore {
        /// Logical cores of all devices.
        count: u32,
        /// Devices.
        devices: u32,
        /// Cores of a device.
        cores: u32,
        /// Logical core size.
        size: u32,
    },
    /// A logical core size of this architecture.
    LogicalCoreSize(Arch),
    /// 1 or this logical core size.
    Subgraphs(u32),
    /// An HBM channel of a device of this architecture.
    Channel(Arch),
    /// Device memory, since this usage cannot be in host memory.
    DeviceMemory(Usage),
}

/// A fault of a deployment text. [`Display`] gives the whole message on one line, for example
/// `model "generate", key "vnc" (line 5, column 14): 4 is out of range, expected less than 4 (1 device x 8 cores / logical
/// core size 2)`.
#[derive(Clone, Copy, Debug)]
pub struct DeploymentError<'t> {
    pub(super) text: &'t [u8],
    pub(super) offset: u32,
    pub(super) place: Place,
    pub(super) problem: Problem,
    pub(super) expected: Expected,
}

impl DeploymentError<'_> {
    /// Line of the fault, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        1 + self.before().iter().filter(|byte| **byte == b'\n').count()
    }

    /// Column of the fault in characters, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        let line = self.before().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        1 + line.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
    }

    /// The kind of the fault.
    #[must_use]
    pub fn problem(&self) -> Problem {
        self.problem
    }

    /// What should have been there.
    #[must_use]
    pub fn expected(&self) -> Expected {
        self.expected
    }

    /// Position of the faulty model in the deployment, from 0; `None` for a fault outside the models.
    #[must_use]
    pub fn model(&self) -> Option<usize> {
        self.place.model.map(|(index, _)| usize::from(index))
    }

    fn before(&self) -> &[u8] {
        &self.text[..(self.offset as usize).min(self.text.len())]
    }

    /// The text from the fault on.
    fn rest(&self) -> &[u8] {
        &self.text[(self.offset as usize).min(self.text.len())..]
    }

    /// `model "generate", key "regions[1].usage"`.
    fn write_place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { model, list, entry, key } = self.place;
        let unknown = self.problem == Problem::UnknownKey;
        let in_key = list.is_some() || !key.is_empty() || unknown;
        if let Some((index, at)) = model {
            match model_name(self.text.get(at as usize..).unwrap_or_default()) {
                Some(bytes) => write!(f, "model \"{}\"", Quote { bytes, limit: 63 })?,
                None => write!(f, "models[{index}]")?,
            }
            if in_key {
                f.write_str(", ")?;
            }
        }
        if !in_key {
            return if model.is_none() { f.write_str("deployment") } else { Ok(()) };
        }
        f.write_str("key \"")?;
        if let Some(list) = list {
            f.write_str(list)?;
            if let Some(entry) = entry {
                write!(f, "[{entry}]")?;
            }
            if unknown || !key.is_empty() {
                f.write_str(".")?;
            }
        }
        if unknown { write!(f, "{}\"", Quote { bytes: string_body(self.rest()), limit: 40 }) } else { write!(f, "{key}\"") }
    }

    fn write_problem(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Found(self.rest());
        match self.problem {
            Problem::Found => write!(f, "found {found}"),
            Problem::OutOfRange => write!(f, "{found} is out of range"),
            Problem::UnknownKey => f.write_str("unknown key"),
            Problem::Missing => f.write_str("missing"),
            Problem::GivenTwice => f.write_str("given a second time"),
            Problem::NameTaken => write!(f, "{found} is taken"),
            Problem::TooLong => write!(f, "{found} is too long"),
            Problem::TooMany => f.write_str("one entry too many"),
            Problem::Empty => f.write_str("found an empty array"),
            Problem::Conflict => write!(f, "{found} is not possible here"),
            Problem::UnterminatedString => f.write_str("the text ends inside this string"),
            Problem::BadEscape => write!(f, "found the escape {}", Quote { bytes: escape(self.rest()), limit: 12 }),
            Problem::NotUtf8 => {
                write!(f, "found the byte {}", Quote { bytes: self.rest().get(..1).unwrap_or_default(), limit: 1 })
            }
            Problem::ByteOrderMark => f.write_str("found a byte order mark"),
        }
    }
}

impl Display for DeploymentError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_place(f)?;
        write!(f, " (line {}, column {}): ", self.line(), self.column())?;
        self.write_problem(f)?;
        write!(f, ", expected {}", self.expected)
    }
}

impl core::error::Error for DeploymentError<'_> {}

impl Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Text(text) => f.write_str(text),
            Self::OneOf(words) => {
                for (index, word) in words.iter().enumerate() {
                    let joint = match index {
                        0 => "",
                        _ if index + 1 == words.len() => " or ",
                        _ => ", ",
                    };
                    f.write_str(joint)?;
                    f.write_str(word)?;
                }
                Ok(())
            }
            Self::Between(low, high) => write!(f, "{low} to {high}"),
            Self::AtMostBytes(bytes) => write!(f, "at most {bytes} bytes"),
            Self::AtMostEntries(entries) => write!(f, "at most {entries} entries"),
            Self::LogicalCore { count, devices, cores, size } => {
                let plural = if devices == 1 { "" } else { "s" };
                write!(f, "less than {count} ({devices} device{plural} x {cores} cores / logical core size {size})")
            }
            Self::LogicalCoreSize(Arch::Sunda) => f.write_str("1 (on sunda)"),
            Self::LogicalCoreSize(arch) => write!(f, "1 or 2 (on {arch})"),
            Self::Subgraphs(1) => f.write_str("1 (the logical core size)"),
            Self::Subgraphs(size) => write!(f, "1 or {size} (the logical core size)"),
            Self::Channel(arch) => {
                let count = arch.channels_per_device();
                write!(f, "less than {count} (a device of {arch} has {count} HBM channels)")
            }
            Self::DeviceMemory(usage) => write!(f, "device (usage {} cannot be in host memory)", usage.name()),
        }
    }
}

/// The token at the start of a text, as a message shows it.
struct Found<'t>(&'t [u8]);

impl Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = match self.0.first() {
            None => return f.write_str("the end of the text"),
            Some(b'{') => return f.write_str("an object"),
            Some(b'[') => return f.write_str("an array"),
            Some(b'"') => return write!(f, "\"{}\"", Quote { bytes: string_body(self.0), limit: 40 }),
            Some(_) => self.0,
        };
        let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
        match bytes.iter().position(|byte| !inside(byte)).unwrap_or(bytes.len()) {
            0 => write!(f, "`{}`", Quote { bytes: first_character(bytes), limit: 4 }),
            length => write!(f, "{}", Quote { bytes: &bytes[..length], limit: 40 }),
        }
    }
}

/// The raw text of the name in the model object at the start of a text, or `None` when there is none to be found.
///
/// A message wants the name even if the fault stands before it, so this looks for it by itself, and in broken text too.
fn model_name(text: &[u8]) -> Option<&[u8]> {
    let mut depth = 0u32;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let body = string_body(&text[at..]);
                at += body.len() + 1;
                let value = text.get(at + 1..)?.trim_ascii_start().strip_prefix(b":");
                if let Some(value) = value.filter(|_| depth == 1 && body == b"name") {
                    let value = value.trim_ascii_start();
                    return value.starts_with(b"\"").then(|| string_body(value)).filter(|name| !name.is_empty());
                }
            }
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return None;
        }
    }
    None
}

/// The bytes of the first character.
fn first_character(bytes: &[u8]) -> &[u8] {
    let next = bytes.iter().skip(1).position(|byte| byte & 0xc0 != 0x80);
    &bytes[..next.map_or(bytes.len(), |position| position + 1)]
}

/// What is between the quotes of the string at the start of a text, escapes as written.
fn string_body(text: &[u8]) -> &[u8] {
    let body = text.strip_prefix(b"\"").unwrap_or(text);
    let mut escaped = false;
    let end = body.iter().position(|byte| {
        let closing = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closing
    });
    &body[..end.unwrap_or(body.len())]
}

/// The escape at the start of a text: a backslash and what belongs to it.
fn escape(text: &[u8]) -> &[u8] {
    let length = if text.get(1) == Some(&b'u') { 6 } else { 2 };
    let line = text.iter().position(|byte| matches!(byte, b'"' | b'\n'));
    &text[..length.min(line.unwrap_or(text.len()).max(2)).min(text.len())]
}
