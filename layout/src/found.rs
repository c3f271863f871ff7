//! What one route found: the same shape for all of them, so that one comparison serves all.

use std::collections::BTreeMap;

use crate::kind::FieldKind;

/// All structs and enumerations one route found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Structs by C name. Debug information may hold several definitions of one name.
    pub structs: BTreeMap<String, Vec<FoundStruct>>,
    /// Enumerations by C name.
    pub enums: BTreeMap<String, Vec<FoundEnum>>,
}

/// One definition of a struct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundStruct {
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes, where the route tells it.
    pub align: Option<u64>,
    /// Fields by documented path; a member without a documented path goes by its own name.
    pub fields: BTreeMap<String, FoundField>,
}

/// Place of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundField {
    /// Offset from the start of the struct in bytes.
    pub offset: u64,
    /// Size in bytes, where the route tells it.
    pub size: Option<u64>,
    /// Elements, where the route tells them: 1 for a field that is no array.
    pub count: Option<u64>,
    /// Kind of the field, or of its elements, where the route tells it.
    pub kind: Option<FieldKind>,
}

/// One definition of an enumeration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundEnum {
    /// Size in bytes.
    pub size: u64,
    /// Enumerators; empty where the route does not tell them.
    pub values: BTreeMap<String, i64>,
}

impl Found {
    /// Adds a definition unless an equal one is there.
    pub fn add_struct(&mut self, name: &str, definition: FoundStruct) {
        let known = self.structs.entry(name.into()).or_default();
        if !known.contains(&definition) {
            known.push(definition);
        }
    }

    /// Adds a definition unless an equal one is there.
    pub fn add_enum(&mut self, name: &str, definition: FoundEnum) {
        let known = self.enums.entry(name.into()).or_default();
        if !known.contains(&definition) {
            known.push(definition);
        }
    }
}

/// Whether a member of this name is layout rather than interface, as [`nrt_core::abi`] names such spans.
#[must_use]
pub fn is_unnamed(member: &str) -> bool {
    ["unk_", "pad_", "spare_"].iter().any(|prefix| member.starts_with(prefix))
}
