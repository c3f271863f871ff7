//! The documented tables: what the sources say about the layout, as data.
//!
//! They are files beside the code (`layout/tables/`) and compiled in. `layout.csv` can be replaced at run time. Its rows
//! are one field each, the rows of a struct stand together, for x86-64:
//!
//! | column | holds |
//! | --- | --- |
//! | `struct_size`, `struct_align` | bytes; empty = unknown. An alignment below that of a member means packed |
//! | `field` | path of the field; empty = only the size of the struct is known |
//! | `offset` | bytes from the start of the struct |
//! | `size` | bytes; empty = an opaque member of unknown size |
//! | `ctype` | a scalar, `enum` (4 bytes), `ptr`, `fnptr`, `struct`, `opaque` or a pthread type |
//! | `count` | elements; 0 with size 0 = a flexible array |
//! | `pointee_or_elem` | pointee, element struct, enumeration, array shape `[a][b]`, or words such as `aligned(64)` |
//! | `confidence`, `source` | how sure it is, and which fact sheet says so |
//!
//! `union:` before a `ctype` marks a union member, named `CONTAINER.ARM` or `CONTAINER.ARM.MEMBER`; a row named after the
//! container alone gives the size of the whole. Arms may overlap each other, members of one arm may not.

mod consistency;
mod read;

pub use consistency::problems;

use crate::error::Unreadable;

/// All documented tables.
#[derive(Clone, Debug)]
pub struct Table {
    /// Structs in the order of the file.
    pub structs: Vec<DocStruct>,
    /// Enumerations in the order of the file.
    pub enums: Vec<DocEnum>,
    /// Bytes of the three tables indexed by usage.
    pub bytes: Vec<DocByte>,
    /// Spans whose size only the documentation tells.
    pub spans: Vec<Span>,
    /// Constants seen in the original's instructions.
    pub evidence: Vec<Witness>,
    /// Structs that an implementation must have.
    pub required: Vec<String>,
}

/// One documented struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocStruct {
    /// The C name.
    pub name: String,
    /// Size in bytes, where known.
    pub size: Option<u64>,
    /// Alignment in bytes, where known.
    pub align: Option<u64>,
    /// Whether the name is ours because no source gives one; such names prove nothing about a foreign file.
    pub descriptive: bool,
    /// Fields in the order of the file; none = only the size is known.
    pub fields: Vec<DocField>,
}

/// One documented field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocField {
    /// Path from the struct, members of nested structs and unions joined by `.`.
    pub path: String,
    /// Offset from the start of the struct in bytes.
    pub offset: u64,
    /// Size in bytes, where known.
    pub size: Option<u64>,
    /// Kind of C type, without the union mark.
    pub ctype: String,
    /// Whether the field is a union or a member of one.
    pub union: bool,
    /// Elements; 1 for a field that is no array, 0 for a flexible array.
    pub count: u64,
    /// Pointee, element struct, enumeration, array shape, or words such as `aligned(64)`.
    pub element: String,
}

/// One documented enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocEnum {
    /// The C name.
    pub name: String,
    /// Enumerators; the value is absent where no source gives it.
    pub members: Vec<(String, Option<i64>)>,
}

/// One byte of a table indexed by usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocByte {
    /// `host`, `device` or `aggregate`.
    pub table: String,
    /// Usage, 0..22.
    pub index: usize,
    /// Name of the usage.
    pub usage: String,
    /// The byte to implement.
    pub value: u8,
}

/// Bytes without a C type of known size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Struct the span is in.
    pub structure: String,
    /// Field the span follows, empty at the start of the struct.
    pub after: String,
    /// Name of the span, or of the documented field whose size it gives.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// One constant seen in the original's instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The constant.
    pub value: u64,
    /// What it is made of, in the terms of [`crate::expression`].
    pub expression: String,
    /// Where it was seen.
    pub seen: String,
}

impl Table {
    /// The tables compiled into this crate.
    ///
    /// # Errors
    /// A table that is malformed.
    pub fn built_in() -> Result<Self, Unreadable> {
        Self::with_layout(include_str!("../../tables/layout.csv"), "tables/layout.csv")
    }

    /// The same tables with another `layout.csv`; `place` names it in errors.
    ///
    /// # Errors
    /// A table that is malformed.
    pub fn with_layout(text: &str, place: &str) -> Result<Self, Unreadable> {
        let required = include_str!("../../tables/required.txt");
        Ok(Self {
            structs: read::structs(text, place)?,
            enums: read::enums(include_str!("../../tables/enums.csv"), "tables/enums.csv")?,
            bytes: read::bytes(include_str!("../../tables/tables.csv"), "tables/tables.csv")?,
            spans: read::spans(include_str!("../../tables/spans.csv"), "tables/spans.csv")?,
            evidence: read::evidence(include_str!("../../tables/evidence.csv"), "tables/evidence.csv")?,
            required: required.lines().filter(|line| !line.is_empty()).map(String::from).collect(),
        })
    }

    /// The struct of this name.
    #[must_use]
    pub fn structure(&self, name: &str) -> Option<&DocStruct> {
        self.structs.iter().find(|structure| structure.name == name)
    }

    /// The enumeration of this name.
    #[must_use]
    pub fn enumeration(&self, name: &str) -> Option<&DocEnum> {
        self.enums.iter().find(|enumeration| enumeration.name == name)
    }
}

impl DocStruct {
    /// The field of this path.
    #[must_use]
    pub fn field(&self, path: &str) -> Option<&DocField> {
        self.fields.iter().find(|field| field.path == path)
    }
}

impl DocField {
    /// First part of the path: the member of the struct itself.
    #[must_use]
    pub fn container(&self) -> &str {
        self.path.split('.').next().unwrap_or(&self.path)
    }

    /// Alignment that an `aligned(N)` word asks for, in bytes. Pointers and structs carry theirs elsewhere.
    #[must_use]
    pub fn aligned(&self) -> Option<u64> {
        if matches!(self.ctype.as_str(), "ptr" | "struct") {
            return None;
        }
        let (_, rest) = self.element.split_once("aligned(")?;
        rest.split(')').next()?.parse().ok()
    }

    /// Array bounds `[a][b]` of a scalar, outermost first.
    #[must_use]
    pub fn shape(&self) -> Vec<u64> {
        if matches!(self.ctype.as_str(), "ptr" | "struct" | "opaque") {
            return Vec::new();
        }
        self.element.split('[').skip(1).filter_map(|part| part.split(']').next()?.parse().ok()).collect()
    }
}

/// Size of a C type of fixed size in bytes.
#[must_use]
pub fn scalar_size(ctype: &str) -> Option<u64> {
    Some(match ctype {
        "u8" | "i8" | "char" | "bool" => 1,
        "u16" | "i16" => 2,
        "u32" | "i32" | "int" | "enum" => 4,
        "u64" | "i64" | "size_t" | "time_t" | "ptr" | "fnptr" => 8,
        _ => return None,
    })
}

/// Size of one of the C library's synchronisation objects in bytes.
#[must_use]
pub fn pthread_size(ctype: &str) -> Option<u64> {
    Some(match ctype {
        "pthread_mutex_t" => 40,
        "pthread_cond_t" => 48,
        "pthread_rwlock_t" => 56,
        _ => return None,
    })
}

/// Size of a C++ library object in bytes.
#[must_use]
pub fn library_size(element: &str) -> Option<u64> {
    Some(match element.split('<').next()? {
        "std::string" => 32,
        "std::map" => 48,
        "std::vector" => 24,
        "std::unordered_map" => 56,
        _ => return None,
    })
}
