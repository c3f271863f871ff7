//! What is known of a unit before its entries are read: its abbreviations, and what its first entry says of all others.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use gimli::UnitType;

use super::cursor::Cursor;
use super::plans::Plans;
use super::sections::{Part, Sections};
use super::world::{Unit, Value, World};

/// Units whose abbreviations are kept at a time.
const KEPT: usize = 64;

/// Bytes that are read first of a table of abbreviations; most are shorter.
const TABLE_START: u64 = 1 << 13;

/// Bytes of abbreviation tables whose content is kept.
const TABLE_BYTES: usize = 1 << 22;

/// What reading the entries of a unit needs.
pub(crate) struct Context {
    pub(crate) plans: Arc<Plans>,
    pub(crate) string_base: usize,
    pub(crate) line: Option<u64>,
    pub(crate) c_like: bool,
    pub(crate) skeleton: Option<Skeleton>,
    pub(crate) directory: Option<String>,
}

/// Where the rest of a split unit is.
#[derive(Clone, Debug)]
pub(crate) struct Skeleton {
    pub(crate) name: String,
    pub(crate) directory: Option<String>,
    pub(crate) id: Option<u64>,
}

/// Tables of abbreviations by where they start: units may share them.
#[derive(Default)]
pub(crate) struct Tables {
    known: HashMap<(usize, u64, gimli::Encoding), Known>,
    bytes: usize,
}

struct Known {
    plans: Arc<Plans>,
    bytes: usize,
    /// Whether a second unit has it.
    shared: bool,
}

impl Tables {
    /// Forgets those that only one unit had.
    pub(crate) fn keep_shared(&mut self) {
        self.known.retain(|_, known| known.shared);
        self.bytes = self.known.values().map(|known| known.bytes).sum();
    }
}

impl<'a> World<'a> {
    /// What reading the entries of a unit needs.
    pub(crate) fn context(&self, number: u32) -> gimli::Result<Rc<Context>> {
        if let Some(known) = self.contexts.borrow().get(&number) {
            return Ok(Rc::clone(known));
        }
        let context = Rc::new(self.open(number)?);
        let mut contexts = self.contexts.borrow_mut();
        if contexts.len() >= KEPT {
            contexts.clear();
        }
        contexts.insert(number, Rc::clone(&context));
        Ok(context)
    }

    /// The abbreviations of a unit. What is read of tables all in all is bounded: each unit of a damaged file could start
    /// one anywhere in the same bytes.
    fn plans(&self, unit: &Unit<'a>) -> gimli::Result<Arc<Plans>> {
        let book = &self.books[unit.book];
        let sections = book.sections;
        let start = book.abbrev_start.saturating_add(unit.header.debug_abbrev_offset().0 as u64);
        let key = (book.strings.key(), start, unit.header.encoding());
        let mut tables = self.tables.borrow_mut();
        if let Some(known) = tables.known.get_mut(&key) {
            known.shared = true;
            return Ok(Arc::clone(&known.plans));
        }
        let (plans, length) = read_plans(sections, start, unit)?;
        let plans = Arc::new(plans);
        if tables.bytes > TABLE_BYTES {
            *tables = Tables::default();
        }
        tables.bytes += length;
        tables.known.insert(key, Known { plans: Arc::clone(&plans), bytes: length, shared: false });
        Ok(plans)
    }

    fn open(&self, number: u32) -> gimli::Result<Context> {
        let unit = &self.units[number as usize];
        let book = &self.books[unit.book];
        let plans = self.plans(unit)?;
        let encoding = unit.header.encoding();
        let file_type = if book.sections.is_split() { gimli::DwarfFileType::Dwo } else { gimli::DwarfFileType::Main };
        let string_base = gimli::DebugStrOffsetsBase::default_for_encoding_and_file(encoding, file_type).0;
        let mut context = Context { plans, string_base, line: None, c_like: false, skeleton: None, directory: None };
        let mut cursor = Cursor::new(self, &context, number, None)?;
        let Some(root) = cursor.next()? else { return Ok(context) };
        let (mut base, mut line, mut language) = (None, None, None);
        let (mut name, mut directory, mut id) = (None, None, None);
        cursor.steps(root.die, |attribute, value| match attribute {
            gimli::DW_AT_str_offsets_base => base = value.offset_value(),
            gimli::DW_AT_stmt_list => line = value.offset_value(),
            gimli::DW_AT_language => language = value.u16_value(),
            gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name => name = Some(value),
            gimli::DW_AT_comp_dir => directory = Some(value),
            gimli::DW_AT_GNU_dwo_id => id = value.udata_value(),
            _ => {}
        })?;
        context.string_base = base.unwrap_or(string_base);
        context.line = line.map(|line| line as u64);
        context.c_like = matches!(language, Some(0x1 | 0x2 | 0xc | 0x1d | 0x2c | 0x3e));
        if let UnitType::Skeleton(value) = unit.header.type_() {
            id = Some(value.0);
        }
        let text =
            |value: Value<'a>| self.string(number, &context, &value).map(|text| String::from_utf8_lossy(text).into_owned());
        let directory = directory.and_then(text);
        let skeleton = name.and_then(text);
        context.skeleton =
            skeleton.filter(|_| !book.sections.is_split()).map(|name| Skeleton { name, directory: directory.clone(), id });
        context.directory = directory;
        Ok(context)
    }
}

/// The abbreviations of a unit, whose table starts there, and how long that is.
fn read_plans(sections: &Sections, start: u64, unit: &Unit<'_>) -> gimli::Result<(Plans, usize)> {
    let mut asked = TABLE_START;
    loop {
        let Ok(bytes) = sections.some(Part::Abbrev, start, asked).map_err(|error| sections.blame::<()>(error)) else {
            return Err(gimli::Error::UnexpectedEof(gimli::ReaderOffsetId(0)));
        };
        let read = Plans::read(&bytes, &unit.header);
        let length = read.as_ref().map_or(bytes.len(), |(_, length)| *length);
        if !sections.charge(Part::Abbrev, length, sections.size(Part::Abbrev)) {
            return Err(gimli::Error::InvalidAbbreviationCode(0));
        }
        match read {
            // It may go on after these bytes.
            Err(gimli::Error::UnexpectedEof(_)) if bytes.len() as u64 == asked => asked = asked.saturating_mul(4),
            read => return read,
        }
    }
}

impl World<'_> {
    /// Adds the split units that the units here stand for.
    pub(crate) fn skeletons(&self, found: &mut Vec<Skeleton>) {
        for (number, unit) in self.units.iter().enumerate() {
            let small = unit.header.length_including_self() < 4096;
            if small && let Ok(context) = self.context(u32::try_from(number).unwrap_or(u32::MAX)) {
                found.extend(context.skeleton.clone());
            }
        }
    }

    /// Whether a split unit of this id is among the units.
    pub(crate) fn has_split_id(&self, id: u64) -> bool {
        (0..self.units.len()).any(|index| {
            let UnitType::SplitCompilation(own) = self.units[index].header.type_() else {
                // Before DWARF 5 the id is an attribute; the name has to do.
                return self.units[index].header.version() < 5;
            };
            own.0 == id
        })
    }
}
