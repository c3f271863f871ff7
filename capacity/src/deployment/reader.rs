//! Typed values out of the JSON text, with the place of each for the message.

use nanojson::{ParseError, ParseErrorKind, Parser};

use super::error::{DeploymentError, Expected, Problem};
use super::{MAX_NAME_BYTES, MAX_PATH_BYTES, Name, Path};

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

/// The text was refused; the reader holds the fault. A marker of no size keeps the many early returns small.
pub(super) struct Refused;

pub(super) type Result<T> = core::result::Result<T, Refused>;

pub(super) struct Reader<'t, 's> {
    text: &'t [u8],
    parser: Parser<'t, 's>,
    pub(super) place: Place,
    /// The fault, once the text was refused.
    pub(super) error: DeploymentError<'t>,
}

const WHOLE_NUMBER: &str = "a whole number from 0 on";

impl<'t, 's> Reader<'t, 's> {
    pub(super) fn new(text: &'t [u8], scratch: &'s mut [u8]) -> Self {
        let place = Place::default();
        let (problem, expected) = (Problem::Found, Expected::Text("a deployment"));
        let error = DeploymentError { text, offset: 0, place, problem, expected };
        Self { text, parser: Parser::new(text, scratch), place, error }
    }

    /// Offset of the value that was read last.
    pub(super) fn at(&self) -> u32 {
        self.parser.error_offset() as u32
    }

    /// Offset of the key that was read last.
    pub(super) fn key_at(&self) -> u32 {
        self.parser.unknown_field().offset as u32
    }

    /// Refuses the text for a fault at an offset, in the present place.
    pub(super) fn refuse<T>(&mut self, offset: u32, problem: Problem, expected: Expected) -> Result<T> {
        self.error = DeploymentError { text: self.text, offset, place: self.place, problem, expected };
        Err(Refused)
    }

    /// Refuses the text if the parser does; `wanted` is the kind of value that was asked for.
    fn parsed<T>(&mut self, result: core::result::Result<T, ParseError>, wanted: Option<&'static str>) -> Result<T> {
        result.map_err(|error| {
            self.error = syntax(self.text, self.place, &error, wanted);
            Refused
        })
    }

    /// Opens an object.
    pub(super) fn object(&mut self, keys: &'static Keys) -> Result<Object> {
        let result = self.parser.object_begin();
        self.parsed(result, Some("an object"))?;
        Ok(Object { keys, seen: 0, at: self.at() })
    }

