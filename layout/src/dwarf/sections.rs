//! The debug sections of one ELF file, decompressed, joined and relocated, each loaded when it is first needed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::elf::{Elf, Numbers, Section, Span};
use super::texts::Pages;
use crate::error::Unreadable;

const SHT_RELA: u32 = 4;
const SHT_REL: u32 = 9;

/// Debug sections of one file.
#[derive(Debug)]
pub(crate) struct Sections {
    pub(crate) elf: Elf,
    /// `.dwo` for the sections of a split file.
    suffix: &'static str,
    /// The first section of each part.
    first: [Option<usize>; 9],
    loaded: [OnceLock<Vec<u8>>; 9],
    /// Of the sections of strings.
    pages: [Pages; 2],
    /// Bytes of tables that were read, however often.
    charged: [AtomicU64; 9],
    overcharged: AtomicBool,
    /// The first thing that the file refused where nobody could be told.
    fault: OnceLock<Unreadable>,
}

/// How often a whole section may be read in the tables that start in it, and how many bytes are always free.
const MOST_TIMES: u64 = 64;
const FREE: u64 = 1 << 22;

/// Sections that types are described in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Info,
    Types,
    Abbrev,
    Strings,
    LineStrings,
    StringOffsets,
    Lines,
    UnitIndex,
    TypeIndex,
}

impl Part {
    const ALL: [Self; 9] = [
        Self::Info,
        Self::Types,
        Self::Abbrev,
        Self::Strings,
        Self::LineStrings,
        Self::StringOffsets,
        Self::Lines,
        Self::UnitIndex,
        Self::TypeIndex,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Info => ".debug_info",
            Self::Types => ".debug_types",
            Self::Abbrev => ".debug_abbrev",
            Self::Strings => ".debug_str",
            Self::LineStrings => ".debug_line_str",
            Self::StringOffsets => ".debug_str_offsets",
            Self::Lines => ".debug_line",
            Self::UnitIndex => ".debug_cu_index",
            Self::TypeIndex => ".debug_tu_index",
        }
    }
}

impl Sections {
    /// The sections of a file; of its split part if it has one of those only.
    pub(crate) fn new(elf: Elf) -> Self {
        let there = |name: &str| elf.section(name).is_some_and(Section::is_there);
        let split = !there(".debug_info") && !there(".debug_types") && there(".debug_info.dwo");
        let mut sections = Self {
            elf,
            suffix: if split { ".dwo" } else { "" },
            first: [None; 9],
            loaded: Default::default(),
            pages: Default::default(),
            charged: Default::default(),
            overcharged: AtomicBool::new(false),
            fault: OnceLock::new(),
        };
        for part in Part::ALL {
            let first = sections.headers(part).next().map(|(index, _)| index);
            sections.first[part as usize] = first;
        }
        sections
    }

    fn first(&self, part: Part) -> Option<&Section> {
        self.elf.sections.get(self.first[part as usize]?)
    }

    /// Whether there is debug information here.
    pub(crate) fn has_types(&self) -> bool {
        [Part::Info, Part::Types].iter().any(|part| self.first(*part).is_some())
    }

    /// Whether these are the sections of a split file.
    pub(crate) const fn is_split(&self) -> bool {
        !self.suffix.is_empty()
    }

    /// Counts bytes of a table that is about to be read; false = tables of this section, which is `whole` bytes long, were
    /// read so often that the file must be damaged.
    pub(crate) fn charge(&self, part: Part, bytes: usize, whole: usize) -> bool {
        let most = (whole as u64).saturating_mul(MOST_TIMES).saturating_add(FREE);
        // Relaxed: a sum, which nothing else depends on.
        let before = self.charged[part as usize].fetch_add(bytes as u64, Ordering::Relaxed);
        let fine = before.saturating_add(bytes as u64) <= most;
        if !fine && part == Part::Abbrev {
            self.overcharged.store(true, Ordering::Relaxed);
        }
        fine
    }

    /// Whether the tables of abbreviations were read too often.
    pub(crate) fn overcharged(&self) -> bool {
        self.overcharged.load(Ordering::Relaxed)
    }

