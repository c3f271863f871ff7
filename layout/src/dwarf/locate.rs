//! Finds the files that a file refers to: separate debug files, shared (dwz) ones, split units and packages.

use std::path::{Path, PathBuf};

use super::context::Skeleton;
use super::elf::{Elf, Span};
use super::sections::Sections;
use crate::error::Unreadable;
use crate::types::Options;

/// The file that holds the debug information of `elf`: itself, or a separate one. None = there is none.
pub(crate) fn debug_file(elf: Elf, path: &Path, options: &Options) -> Result<(Sections, Option<PathBuf>), Unreadable> {
    if let Some(path) = &options.debug_file {
        let debug = Elf::parse(Span::open(path)?)?;
        let (own, its) = (elf.build_id(), debug.build_id());
        if !own.is_empty() && !its.is_empty() && own != its {
            return Err(debug
                .span
                .refuse(format!("has build id {}", hex(&its)), &format!("the debug file of build id {}", hex(&own))));
        }
        return Ok((Sections::new(debug), Some(path.clone())));
    }
    let sections = Sections::new(elf);
    if sections.has_types() {
        return Ok((sections, None));
    }
    for candidate in candidates(&sections.elf, path, options) {
        let Ok(debug) = Span::open(&candidate).and_then(Elf::parse) else { continue };
        let (own, its) = (sections.elf.build_id(), debug.build_id());
        let same = own.is_empty() || its.is_empty() || own == its;
        let debug = Sections::new(debug);
        if same && debug.has_types() {
            return Ok((debug, Some(candidate)));
        }
    }
    Ok((sections, None))
}

fn candidates(elf: &Elf, path: &Path, options: &Options) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let id = hex(&elf.build_id());
    if id.len() > 2 {
        found.extend(options.debug_directories.iter().map(|folder| by_id(folder, &id)));
    }
    if let Some((name, _)) = link(elf, ".gnu_debuglink")
        && Path::new(&name).file_name().is_some()
    {
        let folder = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_path_buf)).unwrap_or_default();
        found.push(folder.join(&name));
        found.push(folder.join(".debug").join(&name));
        let inside = folder.strip_prefix("/").unwrap_or(&folder);
        found.extend(options.debug_directories.iter().map(|root| root.join(inside).join(&name)));
    }
    // A file that names itself is not its own debug file.
    found.retain(|candidate| candidate != path);
    found
}

fn by_id(folder: &Path, id: &str) -> PathBuf {
    folder.join(".build-id").join(&id[..2]).join(format!("{}.debug", &id[2..]))
}

/// The file that `elf` shares types with (`.gnu_debugaltlink`, as dwz makes it).
pub(crate) fn alternate(elf: &Elf, path: &Path, options: &Options) -> Option<Result<Sections, Unreadable>> {
    let (name, id) = link(elf, ".gnu_debugaltlink")?;
    let id = hex(&id);
    let mut tried = vec![path.canonicalize().unwrap_or_default().parent().map(|folder| folder.join(&name)).unwrap_or_default()];
    tried.push(PathBuf::from(&name));
    if id.len() > 2 {
        tried.extend(options.debug_directories.iter().map(|folder| by_id(folder, &id)));
    }
    // Where the tree of debug files was unpacked elsewhere, the link still starts with the usual folder.
    if let Some(inside) = name.strip_prefix("/usr/lib/debug/") {
        tried.extend(options.debug_directories.iter().map(|folder| folder.join(inside)));
    }
    for candidate in &tried {
        if let Ok(found) = Span::open(candidate).and_then(Elf::parse)
            && (id.is_empty() || hex(&found.build_id()) == id)
        {
            return Some(Ok(Sections::new(found)));
        }
    }
    Some(Err(elf.span.refuse(format!("shares types with {name}, which is not there"), "that file, with that build id")))
}

/// The package of split units that belongs to a file.
pub(crate) fn package(path: &Path) -> Option<Sections> {
    let mut name = path.as_os_str().to_owned();
    name.push(".dwp");
    Span::open(Path::new(&name)).and_then(Elf::parse).ok().map(Sections::new)
}

/// The file of one split unit.
pub(crate) fn split(skeleton: &Skeleton, path: &Path) -> Option<Sections> {
    let name = Path::new(&skeleton.name);
    let mut tried = Vec::new();
    if let Some(directory) = &skeleton.directory {
        tried.push(Path::new(directory).join(name));
    }
    if let Some(folder) = path.parent() {
        tried.push(folder.join(name));
        tried.extend(name.file_name().map(|name| folder.join(name)));
    }
    tried.iter().find_map(|candidate| {
        let found = Sections::new(Span::open(candidate).and_then(Elf::parse).ok()?);
        found.has_types().then_some(found)
    })
}

/// File name and the bytes after it.
fn link(elf: &Elf, name: &str) -> Option<(String, Vec<u8>)> {
    let section = elf.section(name).filter(|section| section.size < 1 << 16)?;
    let bytes = elf.content(section).ok()?;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let name = String::from_utf8(bytes[..end].to_vec()).ok().filter(|name| !name.is_empty())?;
    Some((name, bytes[end + 1..].to_vec()))
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
