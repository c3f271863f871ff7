//! Reads the section of units a few units at a time, so that a large file needs little memory and an early answer little
//! time.

use super::elf::{Elf, Numbers, Section};
use crate::error::Unreadable;

/// Size of the first part in bytes; the next ones are larger and larger.
const FIRST: u64 = 1 << 16;

/// Bytes in which the length of a unit stands, in either format.
const HEADER: usize = 12;

/// Size of the largest part in bytes, unless one unit is larger.
const LARGEST: u64 = 1 << 22;

/// Parts of the section, each of whole units.
pub(crate) struct Windows<'e> {
    elf: &'e Elf,
    section: &'e Section,
    at: u64,
    len: u64,
}

impl<'e> Windows<'e> {
    pub(crate) const fn new(elf: &'e Elf, section: &'e Section) -> Self {
        Self { elf, section, at: 0, len: FIRST }
    }

    /// The next part and where it starts in the section. It is put into the memory of `bytes`, such as one before.
    pub(crate) fn next(&mut self, mut bytes: Vec<u8>) -> Result<Option<(Vec<u8>, usize)>, Unreadable> {
        let left = self.section.size.saturating_sub(self.at);
        if left == 0 {
            return Ok(None);
        }
        let start = self.at;
        let offset = self.section.offset.saturating_add(start);
        // At least the first unit, or what there is of it.
        let mut header = [0; HEADER];
        let header = if left < HEADER as u64 { &mut [][..] } else { &mut header };
        self.elf.span.fill(offset, header)?;
        let first = self.unit_length(header).unwrap_or(left);
        self.elf.span.read_over(offset, self.len.max(first).min(left), &mut bytes)?;
        let whole = match self.whole_units(&bytes) {
            0 => bytes.len(),
            whole => whole,
        };
        bytes.truncate(whole);
        self.at += whole as u64;
        self.len = (self.len * 2).min(LARGEST);
        Ok(Some((bytes, usize::try_from(start).unwrap_or(usize::MAX))))
    }

    fn unit_length(&self, bytes: &[u8]) -> Option<u64> {
        let numbers = Numbers { bytes, big: self.elf.big_endian };
        (bytes.len() >= HEADER).then(|| match numbers.get(0, 4) {
            0xffff_ffff => numbers.get(4, 8).saturating_add(12),
            length => length.saturating_add(4),
        })
    }

    fn whole_units(&self, bytes: &[u8]) -> usize {
        let mut end = 0;
        while let Some(length) = self.unit_length(&bytes[end..]) {
            match usize::try_from(length).ok().and_then(|length| end.checked_add(length)) {
                Some(next) if next <= bytes.len() => end = next,
                _ => break,
            }
        }
        end
    }
}
