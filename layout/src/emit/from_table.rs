//! Definitions from the documented table.

use std::collections::HashSet;

use super::shape::{Enumeration, Kind, Member, Record, Shapes};
use crate::error::Unreadable;
use crate::explain::claims::Claims;
use crate::table::{DocField, DocStruct, Table, library_size, pthread_size};

/// Structs that embed each other deeper than this are a mistake in the table.
const DEEPEST: usize = 32;

struct Reader<'a> {
    table: &'a Table,
    claims: &'a Claims,
    shapes: Shapes,
    done: HashSet<String>,
}

/// The named structs, what they embed, and the enumerations they use.
///
/// # Errors
/// A struct that embeds itself, or a field that lies outside its struct.
pub fn shapes(table: &Table, claims: &Claims, names: &[String]) -> Result<Shapes, Unreadable> {
    let shapes = Shapes { origin: "the documented table".into(), ..Shapes::default() };
    let mut reader = Reader { table, claims, shapes, done: HashSet::new() };
    for name in names {
        reader.record(name, 0)?;
    }
    let mut shapes = reader.shapes;
    let used: HashSet<String> = shapes.records.iter().flat_map(enums).collect();
    for documented in table.enums.iter().filter(|documented| used.contains(&documented.name) || names.contains(&documented.name))
    {
        let members = documented.members.iter().enumerate();
        let members = members.map(|(index, (name, value))| (name.clone(), value.unwrap_or(index as i64))).collect();
        shapes.enums.push(Enumeration { name: documented.name.clone(), members });
    }
    shapes.verify()?;
    Ok(shapes)
}

fn enums(record: &Record) -> Vec<String> {
    let of = |member: &Member| match &member.kind {
        Kind::Enum(name) => vec![name.clone()],
        Kind::Inline(inner) => enums(inner),
        _ => Vec::new(),
    };
    record.members.iter().flat_map(of).collect()
}

