//! Members of archives (`.a`, `.rlib`), thin ones included.

use std::path::Path;

use super::elf::Span;
use crate::error::Unreadable;

const MAGIC: &[u8] = b"!<arch>\n";
const THIN: &[u8] = b"!<thin>\n";

/// Whether the file starts as an archive does.
pub(crate) fn is_archive(span: &Span) -> Result<bool, Unreadable> {
    let magic = span.read(0, span.len().min(8))?;
    Ok(magic == MAGIC || magic == THIN)
}

/// Every member that may be an object, with its name.
pub(crate) fn members(span: &Span, path: &Path) -> Result<Vec<(Span, String)>, Unreadable> {
    let thin = span.read(0, 8)? == THIN;
    let mut found = Vec::new();
    let mut names = Vec::new();
    let mut at = 8;
    while at + 60 <= span.len() {
        let header = span.read(at, 60)?;
        let number = |range: std::ops::Range<usize>| {
            std::str::from_utf8(&header[range]).ok().and_then(|text| text.trim_end().parse::<u64>().ok())
        };
        let Some(size) = number(48..58) else {
            return Err(span.refuse(format!("the member at {at} has no size"), "an undamaged archive"));
        };
        let name = String::from_utf8_lossy(&header[..16]).trim_end().to_owned();
        at += 60;
        let special = matches!(name.as_str(), "/" | "//" | "/SYM64/");
        if name == "//" {
            names = span.read(at, size.min(span.len() - at))?;
        }
        let outside = thin && !special;
        if !special {
            let long = name.strip_prefix('/').and_then(|offset| offset.parse::<usize>().ok());
            let name = match long {
                Some(offset) => {
                    let rest = names.get(offset..).unwrap_or_default();
                    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                    String::from_utf8_lossy(&rest[..end]).trim_end_matches('/').to_owned()
                }
                None => name.trim_end_matches('/').to_owned(),
            };
            let place = format!("{}({name})", span.place);
            if outside {
                let file = path.parent().unwrap_or_else(|| Path::new("")).join(&name);
                if let Ok(member) = Span::open(&file) {
                    found.push((member, place));
                }
            } else {
                found.push((span.part(at, size, place.clone()), place));
            }
        }
        if !outside {
            at = at.saturating_add(size).saturating_add(size & 1);
        }
    }
    Ok(found)
}
