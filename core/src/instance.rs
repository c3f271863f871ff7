//! What kind of machine this is (fact sheet `lnc` §9). It feeds the routing-id map where the driver has none, and the logical core
//! sizes that can be asked for.

use crate::abi::{nrt_instance_family, nrt_instance_size};
use crate::arch::Arch;

/// Family of an instance, by its documented number.
pub type Family = nrt_instance_family;
/// Size of an instance, by its documented number.
pub type Size = nrt_instance_size;

/// Family and size of the machine, and what is special about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Family.
    pub family: Family,
    /// Size.
    pub size: Size,
    /// The one logical core size of this kind of instance, 1 or 2; `None` where the architecture alone decides. Which kinds are
    /// restricted no source tells, so the platform has to. SUNDA is 1 whatever stands here.
    pub only_logical_core_size: Option<u32>,
}

impl Instance {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { family: Family::UNKNOWN, size: Size::UNKNOWN, only_logical_core_size: None };

    /// Fills in what the architecture implies: MARIANA without a family is TRN3, without a size 2XL.
    #[must_use]
    pub fn settled(mut self, arch: Arch) -> Self {
        if arch == Arch::Mariana && self.family == Family::UNKNOWN {
            self.family = Family::TRN3;
            if self.size == Size::UNKNOWN {
                self.size = Size::_2XL;
            }
        }
        self
    }
}

impl Default for Instance {
    fn default() -> Self {
        Self::UNKNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `lnc` §9: MARIANA with an unknown family is number 14, and size 9 becomes 1; nobody else is touched.
    #[test]
    fn mariana_has_defaults() {
        let settled = Instance::UNKNOWN.settled(Arch::Mariana);
        assert_eq!((settled.family.0, settled.size.0), (14, 1));
        assert_eq!(Instance::UNKNOWN.settled(Arch::Cayman), Instance::UNKNOWN);
        let told = Instance { family: Family::TRN2, ..Instance::UNKNOWN };
        assert_eq!(told.settled(Arch::Mariana), told);
        assert_eq!((Family::TRN1.0, Family::INF2E.0, Size::UNKNOWN.0), (2, 7, 9));
    }
}
