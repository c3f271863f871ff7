//! Finds the types that are asked for.
//!
//! To find few names, the sections are first searched as bytes: a unit that holds neither the name nor the offset of the
//! name among the strings cannot name a type so, and is passed over unparsed.

use std::collections::{BTreeSet, HashSet};

use gimli::AttributeValue;
use memchr::memmem;

use super::build::{Builder, Depth};
use super::cursor::Cursor;
use super::dense::Strings;
use super::die::{Die, read_at};
use super::known::Known;
use super::world::{At, Book, Context, Value, World};
use crate::types::draft::TextNumber;
use crate::types::hash::QuickMap;
use crate::types::{Selection, last_component};

/// Names or string offsets beyond which searching for each as bytes does not pay.
const FEW: usize = 12;

/// Decides by the last part of its name whether an entry may be asked for.
pub(crate) struct Matcher<'s> {
    selection: &'s Selection,
    last: Option<HashSet<Vec<u8>>>,
    admitted: QuickMap<(usize, usize), bool>,
    patterns: QuickMap<usize, Option<Vec<Vec<u8>>>>,
    /// Kept from part to part for the [`Builder`], which adds to the same database all the time.
    pub(crate) strings: Strings,
    /// The same.
    pub(crate) known: Known,
}

impl<'s> Matcher<'s> {
    pub(crate) fn new(selection: &'s Selection) -> Self {
        let last = match selection {
            Selection::Names(names) => Some(names.iter().map(|name| last_component(name).as_bytes().to_vec()).collect()),
            _ => None,
        };
        Self {
            selection,
            last,
            admitted: QuickMap::default(),
            patterns: QuickMap::default(),
            strings: Strings::default(),
            known: Known::default(),
        }
    }

    pub(crate) const fn selection(&self) -> &'s Selection {
        self.selection
    }

    /// What a unit must hold one of to name an asked-for type; none = too many to search for.
    fn patterns(&mut self, world: &World<'_>, book: &Book<'_>) -> Option<Vec<Vec<u8>>> {
        let last = self.last.as_ref().filter(|last| last.len() <= FEW)?;
        let big = world.endian == gimli::RunTimeEndian::Big;
        let search = || {
            let mut patterns: Vec<Vec<u8>> = Vec::new();
            for name in last {
                let mut ended = name.clone();
                ended.push(0);
                for offset in memmem::find_iter(book.strings, &ended) {
                    if patterns.len() > FEW {
                        return None;
                    }
                    let offset = u32::try_from(offset).ok()?;
                    patterns.push(if big { offset.to_be_bytes().to_vec() } else { offset.to_le_bytes().to_vec() });
                }
                patterns.push(ended);
            }
            Some(patterns)
        };
        self.patterns.entry(book.strings.as_ptr() as usize).or_insert_with(search).clone()
    }

    /// Units that may name an asked-for type; none = all of them.
    pub(crate) fn candidates(&mut self, world: &World<'_>, book: &Book<'_>) -> Option<BTreeSet<u32>> {
        let patterns = self.patterns(world, book)?;
        let mut units = BTreeSet::new();
        let own: Vec<u32> = book.every.clone().filter_map(|unit| u32::try_from(unit).ok()).collect();
        for pattern in &patterns {
            let finder = memmem::Finder::new(pattern);
            for (section, in_types) in [(book.info, false), (book.types, true)] {
                let of_section = own.iter().filter(|unit| world.units[**unit as usize].in_types == in_types);
                let mut starts: Vec<(usize, u32)> = of_section.map(|unit| (world.units[*unit as usize].start, *unit)).collect();
                // The section may be a part that starts further on.
                let base = starts.first().map_or(0, |(start, _)| *start);
                starts.iter_mut().for_each(|(start, _)| *start -= base);
                let mut from = 0;
                while let Some(at) = section.get(from..).and_then(|rest| finder.find(rest)) {
                    let at = from + at;
                    let next = starts.partition_point(|(start, _)| *start <= at);
                    if let Some((_, unit)) = next.checked_sub(1).and_then(|index| starts.get(index)) {
                        units.insert(*unit);
                    }
                    // On to the next unit: one hit is enough.
                    from = starts.get(next).map_or(section.len(), |(start, _)| (*start).max(at + 1));
                }
            }
            if pattern.len() == 4 && !book.string_offsets.is_empty() {
                indexed(world, &own, book, &finder, &mut units);
            }
        }
        Some(units)
    }

    fn admits<'a>(&mut self, world: &World<'a>, unit: u32, context: &Context, value: &Value<'a>) -> bool {
        if matches!(self.selection, Selection::All) {
            return true;
        }
        let key = match value {
            AttributeValue::DebugStrRef(offset) => Some((world.book(unit).strings.as_ptr() as usize, offset.0)),
            _ => None,
        };
        if let Some(known) = key.and_then(|key| self.admitted.get(&key)) {
            return *known;
        }
        let text = world.string(unit, context, value);
        let admitted = match (&self.last, text) {
            (_, None) => false,
            (Some(last), Some(text)) => last.contains(text),
            // A pattern may match the scope: decided when that is known.
            (None, Some(_)) => true,
        };
        if let Some(key) = key {
            self.admitted.insert(key, admitted);
        }
        admitted
    }
}