impl Reader<'_> {
    fn record(&mut self, name: &str, depth: usize) -> Result<(), Unreadable> {
        if depth > DEEPEST {
            return Err(Unreadable::new(format!("struct {name} of the table"), "is nested without end", "a finite struct"));
        }
        let Some(documented) = self.table.structure(name).filter(|_| !self.done.contains(name)) else { return Ok(()) };
        for field in documented.fields.iter().filter(|field| field.ctype == "struct") {
            self.record(&field.element, depth + 1)?;
        }
        if self.done.insert(name.into()) {
            let record = self.members(documented)?;
            self.shapes.records.push(record);
        }
        Ok(())
    }

    fn members(&self, documented: &DocStruct) -> Result<Record, Unreadable> {
        let mut members = Vec::new();
        let mut rest = documented.fields.as_slice();
        while let Some(first) = rest.first() {
            let container = first.container();
            let end = rest.iter().position(|field| field.container() != container).unwrap_or(rest.len());
            let (group, later) = rest.split_at(end);
            let limit = later.first().map(|next| next.offset).or(documented.size);
            members.push(match group {
                [only] if only.path == container => self.member(documented, only, container, 0, limit),
                _ => self.container(documented, container, group)?,
            });
            rest = later;
        }
        let first = documented.fields.first().map_or("", |field| field.path.as_str());
        let claim = self.claims.of(&documented.name, first);
        let end = members.iter().map(|member| member.offset + member.size).max().unwrap_or(0);
        let size = documented.size.unwrap_or_else(|| end.next_multiple_of(documented.align.unwrap_or(1)));
        Ok(Record {
            name: documented.name.clone(),
            union: false,
            size,
            closed: documented.size.is_some(),
            align: documented.align,
            members,
            confidence: claim.confidence,
            source: claim.source,
        })
    }

    /// A member that the table names through the paths of its own members.
    fn container(&self, documented: &DocStruct, name: &str, group: &[DocField]) -> Result<Member, Unreadable> {
        let start = group.iter().map(|field| field.offset).min().unwrap_or(0);
        let stop = group.iter().map(|field| field.offset + field.size.unwrap_or(0)).max().unwrap_or(0);
        let union = group.iter().any(|field| field.union);
        let mut members = Vec::new();
        let mut rest: Vec<&DocField> = group.iter().filter(|field| field.path.contains('.')).collect();
        while let Some(first) = rest.first().copied() {
            let arm = first.path.split('.').nth(1).unwrap_or(name).to_owned();
            let of = |field: &&DocField| field.path.split('.').nth(1) == Some(arm.as_str());
            let (own, other): (Vec<_>, Vec<_>) = rest.into_iter().partition(of);
            rest = other;
            if let ([only], 2) = (own.as_slice(), first.path.split('.').count()) {
                members.push(self.member(documented, only, &arm, start, Some(stop)));
                continue;
            }
            let inner: Vec<Member> = own
                .iter()
                .map(|field| self.member(documented, field, field.path.rsplit('.').next().unwrap_or(&arm), start, Some(stop)))
                .collect();
            let mut arm = inline(&arm, false, inner, 0);
            if let Kind::Inline(record) = &mut arm.kind {
                record.size = record.size.next_multiple_of(self.shapes.widest(record));
                arm.size = record.size;
            }
            members.push(arm);
        }
        let mut member = inline(name, union, members, start);
        // The row of the container itself tells the size and alignment of the whole.
        if let Some(whole) = group.iter().find(|field| field.path == name) {
            let align = whole.aligned();
            member.size = whole.size.unwrap_or(member.size).max(member.size);
            if let Kind::Inline(record) = &mut member.kind {
                (record.size, record.align, record.closed) = (member.size, align, true);
            }
        }
        Ok(member)
    }

    fn member(&self, documented: &DocStruct, field: &DocField, name: &str, base: u64, limit: Option<u64>) -> Member {
        let span = || {
            let own = |span: &&crate::table::Span| span.structure == documented.name && span.name == field.path;
            self.table.spans.iter().find(own).map(|span| span.bytes)
        };
        let room = limit.and_then(|limit| limit.checked_sub(field.offset));
        let size = field.size.or_else(span).or(room).unwrap_or(0);
        let kind = match field.ctype.as_str() {
            "struct" => Kind::Record(field.element.clone()),
            "enum" => Kind::Enum(field.element.clone()),
            "ptr" => Kind::Pointer(field.element.clone()),
            "fnptr" => Kind::Function,
            "opaque" => Kind::Bytes(field.aligned().unwrap_or(if library_size(&field.element).is_some() { 8 } else { 1 })),
            library if pthread_size(library).is_some() => Kind::Library(library.into()),
            scalar => Kind::Scalar(scalar.into()),
        };
        let bounds = match (&kind, field.shape(), field.count) {
            (Kind::Bytes(_), ..) => Vec::new(),
            (_, shape, _) if !shape.is_empty() => shape,
            (_, _, 1) => Vec::new(),
            (_, _, count) => vec![count],
        };
        let claim = self.claims.of(&documented.name, &field.path);
        let typed = matches!(kind, Kind::Record(_) | Kind::Enum(_) | Kind::Pointer(_));
        Member {
            name: name.into(),
            offset: field.offset - base,
            size,
            bounds,
            kind,
            remark: if typed { String::new() } else { field.element.clone() },
            sized: field.size.is_some(),
            confidence: claim.confidence,
            section: claim.source,
        }
    }
}

fn inline(name: &str, union: bool, members: Vec<Member>, offset: u64) -> Member {
    let size = members.iter().map(|member| member.offset + member.size).max().unwrap_or(0);
    let (confidence, section) =
        members.first().map(|member| (member.confidence.clone(), member.section.clone())).unwrap_or_default();
    let record = Record { union, size, members, ..Record::default() };
    Member {
        name: name.into(),
        offset,
        size,
        bounds: Vec::new(),
        kind: Kind::Inline(Box::new(record)),
        remark: String::new(),
        sized: true,
        confidence,
        section,
    }
}
