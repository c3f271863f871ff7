//! ELF headers and section contents, read piece by piece with positioned reads.
//!
//! The file is never mapped: a mapping of a file that somebody shortens would end this program. Nor is it read whole:
//! debug files are large, and one question needs few of their sections.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use crate::error::Unreadable;

/// Sections that compress better than this are an attack, not debug information.
const BEST_RATIO: u64 = 1032;

/// Bytes for which there is always room.
const SMALL: usize = 1 << 12;

/// More sections than any tool writes.
const MOST_SECTIONS: u64 = 1 << 22;

const SHT_STRTAB: u32 = 3;
const SHT_NOBITS: u32 = 8;
const SHF_COMPRESSED: u64 = 1 << 11;

/// Bytes that a file, or a member of an archive, consists of.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    bytes: Bytes,
    start: u64,
    len: u64,
    /// How errors call it.
    pub(crate) place: String,
}

#[derive(Clone, Debug)]
enum Bytes {
    File(Arc<File>),
    Memory(Arc<[u8]>),
}

/// One section header.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) link: u32,
    pub(crate) info: u32,
}

/// An ELF file whose headers were read.
#[derive(Clone, Debug)]
pub(crate) struct Elf {
    pub(crate) span: Span,
    pub(crate) big_endian: bool,
    pub(crate) wide: bool,
    pub(crate) relocatable: bool,
    pub(crate) machine: u16,
    pub(crate) sections: Vec<Section>,
}

impl Span {
    /// Opens a regular file.
    pub(crate) fn open(path: &Path) -> Result<Self, Unreadable> {
        let place = path.display().to_string();
        let refuse = |error: std::io::Error| Unreadable::new(&place, error.to_string(), "a readable file");
        let kind = std::fs::metadata(path).map_err(refuse)?;
        if !kind.is_file() {
            return Err(Unreadable::new(&place, "is no regular file", "an ELF file"));
        }
        let file = File::open(path).map_err(refuse)?;
        Ok(Self { bytes: Bytes::File(Arc::new(file)), start: 0, len: kind.len(), place })
    }

    /// Bytes in memory, for tests and fuzzing.
    pub(crate) fn memory(bytes: &[u8], place: &str) -> Self {
        Self { bytes: Bytes::Memory(Arc::from(bytes)), start: 0, len: bytes.len() as u64, place: place.into() }
    }

    /// A part of it; cut off at its end.
    pub(crate) fn part(&self, offset: u64, len: u64, place: String) -> Self {
        let offset = offset.min(self.len);
        Self { bytes: self.bytes.clone(), start: self.start + offset, len: len.min(self.len - offset), place }
    }

    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn refuse(&self, fault: impl Into<String>, expected: &str) -> Unreadable {
        Unreadable::new(&self.place, fault, expected)
    }

    /// Reads exactly these bytes.
    pub(crate) fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>, Unreadable> {
        let mut bytes = Vec::new();
        self.read_over(offset, len, &mut bytes)?;
        Ok(bytes)
    }

    /// The same into the place of other bytes, whose memory is used again.
    pub(crate) fn read_over(&self, offset: u64, len: u64, bytes: &mut Vec<u8>) -> Result<(), Unreadable> {
        let wanted = self.inside(offset, len)?;
        if bytes.capacity() < wanted && wanted > SMALL {
            // Tried first, because `vec!` ends the program where there is no room; it gets zeroes without writing them.
            let room = Vec::<u8>::new().try_reserve_exact(wanted);
            room.map_err(|error| self.refuse(error.to_string(), "memory for a section"))?;
            *bytes = vec![0; wanted];
        } else {
            bytes.resize(wanted, 0);
        }
        self.fill(offset, bytes)
    }

    /// Fills `bytes` with those that start there.
    pub(crate) fn fill(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        self.inside(offset, bytes.len() as u64)?;
        let at = self.start + offset;
        match &self.bytes {
            Bytes::Memory(all) => {
                let start = usize::try_from(at).unwrap_or(usize::MAX);
                let found = all.get(start..start.saturating_add(bytes.len())).unwrap_or_default();
                bytes.copy_from_slice(found);
                Ok(())
            }
            Bytes::File(file) => {
                file.read_exact_at(bytes, at).map_err(|error| self.refuse(error.to_string(), "an undamaged file"))
            }
        }
    }

