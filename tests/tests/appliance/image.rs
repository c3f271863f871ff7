//! The program file: small, static, and complete.

use std::fs;

use object::elf::{ET_EXEC, PF_W, PF_X, PT_DYNAMIC, PT_INTERP, PT_LOAD, PT_TLS, SHF_ALLOC, SHF_WRITE, SHT_NOBITS, SectionType};
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _, SectionHeader as _};
use object::{LittleEndian, Object as _, ObjectSymbol as _};

use super::program::executable;

/// Most bytes of code and constants; both drivers are among them, the model and the client of the kernel's.
const TEXT_LIMIT: u64 = 291 << 10;
/// Most bytes of initialised data: the statics are zero and must not be in the file.
const DATA_LIMIT: u64 = 16 << 10;

pub(crate) type Elf<'data> = ElfFile64<'data, LittleEndian>;

/// Bytes of the sections that `wanted` tells by their flags and type.
fn bytes(elf: &Elf<'_>, wanted: impl Fn(u64, SectionType) -> bool) -> u64 {
    let endian = elf.endian();
    let headers = elf.sections().map(|section| section.elf_section_header());
    headers.filter(|header| wanted(header.sh_flags(endian).0, header.sh_type(endian))).map(|header| header.sh_size(endian)).sum()
}

/// Bytes of code and constants, as the tool `size` counts.
pub(crate) fn text_bytes(elf: &Elf<'_>) -> u64 {
    let (alloc, write) = (SHF_ALLOC.0, SHF_WRITE.0);
    bytes(elf, |flags, kind| flags & (alloc | write) == alloc && kind != SHT_NOBITS)
}

#[test]
fn sizes() {
    let file = fs::read(executable()).unwrap();
    let elf = Elf::parse(file.as_slice()).unwrap();
    let (alloc, write) = (SHF_ALLOC.0, SHF_WRITE.0);
    let text = text_bytes(&elf);
    let data = bytes(&elf, |flags, kind| flags & (alloc | write) == alloc | write && kind != SHT_NOBITS);
    let bss = bytes(&elf, |flags, kind| flags & alloc != 0 && kind == SHT_NOBITS);
    println!("text {text}, data {data}, bss {bss}, file {}", file.len());
    assert!(text <= TEXT_LIMIT, "{text} bytes of code and constants");
    assert!(data <= DATA_LIMIT, "{data} bytes of data");
    assert!(bss > 80 << 20, "the storage is zero and belongs in .bss, which has {bss} bytes");
    assert!(file.len() < 1 << 20, "{} bytes", file.len());
}

#[test]
fn static_and_complete() {
    let file = fs::read(executable()).unwrap();
    let elf = Elf::parse(file.as_slice()).unwrap();
    let endian = elf.endian();
    assert_eq!(elf.elf_header().e_type(endian), ET_EXEC);
    let kinds = elf.elf_program_headers().iter().map(|header| header.p_type(endian)).collect::<Vec<_>>();
    assert!(kinds.contains(&PT_LOAD) && !kinds.contains(&PT_INTERP) && !kinds.contains(&PT_DYNAMIC), "{kinds:?}");
    assert!(!kinds.contains(&PT_TLS), "thread-local storage has nobody to set it up");
    for name in [".dynamic", ".dynsym", ".interp", ".init_array", ".tdata", ".tbss"] {
        assert!(elf.section_by_name(name).is_none(), "{name}");
    }
    // The first entry of a symbol table is empty.
    let undefined = elf.symbols().filter(|symbol| symbol.is_undefined()).count();
    assert_eq!(undefined, 0, "undefined symbols");
    for name in ["_start", "tdrv_ctx_0"] {
        assert!(elf.symbols().any(|symbol| symbol.name() == Ok(name)), "{name}");
    }
}

#[test]
fn no_memory_is_both_writable_and_executable() {
    let file = fs::read(executable()).unwrap();
    let elf = Elf::parse(file.as_slice()).unwrap();
    for header in elf.elf_program_headers() {
        let flags = header.p_flags(elf.endian()).0;
        assert!(flags & PF_W.0 == 0 || flags & PF_X.0 == 0, "{flags:#x}");
    }
}
