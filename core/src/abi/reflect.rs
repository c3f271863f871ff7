//! What the declarations of [`super`] say about themselves, as data.

/// One named field of a byte-exact struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldInfo {
    /// Path of the field as the documented table spells it, nested members joined by `.`.
    pub path: &'static str,
    /// Offset from the start of the struct in bytes, as the compiler laid it out.
    pub offset: usize,
    /// Size of the field in bytes, as the compiler laid it out.
    pub size: usize,
    /// Rust type of the field, as written in the declaration.
    pub ty: &'static str,
}

impl FieldInfo {
    /// Whether the span has no documented name: `unk_*`, `pad_*` and `spare_*` are layout, not interface.
    #[must_use]
    pub const fn is_unnamed(&self) -> bool {
        starts_with(self.path, "unk_") || starts_with(self.path, "pad_") || starts_with(self.path, "spare_")
    }
}

/// One byte-exact struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructInfo {
    /// The C name.
    pub name: &'static str,
    /// Size in bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// All fields in declaration order, unnamed spans included.
    pub fields: &'static [FieldInfo],
}

/// One enumeration of the C interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnumInfo {
    /// The C name.
    pub name: &'static str,
    /// Size of the enumeration in bytes.
    pub size: usize,
    /// Enumerators in declaration order.
    pub values: &'static [(&'static str, i64)],
}

const fn starts_with(text: &str, prefix: &str) -> bool {
    let (text, prefix) = (text.as_bytes(), prefix.as_bytes());
    if text.len() < prefix.len() {
        return false;
    }
    let mut i = 0;
    while i < prefix.len() {
        if text[i] != prefix[i] {
            return false;
        }
        i += 1;
    }
    true
}
