//! Which forms of the requests a driver has (`driver-abi` §§7, 15).

use core::fmt;

use nrt_core::arch::Arch;
use nrt_core::driver::feature;

/// 512-bit core maps.
pub const BIG_CORE_MAPS: u64 = 1 << 3;

/// How memory is asked for, best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllocForm {
    /// Size only: alignment is emulated by over-allocation, memory is counted as uncategorised.
    Original,
    /// With alignment; memory is counted as uncategorised.
    Aligned,
    /// With alignment and category.
    Typed,
    /// With alignment and category, 4 GiB and more.
    Wide,
}

/// The forms a client uses with one driver. Settled once, from what the driver says of itself: a request is never tried
/// with live arguments to find out whether it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forms {
    /// Allocation.
    pub alloc: AllocForm,
    /// 64-bit copies and fills; without them nothing of 4 GiB or more is allocated.
    pub wide: bool,
    /// Asynchronous copies; without them copies are synchronous and complete at the start.
    pub asynchronous: bool,
    /// Core maps of 512 bits; without them only the first 64 cores can be reserved.
    pub big_core_maps: bool,
    /// Transfers without bounce buffer. Not on SUNDA, where the driver advertises them and refuses them.
    pub zero_copy: bool,
    /// The contiguous category.
    pub contiguous: bool,
}

impl Forms {
    /// From the feature bits and the newest runtime interface the driver serves.
    #[must_use]
    pub fn settle(arch: Arch, features: u64, newest_runtime: u32) -> Self {
        let has = |bit: u64| features & bit != 0;
        let wide = has(feature::MEM_ALLOC64);
        let alloc = if wide {
            AllocForm::Wide
        } else if has(feature::MEM_ALLOC_TYPE) {
            AllocForm::Typed
        } else if newest_runtime >= 3 {
            AllocForm::Aligned
        } else {
            AllocForm::Original
        };
        Self {
            alloc,
            wide,
            asynchronous: has(feature::ASYNC_DMA),
            big_core_maps: has(BIG_CORE_MAPS),
            zero_copy: has(feature::ZEROCOPY) && !matches!(arch, Arch::Sunda),
            contiguous: has(feature::CONTIGUOUS_SCRATCHPAD),
        }
    }
}

impl Forms {
    /// The forms of a driver before 2.3.3.
    pub const OLDEST: Self = Self {
        alloc: AllocForm::Original,
        wide: false,
        asynchronous: false,
        big_core_maps: false,
        zero_copy: false,
        contiguous: false,
    };

    /// What both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let wide = self.wide && other.wide;
        let alloc = self.alloc.min(other.alloc);
        Self {
            // The 64-bit allocation makes chunks only the 64-bit copies can reach.
            alloc: if wide { alloc } else { alloc.min(AllocForm::Typed) },
            wide,
            asynchronous: self.asynchronous && other.asynchronous,
            big_core_maps: self.big_core_maps && other.big_core_maps,
            zero_copy: self.zero_copy && other.zero_copy,
            contiguous: self.contiguous && other.contiguous,
        }
    }
}

impl fmt::Display for Forms {
    /// What is missing, in words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lacks = [
            (self.wide, "allocations of 4 GiB and more are refused"),
            (self.alloc >= AllocForm::Typed, "the driver does not count memory by category"),
            (self.alloc >= AllocForm::Aligned, "alignment is emulated by over-allocation"),
            (self.asynchronous, "copies are synchronous"),
            (self.big_core_maps, "only the first 64 cores can be reserved"),
            (self.zero_copy, "transfers go through the driver's bounce buffer"),
            (self.contiguous, "there is no contiguous scratchpad"),
        ];
        let mut missing = lacks.iter().filter(|(has, _)| !has).map(|(_, text)| *text);
        match missing.next() {
            None => f.write_str("nothing is missing"),
            Some(first) => {
                f.write_str(first)?;
                missing.try_for_each(|text| write!(f, "; {text}"))
            }
        }
    }
}
