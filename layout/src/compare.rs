//! Compares the documented table with what a route found.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::found::{Found, FoundEnum, FoundStruct};
use crate::kind::FieldKind;
use crate::report::{Compared, Mismatch, Route};
use crate::table::{DocEnum, DocStruct, Table};

/// How much a route must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// An implementation: required structs must be there, and it may have nothing the table does not name.
    Implementation,
    /// A foreign file: what it holds is compared, what it leaves out is not.
    Foreign,
}

/// Mismatches and counts of one route.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was compared.
    pub compared: Compared,
    /// What differs.
    pub mismatches: Vec<Mismatch>,
}

struct Comparison<'a> {
    table: &'a Table,
    route: Route,
    scope: Scope,
    fields: usize,
    mismatches: Vec<Mismatch>,
}

/// Compares every struct and enumeration that `found` holds, and those it should hold, with the table.
#[must_use]
pub fn compare(table: &Table, found: &Found, route: Route, scope: Scope) -> Outcome {
    let mut run = Comparison { table, route, scope, fields: 0, mismatches: Vec::new() };
    let mut structs = 0;
    let required = table.required.iter().filter(|_| scope == Scope::Implementation);
    let names: BTreeSet<&String> = found.structs.keys().chain(required).collect();
    for name in names {
        match (table.structure(name), found.structs.get(name)) {
            (Some(documented), Some(definitions)) => {
                structs += 1;
                run.fields += documented.fields.len();
                for definition in definitions {
                    run.structure(documented, definition);
                }
            }
            (Some(documented), None) => run.say(name, "", "missing_struct", json!(documented.size), Value::Null),
            (None, found) => {
                let size = found.and_then(|definitions| definitions.first()).map(|definition| definition.size);
                run.say(name, "", "extra_struct", Value::Null, json!(size));
            }
        }
    }
    let mut enums = 0;
    for (name, definitions) in &found.enums {
        let Some(documented) = table.enumeration(name) else {
            run.say(name, "", "extra_enum", Value::Null, json!(definitions.first().map(|definition| definition.size)));
            continue;
        };
        enums += 1;
        for definition in definitions {
            run.enumeration(documented, definition);
        }
    }
    let others = if enums == 0 { Vec::new() } else { vec![(enums, "enums")] };
    let compared = Compared { route, structs, fields: run.fields, others };
    Outcome { compared, mismatches: run.mismatches }
}

/// Whether a documented struct has one member that is as large as itself: debug information may tell of either.
fn wraps(table: &Table, name: &str) -> bool {
    table.structure(name).is_some_and(|target| matches!(target.fields.as_slice(), [only] if only.size == target.size))
}

impl Comparison<'_> {
    fn say(&mut self, structure: &str, field: &str, kind: &'static str, expected: Value, found: Value) {
        self.mismatches.push(Mismatch {
            structure: structure.into(),
            field: field.into(),
            expected,
            found,
            kind,
            route: self.route,
        });
    }

    fn structure(&mut self, documented: &DocStruct, found: &FoundStruct) {
        let name = &documented.name;
        if documented.size.is_some_and(|size| size != found.size) {
            self.say(name, "", "struct_size", json!(documented.size), json!(found.size));
        }
        if let (Some(expected), Some(align)) = (documented.align, found.align)
            && expected != align
        {
            self.say(name, "", "struct_align", json!(expected), json!(align));
        }
        for field in &documented.fields {
            let Some(place) = found.fields.get(&field.path) else {
                self.say(name, &field.path, "missing_field", json!(field.offset), Value::Null);
                continue;
            };
            if place.offset != field.offset {
                self.say(name, &field.path, "offset", json!(field.offset), json!(place.offset));
            }
            if let (Some(expected), Some(size)) = (field.size, place.size)
                && expected != size
            {
                self.say(name, &field.path, "size", json!(expected), json!(size));
            }
            if let (Scope::Foreign, Some(expected), Some(kind)) = (self.scope, FieldKind::documented(field), place.kind)
                && !expected.agrees(kind)
                && !(expected == FieldKind::Aggregate && wraps(self.table, &field.element))
            {
                self.say(name, &field.path, "type", json!(field.ctype), json!(kind.word()));
            }
            if let Some(count) = place.count
                && field.ctype != "opaque"
                && field.count != count
            {
                self.say(name, &field.path, "count", json!(field.count), json!(count));
            }
        }
        // Where the table has spans it cannot name, a foreign file may well name what is in them.
        let open = self.scope == Scope::Foreign && self.table.spans.iter().any(|span| span.structure == *name);
        for (path, place) in found.fields.iter().filter(|(path, _)| !open && documented.field(path).is_none()) {
            self.say(name, path, "extra_field", Value::Null, json!(place.offset));
        }
    }

    fn enumeration(&mut self, documented: &DocEnum, found: &FoundEnum) {
        let name = &documented.name;
        if found.size != 4 {
            self.say(name, "", "enum_size", json!(4), json!(found.size));
        }
        if found.values.is_empty() {
            return;
        }
        for (member, value) in &documented.members {
            match (value, found.values.get(member)) {
                (Some(value), Some(found)) if value != found => self.say(name, member, "enum_value", json!(value), json!(found)),
                (Some(value), None) if self.scope == Scope::Implementation => {
                    self.say(name, member, "enum_value", json!(value), Value::Null);
                }
                _ => {}
            }
        }
        if self.scope == Scope::Implementation {
            let unknown = |member: &&String| documented.members.iter().all(|(known, _)| known != *member);
            for member in found.values.keys().filter(unknown) {
                self.say(name, member, "enum_value", Value::Null, json!(found.values[member]));
            }
        }
    }
}
