//! What confirms a documented number besides its source.

use std::collections::BTreeSet;

use crate::expression::evaluate;
use crate::found::{Found, FoundStruct};
use crate::routes::{gcc, reflection};
use crate::table::{DocField, DocStruct, Table, library_size, pthread_size, scalar_size};

/// One thing that confirms, or contradicts, a documented number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Testimony {
    /// `neighbour`, `size`, `embedding`, `instruction`, `compiler` or `implementation`.
    pub kind: &'static str,
    /// Whether it agrees with the table.
    pub agrees: bool,
    /// What it says.
    pub text: String,
}

/// What an independent route laid out, read once for all questions.
pub struct Books {
    compiled: Option<Found>,
    implemented: Found,
}

impl Books {
    /// Lays `name` out with the C compiler (if there is one) and reads what `nrt-core` implements.
    #[must_use]
    pub fn open(table: &Table, name: &str) -> Self {
        Self { compiled: gcc::found(table, &BTreeSet::from([name])).ok(), implemented: reflection::found() }
    }
}

fn say(kind: &'static str, agrees: bool, text: String) -> Testimony {
    Testimony { kind, agrees, text }
}

/// What confirms the size and alignment of a struct.
#[must_use]
pub fn of_struct(table: &Table, documented: &DocStruct, books: &Books) -> Vec<Testimony> {
    let mut said = Vec::new();
    let end = |field: &DocField| field.offset + field.size.unwrap_or(0);
    if let (Some(size), Some(last)) = (documented.size, documented.fields.iter().max_by_key(|field| end(field))) {
        let (stop, align) = (end(last), documented.align.unwrap_or(1));
        let closes = stop.next_multiple_of(align) == size;
        let text = match (stop == size, closes) {
            (true, _) => format!("{} ends at {stop}, which is the size", last.path),
            (false, true) => format!("{} ends at {stop}; alignment {align} rounds that up to {size}", last.path),
            (false, false) => format!("{} ends at {stop}; the {} bytes behind it have no name", last.path, size - stop.min(size)),
        };
        said.push(say("neighbour", true, text));
    }
    said.extend(embeddings(table, documented));
    said.extend(instructions(table, &documented.name, None));
    for (kind, found) in layouts(&documented.name, books) {
        let same = documented.size.is_none_or(|size| size == found.size)
            && documented.align.zip(found.align).is_none_or(|(expected, align)| expected == align);
        let align = found.align.map(|align| format!(", alignment {align}")).unwrap_or_default();
        said.push(say(kind, same, format!("{} makes it {} bytes{align}", whose(kind), found.size)));
    }
    said
}

/// What confirms the place and size of a field.
#[must_use]
pub fn of_field(table: &Table, documented: &DocStruct, field: &DocField, books: &Books) -> Vec<Testimony> {
    let mut said = neighbours(table, documented, field);
    if let Some(size) = field.size {
        let element = scalar_size(&field.ctype).or_else(|| pthread_size(&field.ctype)).or_else(|| match field.ctype.as_str() {
            "struct" => table.structure(&field.element).and_then(|target| target.size),
            "opaque" => library_size(&field.element),
            _ => None,
        });
        if let Some(element) = element.filter(|element| *element != size && field.count > 0) {
            let text = format!("{} elements of {element} bytes are {size}", field.count);
            said.push(say("size", element.checked_mul(field.count) == Some(size), text));
        }
    }
    said.extend(instructions(table, &documented.name, Some(&field.path)));
    for (kind, found) in layouts(&documented.name, books) {
        match found.fields.get(&field.path) {
            Some(place) => {
                said.push(say(kind, place.offset == field.offset, format!("{} puts it at {}", whose(kind), place.offset)));
            }
            None => said.push(say(kind, false, format!("{} has no such field", whose(kind)))),
        }
    }
    said
}

fn whose(kind: &str) -> &'static str {
    if kind == "compiler" { "the C compiler, given types and order but no offsets," } else { "nrt-core" }
}