    /// The length, if so many bytes are there.
    pub(crate) fn inside(&self, offset: u64, len: u64) -> Result<usize, Unreadable> {
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.len);
        match (inside, usize::try_from(len)) {
            (true, Ok(wanted)) => Ok(wanted),
            _ => Err(self.refuse(format!("ends before byte {}", offset.saturating_add(len)), "an undamaged file")),
        }
    }
}

/// Reads fixed-size numbers of either byte order; what is out of bounds reads as 0, and was refused before.
#[derive(Clone, Copy)]
pub(crate) struct Numbers<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) big: bool,
}

impl Numbers<'_> {
    pub(crate) fn get(&self, offset: usize, width: usize) -> u64 {
        let bytes = self.bytes.get(offset..offset.saturating_add(width)).unwrap_or_default();
        let step = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        if self.big { bytes.iter().fold(0, step) } else { bytes.iter().rev().fold(0, step) }
    }

    pub(crate) fn u32(&self, offset: usize) -> u32 {
        self.get(offset, 4) as u32
    }
}

impl Elf {
    /// Reads the headers.
    pub(crate) fn parse(span: Span) -> Result<Self, Unreadable> {
        let magic = span.read(0, span.len().min(4))?;
        if magic != b"\x7fELF" {
            return Err(span.refuse("does not start with the ELF magic", "an ELF file"));
        }
        let damaged = |fault: &str| span.refuse(fault, "an undamaged ELF file");
        let ident = span.read(0, 64.min(span.len()))?;
        let class = ident.get(4).copied();
        let wide = match class {
            Some(2) if ident.len() == 64 => true,
            Some(1) if ident.len() >= 52 => false,
            _ => return Err(damaged("its header is cut off or of no known class")),
        };
        let big = match ident[5] {
            1 => false,
            2 => true,
            _ => return Err(damaged("it has no known byte order")),
        };
        let header = Numbers { bytes: &ident, big };
        let at = |narrow: usize, in_wide: usize| if wide { in_wide } else { narrow };
        let table = header.get(at(32, 40), at(4, 8));
        let entry = header.get(at(46, 58), 2);
        let mut count = header.get(at(48, 60), 2);
        let mut names = header.get(at(50, 62), 2);
        let least = at(40, 64) as u64;
        let mut elf = Self {
            big_endian: big,
            wide,
            relocatable: header.get(16, 2) == 1,
            machine: header.get(18, 2) as u16,
            sections: Vec::new(),
            span: span.clone(),
        };
        if table == 0 {
            return Ok(elf);
        }
        if entry < least {
            return Err(damaged("its section headers are too small"));
        }
        let first = span.read(table, entry)?;
        let first = elf.header(&first);
        if count == 0 {
            count = first.1.size;
        }
        if names == 0xffff {
            names = u64::from(first.1.link);
        }
        if count > MOST_SECTIONS {
            return Err(damaged("it claims millions of sections"));
        }
        let bytes = span.read(table, count.saturating_mul(entry))?;
        let step = usize::try_from(entry).unwrap_or(usize::MAX);
        let headers: Vec<(u32, Section)> = bytes.chunks_exact(step).map(|bytes| elf.header(bytes)).collect();
        let texts = usize::try_from(names).ok().and_then(|names| headers.get(names));
        let texts = match texts {
            Some((_, section)) if section.kind == SHT_STRTAB => span.read(section.offset, section.size)?,
            _ => Vec::new(),
        };
        for (name, mut section) in headers {
            let name = texts.get(name as usize..).unwrap_or_default();
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(0);
            section.name = String::from_utf8_lossy(&name[..end.min(256)]).into_owned();
            elf.sections.push(section);
        }
        Ok(elf)
    }

