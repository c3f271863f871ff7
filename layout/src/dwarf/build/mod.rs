//! Makes types of entries.

mod aggregate;
mod derived;
mod enumeration;
mod members;
mod named;

use std::rc::Rc;

use gimli::AttributeValue;

use self::aggregate::Drafts;
use super::context::Context;
use super::die::{Die, read_at};
use super::entries::{Entries, Strings};
use super::known::{Known, POINTER};
use super::scan;
use super::world::{At, Value, World};
use crate::types::draft::TextNumber;
use crate::types::hash::QuickSet;
use crate::types::{Database, Encoding, Kind, Pointer, Qualifier, Type, TypeId};

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
    /// Types by entry, as much of them as was wanted: by [`Depth`], the first two and the last two.
    memo: [Entries<2>; 2],
    /// Whether what types hold by value is wanted as [`Depth::Held`].
    shallow: bool,
    /// Numbers of the scopes of types, plus 1.
    scopes: Entries<1>,
    /// Units whose scopes are known.
    scoped: QuickSet<u32>,
    /// Numbers of names by where they stand: most stand in a section of strings and are met often.
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

/// How much of a type is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// All of it.
    Value,
    /// What a pointer to it needs: named types by name.
    Name,
    /// What telling the members of a type that holds it needs: its name and measures; its members if it has no name.
    Held,
    /// Size and alignment.
    Measures,
}

impl Depth {
    /// How much is wanted of what a struct holds by value, which itself is wanted so.
    const fn inside(self, named: bool, shallow: bool) -> Self {
        match self {
            Self::Value | Self::Name if shallow => Self::Held,
            Self::Value | Self::Name => Self::Value,
            Self::Held if !named => Self::Held,
            Self::Held | Self::Measures => Self::Measures,
        }
    }

    /// Whether members of a struct that is wanted so have their names.
    const fn tells_members(self, named: bool) -> bool {
        matches!(self, Self::Value | Self::Name) || (matches!(self, Self::Held) && !named)
    }
}

impl<'w, 'a> Builder<'w, 'a> {
    pub(crate) fn new(world: &'w World<'a>, types: &'w mut Database, shallow: bool) -> Self {
        let bytes: usize = world.books.iter().map(|book| book.info.len() + book.types.len()).sum();
        let fuel = (bytes as u64).saturating_mul(8).saturating_add(1 << 16);
        Self {
            world,
            types,
            memo: Default::default(),
            shallow,
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
        let bytes = self.world.units[unit as usize].bytes.len();
        // What is wanted of few types is kept by their places: tables of the whole unit would mostly be empty.
        if !self.shallow {
            self.memo[0].enter(unit, bytes, KEPT);
        }
        // Each unit's scopes are read once at most: else units could make each other be read again and again.
        self.scopes.enter(unit, bytes, usize::MAX);
        self.scoped.insert(unit);
    }

    /// Leaves the unit that was entered last: what is known of its scopes is forgotten.
    pub(crate) fn leave(&mut self, unit: u32) {
        self.scoped.remove(&unit);
    }

    /// Gives the scope of an entry.
    pub(crate) fn set_scope(&mut self, at: At, scope: TextNumber) {
        self.scopes.set(at, 0, scope.saturating_add(1));
    }

    /// The scope of an entry. Entries of other units may be referred to before those units are read.
    fn scope(&mut self, at: At, context: &Context) -> gimli::Result<Option<TextNumber>> {
        if context.c_like {
            return Ok(None);
        }
        if self.scoped.insert(at.unit) {
            scan::scopes(self, at.unit)?;
        }
        Ok(self.scopes.get(at, 0).checked_sub(1))
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
        let (memo, column) = (depth as usize / 2, depth as usize % 2);
        match self.memo[memo].get(at, column) {
            0 => {}
            known => return Ok(known.checked_sub(NOTHING + 1).map(TypeId)),
        }
        // A damaged reference may lead anywhere, and what is known is kept by place.
        if !self.world.holds(at) {
            return Ok(None);
        }
        // Met again while it is being built, a type contains itself.
        self.memo[memo].set(at, column, NOTHING);
        if self.depth >= DEEPEST {
            return Ok(None);
        }
        self.depth += 1;
        let built = self.fresh(at, depth);
        self.depth -= 1;
        let built = built?;
        if let Some(TypeId(id)) = built {
            let number = id.saturating_add(NOTHING + 1);
            self.memo[memo].set(at, column, number);
            // What points to a type needs as much of it from wherever it is referred to.
            if memo == 0 && matches!(self.types[TypeId(id)].kind, Kind::Pointer(..) | Kind::Base(_) | Kind::Function { .. }) {
                self.memo[memo].set(at, 1 - column, number);
            }
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
        let key = (texts.key(), offset);
        if let Some(known) = self.strings.get(&key) {
            return Some(*known);
        }
        let number = self.new_number(texts.at(offset)?)?;
        self.strings.insert(key, number);
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
                let target = if depth == Depth::Measures { None } else { self.refer(unit, die.ty, Depth::Name)? };
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
            Kind::Base(_) | Kind::Unspecified if depth != Depth::Measures => self.number(unit, &context, die.name),
            _ => None,
        };
        let name = name.map(|name| self.types.numbered(name).clone());
        let (id, _) = self.types.intern(Type { name, scope: None, kind, size, align: die.align });
        Ok(Some(id))
    }
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
