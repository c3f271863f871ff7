//! Reads the csv files and refuses what is malformed, naming the line.

use std::collections::HashSet;

use csv::{ReaderBuilder, StringRecord};

use super::{DocByte, DocEnum, DocField, DocStruct, Span, Witness, pthread_size, scalar_size};
use crate::error::Unreadable;

type Read<T> = Result<T, Unreadable>;

const LAYOUT: &[&str] = &[
    "struct",
    "struct_size",
    "struct_align",
    "field",
    "offset",
    "size",
    "ctype",
    "count",
    "pointee_or_elem",
    "confidence",
    "source",
];

/// Largest number a table may hold; keeps every sum of two of them far from overflow.
const LARGEST: u64 = 1 << 40;

struct Row<'a> {
    place: &'a str,
    line: u64,
    header: &'a [&'a str],
    cells: StringRecord,
}

impl Row<'_> {
    fn fault(&self, fault: impl Into<String>, expected: &str) -> Unreadable {
        Unreadable::new(format!("{} line {}", self.place, self.line), fault, expected)
    }

    fn text(&self, column: &str) -> &str {
        self.header.iter().position(|name| *name == column).and_then(|at| self.cells.get(at)).unwrap_or_default()
    }

    fn optional(&self, column: &str) -> Read<Option<u64>> {
        let text = self.text(column);
        if text.is_empty() {
            return Ok(None);
        }
        let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
        match text.parse::<u64>() {
            Ok(number) if plain && number <= LARGEST => Ok(Some(number)),
            _ => Err(self.fault(format!("{column} is {text:?}"), "a plain decimal number below 2^40, or nothing")),
        }
    }

    fn number(&self, column: &str) -> Read<u64> {
        self.optional(column)?.ok_or_else(|| self.fault(format!("{column} is empty"), "a decimal number"))
    }
}

fn rows<'a>(text: &str, place: &'a str, header: &'a [&'a str]) -> Read<Vec<Row<'a>>> {
    let broken = |error: csv::Error| Unreadable::new(place, error.to_string(), "a csv table");
    let mut reader = ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut records = reader.records();
    let first = records.next().transpose().map_err(broken)?;
    if !first.is_some_and(|first| first.iter().eq(header.iter().copied())) {
        return Err(Unreadable::new(format!("{place} line 1"), "another header", header.join(",")));
    }
    let mut rows = Vec::new();
    for record in records {
        let cells = record.map_err(broken)?;
        let line = cells.position().map_or(0, csv::Position::line);
        rows.push(Row { place, line, header, cells });
    }
    Ok(rows)
}

pub(super) fn structs(text: &str, place: &str) -> Read<Vec<DocStruct>> {
    let mut structs: Vec<DocStruct> = Vec::new();
    let mut seen = HashSet::new();
    for row in rows(text, place, LAYOUT)? {
        let (name, size, align) = (row.text("struct"), row.optional("struct_size")?, row.optional("struct_align")?);
        if !is_name(name) {
            return Err(row.fault(format!("struct is {name:?}"), "a C name"));
        }
        if align.is_some_and(|align| !align.is_power_of_two() || align > 4096) {
            return Err(row.fault("struct_align is no power of two", "1, 2, 4, ... 4096"));
        }
        if structs.last().is_none_or(|last| last.name != name) {
            if structs.iter().any(|known| known.name == name) {
                return Err(row.fault(format!("{name} again"), "the rows of a struct side by side"));
            }
            let source = row.text("source");
            let descriptive = source.contains("name descriptive") || source.contains("name as used");
            structs.push(DocStruct { name: name.into(), size, align, descriptive, fields: Vec::new() });
        }
        let Some(current) = structs.last_mut() else { continue };
        if (current.size, current.align) != (size, align) {
            return Err(row.fault("struct_size or struct_align differs", "the same in all rows of a struct"));
        }
        if row.text("field").is_empty() {
            continue;
        }
        let field = field(&row)?;
        if !seen.insert((name.to_owned(), field.path.clone())) {
            return Err(row.fault(format!("{name}.{} again", field.path), "each field once"));
        }
        current.fields.push(field);
    }
    Ok(structs)
}

