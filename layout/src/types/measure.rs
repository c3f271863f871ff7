//! Sizes and alignments that follow from others.

use super::{Database, Kind, Member, TypeId};

impl Database {
    /// The type behind typedefs and qualifiers; none = `void`.
    #[must_use]
    pub fn plain(&self, mut id: TypeId) -> Option<TypeId> {
        loop {
            match self[id].kind {
                Kind::Typedef(target) | Kind::Qualified(_, target) => id = target?,
                _ => return Some(id),
            }
        }
    }

    /// Size in bytes; none = unknown, or an incomplete type. A flexible array has 0.
    #[must_use]
    pub fn size(&self, id: TypeId) -> Option<u64> {
        let mut id = id;
        let mut times = 1_u64;
        loop {
            let ty = &self[id];
            match &ty.kind {
                Kind::Typedef(target) | Kind::Qualified(_, target) => id = (*target)?,
                Kind::Array { element, bounds } => {
                    if let Some(size) = ty.size {
                        return times.checked_mul(size);
                    }
                    for bound in bounds {
                        times = times.checked_mul(bound.unwrap_or(0))?;
                    }
                    if times == 0 {
                        return Some(0);
                    }
                    id = (*element)?;
                }
                Kind::Pointer(..) => return times.checked_mul(ty.size.unwrap_or(self.pointer_size)),
                _ => return times.checked_mul(ty.size?),
            }
        }
    }

    /// Size of a member in bytes; that of the storage unit for a bit-field.
    #[must_use]
    pub fn member_size(&self, member: &Member) -> Option<u64> {
        member.bits.map_or_else(|| self.size(member.ty?), |bits| Some(bits.storage))
    }

    /// Elements over all dimensions and nested arrays; 1 = no array, 0 = a flexible array. Second, the element type.
    #[must_use]
    pub fn elements(&self, id: TypeId) -> (u64, Option<TypeId>) {
        let (mut id, mut times) = (id, 1_u64);
        loop {
            let Some(plain) = self.plain(id) else { return (times, None) };
            let Kind::Array { element, bounds } = &self[plain].kind else { return (times, Some(id)) };
            times = bounds.iter().fold(times, |times, bound| times.saturating_mul(bound.unwrap_or(0)));
            match element {
                Some(element) => id = *element,
                None => return (times, None),
            }
        }
    }

    /// Alignment in bytes: as stated, or else as the members and sizes imply for a machine that aligns every scalar to
    /// its size, or to 4 at most where that is the rule (x86). A struct whose members do not stand at multiples of theirs is packed and gets what its layout allows.
    #[must_use]
    pub fn align(&self, id: TypeId) -> Option<u64> {
        self.align_within(id, &mut 4096)
    }

    fn align_within(&self, id: TypeId, steps: &mut u32) -> Option<u64> {
        *steps = steps.checked_sub(1)?;
        let ty = &self[id];
        if ty.align.is_some() {
            return ty.align;
        }
        match &ty.kind {
            Kind::Typedef(target) | Kind::Qualified(_, target) => self.align_within((*target)?, steps),
            Kind::Array { element, .. } => self.align_within((*element)?, steps),
            Kind::Base(_) | Kind::Enum(_) => {
                let most = if self.scalar_align == 0 { 16 } else { self.scalar_align };
                ty.size.filter(|size| size.is_power_of_two()).map(|size| size.min(most))
            }
            Kind::Pointer(..) => Some(self.pointer_size),
            Kind::Aggregate(aggregate) => {
                let mut align = 1;
                for member in &aggregate.members {
                    let own = member.align.or_else(|| self.align_within(member.ty?, steps)).unwrap_or(1).max(1);
                    let fits = member.bits.is_some() || member.offset.is_none_or(|offset| offset % own == 0);
                    align = if fits { align.max(own) } else { align };
                }
                let size = ty.size.unwrap_or(0);
                Some(if size == 0 { align } else { align.min(1 << size.trailing_zeros()) })
            }
            _ => None,
        }
    }
}
