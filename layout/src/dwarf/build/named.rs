//! Types with names: declarations, typedefs, and what struct, union and enumeration have in common.

use super::super::context::Context;
use super::super::die::{Children, Die, read_at};
use super::super::world::At;
use super::{Builder, Depth};
use crate::types::draft::{Head, TextNumber};
use crate::types::{Keyword, Kind, Type, TypeId};

/// What a type is called.
enum Named {
    By(Option<TextNumber>, Option<TextNumber>),
    /// Its definition is there.
    Elsewhere(At),
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn named(
        &mut self,
        at: At,
        context: &Context,
        children: Children<'_, 'a>,
        die: &Die<'a>,
        depth: Depth,
    ) -> gimli::Result<Option<TypeId>> {
        let keyword = match die.tag() {
            gimli::DW_TAG_structure_type => Keyword::Struct,
            gimli::DW_TAG_class_type => Keyword::Class,
            gimli::DW_TAG_union_type => Keyword::Union,
            gimli::DW_TAG_enumeration_type => Keyword::Enum,
            _ => Keyword::Typedef,
        };
        if depth == Depth::Measures {
            return self.measured(at, context, children, die, keyword);
        }
        // Where types are in no scope, they are recognised by their entries alone.
        let plain = context.c_like && die.other.is_none();
        let strings = self.world.book(at.unit).strings.key();
        let mut target = None;
        let behind = if depth == Depth::Held { Depth::Held } else { Depth::Value };
        let by_name = die.declaration || (depth == Depth::Name && die.name.is_some());
        if plain && !by_name && keyword != Keyword::Typedef {
            return self.defined(at, context, children, die, keyword, (None, depth)).map(Some);
        }
        if plain && by_name {
            self.known.begin(strings, die.tag, None, None);
            self.known.declared();
            self.known.name(die.name.as_ref());
        } else if plain {
            target = Some(self.refer(at.unit, die.ty, behind)?);
            self.known.begin(strings, die.tag, die.byte_size, die.align);
            self.known.name(die.name.as_ref());
            self.known.ty(target.flatten());
        } else {
            self.known.cannot();
        }
        let free = match self.known.find() {
            Some(Ok(known)) => return Ok(Some(known)),
            Some(Err(free)) => Some(free),
            None => None,
        };
        let (name, scope) = match self.names(at, context, die)? {
            Named::By(name, scope) => (name, scope),
            Named::Elsewhere(other) => return self.build(other, depth),
        };
        let head = Head { name, scope, size: die.byte_size, align: die.align };
        let elsewhere = die.declaration || (depth == Depth::Name && name.is_some());
        if elsewhere || keyword == Keyword::Typedef {
            let (kind, size, align) = match target {
                _ if elsewhere => (Kind::Declared(keyword), None, None),
                Some(target) => (Kind::Typedef(target), die.byte_size, die.align),
                None => (Kind::Typedef(self.refer(at.unit, die.ty, behind)?), die.byte_size, die.align),
            };
            let text = |number: Option<TextNumber>| number.map(|number| self.types.numbered(number).clone());
            let (id, new) = self.types.intern(Type { name: text(name), scope: text(scope), kind, size, align });
            // Without a name after all, it is not what the key says.
            if let Some(free) = free.filter(|_| elsewhere || target.is_some()) {
                self.known.keep(free, id);
            }
            self.declared(id, new && !elsewhere, at.unit, die);
            return Ok(Some(id));
        }
        self.defined(at, context, children, die, keyword, (Some(head), depth)).map(Some)
    }

    /// A type of which only the size and the alignment are wanted: names and scopes are left out.
    fn measured(
        &mut self,
        at: At,
        context: &Context,
        children: Children<'_, 'a>,
        die: &Die<'a>,
        keyword: Keyword,
    ) -> gimli::Result<Option<TypeId>> {
        if die.declaration {
            // It may stand for a type unit.
            let elsewhere = die.other.and_then(|other| self.world.target(at.unit, &other)).filter(|other| *other != at);
            if let Some(other) = elsewhere {
                return self.build(other, Depth::Measures);
            }
        }
        let (kind, size, align) = match keyword {
            _ if die.declaration => (Kind::Declared(keyword), None, None),
            Keyword::Typedef => {
                let target = self.refer(at.unit, die.ty, Depth::Measures)?;
                if die.align.is_none() {
                    return Ok(target);
                }
                (Kind::Typedef(target), die.byte_size, die.align)
            }
            _ => {
                let head = Head { size: die.byte_size, align: die.align, ..Head::default() };
                return self.defined(at, context, children, die, keyword, (Some(head), Depth::Measures)).map(Some);
            }
        };
        Ok(Some(self.types.intern(Type { name: None, scope: None, kind, size, align }).0))
    }

    /// Name and scope of a named type, or where else it is defined.
    fn names(&mut self, at: At, context: &Context, die: &Die<'a>) -> gimli::Result<Named> {
        let mut name = self.number(at.unit, context, die.name);
        let mut scope = self.scope(at, context)?;
        // A definition may complete a declaration made elsewhere, and a declaration stand for a type unit.
        if let Some(other) = die.other.and_then(|other| self.world.target(at.unit, &other))
            && other != at
        {
            if die.declaration {
                return Ok(Named::Elsewhere(other));
            }
            let context = self.world.context(other.unit)?;
            let mut declared = Die::default();
            if (name.is_none() || scope.is_none()) && read_at(self.world, &context, other, &mut declared)?.is_some() {
                name = match name {
                    None => self.number(other.unit, &context, declared.name),
                    own => own,
                };
                scope = match scope {
                    None => self.scope(other, &context)?,
                    own => own,
                };
            }
        }
        Ok(Named::By(name, scope))
    }

    pub(super) fn head(&mut self, unit: u32, context: &Context, die: &Die<'a>, head: Option<Head>) -> Head {
        head.unwrap_or_else(|| Head {
            name: self.number(unit, context, die.name),
            scope: None,
            size: die.byte_size,
            align: die.align,
        })
    }

    pub(super) fn declared(&mut self, id: TypeId, new: bool, unit: u32, die: &Die<'a>) {
        if new && die.line > 0 {
            self.places.push((id, unit, die.file, die.line));
        }
    }
}