/// Units whose table of string offsets holds the offset.
fn indexed(world: &World<'_>, own: &[u32], book: &Book<'_>, finder: &memmem::Finder<'_>, units: &mut BTreeSet<u32>) {
    let hits: Vec<usize> = finder.find_iter(book.string_offsets).collect();
    if hits.is_empty() {
        return;
    }
    let mut bases = Vec::new();
    for unit in own {
        match world.context(*unit) {
            Ok(context) => bases.push((context.string_base, *unit)),
            Err(_) => drop(units.insert(*unit)),
        }
    }
    bases.sort_unstable();
    for hit in hits {
        let next = bases.partition_point(|(base, _)| *base <= hit);
        let Some(base) = next.checked_sub(1).and_then(|index| bases.get(index)).map(|(base, _)| *base) else { continue };
        // Type units share the table of their unit.
        units.extend(bases[..next].iter().rev().take_while(|(other, _)| *other == base).map(|(_, unit)| *unit));
    }
}

/// A scope being read: its depth, and its full name as far as it is outside of functions.
#[derive(Clone, Copy)]
struct Scope {
    depth: isize,
    full: Option<TextNumber>,
}

/// A type that a unit describes.
struct Met<'a> {
    at: At,
    name: Option<Value<'a>>,
    /// Whether it completes a declaration, from where it may take its name.
    completes: bool,
    declaration: bool,
}

/// Reads one unit and adds the types asked for.
pub(crate) fn unit(builder: &mut Builder<'_, '_>, matcher: &mut Matcher<'_>, number: u32) -> gimli::Result<()> {
    let world = builder.world;
    let context = world.context(number)?;
    let mut found = Vec::new();
    builder.enter(number);
    walk(builder, number, &context, |met| {
        let asked = match &met.name {
            Some(name) => matcher.admits(world, number, &context, name),
            None => met.completes,
        };
        if asked && !met.declaration {
            found.push(met.at);
        }
    })?;
    for at in found {
        let Some(id) = builder.build(at, Depth::Value)? else { continue };
        if builder.types.is_root(id) {
            continue;
        }
        let ty = &builder.types[id];
        let defined = !matches!(ty.kind, crate::types::Kind::Declared(_));
        let admitted = ty.name.as_deref().is_some_and(|name| matcher.selection.admits(ty.scope.as_deref(), name));
        if defined && admitted {
            builder.types.add_root(id);
        }
    }
    builder.leave(number);
    Ok(())
}

