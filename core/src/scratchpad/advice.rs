//! Variables that fit no page, and the page size that would hold them (fact sheet `scratchpad` §8).

use core::sync::atomic::Ordering::Relaxed;

use crate::context::ResolvedCore;
use crate::driver::Driver;
use crate::error::Result;
use crate::hooks::Hooks;
use crate::system::System;

use super::MAX_PAGE_SIZE;

/// Page sizes are advised in multiples of this.
const ROUND: u64 = 512 << 20;
const MIB: u64 = 1 << 20;

/// The page size that would hold the largest variable that got memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageAdvice {
    /// Bytes of the largest such variable of the resident models.
    pub largest: u64,
    /// The page size in MiB, for the compiler's `--hbm-scratchpad-page-size` and for `NEURON_SCRATCHPAD_PAGE_SIZE`.
    pub mebibytes: u64,
    /// Whether the runtime takes such a page: one below 4 GiB.
    pub possible: bool,
}

impl PageAdvice {
    /// `None` when every variable fits.
    #[must_use]
    pub const fn new(largest: u64) -> Option<Self> {
        if largest == 0 {
            return None;
        }
        let bytes = largest.div_ceil(ROUND).saturating_mul(ROUND);
        Some(Self { largest, mebibytes: bytes / MIB, possible: bytes <= MAX_PAGE_SIZE })
    }
}

impl core::fmt::Display for PageAdvice {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { largest, mebibytes, possible } = self;
        write!(f, "a variable of {largest} bytes fits no scratchpad page and has memory of its own")?;
        if *possible {
            write!(
                f,
                "; to share it, compile with --hbm-scratchpad-page-size={mebibytes} and set NEURON_SCRATCHPAD_PAGE_SIZE={mebibytes}"
            )
        } else {
            f.write_str("; no page is large enough for it")
        }
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Bytes of the largest variable that fits no page, of all models resident on a core; 0 = all fit.
    ///
    /// # Concurrency
    /// The database lock of the core.
    pub(crate) fn largest_private_variable(&self, core: &ResolvedCore) -> u64 {
        let mut largest = 0;
        self.for_each_resident(core, |slot| {
            // SAFETY: resident, so its allocator is live; an atomic.
            let own = unsafe { (*slot.as_ptr()).allocator.largest_oversized_scratchpad_var.load(Relaxed) };
            largest = largest.max(own as u64);
        });
        largest
    }

    /// The advice for a logical core.
    ///
    /// # Errors
    /// Never for a logical core that exists.
    pub(crate) fn page_advice(&self, vnc: u32) -> Result<Option<PageAdvice>> {
        let mut largest = 0;
        for relative in 0..self.settings.logical_core_size {
            largest = largest.max(self.largest_private_variable(&self.core(vnc, relative)?));
        }
        Ok(PageAdvice::new(largest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_rounded_up_to_512_mib_and_ends_below_4_gib() {
        let advice = |largest, mebibytes, possible| Some(PageAdvice { largest, mebibytes, possible });
        assert_eq!(PageAdvice::new(0), None);
        assert_eq!(PageAdvice::new(1), advice(1, 512, true));
        assert_eq!(PageAdvice::new(ROUND), advice(ROUND, 512, true));
        assert_eq!(PageAdvice::new(ROUND + 1), advice(ROUND + 1, 1024, true));
        assert_eq!(PageAdvice::new(7 * ROUND), advice(7 * ROUND, 3584, true));
        assert_eq!(PageAdvice::new(7 * ROUND + 1), advice(7 * ROUND + 1, 4096, false));
    }
}
