//! Whether `layout.csv` agrees with itself: order, overlap, sizes, alignment.

use std::collections::{BTreeMap, HashSet};

use super::{DocField, DocStruct, Table, library_size, pthread_size, scalar_size};

/// Every contradiction within the documented table, as one line each.
#[must_use]
pub fn problems(table: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for structure in &table.structs {
        fields(table, structure, &mut found);
        overlaps(structure, &mut found);
        whole(table, structure, &mut found);
    }
    let names: HashSet<_> = table.structs.iter().map(|structure| structure.name.as_str()).collect();
    found.extend(
        table
            .required
            .iter()
            .filter(|name| !names.contains(name.as_str()))
            .map(|name| format!("{name}: required, not in the table")),
    );
    for span in &table.spans {
        match table.structure(&span.structure) {
            None => found.push(format!("spans.csv: {} is not in the table", span.structure)),
            Some(structure) => {
                let known = span.after.is_empty() || structure.fields.iter().any(|field| field.container() == span.after);
                if !known {
                    found.push(format!("spans.csv: {}.{} is not in the table", span.structure, span.after));
                }
            }
        }
    }
    found
}

/// Alignment and element size as C lays the type out; the size is absent for what has none of its own.
fn natural(table: &Table, field: &DocField) -> (u64, Option<u64>) {
    let own = scalar_size(&field.ctype);
    if let Some(align) = field.aligned() {
        return (align, own);
    }
    if let Some(size) = own {
        return (size, Some(size));
    }
    if let Some(size) = pthread_size(&field.ctype) {
        return (8, Some(size));
    }
    if field.ctype == "struct" {
        let target = table.structure(&field.element);
        return (target.and_then(|target| target.align).unwrap_or(1), target.and_then(|target| target.size));
    }
    library_size(&field.element).map_or((1, None), |size| (8, Some(size)))
}

fn fields(table: &Table, structure: &DocStruct, found: &mut Vec<String>) {
    let mut previous = 0;
    for (index, field) in structure.fields.iter().enumerate() {
        let mut say = |text: String| found.push(format!("{}.{}: {text}", structure.name, field.path));
        if field.ctype == "struct" && table.structure(&field.element).is_none_or(|target| target.size.is_none()) {
            say(format!("element struct {} has no size in the table", field.element));
        }
        if !field.union {
            if field.offset < previous {
                say("not sorted by offset".into());
            }
            previous = field.offset;
        }
        let (align, element) = natural(table, field);
        let packed = structure.align.is_some_and(|own| own < align);
        if field.offset % align != 0 && !packed {
            say(format!("offset {} is not a multiple of {align}", field.offset));
        }
        match (field.size, element) {
            (None, _) if field.ctype != "opaque" => say("size missing".into()),
            (Some(size), Some(element)) if size != field.count.saturating_mul(element) => {
                say(format!("size {size} is not {} * {element}", field.count));
            }
            _ => {}
        }
        let shape = field.shape();
        if !shape.is_empty() && shape.iter().fold(1_u64, |product, bound| product.saturating_mul(*bound)) != field.count {
            say(format!("shape {} is not {} elements", field.element, field.count));
        }
        if field.size == Some(0) && index + 1 != structure.fields.len() {
            say("a flexible array that is not the last field".into());
        }
        let end = field.offset + field.size.unwrap_or(0);
        if structure.size.is_some_and(|size| end > size || field.size.is_none() && field.offset >= size) {
            say(format!("ends at {end}, beyond the struct"));
        }
    }
}

fn overlaps(structure: &DocStruct, found: &mut Vec<String>) {
    let mut members: BTreeMap<&str, Vec<&DocField>> = BTreeMap::new();
    let mut items: Vec<(u64, u64, &str)> = Vec::new();
    for field in &structure.fields {
        if field.union {
            members.entry(field.container()).or_default().push(field);
        } else {
            items.push((field.offset, field.offset + field.size.unwrap_or(1), &field.path));
        }
    }
    for (container, fields) in members {
        let end = |field: &DocField| field.offset + field.size.unwrap_or(0);
        let start = fields.iter().map(|field| field.offset).min().unwrap_or(0);
        let stop = fields.iter().map(|field| end(field)).max().unwrap_or(0);
        items.push((start, stop, container));
        let mut arms: BTreeMap<&str, Vec<&DocField>> = BTreeMap::new();
        for field in fields {
            match field.path.split('.').nth(1) {
                Some(arm) => arms.entry(arm).or_default().push(field),
                None if field.offset > start || end(field) < stop => {
                    found.push(format!("{}.{container}: an arm leaves it", structure.name));
                }
                None => {}
            }
        }
        for mut arm in arms.into_values() {
            arm.sort_by_key(|field| field.offset);
            for pair in arm.windows(2).filter(|pair| end(pair[0]) > pair[1].offset) {
                found.push(format!("{}.{}: overlaps {}", structure.name, pair[1].path, pair[0].path));
            }
        }
    }
    items.sort_unstable();
    for pair in items.windows(2).filter(|pair| pair[0].1 > pair[1].0) {
        found.push(format!("{}.{}: overlaps {}", structure.name, pair[1].2, pair[0].2));
    }
}

fn whole(table: &Table, structure: &DocStruct, found: &mut Vec<String>) {
    let Some(align) = structure.align else { return };
    if structure.size.is_some_and(|size| size % align != 0) {
        found.push(format!("{}: size is not a multiple of the alignment", structure.name));
    }
    let widest = structure.fields.iter().map(|field| natural(table, field).0).max().unwrap_or(1);
    let aligned = |field: &DocField| field.offset.is_multiple_of(natural(table, field).0);
    if align < widest && structure.fields.iter().all(aligned) {
        found.push(format!("{}: alignment {align} is below that of a member, {widest}", structure.name));
    }
}
