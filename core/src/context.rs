//! The process-global context tree and its resolver (fact sheet `context-tree` §§1–8).
//!
//! The tree is written during init and immutable afterwards; only members with their own lock change. The core passes a
//! [`Tree`] explicitly. The process-wide symbol `tdrv_ctx_0`, under which debuggers and analysers look for it, is set by
//! `install` and nowhere else.

use core::ptr::NonNull;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr};

use crate::abi::{mla_t, physical_core_t, tdrv_ctx_t, tpb_t};
use crate::arena::{MAX_CORES_PER_DEVICE, MAX_DEVICES};
use crate::error::{Cause, Error, Result};
use crate::status::Status;

/// The process-wide tree, or null.
// SAFETY: nothing else in a program has this name but the library this one stands for.
#[unsafe(no_mangle)]
pub static tdrv_ctx_0: AtomicPtr<tdrv_ctx_t> = AtomicPtr::new(core::ptr::null_mut());

/// Whether the process has its runtime: from before its first request of the driver to after its last one, so longer than its
/// tree is shown.
static OPEN: AtomicBool = AtomicBool::new(false);

/// Makes the caller the runtime of the process until [`leave_process`].
///
/// # Errors
/// `NRT_FAILURE` when there is one.
pub(crate) fn enter_process() -> Result<()> {
    let entered = OPEN.compare_exchange(false, true, AcqRel, Acquire);
    entered.map(drop).map_err(|_| Error::new(Status::Failure, Cause::ProcessHasRuntime))
}

/// Lets the process have another runtime. By the one that entered.
pub(crate) fn leave_process() {
    OPEN.store(false, Release);
}

/// Makes `tree` the process-wide one. Set-once until [`clear`].
///
/// # Errors
/// `NRT_FAILURE` when a tree is installed already.
pub(crate) fn install(tree: &Tree) -> Result<()> {
    tdrv_ctx_0
        .compare_exchange(core::ptr::null_mut(), tree.0.as_ptr(), AcqRel, Acquire)
        .map(|_| ())
        .map_err(|_| Error::new(Status::Failure, Cause::TreeSet))
}

/// The process-wide tree, if there is one. Its runtime may take it down at any time: whoever reads it has to know that it
/// does not.
#[must_use]
pub fn installed() -> Option<NonNull<tdrv_ctx_t>> {
    NonNull::new(tdrv_ctx_0.load(Acquire))
}

/// Forgets the process-wide tree if it is `tree`; frees nothing. The original frees first and clears afterwards, which
/// leaves a dangling pointer for a moment (errata 32).
pub(crate) fn clear(tree: &Tree) {
    let _ = tdrv_ctx_0.compare_exchange(tree.0.as_ptr(), core::ptr::null_mut(), AcqRel, Acquire);
}

/// A context tree. It can be looked at while its runtime is open, see [`Runtime::with_tree`](crate::Runtime::with_tree).
#[derive(Debug, PartialEq, Eq)]
pub struct Tree(NonNull<tdrv_ctx_t>);

// SAFETY: a tree is static memory that is immutable after init except for members with their own lock or atomics.
unsafe impl Sync for Tree {}
// SAFETY: as above.
unsafe impl Send for Tree {}

/// One physical core, resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedCore {
    /// Its device.
    pub mla: NonNull<mla_t>,
    /// Its context.
    pub tpb: NonNull<tpb_t>,
    /// Index of the device in the tree.
    pub device: u32,
    /// Index of the core in the device.
    pub core: u32,
}

impl Tree {
    /// A view of the tree at `context`.
    ///
    /// # Safety
    /// `context` points to a whole `tdrv_ctx_t` that lives as long as the view and holds valid values (zeroed will do), and
    /// nobody writes it while the view is used, apart from members with their own lock or atomics.
    #[must_use]
    pub const unsafe fn new(context: NonNull<tdrv_ctx_t>) -> Self {
        Self(context)
    }

    /// Address of the tree.
    #[must_use]
    pub const fn as_ptr(&self) -> *mut tdrv_ctx_t {
        self.0.as_ptr()
    }

    /// Device slot `device`, used or not.
    ///
    /// # Errors
    /// `NRT_INVALID` when `device` is 32 or more.
    pub fn mla(&self, device: u32) -> Result<NonNull<mla_t>> {
        if device as usize >= MAX_DEVICES {
            return Err(Error::invalid(Cause::DeviceOutOfRange(device)));
        }
        // SAFETY: the index is in bounds of the array; only a place is computed.
        Ok(unsafe { NonNull::new_unchecked(&raw mut (*self.0.as_ptr()).mla[device as usize]) })
    }

    /// The used device slot with this index, after a look at what it calls itself.
    ///
    /// # Errors
    /// `NRT_INVALID` when the index is out of range or the slot is not in use.
    pub fn mla_by_device_id(&self, device: u32) -> Result<NonNull<mla_t>> {
        let mla = self.mla(device)?;
        // SAFETY: inside the tree; both fields are written during init only.
        let used = unsafe { (*mla.as_ptr()).is_used && (*mla.as_ptr()).device_id == device };
        if used { Ok(mla) } else { Err(Error::invalid(Cause::DeviceNotInUse(device))) }
    }

