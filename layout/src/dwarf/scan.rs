//! Finds the types that are asked for.
//!
//! To find few names, the sections are first searched as bytes: a unit that holds neither the name nor the offset of the
//! name among the strings cannot name a type so, and is passed over unparsed.

use std::collections::{BTreeSet, HashSet};

use gimli::AttributeValue;
use memchr::memmem;

use super::build::{Builder, Depth};
use super::context::{Context, Tables};
use super::cursor::Cursor;
use super::die::{Die, read_at};
use super::entries::Strings;
use super::known::Known;
use super::world::{At, Book, Value, World};
use crate::types::draft::TextNumber;
use crate::types::hash::QuickMap;
use crate::types::{Database, Kind, Options, Selection, TypeId, last_component};

/// Names or string offsets beyond which searching for each as bytes does not pay.
const FEW: usize = 12;

/// Bytes of units that are read one by one before the strings are searched for the names.
const AT_ONCE: usize = 1 << 18;

/// Decides by the last part of its name whether an entry may be asked for.
pub(crate) struct Matcher<'s> {
    selection: &'s Selection,
    last: Last,
    admitted: QuickMap<(usize, usize), bool>,
    patterns: QuickMap<usize, Option<Vec<Vec<u8>>>>,
    /// Whether one definition of each name is enough.
    first_only: bool,
    /// As [`Options::shallow`].
    pub(crate) shallow: bool,
    /// Bytes of units that may still be read without searching.
    at_once: usize,
    /// Kept from part to part for the [`Builder`], which adds to the same database all the time.
    pub(crate) strings: Strings,
    /// The same.
    pub(crate) known: Known,
    /// Tables of abbreviations that units of several parts may share.
    pub(crate) tables: Tables,
}

/// The last parts of the names that are asked for.
enum Last {
    /// A pattern may match the scope: decided when that is known.
    Any,
    Few(Vec<Vec<u8>>),
    Many(HashSet<Vec<u8>>),
}

impl<'s> Matcher<'s> {
    pub(crate) fn new(selection: &'s Selection, options: &Options) -> Self {
        let names = |names: &BTreeSet<String>| -> HashSet<Vec<u8>> {
            names.iter().map(|name| last_component(name).as_bytes().to_vec()).collect()
        };
        let last = match selection {
            Selection::Names(asked) => match names(asked) {
                few if few.len() <= FEW => Last::Few(few.into_iter().collect()),
                many => Last::Many(many),
            },
            _ => Last::Any,
        };
        let first_only = options.first_only && !matches!(last, Last::Any);
        Self {
            selection,
            last,
            admitted: QuickMap::default(),
            patterns: QuickMap::default(),
            first_only,
            shallow: options.shallow && first_only,
            at_once: if first_only { AT_ONCE } else { 0 },
            strings: Strings::default(),
            known: Known::default(),
            tables: Tables::default(),
        }
    }

    /// Whether nothing more is asked for: every name has a definition, and one is enough.
    pub(crate) fn is_satisfied(&self, types: &Database) -> bool {
        let Selection::Names(names) = self.selection else { return false };
        self.first_only && names.iter().all(|name| types.named(name).iter().any(|id| is_enough(types, *id)))
    }

    /// Whether a definition of that name in that scope is known, and one is enough.
    fn is_known(&self, types: &Database, id: TypeId) -> bool {
        let ty = &types[id];
        let Some(name) = ty.name.as_deref().filter(|_| self.first_only) else { return false };
        types.named(name).iter().any(|known| types[*known].scope == ty.scope && is_enough(types, *known))
    }

    /// What a unit must hold one of to name an asked-for type; none = too many to search for.
    fn patterns(&mut self, world: &World<'_>, book: &Book<'_>) -> Option<Vec<Vec<u8>>> {
        let Last::Few(last) = &self.last else { return None };
        let big = world.endian == gimli::RunTimeEndian::Big;
        let search = || {
            let mut patterns: Vec<Vec<u8>> = last.iter().map(|name| [name.as_slice(), &[0]].concat()).collect();
            let mut offsets = Vec::new();
            let found = book.strings.find(&patterns, |offset| {
                let Ok(offset) = u32::try_from(offset) else { return false };
                offsets.push(if big { offset.to_be_bytes().to_vec() } else { offset.to_le_bytes().to_vec() });
                offsets.len() + last.len() <= FEW
            });
            patterns.append(&mut offsets);
            found.map(|()| patterns)
        };
        self.patterns.entry(book.strings.key()).or_insert_with(search).clone()
    }

