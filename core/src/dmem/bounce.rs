//! The bounce buffer of a core: 2 MiB of pinned host memory in two slots, one transfer at a time (fact sheet `dmem` §11).

use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{ndl_copy_buf_t, ndl_mem_info_t};
use crate::context::ResolvedCore;
use crate::driver::{Call, Driver, Errno};
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::sync;
use crate::system::System;

/// Bytes of the bounce buffer of a core (`NDL_COPY_BUF_SIZE`).
pub(crate) const BOUNCE_BYTES: u64 = 2 << 20;

/// Bytes of one of its two slots.
pub(super) const SLOT_BYTES: u64 = BOUNCE_BYTES / 2;

/// Wait handles of the two copies a core can have in flight.
const HANDLES: [i32; 2] = [1, 2];

/// Waits that are tried for one handle: the first may report that the copy failed, the second that it is gone.
const SETTLE_TRIES: u32 = 2;

/// The bounce buffer of a core, held by one transfer.
pub(super) struct Bounce<'a> {
    base: NonNull<u8>,
    pub(super) range: &'a ndl_mem_info_t,
}

impl Bounce<'_> {
    /// The first `length` bytes of a slot.
    ///
    /// # Safety
    /// No copy in flight touches the slot, and the slice is gone before the next call for the same slot or the next copy that
    /// touches it.
    #[expect(clippy::mut_from_ref, reason = "the slots are shared with the driver; the caller says when one is its own")]
    pub(super) unsafe fn slot(&self, slot: usize, length: u64) -> &mut [u8] {
        debug_assert!(slot < 2 && length <= SLOT_BYTES);
        // SAFETY: the mapping spans both slots; the bytes are this transfer's by contract.
        unsafe { core::slice::from_raw_parts_mut(self.base.add(slot * SLOT_BYTES as usize).as_ptr(), length as usize) }
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Runs `transfer` with the bounce buffer of a core, alone. A transfer that, through a callback, comes back to the same
    /// core is refused instead of waiting for itself. When the transfer fails, the copies it left in flight are waited for
    /// before anybody else gets the buffer.
    ///
    /// # Concurrency
    /// The copy-buffer lock of the core, for the whole transfer.
    pub(super) fn with_bounce<'a>(&'a self, core: &ResolvedCore, transfer: impl FnOnce(&Bounce<'a>) -> Result<()>) -> Result<()> {
        let side = self.arenas.core(core.device, core.core);
        let this_thread = self.hooks.thread_id();
        if side.copying_thread.load(Relaxed) == this_thread {
            return Err(Error::invalid(Cause::Reentered));
        }
        // SAFETY: device records live for ever; the buffer's fields are written during init only. The references cover the
        // lock and the range alone.
        let (lock, bounce) = unsafe {
            let device = self.arenas.devices.add(core.device as usize).as_ptr();
            let buffer: *const ndl_copy_buf_t = &raw const (*device).device.cpy_bufs[core.core as usize];
            let base = NonNull::new((*buffer).mmap_va.cast::<u8>()).ok_or(Error::invalid(Cause::StaleHandle))?;
            (&(*buffer).lock, Bounce { base, range: &(*device).bounce[core.core as usize] })
        };
        let _held = sync::lock(lock, &self.hooks);
        // A wait that the driver refused after an earlier failure: nobody touches the slots before it is settled.
        if side.unsettled_copies.load(Relaxed) != 0 {
            self.settle(core, &bounce)?;
        }
        side.copying_thread.store(this_thread, Relaxed);
        let result = transfer(&bounce);
        side.copying_thread.store(0, Relaxed);
        if result.is_err() {
            side.unsettled_copies.store(HANDLES.iter().fold(0, |bits, handle| bits | 1 << handle), Relaxed);
            // The error of the transfer is what the caller wants to know.
            let _ = self.settle(core, &bounce);
        }
        result
    }

    /// Settles what failed transfers may have left in flight on a core, as far as the driver lets it.
    pub(crate) fn settle_copies(&self, core: &ResolvedCore) {
        if self.arenas.core(core.device, core.core).unsettled_copies.load(Relaxed) != 0 {
            let _ = self.with_bounce(core, |_| Ok(()));
        }
    }

    /// Waits until no copy of this core is in flight. Both handles are tried: which copy an error left behind is not told.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the driver answers neither that the copy is complete nor that there is none.
    fn settle(&self, core: &ResolvedCore, bounce: &Bounce<'_>) -> Result<()> {
        let side = self.arenas.core(core.device, core.core);
        let mut result = Ok(());
        for handle in HANDLES {
            let bit = 1 << handle;
            if side.unsettled_copies.load(Relaxed) & bit == 0 {
                continue;
            }
            // The queue is found by the core of the ranges, which is the buffer's own.
            let wait = || self.driver.copy_wait(core.device, bounce.range, bounce.range, handle);
            let mut answer = wait();
            for _ in 1..SETTLE_TRIES {
                if !settled(answer) {
                    answer = wait();
                }
            }
            match answer {
                Err(errno) if errno != Errno::EINVAL => result = Err(Error::driver(Call::CopyWait, core.device, errno)),
                _ => side.unsettled_copies.store(side.unsettled_copies.load(Relaxed) & !bit, Relaxed),
            }
        }
        result
    }
}

/// Complete, or nothing of this handle is in flight.
fn settled(answer: crate::driver::DriverResult<()>) -> bool {
    matches!(answer, Ok(()) | Err(Errno::EINVAL))
}