    /// Host device id of a used device. The original aborts when it is not known.
    ///
    /// # Errors
    /// `NRT_INVALID` when the device is not in use or its host id is not known.
    pub fn host_device_id(&self, device: u32) -> Result<u32> {
        let mla = self.mla_by_device_id(device)?;
        // SAFETY: inside the tree; written during init only.
        let id = unsafe { (*mla.as_ptr()).host_device_id };
        if id == u32::MAX { Err(Error::invalid(Cause::HostDeviceUnknown(device))) } else { Ok(id) }
    }

    /// Position of a core in the flat registry.
    ///
    /// # Errors
    /// `NRT_INVALID` when the registry does not list it.
    ///
    /// # Cost
    /// Up to 256 entries of 16 bytes.
    pub fn flat_index(&self, core: &ResolvedCore) -> Result<u32> {
        // SAFETY: inside the tree; written during init only.
        unsafe {
            let context = self.0.as_ptr();
            let registry = &(*context).ptpbs;
            let count = ((*context).num_ptpb as usize).min(registry.len());
            let place = registry[..count].iter().position(|entry| {
                core::ptr::eq(entry.mla, core.mla.as_ptr()) && entry.tpb_idx == (*core.tpb.as_ptr()).idx as u32
            });
            let missing = Error::invalid(Cause::CoreNotMapped { device: core.device, core: core.core });
            place.map(|place| place as u32).ok_or(missing)
        }
    }

    /// The device slot with this host device id: a scan over the used slots.
    ///
    /// # Errors
    /// `NRT_INVALID` when no used device has it; `u32::MAX` means "unknown" and is nobody's.
    ///
    /// # Cost
    /// Up to 32 slots, a cache line each.
    pub fn mla_by_host_device_id(&self, host_device_id: u32) -> Result<NonNull<mla_t>> {
        for device in 0..MAX_DEVICES as u32 {
            let mla = self.mla(device)?;
            // SAFETY: inside the tree; both fields are written during init only.
            let found = unsafe { (*mla.as_ptr()).is_used && (*mla.as_ptr()).host_device_id == host_device_id };
            if found && host_device_id != u32::MAX {
                return Ok(mla);
            }
        }
        Err(Error::invalid(Cause::DeviceNotInUse(host_device_id)))
    }

    /// (device, core) → their two records, by pointer arithmetic, without a lock.
    ///
    /// The original does not check the device index and aborts on a dead device or an unmapped core; here each is a status.
    ///
    /// # Errors
    /// `NRT_INVALID` when an index is out of range, the device is not in use, or the core is not owned by this process.
    ///
    /// # Cost
    /// Two loads on two lines; no read-modify-write.
    #[inline]
    pub fn resolve(&self, device: u32, core: u32) -> Result<ResolvedCore> {
        let mla = self.mla(device)?;
        if core as usize >= MAX_CORES_PER_DEVICE {
            return Err(Error::invalid(Cause::CoreOutOfRange(core)));
        }
        // SAFETY: both indices are in bounds; the flags are written during init only.
        unsafe {
            if !(*mla.as_ptr()).is_used {
                return Err(Error::invalid(Cause::DeviceNotInUse(device)));
            }
            if (*mla.as_ptr()).tpb_map.map[core as usize] == 0 {
                return Err(Error::invalid(Cause::CoreNotMapped { device, core }));
            }
            let tpb = NonNull::new_unchecked(&raw mut (*mla.as_ptr())._tpbs[core as usize]);
            Ok(ResolvedCore { mla, tpb, device, core })
        }
    }

    /// [`resolve`](Self::resolve) for the handle the rest of the system carries.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    #[inline]
    pub fn resolve_core(&self, core: &physical_core_t) -> Result<ResolvedCore> {
        self.resolve(core.device_id, core.device_tpb_idx)
    }

    /// Used devices.
    #[must_use]
    pub fn device_count(&self) -> u32 {
        // SAFETY: inside the tree; written during init only.
        unsafe { (*self.0.as_ptr()).num_mla }
    }

    /// The host-device-id → routing-id map (`context-tree` §9).
    ///
    /// # Errors
    /// `NRT_FAILURE` when the map is empty.
    pub fn routing_ids(&self) -> Result<&[u32]> {
        // SAFETY: inside the tree; written during init only.
        unsafe {
            let count = (*self.0.as_ptr()).host_did_to_rid_map_size as usize;
            let map = &(*self.0.as_ptr()).host_did_to_rid_map;
            if count == 0 || count > map.len() {
                return Err(Error::new(Status::Failure, Cause::TreeUnset));
            }
            Ok(&map[..count])
        }
    }

    /// Writes the empty tree: no device used, every `device_id` and `host_device_id` −1.
    ///
    /// # Safety
    /// Nobody else uses the tree.
    pub(crate) unsafe fn initialise(&self) {
        let context = self.0.as_ptr();
        // SAFETY: exclusive by contract; plain stores to fields of the tree.
        unsafe {
            (*context).num_mla = 0;
            (*context).num_ptpb = 0;
            (*context).host_did_to_rid_map_size = 0;
            for device in 0..MAX_DEVICES {
                let mla = &raw mut (*context).mla[device];
                (*mla).is_used = false;
                (*mla).mla_idx = device as u32;
                (*mla).device_id = u32::MAX;
                (*mla).host_device_id = u32::MAX;
                (*mla).device = core::ptr::null_mut();
                (*mla).tpb_map.map = [0; MAX_CORES_PER_DEVICE];
            }
        }
    }
}
