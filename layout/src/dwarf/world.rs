//! The units of one file and of the files it refers to, and how entries refer to each other across them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use gimli::{AttributeValue, EndianSlice, RunTimeEndian, UnitHeader, UnitOffset, UnitType};

use super::context::{Context, Tables};
use super::sections::{Part, Sections};
use super::texts::Texts;
use crate::error::Unreadable;

pub(crate) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;
pub(crate) type Value<'a> = AttributeValue<Slice<'a>>;

/// Place of one entry: unit, offset in the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct At {
    pub(crate) unit: u32,
    pub(crate) offset: usize,
}

/// Sections that belong together: of a file, or of one row in a package of split files.
pub(crate) struct Book<'a> {
    pub(crate) sections: &'a Sections,
    pub(crate) info: &'a [u8],
    pub(crate) types: &'a [u8],
    /// Where its tables of abbreviations start in their section.
    pub(super) abbrev_start: u64,
    pub(crate) strings: Texts<'a>,
    line_strings: Texts<'a>,
    pub(crate) string_offsets: &'a [u8],
    line_start: u64,
    alternate: Option<usize>,
    /// Units of the section of units, in order of their place.
    units: Range<usize>,
    /// Those, and the type units of DWARF 4.
    pub(crate) every: Range<usize>,
}

/// One unit.
pub(crate) struct Unit<'a> {
    pub(crate) header: UnitHeader<Slice<'a>>,
    pub(crate) book: usize,
    /// Offset in its section.
    pub(crate) start: usize,
    pub(crate) in_types: bool,
    /// From its header to its end.
    pub(crate) bytes: &'a [u8],
}

/// Units and books.
pub(crate) struct World<'a> {
    pub(crate) endian: RunTimeEndian,
    pub(crate) books: Vec<Book<'a>>,
    pub(crate) units: Vec<Unit<'a>>,
    /// Whether an entry referred to something that was not read: only part of the section was.
    pub(crate) escaped: Cell<bool>,
    signatures: HashMap<u64, At>,
    pub(super) contexts: RefCell<HashMap<u32, Rc<Context>>>,
    pub(crate) tables: RefCell<Tables>,
}

impl<'a> World<'a> {
    pub(crate) fn new(big_endian: bool) -> Self {
        let endian = if big_endian { RunTimeEndian::Big } else { RunTimeEndian::Little };
        Self {
            endian,
            books: Vec::new(),
            units: Vec::new(),
            escaped: Cell::new(false),
            signatures: HashMap::new(),
            contexts: RefCell::default(),
            tables: RefCell::default(),
        }
    }

    fn slice(&self, bytes: &'a [u8]) -> Slice<'a> {
        EndianSlice::new(bytes, self.endian)
    }

    /// Adds all units of a file; gives the number of its book. `alternate` is the book that it shares types with.
    pub(crate) fn add(&mut self, sections: &'a Sections, alternate: Option<usize>) -> Result<usize, Unreadable> {
        let book = self.book_of(sections, sections.get(Part::Info)?, sections.get(Part::Types)?, alternate)?;
        if sections.is_split() && !sections.get(Part::UnitIndex)?.is_empty() {
            self.add_package(&book)?;
            return Ok(self.books.len().saturating_sub(1));
        }
        self.add_book(book, 0).map_err(|error| damaged(sections, error))
    }

    /// Adds the units in a part of a section that starts at `start` in it. What they refer to outside of it is not found:
    /// `escaped` tells.
    pub(crate) fn add_window(&mut self, sections: &'a Sections, info: &'a [u8], start: usize) -> Result<(), Unreadable> {
        let book = self.book_of(sections, info, &[], None)?;
        self.add_book(book, start).map(drop).map_err(|error| damaged(sections, error))
    }

    fn book_of(
        &self,
        sections: &'a Sections,
        info: &'a [u8],
        types: &'a [u8],
        alternate: Option<usize>,
    ) -> Result<Book<'a>, Unreadable> {
        Ok(Book {
            sections,
            info,
            types,
            abbrev_start: 0,
            strings: Texts::new(sections, Part::Strings),
            line_strings: Texts::new(sections, Part::LineStrings),
            string_offsets: sections.get(Part::StringOffsets)?,
            line_start: 0,
            alternate,
            units: 0..0,
            every: 0..0,
        })
    }

