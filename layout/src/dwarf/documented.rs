//! Looks up documented paths in the types that were read, through nested members and unions.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use crate::found::{Found, FoundEnum, FoundField, FoundStruct, is_unnamed};
use crate::kind::FieldKind;
use crate::table::{DocStruct, Table};
use crate::types::{Aggregate, Database, Kind, TypeId};

/// Paths that go through more members than this are damage, not C.
const DEEPEST: u32 = 32;

/// Steps that one path may take: anonymous members are searched.
const STEPS: u32 = 4096;

struct Search<'t> {
    types: &'t Database,
    steps: Cell<u32>,
}

/// Layouts of the documented structs that `usable` admits, and of all documented enumerations.
pub(super) fn found(types: &Database, table: &Table, usable: &dyn Fn(&str) -> bool) -> Found {
    let search = Search { types, steps: Cell::new(0) };
    let mut found = Found::default();
    for documented in table.structs.iter().filter(|documented| usable(&documented.name)) {
        for id in types.named(&documented.name) {
            if let Some(definition) = search.structure(*id, documented) {
                found.add_struct(&documented.name, definition);
            }
        }
    }
    for documented in &table.enums {
        for id in types.named(&documented.name) {
            if let Some(definition) = search.enumeration(*id) {
                found.add_enum(&documented.name, definition);
            }
        }
    }
    found
}

impl Search<'_> {
    fn members(&self, id: TypeId) -> Option<&Aggregate> {
        self.types.aggregate(id)
    }

    /// Offset and type of a path. An anonymous member is looked through, and may itself stand for a named container:
    /// the documented table gives names to unions that have none in C.
    fn resolve(&self, id: TypeId, path: &[&str], depth: u32) -> Option<(u64, Option<TypeId>)> {
        let ([first, rest @ ..], Some(aggregate)) = (path, self.members(id)) else { return None };
        self.steps.set(self.steps.get() + 1);
        if depth > DEEPEST || self.steps.get() > STEPS {
            return None;
        }
        for member in aggregate.members.iter().filter(|member| member.name.as_deref() == Some(*first)) {
            let Some(start) = member.offset else { continue };
            if rest.is_empty() {
                return Some((start, member.ty));
            }
            if let Some(ty) = member.ty
                && let Some((offset, ty)) = self.resolve(ty, rest, depth + 1)
            {
                return start.checked_add(offset).map(|offset| (offset, ty));
            }
        }
        for member in aggregate.members.iter().filter(|member| member.name.is_none()) {
            let (Some(ty), Some(start)) = (member.ty, member.offset) else { continue };
            for path in [path, rest] {
                if let Some((offset, ty)) = self.resolve(ty, path, depth + 1) {
                    return start.checked_add(offset).map(|offset| (offset, ty));
                }
            }
        }
        None
    }

    fn field(&self, offset: u64, ty: Option<TypeId>) -> FoundField {
        let (size, count, kind) = match ty {
            Some(id) => {
                let (count, element) = self.types.elements(id);
                (self.types.size(id), Some(count), element.and_then(|element| FieldKind::of(self.types, element)))
            }
            None => (None, None, None),
        };
        FoundField { offset, size, count, kind }
    }

    fn structure(&self, id: TypeId, documented: &DocStruct) -> Option<FoundStruct> {
        let plain = self.types.plain(id)?;
        // A struct may be documented that is a handle here: any type of a size will do.
        if matches!(self.types[plain].kind, Kind::Enum(_) | Kind::Declared(_) | Kind::Pointer(..)) {
            return None;
        }
        let size = self.types[plain].size?;
        let mut fields = BTreeMap::new();
        for field in &documented.fields {
            let path: Vec<&str> = field.path.split('.').collect();
            self.steps.set(0);
            if let Some((offset, ty)) = self.resolve(plain, &path, 0) {
                fields.insert(field.path.clone(), self.field(offset, ty));
            }
        }
        // A container that is anonymous here starts where its first member does.
        for field in documented.fields.iter().filter(|field| field.union && !field.path.contains('.')) {
            let inside = format!("{}.", field.path);
            let first = fields.iter().filter(|(path, _)| path.starts_with(&inside)).map(|(_, place)| place.offset).min();
            if let (None, Some(offset)) = (fields.get(&field.path), first) {
                fields.insert(field.path.clone(), self.field(offset, None));
            }
        }
        self.undocumented(plain, documented, &mut fields);
        Some(FoundStruct { size, align: self.types[plain].align, fields })
    }

    /// Adds the members that the table does not name: of the struct itself, and of every container whose members it names.
    fn undocumented(&self, id: TypeId, documented: &DocStruct, fields: &mut BTreeMap<String, FoundField>) {
        let ends = |path: &'_ str| path.match_indices('.').map(|(end, _)| end).collect::<Vec<_>>();
        let containers = documented.fields.iter().flat_map(|field| ends(&field.path).into_iter().map(|end| &field.path[..end]));
        let containers: BTreeSet<&str> = containers.chain([""]).collect();
        for container in containers {
            self.steps.set(0);
            let path: Vec<&str> = container.split('.').filter(|part| !part.is_empty()).collect();
            let place = if path.is_empty() { Some((0, Some(id))) } else { self.resolve(id, &path, 0) };
            let Some((start, Some(ty))) = place else { continue };
            let Some(aggregate) = self.members(ty) else { continue };
            for member in &aggregate.members {
                let Some(name) = member.name.as_deref().filter(|name| !is_unnamed(name)) else { continue };
                let path = if container.is_empty() { name.to_owned() } else { format!("{container}.{name}") };
                let named = |field: &str| field.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
                if !documented.fields.iter().any(|field| named(&field.path)) {
                    let offset = start.saturating_add(member.offset.unwrap_or(0));
                    fields.insert(path, FoundField { offset, size: None, count: None, kind: None });
                }
            }
        }
    }

    fn enumeration(&self, id: TypeId) -> Option<FoundEnum> {
        let plain = self.types.plain(id)?;
        let size = self.types[plain].size?;
        let values = match &self.types[plain].kind {
            Kind::Enum(enumeration) => enumeration
                .members
                .iter()
                .filter_map(|member| Some((member.name.to_string(), i64::try_from(member.value).ok()?)))
                .collect(),
            Kind::Base(_) => BTreeMap::new(),
            _ => return None,
        };
        Some(FoundEnum { size, values })
    }
}
