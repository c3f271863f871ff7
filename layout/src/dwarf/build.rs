//! Makes types of entries.

use std::rc::Rc;

use gimli::AttributeValue;

use super::dense::{Entries, Strings};
use super::die::{Children, Die, read_at};
use super::known::{Known, POINTER, qualified_kind};
use super::world::{At, Context, Value, World};
use super::{members, scan};
use crate::types::draft::{DraftMember, Head, TextNumber};
use crate::types::hash::QuickSet;
use crate::types::{Database, Encoding, Keyword, Kind, Pointer, Qualifier, Type, TypeId};

/// Types nested deeper than this are damage.
const DEEPEST: u32 = 256;

/// Results of other units that are kept.
const KEPT: usize = 100_000;

/// What [`Entries`] holds for an entry that makes no type, or is being read.
const NOTHING: u32 = 1;

/// Builds types of one [`World`] into a [`Database`].
pub(crate) struct Builder<'w, 'a> {
    pub(crate) world: &'w World<'a>,
    pub(crate) types: &'w mut Database,
    /// Types by entry: first by value, then by name behind a pointer.
    memo: [Entries; 2],
    /// Numbers of the scopes of types, plus 1.
    scopes: Entries,
    /// Units whose scopes are known.
    scoped: QuickSet<u32>,
    /// Numbers of names, plus 1, by where they stand: most stand in a section of strings and are met often.
    pub(crate) strings: Strings,
    pub(crate) known: Known,
    context: Option<(u32, Rc<Context>)>,
    /// Lists that can be filled again.
    spare: Vec<Drafts<'a>>,
    lists: Vec<Vec<Option<TypeId>>>,
    enumerators: Vec<(Option<Value<'a>>, i128)>,
    depth: u32,
    /// Entries that may still be read: keeps damaged references from reading the same ones over and over.
    pub(crate) fuel: u64,
    /// Where each new type is declared: unit, file number, line.
    pub(crate) places: Vec<(TypeId, u32, u64, u64)>,
}

/// Members of a struct that is being read.
#[derive(Default)]
pub(crate) struct Drafts<'a> {
    members: Vec<DraftMember>,
    /// The attribute that names each.
    names: Vec<Option<Value<'a>>>,
}

impl<'a> Drafts<'a> {
    fn clear(&mut self) {
        self.members.clear();
        self.names.clear();
    }

    pub(crate) fn push(&mut self, member: DraftMember, name: Option<Value<'a>>) {
        self.members.push(member);
        self.names.push(name);
    }
}

/// What a type is called.
enum Named {
    By(Option<TextNumber>, Option<TextNumber>),
    /// Its definition is there.
    Elsewhere(At),
}

/// How much of a type is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// All of it.
    Value,
    /// What a pointer to it needs: named types by name.
    Name,
}

impl<'w, 'a> Builder<'w, 'a> {
    pub(crate) fn new(world: &'w World<'a>, types: &'w mut Database) -> Self {
        let bytes: usize = world.books.iter().map(|book| book.info.len() + book.types.len()).sum();
        let fuel = (bytes as u64).saturating_mul(8).saturating_add(1 << 16);
        Self {
            world,
            types,
            memo: Default::default(),
            scopes: Entries::default(),
            scoped: QuickSet::default(),
            strings: Strings::default(),
            known: Known::default(),
            context: None,
            spare: Vec::new(),
            lists: Vec::new(),
            enumerators: Vec::new(),
            depth: 0,
            fuel,
            places: Vec::new(),
        }
    }

    /// Goes on to a unit, all of whose scopes will be told by [`Builder::set_scope`]; forgets what is rarely asked for again.
    pub(crate) fn enter(&mut self, unit: u32) {
        for memo in &mut self.memo {
            memo.enter(unit, KEPT);
        }
        // Each unit's scopes are read once at most: else units could make each other be read again and again.
        self.scopes.enter(unit, usize::MAX);
        self.scoped.insert(unit);
    }

    /// Leaves the unit that was entered last: what is known of its scopes is forgotten.
    pub(crate) fn leave(&mut self, unit: u32) {
        self.scoped.remove(&unit);
    }