    /// Units that may name an asked-for type; none = all of them.
    pub(crate) fn candidates(&mut self, world: &World<'_>, book: &Book<'_>) -> Option<BTreeSet<u32>> {
        if let Some(left) = self.at_once.checked_sub(book.info.len() + book.types.len()) {
            self.at_once = left;
            return None;
        }
        self.at_once = 0;
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
        let many = match &self.last {
            Last::Any if matches!(self.selection, Selection::All) => return true,
            Last::Any => return world.string(unit, context, value).is_some(),
            Last::Few(few) => {
                let text = world.string(unit, context, value);
                return text.is_some_and(|text| few.iter().any(|name| name == text));
            }
            Last::Many(many) => many,
        };
        let key = match value {
            AttributeValue::DebugStrRef(offset) => Some((world.book(unit).strings.key(), offset.0)),
            _ => None,
        };
        if let Some(known) = key.and_then(|key| self.admitted.get(&key)) {
            return *known;
        }
        let admitted = world.string(unit, context, value).is_some_and(|text| many.contains(text));
        if let Some(key) = key {
            self.admitted.insert(key, admitted);
        }
        admitted
    }
}

/// Whether a type answers the question for its name. The name of a struct that has the same one is only its other name.
fn is_enough(types: &Database, id: TypeId) -> bool {
    match types[id].kind {
        Kind::Declared(_) => false,
        Kind::Typedef(_) => types.size(id).is_some() && types.plain(id).is_some_and(|plain| types[plain].name != types[id].name),
        _ => true,
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

/// Reads one unit and adds the types asked for; where one definition of each is enough, up to the last one that was.
pub(crate) fn unit(builder: &mut Builder<'_, '_>, matcher: &mut Matcher<'_>, number: u32) -> gimli::Result<()> {
    let world = builder.world;
    let context = world.context(number)?;
    let mut found = Vec::new();
    builder.enter(number);
    // What is declared further on may be the scope of what is made now, where scopes have names.
    let at_once = matcher.first_only && context.c_like;
    let mut walk = Walk::new(world, &context, number)?;
    while let Some(met) = walk.next(builder)? {
        let asked = match &met.name {
            Some(name) => matcher.admits(world, number, &context, name),
            None => met.completes,
        };
        if !asked || met.declaration {
            continue;
        }
        if !at_once {
            found.push(met.at);
        } else if add(builder, matcher, met.at)? && matcher.is_satisfied(builder.types) {
            break;
        }
    }
    for at in found {
        add(builder, matcher, at)?;
    }
    builder.leave(number);
    Ok(())
}

/// Makes the type of an entry, and adds it if it is asked for; tells whether it was added now.
fn add(builder: &mut Builder<'_, '_>, matcher: &Matcher<'_>, at: At) -> gimli::Result<bool> {
    let Some(id) = builder.build(at, Depth::Value)? else { return Ok(false) };
    if builder.types.is_root(id) {
        return Ok(false);
    }
    let ty = &builder.types[id];
    let defined = !matches!(ty.kind, Kind::Declared(_));
    let admitted = ty.name.as_deref().is_some_and(|name| matcher.selection.admits(ty.scope.as_deref(), name));
    let wanted = defined && admitted && !matcher.is_known(builder.types, id);
    if wanted {
        builder.types.add_root(id);
    }
    Ok(wanted)
}

/// Reads the scopes of the types of one unit, and nothing else of it.
pub(crate) fn scopes(builder: &mut Builder<'_, '_>, number: u32) -> gimli::Result<()> {
    let context = builder.world.context(number)?;
    let mut walk = Walk::new(builder.world, &context, number)?;
    while walk.next(builder)?.is_some() {}
    Ok(())
}

/// Goes over all entries of a unit; tells the scopes of its types, and which types there are.
struct Walk<'c, 'a> {
    number: u32,
    context: &'c Context,
    cursor: Cursor<'c, 'a>,
    scopes: Vec<Scope>,
}

impl<'c, 'a> Walk<'c, 'a> {
    fn new(world: &'c World<'a>, context: &'c Context, number: u32) -> gimli::Result<Self> {
        Ok(Self { number, context, cursor: Cursor::new(world, context, number, None)?, scopes: Vec::new() })
    }

    /// Goes on to the next type.
    fn next(&mut self, builder: &mut Builder<'_, 'a>) -> gimli::Result<Option<Met<'a>>> {
        let (world, number, context) = (builder.world, self.number, self.context);
        let Self { cursor, scopes, .. } = self;
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
            let at = At { unit: number, offset };
            if let Some(scope) = around.filter(|_| is_type) {
                builder.set_scope(at, scope);
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
            if is_type {
                return Ok(Some(Met { at, name, completes: plan.completes, declaration }));
            }
        }
        Ok(None)
    }
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
