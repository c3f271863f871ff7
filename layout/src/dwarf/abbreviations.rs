//! Reads a table of abbreviations.

use gimli::{AttributeSpecification, DwAt, DwForm, DwTag, Error, ReaderOffsetId, Result};

/// What one abbreviation stands for.
pub(crate) struct Abbreviation<'s> {
    pub(crate) code: u64,
    pub(crate) tag: DwTag,
    pub(crate) children: bool,
    pub(crate) attributes: &'s [AttributeSpecification],
}

/// Tells each abbreviation of the table that `bytes` begin with; gives its length.
///
/// # Errors
/// A table that no compiler writes; [`Error::UnexpectedEof`] for one that goes on after `bytes`.
pub(crate) fn read(bytes: &[u8], mut tell: impl FnMut(&Abbreviation<'_>) -> Result<()>) -> Result<usize> {
    let mut table = Table { bytes, at: 0 };
    let mut attributes = Vec::new();
    loop {
        let code = table.number()?;
        if code == 0 {
            return Ok(table.at);
        }
        let tag = short(table.number()?).ok_or(Error::AbbreviationTagZero)?;
        let children = match table.byte()? {
            0 => false,
            1 => true,
            other => return Err(Error::InvalidAbbreviationChildren(gimli::DwChildren(other))),
        };
        attributes.clear();
        loop {
            let (name, form) = (table.number()?, table.number()?);
            if (name, form) == (0, 0) {
                break;
            }
            let name = DwAt(short(name).ok_or(Error::AttributeNameZero)?);
            let form = DwForm(short(form).ok_or(Error::AttributeFormZero)?);
            let value = if form == gimli::DW_FORM_implicit_const { Some(table.signed()?) } else { None };
            attributes.push(AttributeSpecification::new(name, form, value));
        }
        tell(&Abbreviation { code, tag: DwTag(tag), children, attributes: &attributes })?;
    }
}

/// A number that is not 0 and fits.
fn short(number: u64) -> Option<u16> {
    u16::try_from(number).ok().filter(|number| *number != 0)
}

struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Table<'_> {
    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or(Error::UnexpectedEof(ReaderOffsetId(0)))?;
        self.at += 1;
        Ok(byte)
    }

    /// The bits of a LEB128 number, how many there are, and its last byte.
    #[inline]
    fn bits(&mut self) -> Result<(u64, u32, u8)> {
        let (mut bits, mut count) = (0, 0);
        loop {
            let byte = self.byte()?;
            if count > 63 {
                return Err(Error::BadUnsignedLeb128);
            }
            bits |= u64::from(byte & 0x7f) << count;
            count += 7;
            if byte & 0x80 == 0 {
                return Ok((bits, count, byte));
            }
        }
    }

    fn number(&mut self) -> Result<u64> {
        Ok(self.bits()?.0)
    }

    fn signed(&mut self) -> Result<i64> {
        let (bits, count, last) = self.bits()?;
        let above = if last & 0x40 == 0 { 0 } else { u64::MAX.checked_shl(count).unwrap_or(0) };
        Ok((bits | above).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn tables_end_where_they_end() {
        // One with a constant in it of two bytes, then the end, then what is no part of it.
        let table = [1, 0x11, 1, 0x03, 0x08, 0x3e, 0x21, 0xff, 0x00, 0, 0, 0, 9, 9];
        assert_eq!(read(&table, |_| Ok(())), Ok(12));
        assert_eq!(read(&[0, 1, 2], |_| Ok(())), Ok(1));
        let unfinished = |bytes: &[u8]| matches!(read(bytes, |_| Ok(())), Err(gimli::Error::UnexpectedEof(_)));
        for cut in 0..12 {
            assert!(unfinished(&table[..cut]), "cut off at {cut}");
        }
        let mut told = Vec::new();
        let length = read(&[1, 0x24, 0, 0, 0, 0x80, 1, 0x2e, 1, 0x49, 0x13, 0x3e, 0x21, 0x7f, 0, 0, 0, 5], |one| {
            let values = one.attributes.iter().map(|attribute| (attribute.name().0, attribute.implicit_const_value()));
            told.push((one.code, one.tag.0, one.children, values.collect::<Vec<_>>()));
            Ok(())
        });
        assert_eq!(length, Ok(17));
        assert_eq!(told, [(1, 0x24, false, vec![]), (128, 0x2e, true, vec![(0x49, None), (0x3e, Some(-1))])]);
    }

    #[test]
    fn constants_have_up_to_64_bits() {
        for value in [0, 1, -1, 63, 64, -64, -65, 0x7fff_ffff, i64::MIN, i64::MAX, i64::MAX - 1, -0x4000_0000_0000_0000] {
            let (mut table, mut rest) = (vec![1, 0x28, 0, 0x1c, 0x21], value);
            while !(-64..64).contains(&rest) {
                table.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            table.extend([rest as u8 & 0x7f, 0, 0, 0]);
            let read = read(&table, |one| {
                assert_eq!(one.attributes[0].implicit_const_value(), Some(value));
                Ok(())
            });
            assert_eq!(read, Ok(table.len()));
        }
    }

    #[test]
    fn tables_that_no_compiler_writes_are_refused() {
        let wrong: [&[u8]; 6] = [
            &[1, 0, 0, 0, 0, 0],
            &[1, 0x24, 2, 0, 0, 0],
            &[1, 0x24, 0, 0, 3, 0, 0, 0],
            &[1, 0x24, 0, 3, 0, 0, 0, 0],
            &[1, 0x24, 0, 0xff, 0xff, 0xff, 1, 8, 0, 0, 0],
            &[1, 0x24, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 8, 0, 0, 0],
        ];
        for table in wrong {
            let told = read(table, |_| Ok(()));
            assert!(told.is_err() && !matches!(told, Err(gimli::Error::UnexpectedEof(_))), "{table:?}: {told:?}");
        }
    }
}
