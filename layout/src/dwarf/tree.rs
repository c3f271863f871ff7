//! Finds types by name in a DWARF tree and resolves documented paths through nested members and unions.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use gimli::{AttributeValue, DebuggingInformationEntry, Reader, UnitOffset, UnitType};

use crate::found::{Found, FoundEnum, FoundField, FoundStruct, is_unnamed};
use crate::table::{DocStruct, Table};

/// Types that refer to types deeper than this are damage, not C.
const DEEPEST: u32 = 32;

/// Steps that one path may take. Anonymous members are searched, and in a damaged file they can contain themselves.
const STEPS: u32 = 4096;

/// Place of one entry: unit, offset in the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct At(usize, UnitOffset<usize>);

struct Member {
    name: Option<String>,
    offset: u64,
    ty: Option<At>,
}

struct Tree<R: Reader<Offset = usize>> {
    dwarf: gimli::Dwarf<R>,
    units: Vec<gimli::Unit<R>>,
    members: RefCell<HashMap<At, Rc<Vec<Member>>>>,
    steps: Cell<u32>,
}

type Entry<R> = DebuggingInformationEntry<R>;

/// Layouts of the documented structs that `usable` admits, and of all documented enumerations.
pub(super) fn extract<R: Reader<Offset = usize>>(
    dwarf: gimli::Dwarf<R>,
    table: &Table,
    usable: &dyn Fn(&str) -> bool,
) -> gimli::Result<Found> {
    let mut units = Vec::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        units.push(dwarf.unit(header)?);
    }
    let tree = Tree { dwarf, units, members: RefCell::default(), steps: Cell::new(0) };
    let structs: HashMap<&str, &DocStruct> = table
        .structs
        .iter()
        .filter(|documented| usable(&documented.name))
        .map(|documented| (documented.name.as_str(), documented))
        .collect();
    let enums: BTreeSet<&str> = table.enums.iter().map(|documented| documented.name.as_str()).collect();

    let mut found = Found::default();
    for (index, unit) in tree.units.iter().enumerate() {
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let tag = entry.tag();
            let aggregate = matches!(tag, gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type);
            let named = aggregate || matches!(tag, gimli::DW_TAG_enumeration_type | gimli::DW_TAG_typedef);
            if !named || entry.attr_value(gimli::DW_AT_declaration).is_some() {
                continue;
            }
            let Some(name) = tree.name(index, entry) else { continue };
            let at = At(index, entry.offset());
            if let Some(documented) = structs.get(name.as_str())
                && let Some(definition) = tree.structure(at, documented)?
            {
                found.add_struct(&name, definition);
            }
            if enums.contains(name.as_str())
                && let Some(definition) = tree.enumeration(at)?
            {
                found.add_enum(&name, definition);
            }
        }
    }
    Ok(found)
}

impl<R: Reader<Offset = usize>> Tree<R> {
    fn name(&self, unit: usize, entry: &Entry<R>) -> Option<String> {
        let value = entry.attr_value(gimli::DW_AT_name)?;
        let text = self.dwarf.attr_string(&self.units[unit], value).ok()?;
        text.to_string_lossy().ok().map(|text| text.into_owned())
    }

    /// The entry a type attribute refers to.
    fn target(&self, unit: usize, entry: &Entry<R>) -> Option<At> {
        match entry.attr_value(gimli::DW_AT_type)? {
            AttributeValue::UnitRef(offset) => Some(At(unit, offset)),
            AttributeValue::DebugInfoRef(offset) => {
                let inside = |unit: &gimli::Unit<R>| offset.to_unit_offset(&unit.header);
                self.units.iter().enumerate().find_map(|(index, unit)| Some(At(index, inside(unit)?)))
            }
            AttributeValue::DebugTypesRef(wanted) => {
                self.units.iter().enumerate().find_map(|(index, unit)| match unit.header.type_() {
                    UnitType::Type { type_signature, type_offset } if type_signature == wanted => Some(At(index, type_offset)),
                    _ => None,
                })
            }
            _ => None,
        }
    }