fn layouts<'a>(name: &str, books: &'a Books) -> Vec<(&'static str, &'a FoundStruct)> {
    let of = |found: &'a Found| found.structs.get(name).and_then(|definitions| definitions.first());
    let compiled = books.compiled.as_ref().and_then(of).map(|found| ("compiler", found));
    compiled.into_iter().chain(of(&books.implemented).map(|found| ("implementation", found))).collect()
}

/// Whether the members before and behind leave no room for another place.
fn neighbours(table: &Table, documented: &DocStruct, field: &DocField) -> Vec<Testimony> {
    let mut said = Vec::new();
    let outside = |other: &&DocField| other.container() != field.container() || !field.union;
    let end = |other: &DocField| other.offset + other.size.unwrap_or(0);
    let span = |after: &str| table.spans.iter().any(|span| span.structure == documented.name && span.after == after);
    let before = documented.fields.iter().filter(outside).filter(|other| other.path != field.path && end(other) <= field.offset);
    match before.max_by_key(|other| end(other)) {
        None if field.offset == 0 => said.push(say("neighbour", true, "starts the struct".into())),
        None => said.push(say("neighbour", true, format!("the {} bytes before it have no name", field.offset))),
        Some(other) => {
            let gap = field.offset - end(other);
            let text = match gap {
                0 => format!("starts where {} ends", other.path),
                _ if span(other.container()) => format!("{} ends {gap} bytes before; what lies between has no name", other.path),
                _ => format!("{} ends {gap} bytes before, which alignment explains", other.path),
            };
            said.push(say("neighbour", true, text));
        }
    }
    let Some(stop) = field.size.map(|size| field.offset + size) else { return said };
    let behind = documented.fields.iter().filter(outside).filter(|other| other.path != field.path && other.offset >= stop);
    match behind.min_by_key(|other| other.offset) {
        None if documented.size == Some(stop) => said.push(say("neighbour", true, "ends the struct exactly".into())),
        Some(other) if other.offset == stop => said.push(say("neighbour", true, format!("ends where {} starts", other.path))),
        _ => {}
    }
    said
}

/// Where other structs embed this one: the room they leave must be its size.
fn embeddings(table: &Table, documented: &DocStruct) -> Vec<Testimony> {
    let Some(size) = documented.size else { return Vec::new() };
    let mut said = Vec::new();
    for outer in &table.structs {
        for (index, field) in outer.fields.iter().enumerate() {
            if field.ctype != "struct" || field.element != documented.name || field.count == 0 {
                continue;
            }
            let (times, place) = (field.count, format!("{}.{}", outer.name, field.path));
            let many = if times == 1 { String::new() } else { format!("{times} times ") };
            let closes = outer.fields.get(index + 1).is_some_and(|next| next.offset == field.offset + size * times);
            let text = if closes {
                format!("{many}in {place}, where the next field follows at once")
            } else {
                format!("{many}in {place}")
            };
            said.push(say("embedding", field.size == size.checked_mul(times), text));
        }
    }
    said
}

/// Constants of the original's instructions that are made of this number.
fn instructions(table: &Table, structure: &str, field: Option<&str>) -> Vec<Testimony> {
    let wanted: Vec<String> = match field {
        None => vec![format!("size:{structure}")],
        Some(path) => vec![format!("off:{structure}.{path}"), format!("count:{structure}.{path}")],
    };
    let concerns = |expression: &str| expression.split(['+', '-', '*']).any(|term| wanted.iter().any(|name| name == term));
    let seen = table.evidence.iter().filter(|witness| concerns(&witness.expression));
    let testimony = |witness: &crate::table::Witness| {
        let agrees = evaluate(&witness.expression, table) == Ok(i128::from(witness.value));
        say("instruction", agrees, format!("{:#x} = {} ({})", witness.value, witness.expression, witness.seen))
    };
    seen.map(testimony).collect()
}
