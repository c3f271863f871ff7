//! Bounded, NUL-terminated text in fixed fields.

/// Longest prefix of `text` that has at most `limit` bytes and ends on a character boundary.
#[must_use]
pub(crate) fn prefix(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or_default()
}

/// Writes as much of `text` as fits, and a NUL behind it. Bytes after the NUL stay what they were.
#[inline]
pub(crate) fn put(field: &mut [u8], text: &str) {
    let Some(room) = field.len().checked_sub(1) else { return };
    let text = if text.len() <= room { text } else { prefix(text, room) };
    field[..text.len()].copy_from_slice(text.as_bytes());
    field[text.len()] = 0;
}

/// The text up to the first NUL; an invalid tail (a cut character) is left out.
#[must_use]
pub(crate) fn from_nul_terminated(field: &[u8]) -> &str {
    let bytes = field.split(|&byte| byte == 0).next().unwrap_or_default();
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => core::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_on_a_character_boundary() {
        let mut field = [0xFF_u8; 8];
        put(&mut field, "abcdef\u{e9}x");
        assert_eq!(from_nul_terminated(&field), "abcdef");
        put(&mut field, "");
        assert_eq!(from_nul_terminated(&field), "");
        assert_eq!(from_nul_terminated(b"ab\xc3"), "ab");
        assert_eq!(from_nul_terminated(b"full"), "full");
    }
}
