//! Names of the files that declarations stand in.

use std::collections::HashMap;

use gimli::AttributeValue;

use super::elf::Numbers;
use super::sections::Part;
use super::texts::Texts;
use super::world::{Slice, World};

/// No file table is larger than this.
const LARGEST: u64 = 1 << 26;

/// File names by table, each table read once.
#[derive(Default)]
pub(crate) struct Files {
    tables: HashMap<(usize, u64), Table>,
}

/// The file table of one unit, whose names are put together when they are asked for.
#[derive(Default)]
struct Table {
    /// Whether files have numbers from 1.
    old: bool,
    folders: Vec<Option<Text>>,
    /// Name and number of the folder of each file.
    files: Vec<(Option<Text>, u64)>,
    names: HashMap<u64, Option<String>>,
}

/// A text in the table, or where it stands.
enum Text {
    Own(String),
    LineString(usize),
    String(usize),
}

impl Files {
    /// Path of a file by its number in a unit.
    pub(crate) fn name(&mut self, world: &World<'_>, unit: u32, file: u64) -> Option<String> {
        let context = world.context(unit).ok()?;
        let line = context.line.or_else(|| world.book(unit).sections.is_split().then_some(0))?;
        let key = (world.units[unit as usize].book, line);
        let table = self.tables.entry(key).or_insert_with(|| table(world, unit, line).unwrap_or_default());
        if let Some(known) = table.names.get(&file) {
            return known.clone();
        }
        let name = table.name(world, unit, file, context.directory.as_deref());
        table.names.insert(file, name.clone());
        name
    }
}

impl Table {
    fn name(&self, world: &World<'_>, unit: u32, file: u64, directory: Option<&str>) -> Option<String> {
        let (line_strings, strings) = world.line_strings(unit);
        let at = |texts: Texts<'_>, offset: usize| Some(String::from_utf8_lossy(texts.at(offset)?).into_owned());
        let text = |text: &Text| match text {
            Text::Own(text) => Some(text.clone()),
            Text::LineString(offset) => at(line_strings, *offset),
            Text::String(offset) => at(strings, *offset),
        };
        let index = if self.old { file.checked_sub(1)? } else { file };
        let (name, folder) = self.files.get(usize::try_from(index).ok()?)?;
        let name = text(name.as_ref()?)?;
        let folder = match folder {
            0 if self.old => directory.map(str::to_owned),
            number => {
                let index = if self.old { *number - 1 } else { *number };
                usize::try_from(index).ok().and_then(|index| self.folders.get(index)?.as_ref()).and_then(text)
            }
        };
        Some(match (folder, directory) {
            _ if name.starts_with('/') => name,
            (Some(folder), _) if folder.starts_with('/') => format!("{folder}/{name}"),
            (Some(folder), Some(directory)) if !folder.is_empty() => format!("{directory}/{folder}/{name}"),
            (_, Some(directory)) => format!("{directory}/{name}"),
            (Some(folder), None) if !folder.is_empty() => format!("{folder}/{name}"),
            _ => name,
        })
    }
}

/// The whole file table of one unit.
fn table(world: &World<'_>, unit: u32, line: u64) -> Option<Table> {
    let sections = world.book(unit).sections;
    let big = world.endian == gimli::RunTimeEndian::Big;
    let start = line.checked_add(world.line_start(unit))?;
    // Only the header is read, and told to be all there is.
    let first = sections.some(Part::Lines, start, 24).ok()?;
    let numbers = Numbers { bytes: &first, big };
    let (word, at) = if numbers.get(0, 4) == 0xffff_ffff { (8, 12) } else { (4, 4) };
    let skip = if numbers.get(at, 2) >= 5 { 4 } else { 2 };
    let header = numbers.get(at + skip, word);
    let len = (at + skip + word) as u64 + header.min(LARGEST);
    // Each unit of a damaged file could name another start in the same bytes.
    if !sections.charge(Part::Lines, usize::try_from(len).ok()?, sections.size(Part::Lines)) {
        return None;
    }
    let mut bytes = sections.some(Part::Lines, start, len).ok()?.into_owned();
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
    let text = |value: AttributeValue<Slice<'_>>| match value {
        AttributeValue::String(text) => Some(Text::Own(String::from_utf8_lossy(text.slice()).into_owned())),
        AttributeValue::DebugLineStrRef(offset) => Some(Text::LineString(offset.0)),
        AttributeValue::DebugStrRef(offset) => Some(Text::String(offset.0)),
        _ => None,
    };
    Some(Table {
        old: header.version() < 5,
        folders: header.include_directories().iter().map(|folder| text(*folder)).collect(),
        files: header.file_names().iter().map(|file| (text(file.path_name()), file.directory_index())).collect(),
        names: HashMap::new(),
    })
}
