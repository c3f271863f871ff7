//! Goes over the entries of a unit, as their [`Plan`]s say.

use gimli::{AttributeSpecification, AttributeValue, EndianSlice, ReaderOffsetId, RunTimeEndian, UnitHeader, UnitOffset};

use super::context::Context;
use super::plans::{Plan, Plans, Step, Steps};
use super::world::{Slice, Unit, Value, World};

/// A place between entries of a unit, or between attributes of one.
pub(crate) struct Cursor<'c, 'a> {
    plans: &'c Plans,
    header: &'c UnitHeader<Slice<'a>>,
    /// The unit, from its header to its end.
    bytes: &'a [u8],
    at: usize,
    /// Entries around the next one, counted from where the cursor started.
    pub(crate) depth: isize,
    endian: RunTimeEndian,
    /// Bytes of an offset into a section.
    word: usize,
    /// Before DWARF 4 some numbers are offsets.
    old: bool,
}

const END: gimli::Error = gimli::Error::UnexpectedEof(ReaderOffsetId(0));

impl<'c, 'a> Cursor<'c, 'a> {
    /// Starts at an entry; none = at the first one of the unit.
    pub(crate) fn new(world: &'c World<'a>, context: &'c Context, unit: u32, offset: Option<usize>) -> gimli::Result<Self> {
        let Unit { header, bytes, .. } = &world.units[unit as usize];
        let at = offset.unwrap_or_else(|| header.root_offset().0);
        if !UnitOffset(at).is_in_bounds(header) {
            return Err(gimli::Error::OffsetOutOfBounds(at as u64));
        }
        let (word, old) = (usize::from(header.format().word_size()), header.version() < 4);
        Ok(Self { plans: &context.plans, header, bytes, at, depth: 0, endian: world.endian, word, old })
    }

    /// Offset in the unit.
    pub(crate) const fn offset(&self) -> usize {
        self.at
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Goes forward to an entry of the same unit.
    pub(crate) const fn jump(&mut self, offset: usize, depth: isize) {
        (self.at, self.depth) = (offset, depth);
    }

    /// Starts on the next entry; none = the end of a list of children.
    #[inline]
    pub(crate) fn next(&mut self) -> gimli::Result<Option<&'c Plan>> {
        let code = self.number()?;
        if code == 0 {
            self.depth -= 1;
            return Ok(None);
        }
        let plan = self.plans.get(code).ok_or(gimli::Error::InvalidAbbreviationCode(code))?;
        self.depth += isize::from(plan.children);
        Ok(Some(plan))
    }

    /// Passes over all attributes of the entry.
    #[inline]
    pub(crate) fn skip(&mut self, plan: &Plan) -> gimli::Result<()> {
        self.steps(plan.skip, |_, _| {})
    }

    /// Follows the steps and tells the attributes that are to be read.
    #[inline]
    pub(crate) fn steps(&mut self, steps: Steps, mut tell: impl FnMut(gimli::DwAt, Value<'a>)) -> gimli::Result<()> {
        for step in self.plans.steps(steps) {
            match step {
                Step::Pass(bytes) => self.pass(*bytes)?,
                Step::Number => self.pass_number()?,
                Step::Text => drop(self.text()?),
                Step::Block(width) => {
                    let length = if *width == 0 { self.number()? } else { self.fixed(usize::from(*width))? };
                    self.pass(usize::try_from(length).map_err(|_| END)?)?;
                }
                Step::Odd(spec) => drop(self.odd(*spec)?),
                Step::Read(spec) => {
                    let value = self.value(*spec)?;
                    tell(spec.name(), value);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn pass(&mut self, bytes: usize) -> gimli::Result<()> {
        if bytes > self.bytes.len() - self.at {
            return Err(END);
        }
        self.at += bytes;
        Ok(())
    }

    #[inline]
    fn byte(&mut self) -> gimli::Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or(END)?;
        self.at += 1;
        Ok(byte)
    }

    fn pass_number(&mut self) -> gimli::Result<()> {
        while self.byte()? & 0x80 != 0 {}
        Ok(())
    }

    #[inline]
    fn number(&mut self) -> gimli::Result<u64> {
        let mut value = u64::from(self.byte()?);
        if value & 0x80 == 0 {
            return Ok(value);
        }
        value &= 0x7f;
        let mut shift = 7;
        loop {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return Err(gimli::Error::BadUnsignedLeb128);
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    /// A number of up to 8 bytes.
    #[inline]
    fn fixed(&mut self, width: usize) -> gimli::Result<u64> {
        let bytes = self.bytes.get(self.at..self.at + width).ok_or(END)?;
        self.at += width;
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Ok(match (self.endian, <[u8; 4]>::try_from(bytes)) {
            (RunTimeEndian::Little, Ok(four)) => u32::from_le_bytes(four).into(),
            (RunTimeEndian::Little, _) => bytes.iter().rev().fold(0, add),
            (RunTimeEndian::Big, _) => bytes.iter().fold(0, add),
        })
    }

    fn text(&mut self) -> gimli::Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| *byte == 0).ok_or(END)?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    #[inline]
    fn value(&mut self, spec: AttributeSpecification) -> gimli::Result<Value<'a>> {
        let to_offset = |value: u64| usize::try_from(value).map_err(|_| gimli::Error::UnsupportedOffset);
        Ok(match spec.form() {
            gimli::DW_FORM_strp => AttributeValue::DebugStrRef(gimli::DebugStrOffset(self.fixed(self.word).and_then(to_offset)?)),
            gimli::DW_FORM_line_strp => {
                AttributeValue::DebugLineStrRef(gimli::DebugLineStrOffset(self.fixed(self.word).and_then(to_offset)?))
            }
            gimli::DW_FORM_ref4 => AttributeValue::UnitRef(UnitOffset(self.fixed(4).and_then(to_offset)?)),
            gimli::DW_FORM_data1 => AttributeValue::Data1(self.byte()?),
            gimli::DW_FORM_data2 => AttributeValue::Data2(u16::try_from(self.fixed(2)?).unwrap_or(0)),
            gimli::DW_FORM_data4 if !self.old => AttributeValue::Data4(u32::try_from(self.fixed(4)?).unwrap_or(0)),
            gimli::DW_FORM_udata => AttributeValue::Udata(self.number()?),
            gimli::DW_FORM_flag => AttributeValue::Flag(self.byte()? != 0),
            gimli::DW_FORM_flag_present => AttributeValue::Flag(true),
            gimli::DW_FORM_implicit_const => {
                AttributeValue::Sdata(spec.implicit_const_value().ok_or(gimli::Error::InvalidImplicitConst)?)
            }
            gimli::DW_FORM_string => AttributeValue::String(EndianSlice::new(self.text()?, self.endian)),
            _ => self.odd(spec)?,
        })
    }

    /// Leaves a form that is rare to the library.
    #[cold]
    fn odd(&mut self, spec: AttributeSpecification) -> gimli::Result<Value<'a>> {
        if self.is_empty() && spec.size(self.header) != Some(0) {
            return Err(END);
        }
        // Of abbreviations it needs to know no more than `spec`.
        let none = gimli::Abbreviations::default();
        let mut entries = self.header.entries_raw(&none, Some(UnitOffset(self.at)))?;
        let value = entries.read_attribute(spec)?.raw_value();
        self.at = entries.next_offset().0;
        Ok(value)
    }
}
