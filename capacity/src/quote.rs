//! Untrusted bytes inside a message: nothing that a terminal would act on gets through.

use core::fmt::{self, Write as _};

/// Shows at most `limit` characters of `bytes`; control characters and broken UTF-8 appear as `\xNN`, a cut as `...`.
pub struct Quote<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Most characters.
    pub limit: usize,
}

impl fmt::Display for Quote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.limit;
        for chunk in self.bytes.utf8_chunks() {
            for character in chunk.valid().chars() {
                if left == 0 {
                    return f.write_str("...");
                }
                left -= 1;
                if character.is_control() {
                    write!(f, "\\x{:02x}", character as u32)?;
                } else {
                    f.write_char(character)?;
                }
            }
            for byte in chunk.invalid() {
                if left == 0 {
                    return f.write_str("...");
                }
                left -= 1;
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}
