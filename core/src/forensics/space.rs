//! How much of an HBM is free, and in what pieces.

use crate::driver::Driver;
use crate::hooks::Hooks;
use crate::system::System;

/// Category of the chunks the driver keeps for itself.
const CATEGORY_DRIVER: u32 = 13;

/// An HBM as the driver lists it: the chunks of all processes.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Space {
    /// Chunks of processes.
    pub(super) chunks: u64,
    /// Bytes the driver and the firmware keep.
    pub(super) reserved: u64,
    /// Free bytes.
    pub(super) free: u64,
    /// Bytes of the largest free run.
    pub(super) largest_run: u64,
}

/// Adds up chunks that come in the order of their addresses.
struct Sum {
    space: Space,
    /// End of what was seen so far.
    at: u64,
}

impl Sum {
    fn run(&mut self, until: u64) {
        let run = until.saturating_sub(self.at);
        self.space.free += run;
        self.space.largest_run = self.space.largest_run.max(run);
    }

    fn chunk(&mut self, pa: u64, bytes: u64, category: u32) {
        self.run(pa);
        self.at = self.at.max(pa.saturating_add(bytes));
        if category == CATEGORY_DRIVER {
            self.space.reserved += bytes;
        } else {
            self.space.chunks += 1;
        }
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Looks at an HBM; `None` when the driver does not list its chunks, or has more than can be listed.
    pub(super) fn space(&self, device: u32, channel: u32) -> Option<Space> {
        let base = self.settings.arch.hbm_base(channel)?;
        let mut sum = Sum { space: Space::default(), at: base };
        self.with_chunks(|chunks| {
            let count = self.driver.chunks(device, channel, chunks).ok()? as usize;
            chunks.get(..count)?.iter().for_each(|chunk| sum.chunk(chunk.pa, chunk.size, chunk.mem_type));
            Some(())
        })?;
        sum.run(base.saturating_add(self.settings.arch.hbm_bytes()));
        Some(sum.space)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_what_no_chunk_covers() {
        let mut sum = Sum { space: Space::default(), at: 0x1000 };
        sum.chunk(0x1000, 0x1000, 13);
        sum.chunk(0x4000, 0x1000, 9);
        sum.chunk(0x5000, 0x1000, 9);
        sum.chunk(0x6800, 0x800, 10);
        sum.run(0x8000);
        assert_eq!(sum.space, Space { chunks: 3, reserved: 0x1000, free: 0x2000 + 0x800 + 0x1000, largest_run: 0x2000 });
    }
}
