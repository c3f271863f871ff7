//! Route 2: the debug information of a compiled artifact.
//!
//! The file is read whole rather than mapped: a mapping of a file that somebody shortens would end this program.

mod tree;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectKind, ObjectSection, ObjectSymbol};

use crate::error::Unreadable;
use crate::found::Found;
use crate::table::Table;

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub struct Artifact {
    /// Layouts from its debug information.
    pub found: Found,
    /// The tables indexed by usage, where its symbols name them.
    pub tables: BTreeMap<&'static str, Vec<u8>>,
}

type Elf<'data> = ElfFile64<'data, Endianness>;

/// Reads the documented structs that `usable` admits, and all documented enumerations.
///
/// # Errors
/// A file that cannot be read, is no 64-bit little-endian ELF, is damaged, or describes none of those structs.
pub fn read(path: &Path, table: &Table, usable: &dyn Fn(&str) -> bool) -> Result<Artifact, Unreadable> {
    let place = path.display().to_string();
    let refuse = |fault: String, expected: &str| Unreadable::new(&place, fault, expected);
    let kind = std::fs::metadata(path).map_err(|error| refuse(error.to_string(), "a readable file"))?;
    if !kind.is_file() {
        return Err(refuse("is no regular file".into(), "an ELF file"));
    }
    let data = std::fs::read(path).map_err(|error| refuse(error.to_string(), "a readable file"))?;
    if !data.starts_with(b"\x7fELF") {
        return Err(refuse("does not start with the ELF magic".into(), "an ELF file"));
    }
    let elf = Elf::parse(data.as_slice()).map_err(|error| refuse(error.to_string(), "an undamaged 64-bit ELF file"))?;
    if !elf.is_little_endian() {
        return Err(refuse("is big-endian".into(), "a little-endian ELF file"));
    }
    if elf.section_by_name(".debug_info").is_none() {
        return Err(refuse(
            "has no debug information (.debug_info)".into(),
            "a file built with debug information (-g, or the dev profile) and not stripped",
        ));
    }
    let damaged = |error: gimli::Error| refuse(format!("debug information: {error}"), "undamaged DWARF");
    let found = if elf.kind() == ObjectKind::Relocatable {
        let dwarf = gimli::Dwarf::load(|id| relocated(&elf, id)).map_err(damaged)?;
        tree::extract(dwarf, table, usable)
    } else {
        let load = |id: gimli::SectionId| content(&elf, id.name());
        let sections = gimli::DwarfSections::load(load).map_err(damaged)?;
        let dwarf = sections.borrow(|bytes| gimli::EndianSlice::new(bytes, gimli::LittleEndian));
        tree::extract(dwarf, table, usable)
    };
    let found = found.map_err(damaged)?;
    if found.structs.is_empty() {
        return Err(refuse(
            "its debug information describes none of the documented structs".into(),
            "a file that uses some of them",
        ));
    }
    Ok(Artifact { found, tables: tables(&elf) })
}

fn content<'data>(elf: &Elf<'data>, name: &str) -> Result<Cow<'data, [u8]>, gimli::Error> {
    match elf.section_by_name(name) {
        Some(section) => section.uncompressed_data().map_err(|_| gimli::Error::Io),
        None => Ok(Cow::Borrowed(&[])),
    }
}

/// Relocations of one section, for object files that were not linked.
#[derive(Clone, Debug)]
struct Relocations(Arc<object::read::RelocationMap>);

impl gimli::Relocate<usize> for Relocations {
    fn relocate_address(&self, offset: usize, value: u64) -> gimli::Result<u64> {
        Ok(self.0.relocate(offset as u64, value))
    }

    fn relocate_offset(&self, offset: usize, value: usize) -> gimli::Result<usize> {
        usize::try_from(self.0.relocate(offset as u64, value as u64)).map_err(|_| gimli::Error::UnsupportedOffset)
    }
}

type Relocated = gimli::RelocateReader<gimli::EndianArcSlice<gimli::LittleEndian>, Relocations>;

fn relocated(elf: &Elf<'_>, id: gimli::SectionId) -> Result<Relocated, gimli::Error> {
    let bytes = content(elf, id.name())?;
    let map = match elf.section_by_name(id.name()) {
        Some(section) => section.relocation_map().map_err(|_| gimli::Error::Io)?,
        None => object::read::RelocationMap::default(),
    };
    let reader = gimli::EndianArcSlice::new(Arc::from(&*bytes), gimli::LittleEndian);
    Ok(gimli::RelocateReader::new(reader, Relocations(Arc::new(map))))
}

/// The three tables: name of the symbol, address in the documented build, our name.
const TABLES: [(&str, u64, &str); 3] = [
    ("dmem_usage_type_to_host_category", 0x9b_9640, "host"),
    ("dmem_usage_type_to_device_category", 0x9b_9660, "device"),
    ("dmem_usage_type_to_aggr_index", 0x9b_9e80, "aggregate"),
];

/// First bytes of the build id of the documented `libnrt.so`, whose addresses are known.
const DOCUMENTED_BUILD: [u8; 8] = [0x8b, 0xb5, 0x7a, 0xba, 0x0f, 0xb2, 0xe0, 0x03];

/// Usages with an entry; what follows in the original is padding.
const USAGES: u64 = 22;

fn tables(elf: &Elf<'_>) -> BTreeMap<&'static str, Vec<u8>> {
    let mut tables = BTreeMap::new();
    let documented = matches!(elf.build_id(), Ok(Some(id)) if id.starts_with(&DOCUMENTED_BUILD));
    for (_, address, name) in TABLES.iter().filter(|_| documented) {
        let section =
            elf.sections().find(|section| section.address() <= *address && address - section.address() < section.size());
        if let Some(bytes) = section.and_then(|section| section.data_range(*address, USAGES).ok().flatten()) {
            tables.insert(*name, bytes.to_vec());
        }
    }
    for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
        let Some((_, _, name)) = TABLES.iter().find(|(known, _, _)| symbol.name() == Ok(*known)) else { continue };
        let section = symbol.section_index().and_then(|index| elf.section_by_index(index).ok());
        if let Some(bytes) = section.and_then(|section| section.data_range(symbol.address(), USAGES).ok().flatten()) {
            tables.insert(*name, bytes.to_vec());
        }
    }
    tables
}
