//! Typed values out of the JSON text, with the place of each for the message.

use nanojson::{ParseError, ParseErrorKind, Parser};

use super::error::{DeploymentError, Expected, Problem};
use super::{MAX_NAME_BYTES, Name};

/// Where in the deployment the reader is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Index of the model and offset of its object.
    pub(super) model: Option<(u8, u32)>,
    /// Key of the model whose value is an array or object.
    pub(super) list: Option<&'static str>,
    /// Index in that array.
    pub(super) entry: Option<u8>,
    /// Key, or empty.
    pub(super) key: &'static str,
}

/// The keys of an object.
pub(super) struct Keys {
    /// All of them, those without a default first.
    pub(super) names: &'static [&'static str],
    /// How many have no default.
    pub(super) required: usize,
}

/// An object that is being read.
pub(super) struct Object {
    keys: &'static Keys,
    seen: u32,
    /// Offset of its brace.
    pub(super) at: u32,
}

pub(super) struct Reader<'t, 's> {
    text: &'t [u8],
    parser: Parser<'t, 's>,
    pub(super) place: Place,
}

type Result<'t, T> = core::result::Result<T, DeploymentError<'t>>;

const WHOLE_NUMBER: &str = "a whole number from 0 on";

impl<'t, 's> Reader<'t, 's> {
    pub(super) fn new(text: &'t [u8], scratch: &'s mut [u8]) -> Self {
        Self { text, parser: Parser::new(text, scratch), place: Place::default() }
    }

    /// Offset of the value that was read last.
    pub(super) fn at(&self) -> u32 {
        self.parser.error_offset() as u32
    }

    /// Offset of the key that was read last.
    pub(super) fn key_at(&self) -> u32 {
        self.parser.unknown_field().offset as u32
    }

    /// A fault at an offset, in the present place.
    pub(super) fn fault(&self, offset: u32, problem: Problem, expected: Expected) -> DeploymentError<'t> {
        DeploymentError { text: self.text, offset, place: self.place, problem, expected }
    }

    /// Opens an object.
    pub(super) fn object(&mut self, keys: &'static Keys) -> Result<'t, Object> {
        let (text, place) = (self.text, self.place);
        self.parser.object_begin().map_err(|error| syntax(text, place, error, Some("an object")))?;
        Ok(Object { keys, seen: 0, at: self.at() })
    }

    /// Reads the next key of the object, or closes it and looks for keys that are missing.
    pub(super) fn key(&mut self, object: &mut Object) -> Result<'t, Option<&'static str>> {
        self.place.key = "";
        let (text, place) = (self.text, self.place);
        let names = object.keys.names;
        let known = self.parser.member_decoded().map_err(|error| syntax(text, place, error, None))?;
        let Some(index) = known.map(|key| names.iter().position(|name| *name == key)) else {
            self.parser.object_end().map_err(|error| syntax(text, place, error, None))?;
            let absent = (0..object.keys.required).find(|index| object.seen & (1 << index) == 0);
            let Some(absent) = absent else { return Ok(None) };
            self.place.key = names[absent];
            return Err(self.fault(object.at, Problem::Missing, Expected::Text("this key in the object that begins here")));
        };
        let Some(index) = index else {
            return Err(self.fault(self.key_at(), Problem::UnknownKey, Expected::OneOf(names)));
        };
        self.place.key = names[index];
        if object.seen & (1 << index) != 0 {
            return Err(self.fault(self.key_at(), Problem::GivenTwice, Expected::Text("each key once")));
        }
        object.seen |= 1 << index;
        Ok(Some(names[index]))
    }

    /// Opens an array.
    pub(super) fn array(&mut self) -> Result<'t, ()> {
        let (text, place) = (self.text, self.place);
        self.parser.array_begin().map_err(|error| syntax(text, place, error, Some("an array")))
    }

    /// Whether the array has another entry; closes it if not.
    ///
    /// `count` entries have been read, and `limit` are allowed.
    pub(super) fn entry(&mut self, count: usize, limit: usize) -> Result<'t, bool> {
        let (text, place) = (self.text, self.place);
        let start = self.at();
        if !self.parser.array_item().map_err(|error| syntax(text, place, error, None))? {
            return match self.parser.array_end() {
                Err(error) => Err(syntax(text, place, error, None)),
                Ok(()) => Ok(false),
            };
        }
        if count == limit {
            let skipped = text[self.at() as usize..].iter().position(|byte| !byte.is_ascii_whitespace() && *byte != b',');
            let offset = self.at() + skipped.unwrap_or(0) as u32;
            return Err(self.fault(offset.max(start), Problem::TooMany, Expected::AtMostEntries(limit)));
        }
        Ok(true)
    }

    /// Reads a string.
    pub(super) fn string(&mut self, limit: usize, wanted: &'static str) -> Result<'t, &str> {
        let (text, place) = (self.text, self.place);
        self.parser.string().map_err(|error| match error.kind {
            ParseErrorKind::StringBufferOverflow => {
                let offset = error.offset as u32;
                DeploymentError { text, offset, place, problem: Problem::TooLong, expected: Expected::AtMostBytes(limit) }
            }
            _ => syntax(text, place, error, Some(wanted)),
        })
    }

    /// Reads text of 1 to `limit` bytes without control characters and hands it to `store`, which says whether it fits.
    fn text(&mut self, limit: usize, wanted: &'static str, store: &mut dyn FnMut(&str) -> bool) -> Result<'t, ()> {
        let value = self.string(limit, wanted)?;
        let (problem, expected) = if value.is_empty() || value.chars().any(char::is_control) {
            (Problem::Found, Expected::Text(wanted))
        } else if store(value) {
            return Ok(());
        } else {
            (Problem::TooLong, Expected::AtMostBytes(limit))
        };
        Err(self.fault(self.at(), problem, expected))
    }

    /// Reads a name.
    pub(super) fn name(&mut self, name: &mut Name) -> Result<'t, ()> {
        name.clear();
        let wanted = "a name: a string, not empty, without control characters";
        self.text(MAX_NAME_BYTES, wanted, &mut |value| name.push_str(value).is_ok())
    }

    /// Reads a path.
    pub(super) fn path(&mut self, path: &mut super::Path) -> Result<'t, ()> {
        path.clear();
        let wanted = "a path: a string, not empty, without control characters";
        self.text(super::MAX_PATH_BYTES, wanted, &mut |value| path.push_str(value).is_ok())
    }

    /// Reads one of some words and returns its position among them.
    pub(super) fn choice(&mut self, words: &'static [&'static str]) -> Result<'t, usize> {
        let value = self.string(MAX_NAME_BYTES, "a string")?;
        let position = words.iter().position(|word| *word == value);
        position.ok_or_else(|| self.fault(self.at(), Problem::Found, Expected::OneOf(words)))
    }

    /// Reads a whole number from `low` to `high`.
    pub(super) fn number(&mut self, low: u64, high: u64) -> Result<'t, u64> {
        let (text, place) = (self.text, self.place);
        let digits = self.parser.number_str().map_err(|error| syntax(text, place, error, Some(WHOLE_NUMBER)))?;
        if digits.bytes().any(|byte| !byte.is_ascii_digit()) {
            return Err(self.fault(self.at(), Problem::Found, Expected::Text(WHOLE_NUMBER)));
        }
        let value = digits.parse().ok().filter(|value| (low..=high).contains(value));
        value.ok_or_else(|| self.fault(self.at(), Problem::OutOfRange, Expected::Between(low, high)))
    }

    /// Checks that nothing follows.
    pub(super) fn finish(&mut self) -> Result<'t, ()> {
        self.place = Place::default();
        let (text, place) = (self.text, self.place);
        self.parser.finish().map_err(|error| syntax(text, place, error, Some("the end of the text")))
    }
}

