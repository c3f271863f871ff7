//! The type model: what debug information says about types, in a form every command shares.
//!
//! A [`Database`] is read from an ELF file or an archive by [`Database::read`]. Its [`Type`]s are interned: two equal
//! definitions in two units are one entry, two different definitions of one name are two. Types are referred to by
//! [`TypeId`]; ids only grow, and a type's parts have lower ids than the type, so there are no cycles.
//!
//! What a type holds **by value** is there in full. What it only points to is there by name, as [`Kind::Declared`]:
//! [`Database::named`] finds the definition if that name was read too ([`Options::follow_pointers`] sees to it).
//!
//! ```no_run
//! use nrt_layout::types::{Database, Options};
//! # fn main() -> Result<(), nrt_layout::error::Unreadable> {
//! let types = Database::read("a.out".as_ref(), &Options::names(["dmem_t"]))?;
//! for id in types.named("dmem_t") {
//!     let Some(aggregate) = types.aggregate(*id) else { continue };
//!     for member in &aggregate.members {
//!         let name = member.name.as_deref().unwrap_or("");
//!         println!("{:?} {:?} {}", member.offset, types.member_size(member), types.declare(member.ty, name));
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod database;
mod describe;
pub(crate) mod draft;
pub(crate) mod hash;
mod measure;
mod options;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use database::{Database, Place, Source};
pub use options::{Options, Selection, last_component};

/// A name; equal names of one database share their storage.
pub type Text = Arc<str>;

/// One type of a [`Database`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub(crate) u32);

/// One type as the debug information gives it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Name without its scope; none = anonymous, or of a kind that has no name.
    pub name: Option<Text>,
    /// Namespaces, modules and classes around it, joined by `::`; none = at the top.
    pub scope: Option<Text>,
    /// What it is.
    pub kind: Kind,
    /// Size in bytes as stated. [`Database::size`] derives that of arrays, typedefs and qualified types.
    pub size: Option<u64>,
    /// Alignment in bytes as stated; C compilers state it only for over-aligned types. See [`Database::align`].
    pub align: Option<u64>,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Integer, character, boolean or floating-point type.
    Base(Encoding),
    /// Pointer or reference; no target = `void`.
    Pointer(Pointer, Option<TypeId>),
    /// Struct, class or union that is defined here.
    Aggregate(Aggregate),
    /// Enumeration that is defined here.
    Enum(Enumeration),
    /// A name whose definition is elsewhere: behind a pointer, or never given.
    Declared(Keyword),
    /// Another name for a type; none = `void`.
    Typedef(Option<TypeId>),
    /// A type with a qualifier; none = `void`.
    Qualified(Qualifier, Option<TypeId>),
    /// Array.
    Array {
        /// Element type.
        element: Option<TypeId>,
        /// Elements in each dimension, outermost first; none = no bound is given (a flexible array).
        bounds: Box<[Option<u64>]>,
    },
    /// Function, always behind a pointer.
    Function {
        /// What it returns; none = `void`.
        result: Option<TypeId>,
        /// Its parameters.
        parameters: Box<[Option<TypeId>]>,
        /// Whether `...` follows.
        variadic: bool,
    },
    /// A type without layout, such as `decltype(nullptr)`.
    Unspecified,
}

/// Interpretation of a [`Kind::Base`] type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Boolean.
    Bool,
    /// Signed integer.
    Signed,
    /// Unsigned integer.
    Unsigned,
    /// Character, signed or not, of any width.
    Char,
    /// Floating-point or complex number.
    Float,
    /// Any other.
    Other,
}

/// Flavour of a [`Kind::Pointer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pointer {
    /// `T *`.
    Plain,
    /// `T &`.
    Reference,
    /// `T &&`.
    RvalueReference,
    /// `T C::*`.
    Member,
}

/// Word a named type is introduced with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keyword {
    /// `struct`.
    Struct,
    /// `class`.
    Class,
    /// `union`.
    Union,
    /// `enum`.
    Enum,
    /// A typedef: no word.
    Typedef,
}

/// Qualifier of a [`Kind::Qualified`] type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Qualifier {
    /// `const`.
    Const,
    /// `volatile`.
    Volatile,
    /// `restrict`.
    Restrict,
    /// `_Atomic`.
    Atomic,
}

/// Members of a struct, class or union.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Aggregate {
    /// `struct`, `class` or `union`.
    pub keyword: Keyword,
    /// Members in the order of the debug information, base classes first where it gives them first. For a Rust enum
    /// with data, its tag is a member of [`Role::Discriminant`] and each variant one of [`Role::Variant`].
    pub members: Box<[Member]>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Name; none = anonymous.
    pub name: Option<Text>,
    /// Offset in bytes from the start; for a bit-field that of its storage unit. None where it is known only at run
    /// time (a virtual base).
    pub offset: Option<u64>,
    /// Bits of a bit-field.
    pub bits: Option<Bits>,
    /// Type; none = `void` or damaged.
    pub ty: Option<TypeId>,
    /// What it is.
    pub role: Role,
    /// Alignment in bytes as stated for the member, where it is over-aligned.
    pub align: Option<u64>,
}

/// Place of a bit-field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bits {
    /// First bit, counted from the start of the struct in memory order of the machine.
    pub start: u64,
    /// Width in bits.
    pub width: u64,
    /// Size of the storage unit in bytes.
    pub storage: u64,
}

/// What a [`Member`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A field.
    Field,
    /// A base class.
    Base,
    /// A field the compiler made, such as the pointer to the virtual table.
    Artificial,
    /// The tag of a Rust enum.
    Discriminant,
    /// One variant of a Rust enum, overlapping the others.
    Variant,
}

/// Enumeration with its enumerators.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Enumeration {
    /// Enumerators in order.
    pub members: Box<[Enumerator]>,
    /// Underlying type, where stated.
    pub underlying: Option<TypeId>,
}

/// One enumerator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Enumerator {
    /// Name.
    pub name: Text,
    /// Value; wide enough for all 64-bit ones of either sign.
    pub value: i128,
}

impl Type {
    /// Name with its scope, as `scope::name`; none = anonymous.
    #[must_use]
    pub fn qualified(&self) -> Option<String> {
        let name = self.name.as_deref()?;
        Some(self.scope.as_deref().map_or_else(|| name.to_owned(), |scope| format!("{scope}::{name}")))
    }
}

impl Keyword {
    /// The word; empty for a typedef.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Struct => "struct",
            Self::Class => "class",
            Self::Union => "union",
            Self::Enum => "enum",
            Self::Typedef => "",
        }
    }
}

impl Qualifier {
    /// The word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Const => "const",
            Self::Volatile => "volatile",
            Self::Restrict => "restrict",
            Self::Atomic => "_Atomic",
        }
    }
}

impl Member {
    /// Offset of the first bit from the start of the struct.
    #[must_use]
    pub fn first_bit(&self) -> Option<u64> {
        self.bits.map_or_else(|| self.offset?.checked_mul(8), |bits| Some(bits.start))
    }
}