    fn header(&self, bytes: &[u8]) -> (u32, Section) {
        let numbers = Numbers { bytes, big: self.big_endian };
        let (word, wide) = if self.wide { (8, true) } else { (4, false) };
        let at = |narrow: usize, in_wide: usize| if wide { in_wide } else { narrow };
        let section = Section {
            name: String::new(),
            kind: numbers.u32(4),
            flags: numbers.get(8, word),
            address: numbers.get(at(12, 16), word),
            offset: numbers.get(at(16, 24), word),
            size: numbers.get(at(20, 32), word),
            link: numbers.u32(at(24, 40)),
            info: numbers.u32(at(28, 44)),
        };
        (numbers.u32(0), section)
    }

    /// The first section of this name; `.zdebug_*` stands for `.debug_*`.
    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.is(name))
    }

    /// Raw content of a section; empty for one without.
    pub(crate) fn raw(&self, section: &Section) -> Result<Vec<u8>, Unreadable> {
        if section.kind == SHT_NOBITS { Ok(Vec::new()) } else { self.span.read(section.offset, section.size) }
    }

    /// Content of a section, decompressed.
    pub(crate) fn content(&self, section: &Section) -> Result<Vec<u8>, Unreadable> {
        let bytes = self.raw(section)?;
        let numbers = Numbers { bytes: &bytes, big: self.big_endian };
        let (kind, size, skip) = if section.flags & SHF_COMPRESSED != 0 {
            if self.wide { (numbers.u32(0), numbers.get(8, 8), 24) } else { (numbers.u32(0), numbers.get(4, 4), 12) }
        } else if section.name.starts_with(".zdebug_") && bytes.starts_with(b"ZLIB") {
            (1, Numbers { bytes: &bytes, big: true }.get(4, 8), 12)
        } else {
            return Ok(bytes);
        };
        let damaged = |fault: String| self.span.refuse(format!("section {}: {fault}", section.name), "undamaged compressed data");
        let format = match kind {
            1 => object::CompressionFormat::Zlib,
            2 => object::CompressionFormat::Zstandard,
            other => return Err(damaged(format!("compression {other} is unknown"))),
        };
        let data = bytes.get(skip..).unwrap_or_default();
        if size > (data.len() as u64).saturating_mul(BEST_RATIO) {
            return Err(damaged(format!("{} bytes claim to hold {size}", data.len())));
        }
        let packed = object::CompressedData { format, data, uncompressed_size: size };
        let content = packed.decompress().map_err(|error| damaged(error.to_string()))?.into_owned();
        Ok(content)
    }

    /// Build id as bytes; empty if there is none.
    pub(crate) fn build_id(&self) -> Vec<u8> {
        for section in self.sections.iter().filter(|section| section.kind == 7 && section.size < 1 << 16) {
            let Ok(bytes) = self.raw(section) else { continue };
            let numbers = Numbers { bytes: &bytes, big: self.big_endian };
            let mut at = 0;
            while at + 12 <= bytes.len() {
                let (name, text, kind) = (numbers.u32(at) as usize, numbers.u32(at + 4) as usize, numbers.u32(at + 8));
                let start = at + 12 + name.saturating_add(3) / 4 * 4;
                if kind == 3 && bytes.get(at + 12..at + 16) == Some(b"GNU\0") {
                    return bytes.get(start..start.saturating_add(text)).unwrap_or_default().to_vec();
                }
                at = start.saturating_add(text.saturating_add(3) / 4 * 4);
            }
        }
        Vec::new()
    }
}

impl Section {
    fn is(&self, name: &str) -> bool {
        let short = || name.strip_prefix(".debug_").is_some_and(|rest| self.name.strip_prefix(".zdebug_") == Some(rest));
        self.name == name || short()
    }

    /// Whether its content stands in the file.
    pub(crate) const fn is_there(&self) -> bool {
        self.kind != SHT_NOBITS && self.size > 0
    }

    /// Whether its content stands in the file as it is.
    pub(crate) fn is_plain(&self) -> bool {
        self.flags & SHF_COMPRESSED == 0 && !self.name.starts_with(".zdebug_")
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        self.is(name)
    }
}