fn field(row: &Row<'_>) -> Read<DocField> {
    let path = row.text("field");
    if !path.split('.').all(is_name) {
        return Err(row.fault(format!("field is {path:?}"), "C names joined by dots"));
    }
    let ctype = row.text("ctype");
    let (union, ctype) = ctype.strip_prefix("union:").map_or((false, ctype), |rest| (true, rest));
    let known = scalar_size(ctype).is_some() || pthread_size(ctype).is_some() || matches!(ctype, "struct" | "opaque");
    if !known {
        return Err(row.fault(format!("ctype is {ctype:?}"), "a scalar, enum, ptr, fnptr, struct, opaque or pthread type"));
    }
    let (element, count) = (row.text("pointee_or_elem"), row.number("count")?);
    if matches!(ctype, "struct" | "enum") && !is_name(element) {
        return Err(row.fault(format!("pointee_or_elem is {element:?}"), "the name of a struct or enumeration"));
    }
    let field = DocField {
        path: path.into(),
        offset: row.number("offset")?,
        size: row.optional("size")?,
        ctype: ctype.into(),
        union,
        count,
        element: element.into(),
    };
    if field.aligned().is_some_and(|align| !align.is_power_of_two() || align > 4096) {
        return Err(row.fault(format!("pointee_or_elem is {element:?}"), "a power of two up to 4096 in aligned(..)"));
    }
    Ok(field)
}

pub(super) fn enums(text: &str, place: &str) -> Read<Vec<DocEnum>> {
    let mut enums: Vec<DocEnum> = Vec::new();
    for row in rows(text, place, &["enum", "member", "value", "confidence", "source"])? {
        let value = match row.text("value") {
            "" => None,
            text => Some(text.parse().map_err(|_| row.fault(format!("value is {text:?}"), "a decimal number"))?),
        };
        let (name, member) = (row.text("enum"), (row.text("member").to_owned(), value));
        match enums.last_mut() {
            Some(last) if last.name == name => last.members.push(member),
            _ => enums.push(DocEnum { name: name.into(), members: vec![member] }),
        }
    }
    Ok(enums)
}

pub(super) fn bytes(text: &str, place: &str) -> Read<Vec<DocByte>> {
    let header = ["table", "index", "usage_name", "value_published", "value_corrected", "meaning", "note"];
    let byte = |row: Row<'_>| {
        let value = u8::try_from(row.number("value_corrected")?).map_err(|_| row.fault("value_corrected", "a byte"))?;
        let index = usize::try_from(row.number("index")?).map_err(|_| row.fault("index", "0 to 22"))?;
        Ok(DocByte { table: row.text("table").into(), index, usage: row.text("usage_name").into(), value })
    };
    rows(text, place, &header)?.into_iter().map(byte).collect()
}

pub(super) fn spans(text: &str, place: &str) -> Read<Vec<Span>> {
    let span = |row: Row<'_>| {
        Ok(Span {
            structure: row.text("struct").into(),
            after: row.text("after_field").into(),
            name: row.text("name").into(),
            bytes: row.number("bytes")?,
        })
    };
    rows(text, place, &["struct", "after_field", "name", "bytes"])?.into_iter().map(span).collect()
}

pub(super) fn evidence(text: &str, place: &str) -> Read<Vec<Witness>> {
    let witness = |row: Row<'_>| {
        let text = row.text("value");
        let value = text.strip_prefix("0x").map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16));
        let value = value.map_err(|_| row.fault(format!("value is {text:?}"), "a decimal or 0x number"))?;
        Ok(Witness { value, expression: row.text("expression").into(), seen: row.text("seen").into() })
    };
    rows(text, place, &["value", "expression", "seen"])?.into_iter().map(witness).collect()
}

fn is_name(text: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && text.bytes().all(part) && !text.as_bytes()[0].is_ascii_digit()
}
