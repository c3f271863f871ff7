//! Enumerations that are defined.

use gimli::AttributeValue;

use super::super::context::Context;
use super::super::die::{Children, Die};
use super::super::world::{At, Value};
use super::{Builder, Depth};
use crate::types::draft::{Head, TextNumber};
use crate::types::{Database, Encoding, Kind, TypeId};

impl<'a> Builder<'_, 'a> {
    pub(super) fn enumeration(
        &mut self,
        at: At,
        context: &Context,
        mut children: Children<'_, 'a>,
        die: &Die<'a>,
        (head, depth): (Option<Head>, Depth),
    ) -> gimli::Result<(TypeId, bool)> {
        let told = matches!(depth, Depth::Value | Depth::Name);
        let underlying = self.refer(at.unit, die.ty, if told { Depth::Value } else { depth })?;
        let signed = |types: &Database, id| match types.plain(id).map(|id| &types[id].kind) {
            Some(Kind::Base(encoding)) => *encoding == Encoding::Signed,
            _ => true,
        };
        let signed = underlying.is_none_or(|id| signed(self.types, id));
        self.enumerators.clear();
        let mut child = Die::default();
        while told && children.next(&mut child, &mut self.fuel)? {
            let value = child.value.filter(|_| child.tag() == gimli::DW_TAG_enumerator);
            if let Some(value) = value.and_then(|value| integer(&value, signed)) {
                self.enumerators.push((child.name, value));
            }
        }
        let mut free = None;
        if head.is_none() {
            self.known.begin(self.world.book(at.unit).strings.key(), die.tag, die.byte_size, die.align);
            if !told {
                self.known.measured();
            }
            self.known.name(die.name.as_ref());
            self.known.ty(underlying);
            for (name, value) in &self.enumerators {
                self.known.name(name.as_ref());
                self.known.value(*value);
            }
            match self.known.find() {
                Some(Ok(known)) => return Ok((known, false)),
                Some(Err(hash)) => free = Some(hash),
                None => {}
            }
        }
        let head = self.head(at.unit, context, die, head);
        let enumerators = std::mem::take(&mut self.enumerators);
        let named = enumerators.iter().filter_map(|(name, value)| Some((self.number(at.unit, context, *name)?, *value)));
        let members: Vec<(TextNumber, i128)> = named.collect();
        self.enumerators = enumerators;
        let made = self.types.intern_enumeration(head, underlying, &members);
        if let Some(free) = free {
            self.known.keep(free, made.0);
        }
        Ok(made)
    }
}

fn integer(value: &Value<'_>, signed: bool) -> Option<i128> {
    // Fixed-size forms carry no sign: the type says which.
    let bits = match value {
        AttributeValue::Data1(value) => (u64::from(*value), 8),
        AttributeValue::Data2(value) => (u64::from(*value), 16),
        AttributeValue::Data4(value) => (u64::from(*value), 32),
        AttributeValue::Data8(value) => (*value, 64),
        AttributeValue::Sdata(value) => return Some((*value).into()),
        AttributeValue::Udata(value) => return Some((*value).into()),
        other => return other.sdata_value().map(i128::from),
    };
    let shift = 64 - bits.1;
    if signed { Some(i128::from((bits.0 << shift).cast_signed() >> shift)) } else { Some(bits.0.into()) }
}