/// Reads the scopes of the types of one unit, and nothing else of it.
pub(crate) fn scopes(builder: &mut Builder<'_, '_>, number: u32) -> gimli::Result<()> {
    let context = builder.world.context(number)?;
    walk(builder, number, &context, |_| {})
}

/// Goes over all entries of a unit; tells the scopes of its types, and which types there are.
fn walk<'a>(builder: &mut Builder<'_, 'a>, number: u32, context: &Context, mut visit: impl FnMut(&Met<'a>)) -> gimli::Result<()> {
    let world = builder.world;
    let mut scopes: Vec<Scope> = Vec::new();
    let mut cursor = Cursor::new(world, context, number, None)?;
    while !cursor.is_empty() {
        let (depth, offset) = (cursor.depth, cursor.offset());
        let Some(plan) = cursor.next()? else { continue };
        // In C, no type is declared inside another, and scopes have no names.
        if !plan.is_type && (context.c_like || !plan.is_scope) {
            cursor.skip(plan)?;
            continue;
        }
        while scopes.last().is_some_and(|scope| scope.depth >= depth) {
            scopes.pop();
        }
        let leaf = plan.tag == gimli::DW_TAG_enumeration_type || (context.c_like && plan.is_type);
        let (tag, is_type, is_scope) = (plan.tag, plan.is_type, plan.is_scope && plan.children && !leaf);
        let (mut name, mut declaration, mut sibling, mut signature) = (None, false, None, None);
        cursor.steps(plan.walk, |attribute, value| match attribute {
            gimli::DW_AT_name => name = Some(value),
            gimli::DW_AT_declaration => declaration = matches!(value, AttributeValue::Flag(true)),
            gimli::DW_AT_signature if is_scope => signature = Some(value),
            gimli::DW_AT_sibling if leaf => sibling = Some(value),
            _ => {}
        })?;
        if let Some(AttributeValue::UnitRef(next)) = sibling
            && next.0 > cursor.offset()
            && next.is_in_bounds(&world.units[number as usize].header)
        {
            cursor.jump(next.0, depth);
        }
        let around = scopes.last().and_then(|scope| scope.full);
        if is_type {
            let at = At { unit: number, offset };
            if let Some(scope) = around {
                builder.set_scope(at, scope);
            }
            visit(&Met { at, name, completes: plan.completes, declaration });
        }
        if is_scope {
            // Functions are no part of the names of what they declare.
            let full = if tag == gimli::DW_TAG_subprogram {
                around
            } else {
                let name = match (name, signature) {
                    (Some(name), _) => world.string(number, context, &name),
                    // Around a class in a type unit, clang only refers to the class that holds it.
                    (None, Some(signature)) => name_of(world, number, &signature)?,
                    (None, None) => None,
                };
                let name = name.map_or_else(|| "(anonymous)".into(), String::from_utf8_lossy);
                join(builder, around, &name)
            };
            scopes.push(Scope { depth, full });
        }
    }
    Ok(())
}

/// The name of the entry that an attribute refers to.
fn name_of<'a>(world: &World<'a>, unit: u32, reference: &Value<'a>) -> gimli::Result<Option<&'a [u8]>> {
    let Some(at) = world.target(unit, reference) else { return Ok(None) };
    let context = world.context(at.unit)?;
    let mut die = Die::default();
    let there = read_at(world, &context, at, &mut die)?.is_some();
    Ok(die.name.filter(|_| there).and_then(|name| world.string(at.unit, &context, &name)))
}

/// Longest full name of a scope in bytes; what is inside of longer ones is named as if it stood outside.
const LONGEST: usize = 4096;

fn join(builder: &mut Builder<'_, '_>, around: Option<TextNumber>, name: &str) -> Option<TextNumber> {
    let full = around.map(|around| format!("{}::{name}", builder.types.numbered(around)));
    let full = full.as_deref().unwrap_or(name);
    if full.len() > LONGEST { around } else { Some(builder.types.text_number(full)) }
}