    /// Bytes of a section as it stands in the file.
    pub(crate) fn size(&self, part: Part) -> usize {
        self.headers(part).fold(0, |sum, (_, section)| sum.saturating_add(usize::try_from(section.size).unwrap_or(usize::MAX)))
    }

    fn headers(&self, part: Part) -> impl Iterator<Item = (usize, &Section)> {
        let index = matches!(part, Part::UnitIndex | Part::TypeIndex);
        let line = matches!(part, Part::LineStrings);
        let name = format!("{}{}", part.name(), if index || line { "" } else { self.suffix });
        let matches = move |section: &Section| section.is_there() && section.matches(&name);
        self.elf.sections.iter().enumerate().filter(move |(_, section)| matches(section))
    }

    /// Content of a section; empty if the file has none.
    pub(crate) fn get(&self, part: Part) -> Result<&[u8], Unreadable> {
        let cell = &self.loaded[part as usize];
        if let Some(bytes) = cell.get() {
            return Ok(bytes);
        }
        let bytes = self.load(part)?;
        Ok(cell.get_or_init(|| bytes))
    }

    fn load(&self, part: Part) -> Result<Vec<u8>, Unreadable> {
        if self.elf.relocatable && !self.is_split() {
            return self.relocated(part);
        }
        self.first(part).map_or_else(|| Ok(Vec::new()), |section| self.elf.content(section))
    }

    /// What was loaded of a section: all of it or nothing.
    pub(crate) fn loaded(&self, part: Part) -> Option<&[u8]> {
        self.loaded[part as usize].get().map(Vec::as_slice)
    }

    /// A section whose bytes can be read in the file as they are.
    pub(crate) fn as_it_stands(&self, part: Part) -> Option<(&Span, &Section)> {
        if self.elf.relocatable && !self.is_split() {
            return None;
        }
        let (span, section) = (&self.elf.span, self.first(part)?);
        (section.is_plain() && span.inside(section.offset, section.size).is_ok()).then_some((span, section))
    }

    /// The pages that were read of a section of strings.
    pub(crate) const fn pages(&self, part: Part) -> &Pages {
        &self.pages[matches!(part, Part::LineStrings) as usize]
    }

    /// Keeps what was refused for [`Sections::fault`].
    pub(crate) fn blame<T>(&self, error: Unreadable) -> Option<T> {
        self.fault.get_or_init(|| error);
        None
    }

    /// The first thing that the file refused where nobody could be told.
    pub(crate) fn fault(&self) -> Option<Unreadable> {
        self.fault.get().cloned()
    }

    /// The section of units, if it can be read a part at a time: it stands in the file as it is, and units need no others.
    pub(crate) fn in_parts(&self) -> Option<&Section> {
        if self.elf.relocatable || self.is_split() || self.first(Part::Types).is_some() {
            return None;
        }
        self.first(Part::Info).filter(|section| section.is_plain())
    }

