//! The definitions as data: the table format itself, and JSON.

use serde_json::{Value, json};

use super::shape::{Kind, Member, Record, Shapes};
use crate::error::Unreadable;

/// Columns of a documented table.
const COLUMNS: [&str; 11] = [
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

/// Writes a documented table: what `--table` reads. `first` names the structs that come first, in that order.
///
/// # Errors
/// None in practice: the table is written to memory.
pub fn csv(shapes: &Shapes, first: &[String]) -> Result<String, Unreadable> {
    let failed = |error: String| Unreadable::new("the emitted table", error, "room for it");
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS).map_err(|error| failed(error.to_string()))?;
    let rank = |record: &&Record| first.iter().position(|name| *name == record.name).unwrap_or(usize::MAX);
    let mut records: Vec<&Record> = shapes.records.iter().collect();
    records.sort_by_key(rank);
    for record in records {
        let size = if record.closed { record.size.to_string() } else { String::new() };
        let align = record.align.map(|align| align.to_string()).unwrap_or_default();
        let head = [record.name.clone(), size, align];
        let mut rows = Vec::new();
        for member in &record.members {
            flatten(member, "", 0, record.union, &mut rows);
        }
        if rows.is_empty() {
            let mut row = vec![String::new(); 6];
            row.extend([record.confidence.clone(), record.source.clone()]);
            rows.push(row);
        }
        for row in rows {
            writer.write_record(head.iter().chain(&row)).map_err(|error| failed(error.to_string()))?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
}

fn flatten(member: &Member, path: &str, base: u64, union: bool, rows: &mut Vec<Vec<String>>) {
    let path = if path.is_empty() { member.name.clone() } else { format!("{path}.{}", member.name) };
    let offset = base + member.offset;
    if let Kind::Inline(record) = &member.kind
        && member.bounds.is_empty()
    {
        if record.closed {
            let align = record.align.map(|align| format!("aligned({align})")).unwrap_or_default();
            rows.push(row(&path, offset, member, "union:opaque", 1, &align));
        }
        for inner in &record.members {
            flatten(inner, &path, offset, union || record.union, rows);
        }
        return;
    }
    // Bit-fields share a unit: each has a row, without a size, at the unit's offset.
    if member.name.starts_with("bits_") && member.remark.contains('@') {
        for (name, offset) in member.remark.split_whitespace().filter_map(|word| word.split_once('@')) {
            let path = path.replace(&member.name, name);
            let unit = Member { sized: false, ..member.clone() };
            rows.push(row(&path, base + offset.parse::<u64>().unwrap_or(0), &unit, "opaque", 1, ""));
        }
        return;
    }
    let (ctype, element) = match &member.kind {
        // The table has no word for these.
        Kind::Scalar(name) if matches!(name.as_str(), "f32" | "f64") => ("opaque", name.as_str()),
        Kind::Scalar(name) | Kind::Library(name) => (name.as_str(), member.remark.as_str()),
        Kind::Enum(name) => ("enum", name.as_str()),
        Kind::Pointer(target) => ("ptr", target.as_str()),
        Kind::Function => ("fnptr", member.remark.as_str()),
        Kind::Record(name) => ("struct", name.as_str()),
        Kind::Bytes(_) | Kind::Inline(_) => ("opaque", member.remark.as_str()),
    };
    let count = if ctype == "opaque" { 1 } else { member.bounds.iter().product() };
    let ctype = if union { format!("union:{ctype}") } else { ctype.into() };
    rows.push(row(&path, offset, member, &ctype, count, element));
}

fn row(path: &str, offset: u64, member: &Member, ctype: &str, count: u64, element: &str) -> Vec<String> {
    let size = if member.sized { member.size.to_string() } else { String::new() };
    let cells = [path, &offset.to_string(), &size, ctype, &count.to_string(), element, &member.confidence, &member.section];
    cells.map(String::from).to_vec()
}

/// The definitions as one object; see `schema/emit.schema.json`.
#[must_use]
pub fn object(shapes: &Shapes) -> Value {
    let enums = shapes.enums.iter().map(|one| {
        let values = one.members.iter().map(|(name, value)| json!({ "name": name, "value": value }));
        json!({ "name": one.name, "size": 4, "values": values.collect::<Vec<_>>() })
    });
    json!({
        "schema": "nrt-layout/emit/1",
        "origin": shapes.origin,
        "types": shapes.records.iter().map(|record| typed(shapes, record)).collect::<Vec<_>>(),
        "enums": enums.collect::<Vec<_>>(),
    })
}

fn typed(shapes: &Shapes, record: &Record) -> Value {
    let member = |member: &Member| {
        let mut value = json!({
            "name": member.name, "offset": member.offset, "size": member.size, "type": name(&member.kind), "bounds": member.bounds,
        });
        if let (Kind::Inline(inner), Some(object)) = (&member.kind, value.as_object_mut()) {
            object.insert("members".into(), typed(shapes, inner)["members"].clone());
        }
        value
    };
    json!({
        "name": record.name,
        "kind": if record.union { "union" } else { "struct" },
        "size": record.size,
        "align": shapes.alignment(record),
        "packed": shapes.packed(record),
        "members": record.members.iter().map(member).collect::<Vec<_>>(),
    })
}

/// Type of one element in words.
#[must_use]
pub fn name(kind: &Kind) -> String {
    match kind {
        Kind::Scalar(name) | Kind::Library(name) => name.clone(),
        Kind::Enum(name) => format!("enum {name}"),
        Kind::Pointer(target) => format!("{target} *"),
        Kind::Function => "function *".into(),
        Kind::Record(name) => format!("struct {name}"),
        Kind::Inline(record) => if record.union { "union" } else { "struct" }.into(),
        Kind::Bytes(_) => "bytes".into(),
    }
}