    /// The rows of a package (`.dwp`): each has its own part of the sections.
    fn add_package(&mut self, whole: &Book<'a>) -> Result<(), Unreadable> {
        let sections = whole.sections;
        let refuse = |error| damaged(sections, error);
        let (units, types) = (sections.get(Part::UnitIndex)?, sections.get(Part::TypeIndex)?);
        let units = gimli::DebugCuIndex::from(self.slice(units)).index().map_err(refuse)?;
        let types = gimli::DebugTuIndex::from(self.slice(types)).index().map_err(refuse)?;
        // A hostile index could name the same bytes in every row.
        let mut left = sections.get(Part::Info)?.len() + sections.get(Part::Types)?.len();
        for index in [&units, &types] {
            for row in 1..=index.unit_count() {
                let mut book = Book { units: 0..0, every: 0..0, ..*whole };
                (book.info, book.types, book.string_offsets) = (&[], &[], &[]);
                for part in index.sections(row).map_err(refuse)? {
                    let of = |bytes: &'a [u8]| {
                        let start = part.offset as usize;
                        bytes.get(start..start.saturating_add(part.size as usize)).unwrap_or_default()
                    };
                    match part.section {
                        gimli::IndexSectionId::DebugInfo => book.info = of(whole.info),
                        gimli::IndexSectionId::DebugTypes => book.types = of(whole.types),
                        gimli::IndexSectionId::DebugStrOffsets => book.string_offsets = of(whole.string_offsets),
                        gimli::IndexSectionId::DebugAbbrev => book.abbrev_start = part.offset.into(),
                        gimli::IndexSectionId::DebugLine => book.line_start = part.offset.into(),
                        _ => {}
                    }
                }
                let size = book.info.len() + book.types.len();
                left = left.checked_sub(size).ok_or_else(|| refuse(gimli::Error::InvalidIndexRow(row)))?;
                self.add_book(book, 0).map_err(refuse)?;
            }
        }
        Ok(())
    }

    fn add_book(&mut self, mut book: Book<'a>, base: usize) -> gimli::Result<usize> {
        let number = self.books.len();
        let first = self.units.len();
        let mut headers = gimli::DebugInfo::from(self.slice(book.info)).units();
        while let Some(header) = headers.next()? {
            let start = header.debug_info_offset().map_or(0, |offset| offset.0);
            let bytes = book.info.get(start..start + header.length_including_self()).unwrap_or_default();
            self.push(Unit { header, book: number, start: start + base, in_types: false, bytes });
        }
        book.units = first..self.units.len();
        let mut headers = gimli::DebugTypes::from(self.slice(book.types)).units();
        while let Some(header) = headers.next()? {
            let start = header.debug_types_offset().map_or(0, |offset| offset.0);
            let bytes = book.types.get(start..start + header.length_including_self()).unwrap_or_default();
            self.push(Unit { header, book: number, start, in_types: true, bytes });
        }
        book.every = first..self.units.len();
        self.books.push(book);
        Ok(number)
    }

    fn push(&mut self, unit: Unit<'a>) {
        let number = u32::try_from(self.units.len()).unwrap_or(u32::MAX);
        if let UnitType::Type { type_signature, type_offset } | UnitType::SplitType { type_signature, type_offset } =
            unit.header.type_()
        {
            self.signatures.entry(type_signature.0).or_insert(At { unit: number, offset: type_offset.0 });
        }
        self.units.push(unit);
    }

    pub(crate) fn book(&self, unit: u32) -> &Book<'a> {
        &self.books[self.units[unit as usize].book]
    }

    /// A string that an attribute holds or refers to.
    pub(crate) fn string(&self, unit: u32, context: &Context, value: &Value<'a>) -> Option<&'a [u8]> {
        if let AttributeValue::String(text) = value {
            return Some(text.slice());
        }
        let (texts, offset) = self.string_place(unit, context, value)?;
        texts.at(offset)
    }

    /// The section that an attribute refers to for its string, and where in it.
    pub(crate) fn string_place(&self, unit: u32, context: &Context, value: &Value<'a>) -> Option<(Texts<'a>, usize)> {
        let book = self.book(unit);
        Some(match value {
            AttributeValue::DebugStrRef(offset) => (book.strings, offset.0),
            AttributeValue::DebugLineStrRef(offset) => (book.line_strings, offset.0),
            AttributeValue::DebugStrRefSup(offset) => (self.books[book.alternate?].strings, offset.0),
            AttributeValue::DebugStrOffsetsIndex(index) => (book.strings, self.string_offset(unit, context, index.0)?),
            _ => return None,
        })
    }

    /// Offset of a string by its index.
    pub(crate) fn string_offset(&self, unit: u32, context: &Context, index: usize) -> Option<usize> {
        let offsets = gimli::DebugStrOffsets::from(self.slice(self.book(unit).string_offsets));
        let format = self.units[unit as usize].header.format();
        let base = gimli::DebugStrOffsetsBase(context.string_base);
        offsets.get_str_offset(format, base, gimli::DebugStrOffsetsIndex(index)).ok().map(|offset| offset.0)
    }

    /// The entry that an attribute refers to.
    pub(crate) fn target(&self, unit: u32, value: &Value<'a>) -> Option<At> {
        let book = self.book(unit);
        let found = match value {
            AttributeValue::UnitRef(offset) => Some(At { unit, offset: offset.0 }),
            AttributeValue::DebugInfoRef(offset) => self.at(book, offset.0),
            AttributeValue::DebugInfoRefSup(offset) => self.at(&self.books[book.alternate?], offset.0),
            AttributeValue::DebugTypesRef(signature) => self.signatures.get(&signature.0).copied(),
            _ => None,
        };
        if found.is_none() {
            self.escaped.set(true);
        }
        found
    }

    fn at(&self, book: &Book<'a>, offset: usize) -> Option<At> {
        let units = &self.units[book.units.clone()];
        let after = units.partition_point(|unit| unit.start <= offset);
        let index = after.checked_sub(1)?;
        let unit = u32::try_from(book.units.start + index).ok()?;
        let inside = offset - units[index].start;
        (inside < units[index].header.length_including_self()).then_some(At { unit, offset: inside })
    }

    /// Whether an entry could start there.
    pub(crate) fn holds(&self, at: At) -> bool {
        UnitOffset(at.offset).is_in_bounds(&self.units[at.unit as usize].header)
    }

    pub(crate) fn line_start(&self, unit: u32) -> u64 {
        self.book(unit).line_start
    }

    pub(crate) fn line_strings(&self, unit: u32) -> (Texts<'a>, Texts<'a>) {
        let book = self.book(unit);
        (book.line_strings, book.strings)
    }
}

/// What a damaged file is told.
pub(crate) fn damaged(sections: &Sections, error: gimli::Error) -> Unreadable {
    if let Some(fault) = sections.fault() {
        return fault;
    }
    if sections.overcharged() {
        let fault = "debug information: its units share tables of abbreviations in too many ways";
        return sections.elf.span.refuse(fault, "undamaged DWARF");
    }
    sections.elf.span.refuse(format!("debug information: {error}"), "undamaged DWARF")
}
