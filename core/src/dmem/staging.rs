//! Staged transfers: two chunks in flight through the two slots of the bounce buffer (fact sheet `dmem` §11).
//!
//! A request *starts* its copy, then waits for the one before it, then gives the handle of its own: when it returns, the slot
//! of the copy before is free (in) or full (out). So one slot is filled or emptied while the engine works on the other.

use crate::driver::{Call, Driver};
use crate::error::{Error, Result};
use crate::hooks::Hooks;
use crate::system::System;

use super::bounce::SLOT_BYTES;
use super::copy::Target;

/// Largest transfer that goes in one synchronous copy, in bytes.
const ONE_PASS: u64 = 0x3FFF;

/// Handle of a copy that is complete when its request returns.
const SYNCHRONOUS: i32 = 0;
/// Handle before the first copy: nothing to wait for.
const NOTHING_IN_FLIGHT: i32 = -1;

/// Bytes of a chunk, and the wait handle to begin with, for a transfer of `size` bytes.
///
/// | size | chunk | begins |
/// | --- | --- | --- |
/// | up to 0x3FFF | 0x4000: one pass | synchronous |
/// | up to 0x10_0000 | half, rounded up to 4 KiB: two chunks, three for 2k · 4096 + 1 bytes | with nothing in flight |
/// | more | 1 MiB | with nothing in flight |
pub(super) const fn chunk_rule(size: u64) -> (u64, i32) {
    match size {
        0..=ONE_PASS => (ONE_PASS + 1, SYNCHRONOUS),
        0x4000..=SLOT_BYTES => (((size >> 1) + 0xFFF) & !0xFFF, NOTHING_IN_FLIGHT),
        _ => (SLOT_BYTES, NOTHING_IN_FLIGHT),
    }
}

/// A chunk in its slot.
#[derive(Clone, Copy)]
struct Piece {
    slot: usize,
    /// Where in the transfer.
    position: u64,
    length: u64,
}

/// The chunks of a transfer, slots in turn.
fn pieces(size: u64, chunk: u64) -> impl Iterator<Item = Piece> {
    (0..size.div_ceil(chunk)).map(move |index| {
        let position = index * chunk;
        Piece { slot: index as usize % 2, position, length: chunk.min(size - position) }
    })
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Moves `size` bytes into device memory; `fill` provides them chunk by chunk.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the driver fails; what `fill` answers. No copy is in flight then.
    pub(super) fn stage_in(
        &self,
        target: &Target<'_>,
        size: u64,
        fill: &mut dyn FnMut(&mut [u8], u64) -> Result<()>,
    ) -> Result<()> {
        let device = target.core.device;
        self.with_bounce(&target.core, |bounce| {
            let (chunk, mut wait) = chunk_rule(size);
            for Piece { slot, position, length } in pieces(size, chunk) {
                // SAFETY: the last copy from this slot is complete: the start of the one after it waited for it.
                fill(unsafe { bounce.slot(slot, length) }, position)?;
                let from = slot as u64 * SLOT_BYTES;
                self.driver
                    .copy_start(device, bounce.range, from, target.range, target.start + position, length, 0, &mut wait)
                    .map_err(|errno| Error::driver(Call::CopyStart, device, errno))?;
            }
            if wait != SYNCHRONOUS {
                self.driver
                    .copy_wait(device, bounce.range, target.range, wait)
                    .map_err(|errno| Error::driver(Call::CopyWait, device, errno))?;
            }
            Ok(())
        })
    }

    /// Moves `size` bytes out of device memory; `take` gets them chunk by chunk. `host` is where they will go, for the
    /// driver to touch in advance; 0 for nowhere in particular.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the driver fails; the chunks that arrived before were delivered, and no copy is in flight.
    pub(super) fn stage_out(&self, target: &Target<'_>, size: u64, host: u64, take: &mut dyn FnMut(&[u8], u64)) -> Result<()> {
        let device = target.core.device;
        self.with_bounce(&target.core, |bounce| {
            let (chunk, mut wait) = chunk_rule(size);
            let mut before: Option<Piece> = None;
            let mut deliver = |piece: Piece| {
                // SAFETY: the copy into this slot is complete, and the next into it starts after this.
                take(unsafe { bounce.slot(piece.slot, piece.length) }, piece.position);
            };
            for piece in pieces(size, chunk) {
                let to = piece.slot as u64 * SLOT_BYTES;
                let prefetch = if host == 0 { 0 } else { host + piece.position };
                let from = target.start + piece.position;
                let started =
                    self.driver.copy_start(device, target.range, from, bounce.range, to, piece.length, prefetch, &mut wait);
                if let Err(errno) = started {
                    // Documented: the chunk before is delivered if it arrives, the one that failed never.
                    if let Some(before) = before
                        && wait > SYNCHRONOUS
                        && self.driver.copy_wait(device, target.range, bounce.range, wait).is_ok()
                    {
                        deliver(before);
                    }
                    return Err(Error::driver(Call::CopyStart, device, errno));
                }
                if let Some(before) = before.replace(piece) {
                    deliver(before);
                }
            }
            if wait != SYNCHRONOUS {
                self.driver
                    .copy_wait(device, target.range, bounce.range, wait)
                    .map_err(|errno| Error::driver(Call::CopyWait, device, errno))?;
            }
            before.into_iter().for_each(deliver);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `dmem` §11: the vectors, and the claim that the middle range never fits in one chunk.
    #[test]
    fn chunks_follow_the_three_classes() {
        let cut = |size| {
            let (chunk, wait) = chunk_rule(size);
            (pieces(size, chunk).map(|piece| piece.length).collect::<std::vec::Vec<_>>(), wait)
        };
        assert_eq!(cut(1), (std::vec![1], 0));
        assert_eq!(cut(0x3FFF), (std::vec![0x3FFF], 0));
        assert_eq!(cut(0x4000), (std::vec![0x2000; 2], -1));
        assert_eq!(cut(0x4001), (std::vec![0x2000, 0x2000, 1], -1));
        assert_eq!(cut(0x5001), (std::vec![0x3000, 0x2001], -1));
        assert_eq!(cut(0x10_0000), (std::vec![0x8_0000; 2], -1));
        assert_eq!(cut(0x10_0001), (std::vec![0x10_0000, 1], -1));
        for size in 0x4000..=0x10_0000 {
            let (chunk, _) = chunk_rule(size);
            assert!(chunk < size && chunk <= SLOT_BYTES);
            let expected = if size % 0x2000 == 1 { 3 } else { 2 };
            assert_eq!(size.div_ceil(chunk), expected, "{size:#x}");
        }
    }

    /// Neighbours never share a slot, and the chunks cover the transfer, beyond 4 GiB too.
    #[test]
    fn slots_take_turns() {
        let size = (5 << 30) + 3;
        let (chunk, _) = chunk_rule(size);
        let mut end = 0;
        for (index, piece) in pieces(size, chunk).enumerate() {
            assert_eq!((piece.position, piece.slot), (end, index % 2));
            end += piece.length;
        }
        assert_eq!(end, size);
    }
}
