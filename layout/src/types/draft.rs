//! Types that are not made yet: most definitions are met again and again, once in every unit, and are known.

use std::sync::Arc;

use super::hash::{of_aggregate, of_enumeration, of_function};
use super::{Aggregate, Bits, Database, Enumeration, Enumerator, Keyword, Kind, Member, Role, Text, Type, TypeId};

/// Number of a text of a [`Database`].
pub(crate) type TextNumber = u32;

/// What every named type has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head {
    pub(crate) name: Option<TextNumber>,
    pub(crate) scope: Option<TextNumber>,
    pub(crate) size: Option<u64>,
    pub(crate) align: Option<u64>,
}

/// A [`Member`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct DraftMember {
    pub(crate) name: Option<TextNumber>,
    pub(crate) offset: Option<u64>,
    pub(crate) bits: Option<Bits>,
    pub(crate) ty: Option<TypeId>,
    pub(crate) role: Role,
    pub(crate) align: Option<u64>,
}

impl DraftMember {
    fn first_bit(&self) -> Option<u64> {
        self.bits.map_or_else(|| self.offset?.checked_mul(8), |bits| Some(bits.start))
    }
}

/// Texts of one database are the same if they are kept in the same place.
fn same(one: Option<&Text>, other: Option<&Text>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

impl Database {
    fn some_text(&self, number: Option<TextNumber>) -> Option<&Text> {
        number.map(|number| self.numbered(number))
    }

    fn head_is(&self, ty: &Type, head: Head) -> bool {
        (ty.size, ty.align) == (head.size, head.align)
            && same(ty.name.as_ref(), self.some_text(head.name))
            && same(ty.scope.as_ref(), self.some_text(head.scope))
    }

    fn make(&mut self, hash: u64, head: Head, kind: Kind) -> (TypeId, bool) {
        let (name, scope) = (self.some_text(head.name).cloned(), self.some_text(head.scope).cloned());
        (self.keep(hash, Type { name, scope, kind, size: head.size, align: head.align }), true)
    }

    /// Adds a struct, class or union unless an equal one is there; tells whether it is new.
    pub(crate) fn intern_aggregate(&mut self, head: Head, keyword: Keyword, members: &[DraftMember]) -> (TypeId, bool) {
        let told = members.iter().map(|member| (self.some_text(member.name), member.first_bit(), member.ty));
        let hash = of_aggregate(self.some_text(head.name), self.some_text(head.scope), head.size, keyword, told);
        let is = |member: &Member, draft: &DraftMember| {
            same(member.name.as_ref(), self.some_text(draft.name))
                && (member.offset, member.bits, member.ty) == (draft.offset, draft.bits, draft.ty)
                && (member.role, member.align) == (draft.role, draft.align)
        };
        let found = self.find(hash, |ty| match &ty.kind {
            Kind::Aggregate(aggregate) => {
                aggregate.keyword == keyword
                    && aggregate.members.len() == members.len()
                    && self.head_is(ty, head)
                    && aggregate.members.iter().zip(members).all(|(member, draft)| is(member, draft))
            }
            _ => false,
        });
        let hash = match found {
            Ok(known) => return (known, false),
            Err(free) => free,
        };
        let member = |draft: &DraftMember| Member {
            name: self.some_text(draft.name).cloned(),
            offset: draft.offset,
            bits: draft.bits,
            ty: draft.ty,
            role: draft.role,
            align: draft.align,
        };
        let members = members.iter().map(member).collect();
        self.make(hash, head, Kind::Aggregate(Aggregate { keyword, members }))
    }

    /// The same for an enumeration.
    pub(crate) fn intern_enumeration(
        &mut self,
        head: Head,
        underlying: Option<TypeId>,
        members: &[(TextNumber, i128)],
    ) -> (TypeId, bool) {
        let told = members.iter().map(|(name, value)| (self.numbered(*name), *value));
        let hash = of_enumeration(self.some_text(head.name), self.some_text(head.scope), head.size, told);
        let found = self.find(hash, |ty| match &ty.kind {
            Kind::Enum(enumeration) => {
                let is = |(member, (name, value)): (&Enumerator, &(TextNumber, i128))| {
                    member.value == *value && Arc::ptr_eq(&member.name, self.numbered(*name))
                };
                enumeration.underlying == underlying
                    && enumeration.members.len() == members.len()
                    && self.head_is(ty, head)
                    && enumeration.members.iter().zip(members).all(is)
            }
            _ => false,
        });
        let hash = match found {
            Ok(known) => return (known, false),
            Err(free) => free,
        };
        let member = |(name, value): &(TextNumber, i128)| Enumerator { name: Text::clone(self.numbered(*name)), value: *value };
        let members = members.iter().map(member).collect();
        self.make(hash, head, Kind::Enum(Enumeration { members, underlying }))
    }

    /// The same for a function.
    pub(crate) fn intern_function(&mut self, result: Option<TypeId>, parameters: &[Option<TypeId>], variadic: bool) -> TypeId {
        let hash = of_function(result, parameters, variadic);
        let found = self.find(hash, |ty| match &ty.kind {
            Kind::Function { result: its, parameters: theirs, variadic: more } => {
                (*its, *more) == (result, variadic) && **theirs == *parameters
            }
            _ => false,
        });
        match found {
            Ok(known) => known,
            Err(free) => {
                let kind = Kind::Function { result, parameters: parameters.into(), variadic };
                self.make(free, Head::default(), kind).0
            }
        }
    }
}
