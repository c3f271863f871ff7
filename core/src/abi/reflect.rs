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
    /// Whether this is a container that the documented table names through its members only.
    pub group: bool,
}

impl FieldInfo {
    /// Whether the documented table has no row for this: `unk_*`, `pad_*` and `spare_*` are layout, not interface, and
    /// the members of a `group` stand for it.
    #[must_use]
    pub const fn is_unnamed(&self) -> bool {
        self.group || starts_with(self.path, "unk_") || starts_with(self.path, "pad_") || starts_with(self.path, "spare_")
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

/// A field name as C spells it: `type` for the raw identifier `r#type`.
#[doc(hidden)]
#[must_use]
pub const fn plain(name: &'static str) -> &'static str {
    if starts_with(name, "r#") { name.split_at(2).1 } else { name }
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
