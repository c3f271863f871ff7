//! A streaming JSON writer over [`fmt::Write`]: no buffer, no depth limit.
//!
//! The writer puts the commas and the escapes; the caller nests calls properly. One bit of state is enough for that: whether
//! a comma is due before the next value.

use core::fmt::{self, Write};

/// Writes one JSON value, piece by piece, without white space.
pub struct JsonWriter<'w> {
    out: &'w mut dyn Write,
    comma: bool,
}

impl<'w> JsonWriter<'w> {
    /// A writer in front of its first value.
    pub fn new(out: &'w mut dyn Write) -> Self {
        Self { out, comma: false }
    }

    fn separate(&mut self) -> fmt::Result {
        if core::mem::replace(&mut self.comma, true) { self.out.write_char(',') } else { Ok(()) }
    }

    fn open(&mut self, bracket: char) -> fmt::Result {
        self.separate()?;
        self.comma = false;
        self.out.write_char(bracket)
    }

    fn close(&mut self, bracket: char) -> fmt::Result {
        self.comma = true;
        self.out.write_char(bracket)
    }

    /// Opens an object.
    ///
    /// # Errors
    /// The sink refused the text.
    pub fn begin_object(&mut self) -> fmt::Result {
        self.open('{')
    }

    /// Closes an object.
    ///
    /// # Errors
    /// The sink refused the text.
    pub fn end_object(&mut self) -> fmt::Result {
        self.close('}')
    }

    /// Opens an array.
    ///
    /// # Errors
    /// The sink refused the text.
    pub fn begin_array(&mut self) -> fmt::Result {
        self.open('[')
    }

    /// Closes an array.
    ///
    /// # Errors
    /// The sink refused the text.
    pub fn end_array(&mut self) -> fmt::Result {
        self.close(']')
    }

    /// Writes the key of the value that follows.
    ///
    /// # Errors
    /// The sink refused the text.
    pub fn key(&mut self, key: &str) -> fmt::Result {
        self.string(key)?;
        self.comma = false;
        self.out.write_char(':')
    }

    /// Writes a string.
    ///
    /// # Errors
    /// The sink refused the text.
    pub fn string(&mut self, text: &str) -> fmt::Result {
        self.display(format_args!("{text}"))
    }

    /// Writes the text of a value as a string.
    ///
    /// # Errors
    /// The sink refused the text.
    pub fn display(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        self.separate()?;
        self.out.write_char('"')?;
        Escape(self.out).write_fmt(text)?;
        self.out.write_char('"')
    }

    /// Writes a whole number.
    ///
    /// # Errors
    /// The sink refused the text.
    pub fn number(&mut self, number: u64) -> fmt::Result {
        self.separate()?;
        write!(self.out, "{number}")
    }

    /// Writes `null`.
    ///
    /// # Errors
    /// The sink refused the text.
    pub fn null(&mut self) -> fmt::Result {
        self.separate()?;
        self.out.write_str("null")
    }

    /// Writes `true` or `false`.
    ///
    /// # Errors
    /// The sink refused the text.
    pub fn boolean(&mut self, value: bool) -> fmt::Result {
        self.separate()?;
        self.out.write_str(if value { "true" } else { "false" })
    }
}

/// Puts an escape in the place of each character that must not stand in a JSON string.
struct Escape<'w>(&'w mut dyn Write);

impl Write for Escape<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        // All characters that need an escape are one byte long.
        let special = |byte: u8| byte < 0x20 || matches!(byte, b'"' | b'\\' | 0x7f);
        while let Some((plain, from)) = rest.bytes().position(special).and_then(|at| rest.split_at_checked(at)) {
            self.0.write_str(plain)?;
            match from.as_bytes().first().copied().unwrap_or_default() {
                b'"' => self.0.write_str("\\\"")?,
                b'\\' => self.0.write_str("\\\\")?,
                b'\n' => self.0.write_str("\\n")?,
                b'\t' => self.0.write_str("\\t")?,
                b'\r' => self.0.write_str("\\r")?,
                byte => write!(self.0, "\\u{byte:04x}")?,
            }
            rest = from.get(1..).unwrap_or_default();
        }
        self.0.write_str(rest)
    }
}
