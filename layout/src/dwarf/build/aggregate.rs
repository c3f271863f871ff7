//! Structs, classes and unions that are defined.

use super::super::context::Context;
use super::super::die::{Children, Die};
use super::super::world::{At, Value};
use super::{Builder, Depth, members};
use crate::types::draft::{DraftMember, Head};
use crate::types::{Keyword, TypeId};

/// Members of a struct that is being read.
#[derive(Default)]
pub(super) struct Drafts<'a> {
    members: Vec<DraftMember>,
    /// The attribute that names each.
    names: Vec<Option<Value<'a>>>,
}

impl<'a> Drafts<'a> {
    fn clear(&mut self) {
        self.members.clear();
        self.names.clear();
    }

    pub(super) fn push(&mut self, member: DraftMember, name: Option<Value<'a>>) {
        self.members.push(member);
        self.names.push(name);
    }
}

impl<'a> Builder<'_, 'a> {
    /// A struct, class, union or enumeration with its members. No head = it is in no scope, and its name is looked up if it
    /// was not met before.
    pub(super) fn defined(
        &mut self,
        at: At,
        context: &Context,
        children: Children<'_, 'a>,
        die: &Die<'a>,
        keyword: Keyword,
        (head, depth): (Option<Head>, Depth),
    ) -> gimli::Result<TypeId> {
        let (id, new) = if keyword == Keyword::Enum {
            self.enumeration(at, context, children, die, (head, depth))?
        } else {
            let mut drafts = self.spare.pop().unwrap_or_default();
            drafts.clear();
            let inside = depth.inside(die.name.is_some(), self.shallow);
            members::aggregate(self, at.unit, context, children, inside, &mut drafts)?;
            let made = self.aggregate(at.unit, context, die, keyword, (head, depth), &mut drafts);
            self.spare.push(drafts);
            made
        };
        self.declared(id, new, at.unit, die);
        Ok(id)
    }

    fn aggregate(
        &mut self,
        unit: u32,
        context: &Context,
        die: &Die<'a>,
        keyword: Keyword,
        (head, depth): (Option<Head>, Depth),
        drafts: &mut Drafts<'a>,
    ) -> (TypeId, bool) {
        let tells_members = depth.tells_members(die.name.is_some());
        let mut free = None;
        if head.is_none() {
            self.known.begin(self.world.book(unit).strings.key(), die.tag, die.byte_size, die.align);
            if !tells_members {
                self.known.measured();
            }
            self.known.name(die.name.as_ref());
            for (member, name) in drafts.members.iter().zip(&drafts.names) {
                self.known.name(name.as_ref());
                self.known.member(member);
            }
            match self.known.find() {
                Some(Ok(known)) => return (known, false),
                Some(Err(hash)) => free = Some(hash),
                None => {}
            }
        }
        let head = self.head(unit, context, die, head);
        for (member, name) in drafts.members.iter_mut().zip(&drafts.names).filter(|_| tells_members) {
            member.name = self.number(unit, context, *name);
        }
        let made = self.types.intern_aggregate(head, keyword, &drafts.members);
        if let Some(free) = free {
            self.known.keep(free, made.0);
        }
        made
    }
}
