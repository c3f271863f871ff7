//! One device's full descriptor, and who is using it.
#![allow(unsafe_code, reason = "makes owned and borrowed descriptors of numbers")]

use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use rustix::fd::{BorrowedFd, FromRawFd as _, IntoRawFd as _, OwnedFd};

use super::fault::Refusal;

/// The descriptor can be used; the bits below count requests under way.
const OPEN: u32 = 1 << 31;
/// The descriptor is being opened or closed.
const CHANGING: u32 = 1 << 30;

/// A place for one full descriptor. There is never a second one for a device, and never a duplicate: closing a copy would
/// free the process's memory under the original (`driver-abi` §14).
#[derive(Debug)]
pub(super) struct Slot {
    state: AtomicU32,
    /// Valid while `state` has [`OPEN`].
    fd: AtomicI32,
    mappings: AtomicU32,
}

impl Slot {
    pub(super) const fn new() -> Self {
        Self { state: AtomicU32::new(0), fd: AtomicI32::new(-1), mappings: AtomicU32::new(0) }
    }

    /// Opens with `open`, unless the device is open already.
    pub(super) fn open<E>(&self, device: u32, open: impl FnOnce() -> Result<OwnedFd, E>) -> Result<(), E>
    where
        E: From<Refusal>,
    {
        self.state
            .compare_exchange(0, CHANGING, Ordering::Acquire, Ordering::Relaxed)
            .map_err(|_| Refusal::AlreadyOpen(device))?;
        match open() {
            Ok(fd) => {
                self.fd.store(fd.into_raw_fd(), Ordering::Relaxed);
                self.state.store(OPEN, Ordering::Release);
                Ok(())
            }
            Err(error) => {
                self.state.store(0, Ordering::Release);
                Err(error)
            }
        }
    }

    /// Takes the descriptor out, if nothing needs it any more.
    pub(super) fn close(&self, device: u32) -> Result<OwnedFd, Refusal> {
        if let Err(state) = self.state.compare_exchange(OPEN, CHANGING, Ordering::Acquire, Ordering::Relaxed) {
            return Err(if state & OPEN == 0 { Refusal::NotOpen(device) } else { Refusal::InUse(device) });
        }
        // No request is under way, so none can add a mapping.
        let mappings = self.mappings.load(Ordering::Relaxed);
        if mappings != 0 {
            self.state.store(OPEN, Ordering::Release);
            return Err(Refusal::StillMapped { device, mappings });
        }
        let fd = self.fd.swap(-1, Ordering::Relaxed);
        self.state.store(0, Ordering::Release);
        // SAFETY: `open` gave up the owner of this descriptor, and the state just left OPEN, so it is taken back once;
        // every user counted itself in the state, which was OPEN with nobody.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Whether the descriptor is open.
    pub(super) fn is_open(&self) -> bool {
        self.state.load(Ordering::Relaxed) & OPEN != 0
    }

    /// The descriptor, for one request.
    pub(super) fn enter(&self, device: u32) -> Result<InUse<'_>, Refusal> {
        let enter = |state: u32| (state & OPEN != 0).then_some(state + 1);
        self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).map_err(|_| Refusal::NotOpen(device))?;
        Ok(InUse { slot: self })
    }
}

/// A request under way.
#[derive(Debug)]
pub(super) struct InUse<'a> {
    slot: &'a Slot,
}

impl InUse<'_> {
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: `self` counts in the state, so it stays OPEN and the descriptor stays open.
        unsafe { BorrowedFd::borrow_raw(self.slot.fd.load(Ordering::Relaxed)) }
    }

    pub(super) fn mapped(&self) {
        self.slot.mappings.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn unmapped(&self) {
        self.slot.mappings.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.slot.state.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn null() -> Result<OwnedFd, Refusal> {
        Ok(rustix::fs::open(c"/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty()).unwrap())
    }

    #[test]
    fn one_descriptor_with_its_users() {
        let slot = Slot::new();
        assert_eq!(slot.enter(3).unwrap_err(), Refusal::NotOpen(3));
        assert_eq!(slot.close(3).unwrap_err(), Refusal::NotOpen(3));
        assert_eq!(slot.open(3, || Err(Refusal::ZeroSize)), Err(Refusal::ZeroSize));
        slot.open(3, null).unwrap();
        assert_eq!(slot.open(3, null), Err(Refusal::AlreadyOpen(3)));
        let user = slot.enter(3).unwrap();
        assert_eq!(slot.close(3).unwrap_err(), Refusal::InUse(3));
        user.mapped();
        drop(user);
        assert_eq!(slot.close(3).unwrap_err(), Refusal::StillMapped { device: 3, mappings: 1 });
        slot.enter(3).unwrap().unmapped();
        slot.close(3).unwrap();
        assert_eq!(slot.enter(3).unwrap_err(), Refusal::NotOpen(3));
    }
}
