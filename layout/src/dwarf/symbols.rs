//! The byte tables indexed by usage, by symbol, or by address in the documented build.

use std::collections::BTreeMap;
use std::path::Path;

use super::archive::is_archive;
use super::elf::{Elf, Numbers, Span};
use crate::error::Unreadable;

/// The three tables: name of the symbol, address in the documented build, our name.
const TABLES: [(&str, u64, &str); 3] = [
    ("dmem_usage_type_to_host_category", 0x9b_9640, "host"),
    ("dmem_usage_type_to_device_category", 0x9b_9660, "device"),
    ("dmem_usage_type_to_aggr_index", 0x9b_9e80, "aggregate"),
];

/// First bytes of the build id of the documented `libnrt.so`, whose addresses are known.
pub(crate) const DOCUMENTED_BUILD: [u8; 8] = [0x8b, 0xb5, 0x7a, 0xba, 0x0f, 0xb2, 0xe0, 0x03];

/// Usages with an entry; what follows in the original is padding.
const USAGES: u64 = 22;

const SHT_SYMTAB: u32 = 2;
const SHT_DYNSYM: u32 = 11;

/// The tables that a file holds, and whether it is the documented build.
pub(super) fn tables(path: &Path) -> Result<(BTreeMap<&'static str, Vec<u8>>, bool), Unreadable> {
    let span = Span::open(path)?;
    let mut found = BTreeMap::new();
    if is_archive(&span)? {
        return Ok((found, false));
    }
    let elf = Elf::parse(span)?;
    let documented = elf.build_id().starts_with(&DOCUMENTED_BUILD);
    for (_, address, name) in TABLES.iter().filter(|_| documented) {
        if let Some(bytes) = at(&elf, *address, None) {
            found.insert(*name, bytes);
        }
    }
    for table in elf.sections.iter().filter(|section| matches!(section.kind, SHT_SYMTAB | SHT_DYNSYM)) {
        let Some(texts) = elf.sections.get(table.link as usize) else { continue };
        let (Ok(symbols), Ok(texts)) = (elf.raw(table), elf.raw(texts)) else { continue };
        let step = if elf.wide { 24 } else { 16 };
        for symbol in symbols.chunks_exact(step) {
            let numbers = Numbers { bytes: symbol, big: elf.big_endian };
            let name = texts.get(numbers.u32(0) as usize..).unwrap_or_default();
            let known = TABLES
                .iter()
                .find(|(known, _, _)| name.strip_prefix(known.as_bytes()).is_some_and(|rest| rest.first() == Some(&0)));
            let Some((_, _, ours)) = known else { continue };
            let (value, home) =
                if elf.wide { (numbers.get(8, 8), numbers.get(6, 2)) } else { (numbers.get(4, 4), numbers.get(14, 2)) };
            if let Some(bytes) = at(&elf, value, usize::try_from(home).ok().filter(|home| *home != 0)) {
                found.insert(*ours, bytes);
            }
        }
    }
    Ok((found, documented))
}

/// The bytes at an address, in a given section or in whichever holds it.
fn at(elf: &Elf, address: u64, home: Option<usize>) -> Option<Vec<u8>> {
    let holds = |section: &super::elf::Section| {
        let start = address.checked_sub(section.address);
        section.is_there() && start.is_some_and(|start| start.saturating_add(USAGES) <= section.size)
    };
    let section = match home {
        Some(home) => elf.sections.get(home).filter(|section| holds(section))?,
        None => elf.sections.iter().find(|section| section.flags & 2 != 0 && holds(section))?,
    };
    elf.span.read(section.offset.checked_add(address - section.address)?, USAGES).ok()
}