    /// Some bytes of a section, or as many of them as it has, without loading the rest of it where that can be helped.
    pub(crate) fn some(&self, part: Part, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, Unreadable> {
        if self.loaded(part).is_none()
            && let Some((span, section)) = self.as_it_stands(part)
        {
            let offset = offset.min(section.size);
            let len = len.min(section.size - offset);
            return span.read(section.offset.saturating_add(offset), len).map(Cow::Owned);
        }
        let bytes = self.get(part)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(usize::try_from(len).unwrap_or(usize::MAX)).min(bytes.len());
        Ok(Cow::Borrowed(&bytes[start..end]))
    }

    /// In an object file every type unit has its own section: they are joined, and references into them moved along.
    fn relocated(&self, part: Part) -> Result<Vec<u8>, Unreadable> {
        let mut joined = Vec::new();
        for (index, section) in self.headers(part) {
            let mut bytes = self.elf.content(section)?;
            let relocations = self
                .elf
                .sections
                .iter()
                .filter(|relocation| matches!(relocation.kind, SHT_RELA | SHT_REL) && relocation.info as usize == index);
            for relocation in relocations {
                self.apply(relocation, &mut bytes)?;
            }
            joined.append(&mut bytes);
        }
        Ok(joined)
    }

    /// Where each section of a file starts among those of its name.
    fn bases(&self) -> HashMap<usize, u64> {
        let mut ends: HashMap<&str, u64> = HashMap::new();
        let mut bases = HashMap::new();
        let debug = |section: &Section| section.is_there() && section.name.contains("debug_");
        for (index, section) in self.elf.sections.iter().enumerate().filter(|(_, section)| debug(section)) {
            let end = ends.entry(&section.name).or_default();
            bases.insert(index, *end);
            // Compressed sections are not joined by compilers in a way that needs their size here.
            *end = end.saturating_add(section.size);
        }
        bases
    }

    fn apply(&self, relocation: &Section, bytes: &mut [u8]) -> Result<(), Unreadable> {
        let elf = &self.elf;
        if !is_known(elf.machine, elf.wide) {
            let fault = format!("is an object file for machine {}, whose relocations are not known here", elf.machine);
            return Err(elf.span.refuse(fault, "a linked file for that machine, or an object for another one"));
        }
        let bases = self.bases();
        let entries = elf.raw(relocation)?;
        let table = elf.sections.get(relocation.link as usize);
        let symbols = table.map_or_else(|| Ok(Vec::new()), |table| elf.raw(table))?;
        let entries = Numbers { bytes: &entries, big: elf.big_endian };
        let symbols = Numbers { bytes: &symbols, big: elf.big_endian };
        let addend_given = relocation.kind == SHT_RELA;
        let (word, step) = match (elf.wide, addend_given) {
            (true, true) => (8, 24),
            (true, false) => (8, 16),
            (false, true) => (4, 12),
            (false, false) => (4, 8),
        };
        for at in (0..entries.bytes.len() / step).map(|index| index * step) {
            let place = usize::try_from(entries.get(at, word)).unwrap_or(usize::MAX);
            let info = entries.get(at + word, word);
            let (symbol, kind) = if elf.wide { (info >> 32, info & 0xffff_ffff) } else { (info >> 8, info & 0xff) };
            let Some(width) = width(elf.machine, kind) else { continue };
            let Some(target) = bytes.get_mut(place..place.saturating_add(width)) else { continue };
            let symbol = usize::try_from(symbol).unwrap_or(usize::MAX);
            let (value, home) = if elf.wide {
                let at = symbol.saturating_mul(24);
                (symbols.get(at.saturating_add(8), 8), symbols.get(at.saturating_add(6), 2))
            } else {
                let at = symbol.saturating_mul(16);
                (symbols.get(at.saturating_add(4), 4), symbols.get(at.saturating_add(14), 2))
            };
            let base = bases.get(&(home as usize)).copied().unwrap_or(0);
            let addend = if addend_given {
                entries.get(at + 2 * word, word)
            } else {
                Numbers { bytes: target, big: elf.big_endian }.get(0, width)
            };
            let value = value.wrapping_add(base).wrapping_add(addend);
            if elf.big_endian {
                target.copy_from_slice(&value.to_be_bytes()[8 - width..]);
            } else {
                target.copy_from_slice(&value.to_le_bytes()[..width]);
            }
        }
        Ok(())
    }
}

/// Machines whose relocations [`width`] knows; in objects for others, references would be read wrongly.
const fn is_known(machine: u16, wide: bool) -> bool {
    // 64-bit MIPS has entries of another form.
    matches!(machine, 3 | 20 | 21 | 22 | 40 | 62 | 183 | 243 | 258) || (machine == 8 && !wide)
}

/// Bytes that an absolute relocation writes, by `e_machine`; debug information needs no others.
const fn width(machine: u16, kind: u64) -> Option<usize> {
    Some(match (machine, kind) {
        // x86-64; AArch64; RISC-V and LoongArch; 64-bit PowerPC; S/390.
        (62, 1) | (183, 257) | (243 | 258, 2) | (21, 38) | (22, 22) => 8,
        // The same, then x86, 32-bit Arm, 32-bit PowerPC and MIPS.
        (62, 10 | 11) | (183, 258) | (243 | 258, 1) | (21, 1) | (22, 4) | (3, 1) | (40, 2) | (20, 1) | (8, 2) => 4,
        _ => return None,
    })
}
