//! Types that are made of others and have no name: pointers, qualified types, arrays, functions.

use gimli::AttributeValue;

use super::super::die::{Children, Die};
use super::super::known::qualified_kind;
use super::super::world::Value;
use super::{Builder, Depth};
use crate::types::{Kind, Pointer, Qualifier, Type, TypeId};

impl<'a> Builder<'_, 'a> {
    pub(super) fn pointer(&mut self, unit: u32, die: &Die<'a>, flavour: Pointer) -> gimli::Result<Kind> {
        Ok(Kind::Pointer(flavour, self.refer(unit, die.ty, Depth::Name)?))
    }

    pub(super) fn qualified(&mut self, unit: u32, die: &Die<'a>, qualifier: Qualifier, depth: Depth) -> gimli::Result<TypeId> {
        let target = self.refer(unit, die.ty, depth)?;
        let kind = Kind::Qualified(qualifier, target);
        if die.align.is_some() {
            return Ok(self.types.intern(Type { name: None, scope: None, kind, size: None, align: die.align }).0);
        }
        Ok(self.derived(qualified_kind(qualifier), target, kind, None))
    }

    /// A pointer or qualified type of a frequent kind.
    pub(super) fn derived(&mut self, kind: usize, target: Option<TypeId>, made: Kind, size: Option<u64>) -> TypeId {
        if let Some(known) = self.known.derived(kind, target) {
            return known;
        }
        let (id, _) = self.types.intern(Type { name: None, scope: None, kind: made, size, align: None });
        self.known.keep_derived(kind, target, id);
        id
    }

    pub(super) fn array(
        &mut self,
        unit: u32,
        mut children: Children<'_, 'a>,
        die: &Die<'a>,
        depth: Depth,
    ) -> gimli::Result<Kind> {
        let element = self.refer(unit, die.ty, depth)?;
        let mut bounds = Vec::new();
        let mut child = Die::default();
        while children.next(&mut child, &mut self.fuel)? {
            if child.tag() == gimli::DW_TAG_subrange_type || child.tag() == gimli::DW_TAG_enumeration_type {
                bounds.push(bound(&child));
            }
        }
        Ok(Kind::Array { element, bounds: bounds.into() })
    }

    pub(super) fn function(&mut self, unit: u32, mut children: Children<'_, 'a>, die: &Die<'a>) -> gimli::Result<TypeId> {
        let result = self.refer(unit, die.ty, Depth::Name)?;
        let (mut parameters, mut variadic) = (self.lists.pop().unwrap_or_default(), false);
        parameters.clear();
        let mut child = Die::default();
        while children.next(&mut child, &mut self.fuel)? {
            match child.tag() {
                gimli::DW_TAG_formal_parameter => parameters.push(self.refer(unit, child.ty, Depth::Name)?),
                gimli::DW_TAG_unspecified_parameters => variadic = true,
                _ => {}
            }
        }
        let made = self.types.intern_function(result, &parameters, variadic);
        self.lists.push(parameters);
        Ok(made)
    }
}

/// Number of elements of one dimension; none = no bound is given.
fn bound(die: &Die<'_>) -> Option<u64> {
    if let Some(count) = die.count {
        return count.udata_value();
    }
    // Fixed-size forms carry no sign here: 255 in one byte is 256 elements.
    let number = |value: Value<'_>| match value {
        AttributeValue::Sdata(value) => Some(i128::from(value)),
        other => other.udata_value().map(i128::from),
    };
    let last = number(die.upper?)?;
    let first = die.lower.and_then(number).unwrap_or(0);
    // A flexible array may have the bound -1, in any width.
    if matches!(last, 0xffff_ffff | 0xffff_ffff_ffff_ffff) && first == 0 {
        return Some(0);
    }
    u64::try_from(last - first + 1).ok().or(Some(0))
}
