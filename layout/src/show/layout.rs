//! Holes, padding and totals of one type.

use crate::types::{Aggregate, Database, Keyword, TypeId};

/// Bytes of a cache line.
pub const CACHE_LINE: u64 = 64;

/// Bits that no member covers, before a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// First bit, from the start of the struct.
    pub start: u64,
    /// Width in bits.
    pub width: u64,
}

/// What lies between the members of one type.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Holes in order of their place; none for unions.
    pub holes: Vec<Hole>,
    /// Bits that members cover.
    pub covered: u64,
    /// Bits after the last member.
    pub padding: u64,
    /// Named and anonymous members.
    pub members: usize,
    /// Whether a member stands where its type's alignment would not put it.
    pub packed: bool,
}

impl Layout {
    /// Measures a type; all zero for one that is no struct.
    #[must_use]
    pub fn of(types: &Database, id: TypeId) -> Self {
        let Some(aggregate) = types.aggregate(id) else { return Self::default() };
        let size = types.size(id).unwrap_or(0).saturating_mul(8);
        let mut layout = Self { members: aggregate.members.len(), packed: packed(types, aggregate), ..Self::default() };
        let mut spans: Vec<(u64, u64)> = aggregate
            .members
            .iter()
            .filter_map(|member| {
                let start = member.first_bit()?;
                let width =
                    member.bits.map_or_else(|| types.member_size(member).unwrap_or(0).saturating_mul(8), |bits| bits.width);
                Some((start, start.saturating_add(width)))
            })
            .filter(|(start, end)| end > start)
            .collect();
        spans.sort_unstable();
        let mut end = 0;
        for (start, stop) in spans {
            if start > end && aggregate.keyword != Keyword::Union {
                layout.holes.push(Hole { start: end, width: start - end });
            }
            layout.covered = layout.covered.saturating_add(stop.saturating_sub(start.max(end)));
            end = end.max(stop);
        }
        layout.padding = size.saturating_sub(end);
        layout
    }

    /// Holes of at least a byte.
    #[must_use]
    pub fn hole_count(&self) -> usize {
        self.holes.iter().filter(|hole| hole.bytes() > 0).count()
    }

    /// Bytes in holes.
    #[must_use]
    pub fn hole_bytes(&self) -> u64 {
        self.holes.iter().map(Hole::bytes).sum()
    }
}

impl Hole {
    /// Whole bytes in it.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        let end = (self.start + self.width) / 8;
        end.saturating_sub(self.start.div_ceil(8))
    }

    /// Bits that do not make up a whole byte.
    #[must_use]
    pub const fn bits(&self) -> u64 {
        self.width - self.bytes() * 8
    }
}

fn packed(types: &Database, aggregate: &Aggregate) -> bool {
    aggregate.members.iter().any(|member| {
        let natural = member.ty.and_then(|ty| types.align(ty));
        matches!((natural, member.offset), (Some(natural), Some(offset)) if member.bits.is_none() && offset % natural.max(1) != 0)
    })
}