/// Turns a fault of the parser into ours; `wanted` names the kind of value for a token that is sound but of another kind.
fn syntax<'t>(text: &'t [u8], place: Place, error: ParseError, wanted: Option<&'static str>) -> DeploymentError<'t> {
    let mut offset = error.offset.min(text.len());
    let before = text[..offset].trim_ascii_end();
    let (problem, expected) = match error.kind {
        ParseErrorKind::UnexpectedEof if text.get(offset) == Some(&b'"') => {
            (Problem::UnterminatedString, Expected::Text("a closing quote"))
        }
        ParseErrorKind::InvalidEscape(_) => {
            // The parser points behind the backslash, or behind the first half of a surrogate pair: at most six bytes on.
            let from = offset.saturating_sub(6);
            offset = from + text[from..offset].iter().rposition(|byte| *byte == b'\\').unwrap_or(0);
            let known = "\\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u and four hexadecimal digits, surrogates in pairs";
            (Problem::BadEscape, Expected::Text(known))
        }
        ParseErrorKind::StringBufferOverflow => (Problem::TooLong, Expected::AtMostBytes(MAX_NAME_BYTES)),
        ParseErrorKind::UnexpectedToken { expected, got } => {
            let expected = match (got, wanted) {
                ("leading zero", _) => "a number without leading zeros",
                ("invalid number", _) => "digits",
                ("unescaped control character", _) => "an escape such as \\n for a control character in a string",
                (_, Some(wanted)) => wanted,
                (_, None) if expected == "string" => "a key in quotes",
                (_, None) if expected == ":" || (expected == "value" && before.ends_with(b"\"")) => "`:` after the key",
                (_, None) if expected == "value" => "a key in quotes",
                (_, None) => expected,
            };
            (Problem::Found, Expected::Text(expected))
        }
        // The text ends: in an escape, or where the next key of an object would begin.
        _ if before.ends_with(b"\\") || before.ends_with(b"\\u") => (Problem::Found, Expected::Text("the rest of a string")),
        _ if before.ends_with(b"{") => (Problem::Found, Expected::Text("a key in quotes or `}`")),
        _ => (Problem::Found, Expected::Text(wanted.unwrap_or("`,` or `}`"))),
    };
    DeploymentError { text, offset: offset as u32, place, problem, expected }
}
