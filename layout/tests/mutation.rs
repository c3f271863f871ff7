//! Every single documented number is watched: shifting one is noticed on each route.

use std::collections::BTreeSet;

use nrt_layout::compare::{Scope, compare};
use nrt_layout::found::Found;
use nrt_layout::header::{header, probe};
use nrt_layout::report::{Mismatch, Route};
use nrt_layout::routes::{gcc, reflection, witness};
use nrt_layout::table::{DocStruct, Table};

/// What each route found; only the comparison is repeated for each mutation.
struct Routes(Vec<(Route, Found)>);

impl Routes {
    fn take(table: &Table, names: &BTreeSet<&'static str>) -> Self {
        let program = std::env::current_exe().expect("this test has a path");
        let debug =
            nrt_layout::dwarf::read(&program, table, &|name| names.contains(name)).expect("this test has debug information");
        let laid_out = gcc::found(table, names).expect("the emitted header compiles");
        Self(vec![(Route::Reflection, reflection::found()), (Route::Dwarf, debug.found), (Route::Gcc, laid_out)])
    }

    fn mismatches(&self, table: &Table) -> Vec<Mismatch> {
        let each = |(route, found): &(Route, Found)| compare(table, found, *route, Scope::Implementation).mismatches;
        self.0.iter().flat_map(each).collect()
    }
}

/// Applies `change` to each implemented struct for each index it accepts; each must be caught on each route, as `kind`.
fn caught(kind: &str, mut change: impl FnMut(&mut DocStruct, usize) -> Option<String>) -> usize {
    let table = Table::built_in().expect("the tables are well-formed");
    let names = reflection::names();
    let routes = Routes::take(&table, &names);
    assert_eq!(routes.mismatches(&table), [], "nothing differs before a mutation");
    let mut mutations = 0;
    for position in 0..table.structs.len() {
        let name = table.structs[position].name.clone();
        if !names.contains(name.as_str()) {
            continue;
        }
        for index in 0..=table.structs[position].fields.len() {
            let mut mutated = table.clone();
            let Some(field) = change(&mut mutated.structs[position], index) else { continue };
            let found = routes.mismatches(&mutated);
            for (route, _) in &routes.0 {
                let hit = |mismatch: &&Mismatch| mismatch.route == *route && mismatch.kind == kind;
                let hits: Vec<_> = found.iter().filter(hit).map(|mismatch| (&mismatch.structure, &mismatch.field)).collect();
                assert_eq!(hits, [(&name, &field)], "{name}.{field} on route {}", route.name());
            }
            mutations += 1;
        }
    }
    mutations
}

#[test]
fn every_shifted_offset_is_caught_on_each_route() {
    let mut required = 0;
    let table = Table::built_in().expect("the tables are well-formed");
    let mutations = caught("offset", |documented, index| {
        let field = documented.fields.get_mut(index)?;
        field.offset += 1;
        required += usize::from(table.required.contains(&documented.name));
        Some(field.path.clone())
    });
    assert_eq!((mutations, required), (931, 931), "94 host structs have 559 fields, 93 of the driver 372");
    crate::common::leave("mutations", &format!("{mutations} shifted offsets x 3 routes = {} caught\n", mutations * 3));
}

#[test]
fn every_changed_size_of_a_field_is_caught_on_each_route() {
    let mutations = caught("size", |documented, index| {
        let field = documented.fields.get_mut(index)?;
        *field.size.as_mut()? += 1;
        Some(field.path.clone())
    });
    assert!(mutations > 900);
}

#[test]
fn every_changed_size_and_alignment_of_a_struct_is_caught_on_each_route() {
    let sizes = caught("struct_size", |documented, index| {
        *documented.size.as_mut().filter(|_| index == 0)? += 1;
        Some(String::new())
    });
    let alignments = caught("struct_align", |documented, index| {
        *documented.align.as_mut().filter(|_| index == 0)? *= 2;
        Some(String::new())
    });
    assert!(sizes >= 200 && alignments >= 190);
}