    /// Reads the next key of the object, or closes it and looks for keys that are missing.
    pub(super) fn key(&mut self, object: &mut Object) -> Result<Option<&'static str>> {
        self.place.key = "";
        let names = object.keys.names;
        let result = self.parser.member_decoded();
        let result = result.map(|key| key.map(|key| names.iter().position(|name| *name == key)));
        let Some(index) = self.parsed(result, None)? else {
            let result = self.parser.object_end();
            self.parsed(result, None)?;
            let absent = (0..object.keys.required).find(|index| object.seen & (1 << index) == 0);
            let Some(absent) = absent else { return Ok(None) };
            self.place.key = names[absent];
            return self.refuse(object.at, Problem::Missing, Expected::Text("this key in the object that begins here"));
        };
        let Some(index) = index else {
            return self.refuse(self.key_at(), Problem::UnknownKey, Expected::OneOf(names));
        };
        self.place.key = names[index];
        if object.seen & (1 << index) != 0 {
            return self.refuse(self.key_at(), Problem::GivenTwice, Expected::Text("each key once"));
        }
        object.seen |= 1 << index;
        Ok(Some(names[index]))
    }

    /// Opens an array.
    pub(super) fn array(&mut self) -> Result<()> {
        let result = self.parser.array_begin();
        self.parsed(result, Some("an array"))
    }

    /// Whether the array has another entry; closes it if not.
    ///
    /// `count` entries have been read, and `limit` are allowed.
    pub(super) fn entry(&mut self, count: usize, limit: usize) -> Result<bool> {
        let result = self.parser.array_item();
        if !self.parsed(result, None)? {
            let result = self.parser.array_end();
            return self.parsed(result, None).map(|()| false);
        }
        if count == limit {
            // The parser stands at the comma in front of the entry.
            let rest = &self.text[self.at() as usize..];
            let blanks = rest.iter().position(|byte| !byte.is_ascii_whitespace() && *byte != b',').unwrap_or(0);
            return self.refuse(self.at() + blanks as u32, Problem::TooMany, Expected::AtMostEntries(limit));
        }
        Ok(true)
    }

    /// Reads a string and hands it to `take`, whose answer it passes on.
    fn string(&mut self, limit: usize, wanted: &'static str, take: &mut dyn FnMut(&str) -> bool) -> Result<bool> {
        let result = self.parser.string().map(take);
        self.parsed(result, Some(wanted)).inspect_err(|Refused| {
            if self.error.problem == Problem::TooLong {
                self.error.expected = Expected::AtMostBytes(limit);
            }
        })
    }

    /// Reads text of 1 to `limit` bytes without control characters and hands it to `store`, which says whether it fits.
    fn text(&mut self, limit: usize, wanted: &'static str, store: &mut dyn FnMut(&str) -> bool) -> Result<()> {
        let mut fits = true;
        let sound = self.string(limit, wanted, &mut |value| {
            let sound = !value.is_empty() && !value.chars().any(char::is_control);
            fits = sound && store(value);
            sound
        })?;
        if !sound {
            self.refuse(self.at(), Problem::Found, Expected::Text(wanted))
        } else if !fits {
            self.refuse(self.at(), Problem::TooLong, Expected::AtMostBytes(limit))
        } else {
            Ok(())
        }
    }

    /// Reads a name.
    pub(super) fn name(&mut self, name: &mut Name) -> Result<()> {
        name.clear();
        let wanted = "a name: a string, not empty, without control characters";
        self.text(MAX_NAME_BYTES, wanted, &mut |value| name.push_str(value).is_ok())
    }

    /// Reads a path.
    pub(super) fn path(&mut self, path: &mut Path) -> Result<()> {
        path.clear();
        let wanted = "a path: a string, not empty, without control characters";
        self.text(MAX_PATH_BYTES, wanted, &mut |value| path.push_str(value).is_ok())
    }

    /// Reads one of some words and returns its position among them.
    pub(super) fn choice(&mut self, words: &'static [&'static str]) -> Result<usize> {
        let mut position = None;
        self.string(MAX_NAME_BYTES, "a string", &mut |value| {
            position = words.iter().position(|word| *word == value);
            true
        })?;
        match position {
            Some(position) => Ok(position),
            None => self.refuse(self.at(), Problem::Found, Expected::OneOf(words)),
        }
    }

    /// Reads a whole number from `low` to `high`.
    pub(super) fn number(&mut self, low: u64, high: u64) -> Result<u64> {
        let result = self.parser.number_str();
        let digits = self.parsed(result, Some(WHOLE_NUMBER))?;
        if digits.bytes().any(|byte| !byte.is_ascii_digit()) {
            return self.refuse(self.at(), Problem::Found, Expected::Text(WHOLE_NUMBER));
        }
        match digits.parse() {
            Ok(value) if (low..=high).contains(&value) => Ok(value),
            _ => self.refuse(self.at(), Problem::OutOfRange, Expected::Between(low, high)),
        }
    }

    /// Checks that nothing follows.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.place = Place::default();
        let result = self.parser.finish();
        self.parsed(result, Some("the end of the text"))
    }
}

/// Turns a fault of the parser into ours; `wanted` names the kind of value for a token that is sound but of another kind.
fn syntax<'t>(text: &'t [u8], place: Place, error: &ParseError, wanted: Option<&'static str>) -> DeploymentError<'t> {
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