    /// Gives the scope of an entry.
    pub(crate) fn set_scope(&mut self, at: At, scope: TextNumber) {
        self.scopes.set(at, scope.saturating_add(1));
    }

    /// The scope of an entry. Entries of other units may be referred to before those units are read.
    fn scope(&mut self, at: At, context: &Context) -> gimli::Result<Option<TextNumber>> {
        if context.c_like {
            return Ok(None);
        }
        if self.scoped.insert(at.unit) {
            scan::scopes(self, at.unit)?;
        }
        Ok(self.scopes.get(at).checked_sub(1))
    }

    /// The type that an attribute refers to; none = `void` or damaged.
    pub(crate) fn refer(&mut self, unit: u32, value: Option<Value<'a>>, depth: Depth) -> gimli::Result<Option<TypeId>> {
        match value.and_then(|value| self.world.target(unit, &value)) {
            Some(at) => self.build(at, depth),
            None => Ok(None),
        }
    }

    /// The type of an entry.
    pub(crate) fn build(&mut self, at: At, depth: Depth) -> gimli::Result<Option<TypeId>> {
        match self.memo[depth as usize].get(at) {
            0 => {}
            known => return Ok(known.checked_sub(NOTHING + 1).map(TypeId)),
        }
        // A damaged reference may lead anywhere, and what is known is kept by place.
        if !self.world.holds(at) {
            return Ok(None);
        }
        // Met again while it is being built, a type contains itself.
        self.memo[depth as usize].set(at, NOTHING);
        if self.depth >= DEEPEST {
            return Ok(None);
        }
        self.depth += 1;
        let built = self.fresh(at, depth);
        self.depth -= 1;
        let built = built?;
        if let Some(TypeId(id)) = built {
            self.memo[depth as usize].set(at, id.saturating_add(NOTHING + 1));
        }
        Ok(built)
    }

    pub(crate) fn burn(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        self.fuel > 0
    }

    /// The number of the name that an attribute holds or refers to.
    pub(crate) fn number(&mut self, unit: u32, context: &Context, value: Option<Value<'a>>) -> Option<TextNumber> {
        let value = value?;
        let Some((texts, offset)) = self.world.string_place(unit, context, &value) else {
            let AttributeValue::String(text) = value else { return None };
            return self.new_number(text.slice());
        };
        let known = self.strings.of(texts.key()).get(offset);
        if known != 0 {
            return Some(known - 1);
        }
        let number = self.new_number(texts.at(offset)?)?;
        self.strings.of(texts.key()).set(offset, number.saturating_add(1));
        Some(number)
    }

    fn new_number(&mut self, bytes: &[u8]) -> Option<TextNumber> {
        (!bytes.is_empty()).then(|| self.types.text_number(&String::from_utf8_lossy(bytes)))
    }

    /// What reading a unit needs; most entries are of the unit that the one before was of.
    fn open(&mut self, unit: u32) -> gimli::Result<Rc<Context>> {
        match &self.context {
            Some((known, context)) if *known == unit => Ok(Rc::clone(context)),
            _ => {
                let context = self.world.context(unit)?;
                self.context = Some((unit, Rc::clone(&context)));
                Ok(context)
            }
        }
    }

