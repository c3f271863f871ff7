//! What a field is, as far as the documented table and debug information can be compared.

use crate::table::DocField;
use crate::types::{Aggregate, Database, Encoding, Kind, Pointer, Role, TypeId};

/// Kind of one field or array element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Boolean.
    Bool,
    /// Character: of any sign, and as good as an integer of one byte.
    Char,
    /// Signed integer.
    Signed,
    /// Unsigned integer.
    Unsigned,
    /// Floating-point number.
    Float,
    /// Enumeration: as good as an integer.
    Enum,
    /// Pointer to data or to a function.
    Pointer,
    /// Struct, class or union.
    Aggregate,
}

impl FieldKind {
    /// Word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Char => "char",
            Self::Signed => "signed",
            Self::Unsigned => "unsigned",
            Self::Float => "float",
            Self::Enum => "enum",
            Self::Pointer => "pointer",
            Self::Aggregate => "struct",
        }
    }

    /// Kind of a type. A struct that only wraps one member of its own size, as Rust's atomics do, is what it wraps.
    #[must_use]
    pub fn of(types: &Database, id: TypeId) -> Option<Self> {
        let mut id = types.plain(id)?;
        for _ in 0..8 {
            let Kind::Aggregate(aggregate) = &types[id].kind else { break };
            let mut sized = aggregate.members.iter().filter(|member| types.member_size(member) != Some(0));
            let (Some(only), None) = (sized.next(), sized.next()) else { break };
            let wraps = only.role == Role::Field && types.member_size(only) == types.size(id) && only.offset == Some(0);
            let Some(inner) = only.ty.and_then(|ty| types.plain(ty)).filter(|_| wraps) else { break };
            id = inner;
        }
        // A Rust enum with data, such as an optional function pointer, has no counterpart in the table.
        let variants = |aggregate: &Aggregate| aggregate.members.iter().any(|member| member.role == Role::Variant);
        Some(match &types[id].kind {
            Kind::Aggregate(aggregate) if variants(aggregate) => return None,
            Kind::Base(Encoding::Bool) => Self::Bool,
            Kind::Base(Encoding::Char) => Self::Char,
            Kind::Base(Encoding::Signed) => Self::Signed,
            Kind::Base(Encoding::Unsigned) => Self::Unsigned,
            Kind::Base(Encoding::Float) => Self::Float,
            Kind::Enum(_) => Self::Enum,
            Kind::Pointer(Pointer::Member, _) => return None,
            Kind::Pointer(..) => Self::Pointer,
            Kind::Aggregate(_) => Self::Aggregate,
            _ => return None,
        })
    }

    /// Kind of a documented field; none = the table does not tell.
    #[must_use]
    pub fn documented(field: &DocField) -> Option<Self> {
        Some(match field.ctype.as_str() {
            "bool" => Self::Bool,
            "char" => Self::Char,
            "u8" | "u16" | "u32" | "u64" | "size_t" => Self::Unsigned,
            "i8" | "i16" | "i32" | "i64" | "int" | "time_t" => Self::Signed,
            "enum" => Self::Enum,
            "ptr" | "fnptr" => Self::Pointer,
            "struct" => Self::Aggregate,
            _ => return None,
        })
    }

    /// Whether one may stand for the other: enumerations, characters and booleans are integers, and the sources cannot
    /// tell the sign of all integers.
    #[must_use]
    pub const fn agrees(self, other: Self) -> bool {
        self.class() == other.class()
    }

    const fn class(self) -> u8 {
        match self {
            Self::Bool | Self::Char | Self::Signed | Self::Unsigned | Self::Enum => 0,
            Self::Float => 1,
            Self::Pointer => 2,
            Self::Aggregate => 3,
        }
    }
}
