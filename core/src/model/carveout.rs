//! The EVTACCEL reservation of the state buffer: checked, never allocated (fact sheet `model-load` §8).

use crate::error::{CarveoutRule, Cause, Error, Result};

/// A reserved span of the on-chip state buffer, as the compiled model states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carveout {
    /// `kbin_sb_carveout_type_t`; 1 = EVTACCEL, the only one checked.
    pub kind: u32,
    /// First partition.
    pub partition_start: u64,
    /// Number of partitions.
    pub partition_count: u64,
    /// Offset in each partition in bytes.
    pub offset: u64,
    /// Bytes in each partition.
    pub size: u64,
}

const EVTACCEL: u32 = 1;

impl Carveout {
    /// The reservation that CAYMAN accepts: 8 bytes at 0x37FF8 of all 128 partitions.
    pub const EVTACCEL: Self = Self { kind: EVTACCEL, partition_start: 0, partition_count: 0x80, offset: 0x37FF8, size: 8 };
}

/// Checks the EVTACCEL reservation among `carveouts`: `true` when there is one and it is right, `false` when there is none.
///
/// # Errors
/// `NRT_INVALID` naming the first rule that is broken, in the order start, count, offset, size.
pub(crate) fn check_evtaccel(carveouts: &[Carveout]) -> Result<bool> {
    let Some(found) = carveouts.iter().find(|carveout| carveout.kind == EVTACCEL) else { return Ok(false) };
    let right = Carveout::EVTACCEL;
    let rule = if found.partition_start != right.partition_start {
        CarveoutRule::PartitionStart
    } else if found.partition_count != right.partition_count {
        CarveoutRule::PartitionCount
    } else if found.offset != right.offset {
        CarveoutRule::Offset
    } else if found.size != right.size {
        CarveoutRule::Size
    } else {
        return Ok(true);
    };
    Err(Error::invalid(Cause::Carveout(rule)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_checked_in_the_documented_order() {
        let all_wrong = Carveout { kind: 1, partition_start: 1, partition_count: 127, offset: 0, size: 4 };
        let steps = [
            (all_wrong, CarveoutRule::PartitionStart),
            (Carveout { partition_start: 0, ..all_wrong }, CarveoutRule::PartitionCount),
            (Carveout { partition_start: 0, partition_count: 0x80, ..all_wrong }, CarveoutRule::Offset),
            (Carveout { size: 4, ..Carveout::EVTACCEL }, CarveoutRule::Size),
        ];
        for (carveout, rule) in steps {
            assert_eq!(check_evtaccel(&[carveout]), Err(Error::invalid(Cause::Carveout(rule))));
        }
        assert_eq!(check_evtaccel(&[Carveout::EVTACCEL]), Ok(true));
        assert_eq!(check_evtaccel(&[]), Ok(false));
        assert_eq!(check_evtaccel(&[Carveout { kind: 0, ..all_wrong }]), Ok(false));
    }
}
