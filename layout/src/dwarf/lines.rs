//! Names of the files that declarations stand in.

use std::collections::HashMap;
use std::rc::Rc;

use gimli::AttributeValue;

use super::elf::Numbers;
use super::sections::Part;
use super::world::{Slice, World};

/// No file table is larger than this.
const LARGEST: u64 = 1 << 26;

/// File names by table, read once each.
#[derive(Default)]
pub(crate) struct Files {
    tables: HashMap<(usize, u64), Rc<Vec<Option<String>>>>,
}

impl Files {
    /// Path of a file by its number in a unit.
    pub(crate) fn name(&mut self, world: &World<'_>, unit: u32, file: u64) -> Option<String> {
        let context = world.context(unit).ok()?;
        let line = context.line.or_else(|| world.book(unit).sections.is_split().then_some(0))?;
        let key = (world.units[unit as usize].book, line);
        let directory = context.directory.as_deref();
        let table = self.tables.entry(key).or_insert_with(|| Rc::new(table(world, unit, line, directory).unwrap_or_default()));
        table.get(usize::try_from(file).ok()?)?.clone()
    }
}

/// The whole file table of one unit.
fn table(world: &World<'_>, unit: u32, line: u64, directory: Option<&str>) -> Option<Vec<Option<String>>> {
    let sections = world.book(unit).sections;
    let big = world.endian == gimli::RunTimeEndian::Big;
    let start = line.checked_add(world.line_start(unit))?;
    // Only the header is read, and told to be all there is.
    let first = sections.line_bytes(start, 24).ok()?;
    let numbers = Numbers { bytes: &first, big };
    let (word, at) = if numbers.get(0, 4) == 0xffff_ffff { (8, 12) } else { (4, 4) };
    let skip = if numbers.get(at, 2) >= 5 { 4 } else { 2 };
    let header = numbers.get(at + skip, word);
    let len = (at + skip + word) as u64 + header.min(LARGEST);
    // Each unit of a damaged file could name another start in the same bytes.
    if !sections.charge(Part::Lines, usize::try_from(len).ok()?, sections.size(Part::Lines)) {
        return None;
    }
    let mut bytes = sections.line_bytes(start, len).ok()?;
    let inside = (bytes.len() - at.min(bytes.len())) as u64;
    let place = bytes.get_mut(at - word..at)?;
    if big {
        place.copy_from_slice(&inside.to_be_bytes()[8 - word..]);
    } else {
        place.copy_from_slice(&inside.to_le_bytes()[..word]);
    }
    let endian = world.endian;
    let lines = gimli::DebugLine::new(&bytes, endian);
    let size = world.units[unit as usize].header.address_size();
    let program = lines.program(gimli::DebugLineOffset(0), size, None, None).ok()?;
    let header = program.header();
    let (line_strings, strings) = world.line_strings(unit);
    let text = |value: AttributeValue<Slice<'_>>| -> Option<String> {
        let end = |bytes: &[u8], offset: usize| {
            let rest = bytes.get(offset..)?;
            Some(String::from_utf8_lossy(&rest[..memchr::memchr(0, rest)?]).into_owned())
        };
        match value {
            AttributeValue::String(text) => Some(String::from_utf8_lossy(text.slice()).into_owned()),
            AttributeValue::DebugLineStrRef(offset) => end(line_strings, offset.0),
            AttributeValue::DebugStrRef(offset) => end(strings, offset.0),
            _ => None,
        }
    };
    let files = header.file_names();
    let mut names = Vec::with_capacity(files.len() + 1);
    if header.version() < 5 {
        names.push(None);
    }
    for file in files {
        let name = text(file.path_name());
        let folder = match file.directory_index() {
            0 if header.version() < 5 => directory.map(str::to_owned),
            index => header.directory(index).and_then(text),
        };
        names.push(name.map(|name| match (folder, directory) {
            _ if name.starts_with('/') => name,
            (Some(folder), _) if folder.starts_with('/') => format!("{folder}/{name}"),
            (Some(folder), Some(directory)) if !folder.is_empty() => format!("{directory}/{folder}/{name}"),
            (_, Some(directory)) => format!("{directory}/{name}"),
            (Some(folder), None) if !folder.is_empty() => format!("{folder}/{name}"),
            _ => name,
        }));
    }
    Some(names)
}
