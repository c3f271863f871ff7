//! Makes types of entries.

use std::rc::Rc;

use gimli::AttributeValue;

use super::die::{Children, Die, read_at};
use super::members;
use super::world::{At, Context, Value, World};
use crate::types::hash::QuickMap;
use crate::types::{Database, Encoding, Enumeration, Enumerator, Keyword, Kind, Member, Pointer, Qualifier, Text, Type, TypeId};

/// Types nested deeper than this are damage.
const DEEPEST: u32 = 256;

/// Results kept across units.
const KEPT: usize = 100_000;

/// Builds types of one [`World`] into a [`Database`].
pub(crate) struct Builder<'w, 'a> {
    pub(crate) world: &'w World<'a>,
    pub(crate) types: &'w mut Database,
    /// Types by entry: first by value, then by name behind a pointer.
    memo: [QuickMap<At, Option<TypeId>>; 2],
    scopes: QuickMap<At, Text>,
    /// Names by where they stand: most stand in a section of strings and are met often.
    texts: QuickMap<usize, Text>,
    context: Option<(u32, Rc<Context>)>,
    /// Lists of members that can be filled again.
    spare: Vec<Vec<Member>>,
    depth: u32,
    /// Entries that may still be read: keeps damaged references from reading the same ones over and over.
    pub(crate) fuel: u64,
    /// Where each new type is declared: unit, file number, line.
    pub(crate) places: Vec<(TypeId, u32, u64, u64)>,
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
            scopes: QuickMap::default(),
            texts: QuickMap::default(),
            context: None,
            spare: Vec::new(),
            depth: 0,
            fuel,
            places: Vec::new(),
        }
    }

    /// Forgets what is rarely asked for again.
    pub(crate) fn next_unit(&mut self) {
        for memo in &mut self.memo {
            if memo.len() > KEPT {
                memo.clear();
            }
        }
        if self.scopes.len() > KEPT {
            self.scopes.clear();
        }
    }

    /// Gives the scope of an entry that a scan has seen.
    pub(crate) fn set_scope(&mut self, at: At, scope: &Text) {
        self.scopes.insert(at, Text::clone(scope));
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
        if let Some(known) = self.memo[depth as usize].get(&at) {
            return Ok(*known);
        }
        // Met again while it is being built, a type contains itself.
        self.memo[depth as usize].insert(at, None);
        if self.depth >= DEEPEST {
            return Ok(None);
        }
        self.depth += 1;
        let built = self.fresh(at, depth);
        self.depth -= 1;
        let built = built?;
        self.memo[depth as usize].insert(at, built);
        Ok(built)
    }

    pub(crate) fn burn(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        self.fuel > 0
    }

    /// The text of a string attribute.
    pub(crate) fn text(&self, unit: u32, context: &Context, value: Option<Value<'a>>) -> Option<&'a [u8]> {
        self.world.string(unit, context, &value?)
    }

    /// The shared copy of a name.
    pub(crate) fn shared(&mut self, unit: u32, context: &Context, value: Option<Value<'a>>) -> Option<Text> {
        let bytes = self.text(unit, context, value).filter(|bytes| !bytes.is_empty())?;
        let key = bytes.as_ptr() as usize;
        if let Some(known) = self.texts.get(&key) {
            return Some(Text::clone(known));
        }
        let text = self.types.text(&String::from_utf8_lossy(bytes));
        self.texts.insert(key, Text::clone(&text));
        Some(text)
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
        if !read_at(self.world, &context, at, &mut die)? {
            return Ok(None);
        }
        let (tag, unit) = (die.tag(), at.unit);
        let (kind, size) = match tag {
            gimli::DW_TAG_base_type => {
                let bits = || die.bit_size.map(|bits| bits.div_ceil(8));
                (Kind::Base(encoding(die.encoding)), die.byte_size.or_else(bits))
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
            gimli::DW_TAG_const_type => (self.qualified(unit, &die, Qualifier::Const, depth)?, None),
            gimli::DW_TAG_volatile_type => (self.qualified(unit, &die, Qualifier::Volatile, depth)?, None),
            gimli::DW_TAG_restrict_type => (self.qualified(unit, &die, Qualifier::Restrict, depth)?, None),
            gimli::DW_TAG_atomic_type => (self.qualified(unit, &die, Qualifier::Atomic, depth)?, None),
            gimli::DW_TAG_array_type => (self.array(at, &context, &die, depth)?, die.byte_size),
            gimli::DW_TAG_subroutine_type => (self.function(at, &context, &die)?, None),
            gimli::DW_TAG_unspecified_type => (Kind::Unspecified, die.byte_size),
            gimli::DW_TAG_typedef | gimli::DW_TAG_enumeration_type => return self.named(at, &context, &die, depth),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                return self.named(at, &context, &die, depth);
            }
            // Packed and other wrappers of no consequence to C.
            gimli::DW_TAG_packed_type | gimli::DW_TAG_shared_type | gimli::DW_TAG_immutable_type => {
                return self.refer(unit, die.ty, depth);
            }
            gimli::DW_TAG_subrange_type => return self.refer(unit, die.ty, depth),
            _ => return Ok(None),
        };
        let name = match kind {
            Kind::Base(_) | Kind::Unspecified => self.name(at, &context, &die),
            _ => None,
        };
        let (id, _) = self.types.intern(Type { name, scope: None, kind, size, align: die.align });
        Ok(Some(id))
    }

    fn name(&mut self, at: At, context: &Context, die: &Die<'a>) -> Option<Text> {
        self.shared(at.unit, context, die.name)
    }

    fn pointer(&mut self, unit: u32, die: &Die<'a>, flavour: Pointer) -> gimli::Result<Kind> {
        Ok(Kind::Pointer(flavour, self.refer(unit, die.ty, Depth::Name)?))
    }

    fn qualified(&mut self, unit: u32, die: &Die<'a>, qualifier: Qualifier, depth: Depth) -> gimli::Result<Kind> {
        Ok(Kind::Qualified(qualifier, self.refer(unit, die.ty, depth)?))
    }

    fn array(&mut self, at: At, context: &Context, die: &Die<'a>, depth: Depth) -> gimli::Result<Kind> {
        let element = self.refer(at.unit, die.ty, depth)?;
        let mut bounds = Vec::new();
        let (mut child, mut children) = (Die::default(), Children::of(self.world, context, at)?);
        while children.next(&mut child, &mut self.fuel)? {
            if child.tag() == gimli::DW_TAG_subrange_type || child.tag() == gimli::DW_TAG_enumeration_type {
                bounds.push(bound(&child));
            }
        }
        Ok(Kind::Array { element, bounds: bounds.into() })
    }

    fn function(&mut self, at: At, context: &Context, die: &Die<'a>) -> gimli::Result<Kind> {
        let result = self.refer(at.unit, die.ty, Depth::Name)?;
        let (mut parameters, mut variadic) = (Vec::new(), false);
        let (mut child, mut children) = (Die::default(), Children::of(self.world, context, at)?);
        while children.next(&mut child, &mut self.fuel)? {
            match child.tag() {
                gimli::DW_TAG_formal_parameter => parameters.push(self.refer(at.unit, child.ty, Depth::Name)?),
                gimli::DW_TAG_unspecified_parameters => variadic = true,
                _ => {}
            }
        }
        Ok(Kind::Function { result, parameters: parameters.into(), variadic })
    }

    fn named(&mut self, at: At, context: &Context, die: &Die<'a>, depth: Depth) -> gimli::Result<Option<TypeId>> {
        let mut name = self.name(at, context, die);
        let mut scope = self.scopes.get(&at).cloned();
        // A definition may complete a declaration made elsewhere, and a declaration stand for a type unit.
        if let Some(other) = die.other.and_then(|other| self.world.target(at.unit, &other))
            && other != at
        {
            if die.declaration {
                return self.build(other, depth);
            }
            let context = self.world.context(other.unit)?;
            let mut declared = Die::default();
            if name.is_none() && read_at(self.world, &context, other, &mut declared)? {
                name = self.name(other, &context, &declared);
                scope = scope.or_else(|| self.scopes.get(&other).cloned());
            }
        }
        let keyword = match die.tag() {
            gimli::DW_TAG_structure_type => Keyword::Struct,
            gimli::DW_TAG_class_type => Keyword::Class,
            gimli::DW_TAG_union_type => Keyword::Union,
            gimli::DW_TAG_enumeration_type => Keyword::Enum,
            _ => Keyword::Typedef,
        };
        let elsewhere = die.declaration || (depth == Depth::Name && name.is_some());
        if !elsewhere && !matches!(keyword, Keyword::Typedef | Keyword::Enum) {
            let mut members = self.spare.pop().unwrap_or_default();
            members::aggregate(self, at, context, &mut members)?;
            let sizes = (die.byte_size, die.align);
            let (id, new) = self.types.intern_aggregate((name, scope), sizes, keyword, &mut members);
            members.clear();
            self.spare.push(members);
            self.declared(id, new, at.unit, die);
            return Ok(Some(id));
        }
        let (kind, size, align) = if elsewhere {
            (Kind::Declared(keyword), None, None)
        } else {
            let kind = match keyword {
                Keyword::Typedef => Kind::Typedef(self.refer(at.unit, die.ty, Depth::Value)?),
                _ => self.enumeration(at, context, die)?,
            };
            (kind, die.byte_size, die.align)
        };
        let (id, new) = self.types.intern(Type { name, scope, kind, size, align });
        self.declared(id, new && !elsewhere, at.unit, die);
        Ok(Some(id))
    }

    fn declared(&mut self, id: TypeId, new: bool, unit: u32, die: &Die<'a>) {
        if new && die.line > 0 {
            self.places.push((id, unit, die.file, die.line));
        }
    }

    fn enumeration(&mut self, at: At, context: &Context, die: &Die<'a>) -> gimli::Result<Kind> {
        let underlying = self.refer(at.unit, die.ty, Depth::Value)?;
        let signed = |types: &Database, id| match types.plain(id).map(|id| &types[id].kind) {
            Some(Kind::Base(encoding)) => *encoding == Encoding::Signed,
            _ => true,
        };
        let signed = underlying.is_none_or(|id| signed(self.types, id));
        let mut members = Vec::new();
        let (mut child, mut children) = (Die::default(), Children::of(self.world, context, at)?);
        while children.next(&mut child, &mut self.fuel)? {
            let value = child.value.filter(|_| child.tag() == gimli::DW_TAG_enumerator);
            if let Some(value) = value.and_then(|value| integer(&value, signed))
                && let Some(name) = self.shared(at.unit, context, child.name)
            {
                members.push(Enumerator { name, value });
            }
        }
        Ok(Kind::Enum(Enumeration { members: members.into(), underlying }))
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
