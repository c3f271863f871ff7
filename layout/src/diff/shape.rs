//! One type, flattened to what a comparison needs.

use crate::found::is_unnamed;
use crate::kind::FieldKind;
use crate::types::{Aggregate, Database, Kind, TypeId};

/// Anonymous members inside each other beyond this are damage.
const DEEPEST: u32 = 32;

/// Members of one type beyond this are damage.
const MOST: usize = 1 << 20;

/// A struct, class, union or enumeration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) size: Option<u64>,
    pub(super) align: Option<u64>,
    /// Members; those of anonymous members stand in their place.
    pub(super) fields: Vec<Field>,
    pub(super) values: Vec<(String, i128)>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    /// First bit; none = only known at run time.
    pub(super) start: Option<u64>,
    /// Width in bits.
    pub(super) width: u64,
    pub(super) bits: bool,
    pub(super) count: u64,
    pub(super) kind: Option<FieldKind>,
    /// Name of the struct it is, if it is one.
    pub(super) target: Option<String>,
    pub(super) words: String,
}

impl Field {
    pub(super) fn end(&self) -> u64 {
        self.start.unwrap_or(0).saturating_add(self.width)
    }

    /// Whether its name says that it is not used.
    pub(super) fn is_padding(&self) -> bool {
        let name = self.name.trim_start_matches('_').to_ascii_lowercase();
        is_unnamed(&self.name) || ["pad", "reserved", "rsvd", "resv", "unused", "spare"].iter().any(|word| name.starts_with(word))
    }

    /// Its place in words.
    pub(super) fn place(&self) -> String {
        match self.start {
            None => "virtual".into(),
            Some(start) if self.bits => format!("bit {start}, width {}", self.width),
            Some(start) => format!("offset {}", start / 8),
        }
    }

    pub(super) fn whole(&self) -> String {
        format!("{} at {}", self.words, self.place())
    }
}

/// Flattens a type; none = it has no layout of its own.
pub(super) fn shape(types: &Database, id: TypeId) -> Option<Shape> {
    let plain = types.plain(id)?;
    let mut shape = Shape { size: types[plain].size, align: types[plain].align, ..Shape::default() };
    match &types[plain].kind {
        Kind::Aggregate(aggregate) => flatten(types, aggregate, 0, 0, &mut shape.fields),
        Kind::Enum(enumeration) => {
            shape.values = enumeration.members.iter().map(|member| (member.name.to_string(), member.value)).collect();
        }
        _ => return None,
    }
    Some(shape)
}

fn flatten(types: &Database, aggregate: &Aggregate, base: u64, depth: u32, fields: &mut Vec<Field>) {
    for (index, member) in aggregate.members.iter().enumerate() {
        let start = member.first_bit().and_then(|start| start.checked_add(base));
        let plain = member.ty.and_then(|ty| types.plain(ty));
        let inner = plain.filter(|_| member.name.is_none()).and_then(|ty| types.aggregate(ty));
        let anonymous = plain.is_some_and(|ty| types[ty].name.is_none());
        if let (Some(inner), Some(start), true) = (inner, start, anonymous && depth < DEEPEST && fields.len() < MOST) {
            flatten(types, inner, start, depth + 1, fields);
            continue;
        }
        let (count, element) = member.ty.map_or((1, None), |ty| types.elements(ty));
        let target = element.and_then(|ty| types.plain(ty)).filter(|ty| types.aggregate(*ty).is_some());
        let unnamed = || match target.and_then(|target| types[target].name.as_deref()) {
            Some(base) => base.to_owned(),
            None => format!("(anonymous {index})"),
        };
        fields.push(Field {
            name: member.name.as_deref().map_or_else(unnamed, str::to_owned),
            start,
            width: member.bits.map_or_else(|| types.member_size(member).unwrap_or(0).saturating_mul(8), |bits| bits.width),
            bits: member.bits.is_some(),
            count,
            kind: element.and_then(|element| FieldKind::of(types, element)),
            target: target.and_then(|target| types[target].qualified()),
            words: types.describe(member.ty),
        });
    }
}