#[test]
fn every_changed_count_is_caught_on_each_route() {
    let mutations = caught("count", |documented, index| {
        let field = documented.fields.get_mut(index).filter(|field| field.ctype != "opaque")?;
        field.count += 1;
        Some(field.path.clone())
    });
    assert!(mutations > 900);
}

#[test]
fn a_dropped_field_is_extra_and_an_invented_one_is_missing() {
    let dropped = caught_on_compare("extra_field", |documented| documented.fields.pop().map(|field| field.path));
    let invented = caught_on_compare("missing_field", |documented| {
        let mut field = documented.fields.last()?.clone();
        field.path = "invented".into();
        documented.fields.push(field);
        Some("invented".into())
    });
    assert!(dropped > 180 && invented > 180);
}

/// Applies `change` to each implemented struct at once; both routes that look at the implementation must notice each.
fn caught_on_compare(kind: &str, change: impl Fn(&mut DocStruct) -> Option<String>) -> usize {
    let mut table = Table::built_in().expect("the tables are well-formed");
    let names = reflection::names();
    let mut changes = Vec::new();
    for documented in table.structs.iter_mut().filter(|documented| names.contains(documented.name.as_str())) {
        changes.extend(change(documented).map(|field| (documented.name.clone(), field)));
    }
    let program = std::env::current_exe().expect("this test has a path");
    let debug = nrt_layout::dwarf::read(&program, &table, &|name| names.contains(name)).expect("debug information").found;
    for (route, found) in [(Route::Reflection, reflection::found()), (Route::Dwarf, debug)] {
        let found = compare(&table, &found, route, Scope::Implementation).mismatches;
        for (name, field) in &changes {
            // A container whose only member was dropped is found under its own name.
            let hit =
                |mismatch: &Mismatch| mismatch.kind == kind && mismatch.structure == *name && field.starts_with(&mismatch.field);
            assert!(found.iter().any(hit), "{name}.{field} on route {}", route.name());
        }
    }
    changes.len()
}

#[test]
fn no_documented_offset_reaches_the_header() {
    let table = Table::built_in().expect("the tables are well-formed");
    let names = reflection::names();
    let text = |table: &Table| (header(table, names.iter().copied()).expect("emitted"), probe(table, &names));
    let before = text(&table);
    for position in 0..table.structs.len() {
        for index in 0..table.structs[position].fields.len() {
            let mut mutated = table.clone();
            mutated.structs[position].fields[index].offset += 1;
            assert!(text(&mutated) == before, "{}.{}", table.structs[position].name, table.structs[position].fields[index].path);
        }
    }
}

#[test]
fn every_changed_constant_is_caught_by_the_witness_route() {
    let table = Table::built_in().expect("the tables are well-formed");
    let implemented = reflection::found();
    assert_eq!(witness::compare_constants(&table, &implemented), []);
    for index in 0..table.evidence.len() {
        let mut mutated = table.clone();
        mutated.evidence[index].value += 1;
        let found = witness::compare_constants(&mutated, &implemented);
        assert_eq!(found.len(), 2, "{}: once for each book", table.evidence[index].expression);
    }
}

#[test]
fn every_changed_byte_and_enumerator_is_caught() {
    let table = Table::built_in().expect("the tables are well-formed");
    for index in 0..table.bytes.len() {
        let mut mutated = table.clone();
        mutated.bytes[index].value ^= 1;
        assert_eq!(reflection::compare_bytes(&mutated).len(), 1);
    }
    let implemented = reflection::found();
    for position in 0..table.enums.len() {
        for index in 0..table.enums[position].members.len() {
            let mut mutated = table.clone();
            let Some(value) = &mut mutated.enums[position].members[index].1 else { continue };
            *value += 1;
            assert_eq!(compare(&mutated, &implemented, Route::Reflection, Scope::Implementation).mismatches.len(), 1);
        }
    }
}
