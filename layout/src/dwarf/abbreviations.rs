//! How long a table of abbreviations is, before it is read, and which codes it has.

/// `DW_FORM_implicit_const`: the value stands in the table.
const IMPLICIT: u64 = 0x21;

/// Bytes of the table that starts there; all there are, if it has no end.
pub(crate) fn length(bytes: &[u8]) -> usize {
    read(bytes, |_| {})
}

/// The same; tells the code of each abbreviation.
pub(crate) fn read(bytes: &[u8], mut tell: impl FnMut(u64)) -> usize {
    let mut at = 0;
    let all = bytes.len();
    loop {
        // Number, tag, whether there are children; then pairs of attribute and form up to two zeroes.
        match number(bytes, &mut at) {
            None => return all,
            Some(0) => return at,
            Some(code) => tell(code),
        }
        if number(bytes, &mut at).is_none() {
            return all;
        }
        at += 1;
        loop {
            let (Some(name), Some(form)) = (number(bytes, &mut at), number(bytes, &mut at)) else { return all };
            if form == IMPLICIT && number(bytes, &mut at).is_none() {
                return all;
            }
            if (name, form) == (0, 0) {
                break;
            }
        }
    }
}

/// A LEB128 number; of larger ones than 63 bits only that there is one.
fn number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if shift < 63 {
            value |= u64::from(byte & 0x7f) << shift;
        }
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{length, read};

    #[test]
    fn tables_end_where_they_end() {
        // One with a constant in it of two bytes, then the end, then what is no part of it.
        let table = [1, 0x11, 1, 0x03, 0x08, 0x3e, 0x21, 0xff, 0x00, 0, 0, 0, 9, 9];
        assert_eq!(length(&table), 12);
        assert_eq!(length(&[0, 1, 2]), 1);
        for cut in 1..12 {
            assert_eq!(length(&table[..cut]), cut, "cut off at {cut}");
        }
        assert_eq!(length(&[]), 0);
        let mut codes = Vec::new();
        read(&[1, 0x24, 0, 0, 0, 0x80, 1, 0x24, 0, 0, 0, 0, 5], |code| codes.push(code));
        assert_eq!(codes, [1, 128]);
    }
}
