//! Bounded, NUL-terminated text in fixed fields.

/// Longest prefix of `text` that has at most `limit` bytes and ends on a character boundary.
#[must_use]
pub(crate) fn prefix(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or_default()
}

/// Writes as much of `text` as fits, and a NUL behind it. Bytes after the NUL stay what they were.
pub(crate) fn put(field: &mut [u8], text: &str) {
    put_here(field, text);
}

/// [`put`] without a call, where every allocation passes.
#[inline(always)]
pub(crate) fn put_here(field: &mut [u8], text: &str) {
    let Some(room) = field.len().checked_sub(1) else { return };
    let text = if text.len() <= room { text } else { prefix(text, room) };
    copy_short(&mut field[..text.len()], text.as_bytes());
    field[text.len()] = 0;
}

/// Copies some dozen bytes into a place of the same length.
///
/// # Cost
/// Two pieces that may overlap, or several; no call, as `memcpy` would be for a length that is known at run time only.
#[inline]
fn copy_short(to: &mut [u8], from: &[u8]) {
    match from.len() {
        0..8 => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
        8..16 => copy_ends::<8>(to, from),
        16..=32 => copy_ends::<16>(to, from),
        _ => {
            for (to, from) in to.chunks_exact_mut(16).zip(from.chunks_exact(16)) {
                to.copy_from_slice(from);
            }
            copy_ends::<16>(to, from);
        }
    }
}

/// Copies the first and the last `N` bytes; there are as many.
#[inline]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(to), Some(first)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        *to = *first;
    }
    if let (Some(to), Some(last)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
        *to = *last;
    }
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
    fn text_of_every_length_arrives_and_nothing_else_is_written() {
        let text: std::string::String = (0..80).map(|n| char::from(b'!' + n)).collect();
        for length in 0..=text.len() {
            let mut field = [0xEE_u8; 96];
            put(&mut field[4..88], &text[..length]);
            assert_eq!(from_nul_terminated(&field[4..88]), &text[..length]);
            assert!(field[..4].iter().chain(&field[5 + length..]).all(|&byte| byte == 0xEE), "{length}");
        }
    }

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
