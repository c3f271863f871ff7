//! Route 1: what the declarations in `nrt-core` say about themselves.

use std::collections::{BTreeMap, BTreeSet};

use nrt_core::abi;
use serde_json::{Value, json};

use crate::found::{Found, FoundEnum, FoundField, FoundStruct};
use crate::report::{Mismatch, Route};
use crate::table::Table;

/// Names of all structs that `nrt-core` implements.
#[must_use]
pub fn names() -> BTreeSet<&'static str> {
    abi::STRUCTS.iter().map(|info| info.name).collect()
}

/// All structs and enumerations that `nrt-core` implements.
#[must_use]
pub fn found() -> Found {
    let mut found = Found::default();
    for info in abi::STRUCTS {
        let mut fields = BTreeMap::new();
        for field in info.fields.iter().filter(|field| !field.is_unnamed()) {
            let place = FoundField {
                offset: field.offset as u64,
                size: Some(field.size as u64),
                count: Some(elements(field.ty)),
                kind: None,
            };
            fields.insert(field.path.to_owned(), place);
        }
        found.add_struct(info.name, FoundStruct { size: info.size as u64, align: Some(info.align as u64), fields });
    }
    for info in abi::ENUMS {
        let values = info.values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        found.add_enum(info.name, FoundEnum { size: info.size as u64, values });
    }
    // No source gives the numbers of this one; ours are a choice and cannot be compared.
    if let Some(choice) = found.enums.get_mut("ht_key_type_t").and_then(|definitions| definitions.first_mut()) {
        choice.values.clear();
    }
    found
}

/// Elements of a Rust type as written: 6 for `[[u8; 3]; 2]`, 1 for anything that is no array.
fn elements(ty: &str) -> u64 {
    let mut rest = ty.trim();
    let mut count = 1;
    while let Some(inner) = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let Some((element, bound)) = inner.rsplit_once(';') else { break };
        let Ok(bound) = bound.trim().parse::<u64>() else { break };
        count *= bound;
        rest = element.trim();
    }
    count
}

/// Enumerations the table has and `nrt-core` does not.
#[must_use]
pub fn missing_enums(table: &Table) -> Vec<Mismatch> {
    let known: BTreeSet<_> = abi::ENUMS.iter().map(|info| info.name).collect();
    let missing = table.enums.iter().filter(|documented| !known.contains(documented.name.as_str()));
    missing.map(|documented| mismatch(&documented.name, "", "missing_enum", json!(4), Value::Null, Route::Reflection)).collect()
}

/// The three tables indexed by usage, against those of `nrt-core`.
#[must_use]
pub fn compare_bytes(table: &Table) -> Vec<Mismatch> {
    let implemented = |name: &str| match name {
        "host" => Some(abi::USAGE_HOST_CATEGORY.as_slice()),
        "device" => Some(abi::USAGE_DEVICE_CATEGORY.as_slice()),
        "aggregate" => Some(abi::USAGE_AGGREGATE.as_slice()),
        _ => None,
    };
    differing_bytes(table, Route::Reflection, &implemented).1
}

/// The tables found in a file by their symbols; gives the number of bytes compared too. The 23rd byte is padding there.
#[must_use]
pub fn compare_symbols(table: &Table, tables: &BTreeMap<&'static str, Vec<u8>>) -> (usize, Vec<Mismatch>) {
    differing_bytes(table, Route::Dwarf, &|name| tables.get(name).map(Vec::as_slice))
}

fn differing_bytes<'a>(table: &Table, route: Route, tables: &dyn Fn(&str) -> Option<&'a [u8]>) -> (usize, Vec<Mismatch>) {
    let mut compared = 0;
    let mut mismatches = Vec::new();
    for byte in &table.bytes {
        let Some(found) = tables(&byte.table) else { continue };
        let found = found.get(byte.index).copied();
        compared += usize::from(found.is_some());
        if found != Some(byte.value) && (found.is_some() || route == Route::Reflection) {
            let field = format!("[{}] {}", byte.index, byte.usage);
            mismatches.push(mismatch(&byte.table, &field, "table_byte", json!(byte.value), json!(found), route));
        }
    }
    (compared, mismatches)
}

fn mismatch(structure: &str, field: &str, kind: &'static str, expected: Value, found: Value, route: Route) -> Mismatch {
    Mismatch { structure: structure.into(), field: field.into(), expected, found, kind, route }
}

#[cfg(test)]
mod tests {
    use super::elements;

    #[test]
    fn elements_of_rust_types() {
        assert_eq!(elements("u8"), 1);
        assert_eq!(elements("[u8; 256]"), 256);
        assert_eq!(elements("[[AtomicUsize; 23]; 8]"), 184);
        assert_eq!(elements("[ht_node_t; 0]"), 0);
        assert_eq!(elements("[*mut physical_core_t; 2]"), 2);
    }
}