    fn fresh(&mut self, at: At, depth: Depth) -> gimli::Result<Option<TypeId>> {
        if !self.burn() {
            return Ok(None);
        }
        let context = self.open(at.unit)?;
        let mut die = Die::default();
        let Some(children) = read_at(self.world, &context, at, &mut die)? else { return Ok(None) };
        let (tag, unit) = (die.tag(), at.unit);
        let (kind, size) = match tag {
            gimli::DW_TAG_base_type => {
                let bits = || die.bit_size.map(|bits| bits.div_ceil(8));
                (Kind::Base(encoding(die.encoding)), die.byte_size.or_else(bits))
            }
            gimli::DW_TAG_pointer_type if die.byte_size == Some(self.types.pointer_size) && die.align.is_none() => {
                let target = self.refer(unit, die.ty, Depth::Name)?;
                return Ok(Some(self.derived(POINTER, target, Kind::Pointer(Pointer::Plain, target), die.byte_size)));
            }
            gimli::DW_TAG_pointer_type => (self.pointer(unit, &die, Pointer::Plain)?, die.byte_size),
            gimli::DW_TAG_reference_type => (self.pointer(unit, &die, Pointer::Reference)?, die.byte_size),
            gimli::DW_TAG_rvalue_reference_type => (self.pointer(unit, &die, Pointer::RvalueReference)?, die.byte_size),
            gimli::DW_TAG_ptr_to_member_type => {
                let target = self.refer(unit, die.ty, Depth::Name)?;
                let function = target.is_some_and(|target| matches!(self.types[target].kind, Kind::Function { .. }));
                let size = self.types.pointer_size * if function { 2 } else { 1 };
                (Kind::Pointer(Pointer::Member, target), die.byte_size.or(Some(size)))
            }
            gimli::DW_TAG_const_type => return self.qualified(unit, &die, Qualifier::Const, depth).map(Some),
            gimli::DW_TAG_volatile_type => return self.qualified(unit, &die, Qualifier::Volatile, depth).map(Some),
            gimli::DW_TAG_restrict_type => return self.qualified(unit, &die, Qualifier::Restrict, depth).map(Some),
            gimli::DW_TAG_atomic_type => return self.qualified(unit, &die, Qualifier::Atomic, depth).map(Some),
            gimli::DW_TAG_array_type => (self.array(unit, children, &die, depth)?, die.byte_size),
            gimli::DW_TAG_subroutine_type => return self.function(unit, children, &die).map(Some),
            gimli::DW_TAG_unspecified_type => (Kind::Unspecified, die.byte_size),
            gimli::DW_TAG_typedef | gimli::DW_TAG_enumeration_type => return self.named(at, &context, children, &die, depth),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                return self.named(at, &context, children, &die, depth);
            }
            // Packed and other wrappers of no consequence to C.
            gimli::DW_TAG_packed_type | gimli::DW_TAG_shared_type | gimli::DW_TAG_immutable_type => {
                return self.refer(unit, die.ty, depth);
            }
            gimli::DW_TAG_subrange_type => return self.refer(unit, die.ty, depth),
            _ => return Ok(None),
        };
        let name = match kind {
            Kind::Base(_) | Kind::Unspecified => self.number(unit, &context, die.name),
            _ => None,
        };
        let name = name.map(|name| self.types.numbered(name).clone());
        let (id, _) = self.types.intern(Type { name, scope: None, kind, size, align: die.align });
        Ok(Some(id))
    }

    fn pointer(&mut self, unit: u32, die: &Die<'a>, flavour: Pointer) -> gimli::Result<Kind> {
        Ok(Kind::Pointer(flavour, self.refer(unit, die.ty, Depth::Name)?))
    }

    fn qualified(&mut self, unit: u32, die: &Die<'a>, qualifier: Qualifier, depth: Depth) -> gimli::Result<TypeId> {
        let target = self.refer(unit, die.ty, depth)?;
        let kind = Kind::Qualified(qualifier, target);
        if die.align.is_some() {
            return Ok(self.types.intern(Type { name: None, scope: None, kind, size: None, align: die.align }).0);
        }
        Ok(self.derived(qualified_kind(qualifier), target, kind, None))
    }

    /// A pointer or qualified type of a frequent kind.
    fn derived(&mut self, kind: usize, target: Option<TypeId>, made: Kind, size: Option<u64>) -> TypeId {
        if let Some(known) = self.known.derived(kind, target) {
            return known;
        }
        let (id, _) = self.types.intern(Type { name: None, scope: None, kind: made, size, align: None });
        self.known.keep_derived(kind, target, id);
        id
    }

    fn array(&mut self, unit: u32, mut children: Children<'_, 'a>, die: &Die<'a>, depth: Depth) -> gimli::Result<Kind> {
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

    fn function(&mut self, unit: u32, mut children: Children<'_, 'a>, die: &Die<'a>) -> gimli::Result<TypeId> {
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

    fn named(
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
        // Where types are in no scope, they are recognised by their entries alone.
        let plain = context.c_like && die.other.is_none();
        let strings = self.world.book(at.unit).strings.key();
        let mut target = None;
        let by_name = die.declaration || (depth == Depth::Name && die.name.is_some());
        if plain && !by_name && keyword != Keyword::Typedef {
            return self.defined(at, context, children, die, keyword, None).map(Some);
        }
        if plain && by_name {
            self.known.begin(strings, die.tag, None, None);
            self.known.declared();
            self.known.name(die.name.as_ref());
        } else if plain {
            target = Some(self.refer(at.unit, die.ty, Depth::Value)?);
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
                None => (Kind::Typedef(self.refer(at.unit, die.ty, Depth::Value)?), die.byte_size, die.align),
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
        self.defined(at, context, children, die, keyword, Some(head)).map(Some)
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

    /// A struct, class, union or enumeration with its members. No head = it is in no scope, and its name is looked up if it
    /// was not met before.
    fn defined(
        &mut self,
        at: At,
        context: &Context,
        children: Children<'_, 'a>,
        die: &Die<'a>,
        keyword: Keyword,
        head: Option<Head>,
    ) -> gimli::Result<TypeId> {
        let (id, new) = if keyword == Keyword::Enum {
            self.enumeration(at, context, children, die, head)?
        } else {
            let mut drafts = self.spare.pop().unwrap_or_default();
            drafts.clear();
            members::aggregate(self, at.unit, context, children, &mut drafts)?;
            let made = self.aggregate(at.unit, context, die, keyword, head, &mut drafts);
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
        head: Option<Head>,
        drafts: &mut Drafts<'a>,
    ) -> (TypeId, bool) {
        let mut free = None;
        if head.is_none() {
            self.known.begin(self.world.book(unit).strings.key(), die.tag, die.byte_size, die.align);
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
        for (member, name) in drafts.members.iter_mut().zip(&drafts.names) {
            member.name = self.number(unit, context, *name);
        }
        let made = self.types.intern_aggregate(head, keyword, &drafts.members);
        if let Some(free) = free {
            self.known.keep(free, made.0);
        }
        made
    }

    fn head(&mut self, unit: u32, context: &Context, die: &Die<'a>, head: Option<Head>) -> Head {
        head.unwrap_or_else(|| Head {
            name: self.number(unit, context, die.name),
            scope: None,
            size: die.byte_size,
            align: die.align,
        })
    }

    fn declared(&mut self, id: TypeId, new: bool, unit: u32, die: &Die<'a>) {
        if new && die.line > 0 {
            self.places.push((id, unit, die.file, die.line));
        }
    }

    fn enumeration(
        &mut self,
        at: At,
        context: &Context,
        mut children: Children<'_, 'a>,
        die: &Die<'a>,
        head: Option<Head>,
    ) -> gimli::Result<(TypeId, bool)> {
        let underlying = self.refer(at.unit, die.ty, Depth::Value)?;
        let signed = |types: &Database, id| match types.plain(id).map(|id| &types[id].kind) {
            Some(Kind::Base(encoding)) => *encoding == Encoding::Signed,
            _ => true,
        };
        let signed = underlying.is_none_or(|id| signed(self.types, id));
        self.enumerators.clear();
        let mut child = Die::default();
        while children.next(&mut child, &mut self.fuel)? {
            let value = child.value.filter(|_| child.tag() == gimli::DW_TAG_enumerator);
            if let Some(value) = value.and_then(|value| integer(&value, signed)) {
                self.enumerators.push((child.name, value));
            }
        }
        let mut free = None;
        if head.is_none() {
            self.known.begin(self.world.book(at.unit).strings.key(), die.tag, die.byte_size, die.align);
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

const fn encoding(encoding: u8) -> Encoding {
    match gimli::DwAte(encoding) {
        gimli::DW_ATE_boolean => Encoding::Bool,
        gimli::DW_ATE_signed => Encoding::Signed,
        gimli::DW_ATE_unsigned | gimli::DW_ATE_address => Encoding::Unsigned,
        gimli::DW_ATE_signed_char | gimli::DW_ATE_unsigned_char | gimli::DW_ATE_UTF | gimli::DW_ATE_ASCII => Encoding::Char,
        gimli::DW_ATE_float | gimli::DW_ATE_complex_float | gimli::DW_ATE_decimal_float => Encoding::Float,
        _ => Encoding::Other,
    }
}