    /// The type behind names and qualifiers.
    fn plain(&self, mut at: At) -> gimli::Result<Option<At>> {
        for _ in 0..DEEPEST {
            let entry = self.units[at.0].entry(at.1)?;
            match entry.tag() {
                gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type | gimli::DW_TAG_atomic_type => {
                    match self.target(at.0, &entry) {
                        Some(next) => at = next,
                        None => return Ok(None),
                    }
                }
                _ => return Ok(Some(at)),
            }
        }
        Ok(None)
    }

    fn children(&self, at: At, mut each: impl FnMut(&Entry<R>)) -> gimli::Result<()> {
        let mut tree = self.units[at.0].entries_tree(Some(at.1))?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            each(child.entry());
        }
        Ok(())
    }

    fn members(&self, at: At) -> gimli::Result<Rc<Vec<Member>>> {
        if let Some(known) = self.members.borrow().get(&at) {
            return Ok(Rc::clone(known));
        }
        let mut members = Vec::new();
        self.children(at, |entry| {
            if entry.tag() == gimli::DW_TAG_member {
                let bits = unsigned(entry, gimli::DW_AT_data_bit_offset).map(|bits| bits / 8);
                let offset = unsigned(entry, gimli::DW_AT_data_member_location).or(bits).unwrap_or(0);
                members.push(Member { name: self.name(at.0, entry), offset, ty: self.target(at.0, entry) });
            }
        })?;
        let members = Rc::new(members);
        self.members.borrow_mut().insert(at, Rc::clone(&members));
        Ok(members)
    }

    /// Offset and type of a path. An anonymous member is looked through, and may itself stand for a named container:
    /// the documented table gives names to unions that have none in C.
    fn resolve(&self, at: At, path: &[&str], depth: u32) -> gimli::Result<Option<(u64, Option<At>)>> {
        let ([first, rest @ ..], Some(at)) = (path, self.plain(at)?) else { return Ok(None) };
        self.steps.set(self.steps.get() + 1);
        if depth > DEEPEST || self.steps.get() > STEPS {
            return Ok(None);
        }
        let members = self.members(at)?;
        for member in members.iter().filter(|member| member.name.as_deref() == Some(*first)) {
            if rest.is_empty() {
                return Ok(Some((member.offset, member.ty)));
            }
            if let Some(ty) = member.ty
                && let Some((offset, ty)) = self.resolve(ty, rest, depth + 1)?
            {
                return Ok(member.offset.checked_add(offset).map(|offset| (offset, ty)));
            }
        }
        for member in members.iter().filter(|member| member.name.as_deref().is_none_or(str::is_empty)) {
            let Some(ty) = member.ty else { continue };
            for path in [path, rest] {
                if let Some((offset, ty)) = self.resolve(ty, path, depth + 1)? {
                    return Ok(member.offset.checked_add(offset).map(|offset| (offset, ty)));
                }
            }
        }
        Ok(None)
    }

    /// Size in bytes and number of elements.
    fn extent(&self, at: At, depth: u32) -> gimli::Result<(Option<u64>, Option<u64>)> {
        let Some(at) = self.plain(at)? else { return Ok((None, None)) };
        let entry = self.units[at.0].entry(at.1)?;
        if entry.tag() != gimli::DW_TAG_array_type {
            let pointer = entry.tag() == gimli::DW_TAG_pointer_type;
            return Ok((unsigned(&entry, gimli::DW_AT_byte_size).or(pointer.then_some(8)), Some(1)));
        }
        let mut bounds = Some(1_u64);
        self.children(at, |entry| {
            if entry.tag() == gimli::DW_TAG_subrange_type {
                // A flexible array has no bound, or the bound -1.
                let last = entry.attr(gimli::DW_AT_upper_bound).and_then(|bound| bound.sdata_value());
                let bound = unsigned(entry, gimli::DW_AT_count).or(last.map(|last| last.wrapping_add(1).max(0).unsigned_abs()));
                bounds = bounds.and_then(|bounds| bounds.checked_mul(bound.unwrap_or(0)));
            }
        })?;
        let (size, count) = match self.target(at.0, &entry) {
            Some(element) if depth < DEEPEST => self.extent(element, depth + 1)?,
            _ => (None, None),
        };
        let times = |value: Option<u64>| value.zip(bounds).and_then(|(value, bounds)| value.checked_mul(bounds));
        Ok((times(size), times(count)))
    }

    fn structure(&self, at: At, documented: &DocStruct) -> gimli::Result<Option<FoundStruct>> {
        let Some(at) = self.plain(at)? else { return Ok(None) };
        let entry = self.units[at.0].entry(at.1)?;
        let Some(size) = unsigned(&entry, gimli::DW_AT_byte_size) else { return Ok(None) };
        if entry.attr_value(gimli::DW_AT_declaration).is_some() || entry.tag() == gimli::DW_TAG_enumeration_type {
            return Ok(None);
        }
        let mut fields = BTreeMap::new();
        for field in &documented.fields {
            let path: Vec<&str> = field.path.split('.').collect();
            self.steps.set(0);
            if let Some((offset, ty)) = self.resolve(at, &path, 0)? {
                let (size, count) = match ty {
                    Some(ty) => self.extent(ty, 0)?,
                    None => (None, None),
                };
                fields.insert(field.path.clone(), FoundField { offset, size, count });
            }
        }
        // A container that is anonymous here starts where its first member does.
        for field in documented.fields.iter().filter(|field| field.union && !field.path.contains('.')) {
            let inside = format!("{}.", field.path);
            let first = fields.iter().filter(|(path, _)| path.starts_with(&inside)).map(|(_, place)| place.offset).min();
            if let (None, Some(offset)) = (fields.get(&field.path), first) {
                fields.insert(field.path.clone(), FoundField { offset, size: None, count: None });
            }
        }
        self.undocumented(at, documented, &mut fields)?;
        Ok(Some(FoundStruct { size, align: unsigned(&entry, gimli::DW_AT_alignment), fields }))
    }

    /// Adds the members that the table does not name: of the struct itself, and of every container whose members it names.
    fn undocumented(&self, at: At, documented: &DocStruct, fields: &mut BTreeMap<String, FoundField>) -> gimli::Result<()> {
        let ends = |path: &'_ str| path.match_indices('.').map(|(end, _)| end).collect::<Vec<_>>();
        let containers = documented.fields.iter().flat_map(|field| ends(&field.path).into_iter().map(|end| &field.path[..end]));
        let containers: BTreeSet<&str> = containers.chain([""]).collect();
        for container in containers {
            self.steps.set(0);
            let path: Vec<&str> = container.split('.').filter(|part| !part.is_empty()).collect();
            let place = if path.is_empty() { Some((0, Some(at))) } else { self.resolve(at, &path, 0)? };
            let Some((start, Some(ty))) = place else { continue };
            let Some(ty) = self.plain(ty)? else { continue };
            for member in self.members(ty)?.iter() {
                let Some(name) = member.name.as_ref().filter(|name| !name.is_empty() && !is_unnamed(name)) else { continue };
                let path = if container.is_empty() { name.clone() } else { format!("{container}.{name}") };
                let named = |field: &str| field.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
                if !documented.fields.iter().any(|field| named(&field.path)) {
                    fields.insert(path, FoundField { offset: start.saturating_add(member.offset), size: None, count: None });
                }
            }
        }
        Ok(())
    }

    fn enumeration(&self, at: At) -> gimli::Result<Option<FoundEnum>> {
        let Some(at) = self.plain(at)? else { return Ok(None) };
        let entry = self.units[at.0].entry(at.1)?;
        let Some(size) = unsigned(&entry, gimli::DW_AT_byte_size) else { return Ok(None) };
        let mut values = BTreeMap::new();
        self.children(at, |entry| {
            if entry.tag() == gimli::DW_TAG_enumerator {
                let value = entry.attr(gimli::DW_AT_const_value);
                let value = value.and_then(|value| value.sdata_value().or_else(|| i64::try_from(value.udata_value()?).ok()));
                if let (Some(name), Some(value)) = (self.name(at.0, entry), value) {
                    values.insert(name, value);
                }
            }
        })?;
        Ok(Some(FoundEnum { size, values }))
    }
}

fn unsigned<R: Reader<Offset = usize>>(entry: &Entry<R>, attribute: gimli::DwAt) -> Option<u64> {
    entry.attr(attribute).and_then(|value| value.udata_value())
}
