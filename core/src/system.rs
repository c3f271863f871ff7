//! What every part needs: the arenas, the tree, the driver, the platform, the settings.

use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::abi::{dmem_allocator_t, physical_core_t, virtual_core_t};
use crate::arch::Arch;
use crate::arena::{Arenas, flat};
use crate::context::{ResolvedCore, Tree};
use crate::driver::Driver;
use crate::error::Result;
use crate::hooks::Hooks;
use crate::sync::{self, Guard};

/// What init settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) arch: Arch,
    pub(crate) devices: u32,
    pub(crate) cores_per_device: u32,
    pub(crate) logical_core_size: u32,
    pub(crate) vcores: u32,
    /// Entries of one core's segment of its device's event ring.
    pub(crate) ring_segment: u32,
    pub(crate) scratchpad_page_size: u64,
    pub(crate) scratchpad_on_single_core: bool,
    /// Feature bits of the driver.
    pub(crate) features: u64,
}

/// The parts work on this; [`Runtime`](crate::Runtime) puts the state gate in front.
pub(crate) struct System<D, H> {
    pub(crate) arenas: Arenas,
    pub(crate) tree: Tree,
    pub(crate) driver: D,
    pub(crate) hooks: H,
    pub(crate) settings: Settings,
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// The core a handle names.
    ///
    /// # Safety
    /// `pcore` points into a virtual core of this system (or is a live record of the same shape).
    #[inline]
    pub(crate) unsafe fn resolve(&self, pcore: *const physical_core_t) -> Result<ResolvedCore> {
        // SAFETY: valid by contract; written during init only.
        self.tree.resolve_core(unsafe { &*pcore })
    }

    /// The GLOBAL allocator of a core. Its lock is the memory lock of that core: it guards the node magazine, the lists of
    /// all allocators of the core, the core's counters and its segment of the event ring.
    #[inline]
    pub(crate) fn global_allocator(&self, core: &ResolvedCore) -> NonNull<dmem_allocator_t> {
        // SAFETY: resolved cores have indices inside the array.
        unsafe { self.arenas.allocators.add(flat(core.device, core.core)) }
    }

    /// Takes the memory lock of a core.
    #[inline]
    pub(crate) fn memory_lock(&self, core: &ResolvedCore) -> Guard<'_, H> {
        // SAFETY: the allocator records live for ever; the reference covers the lock word only.
        let lock = unsafe { &(*self.global_allocator(core).as_ptr()).lock };
        sync::lock(lock, &self.hooks)
    }

    /// Logical core `vnc`, which the caller has checked to exist.
    #[inline]
    pub(crate) fn vcore(&self, vnc: u32) -> NonNull<virtual_core_t> {
        debug_assert!(vnc < self.settings.vcores);
        // SAFETY: `vcores` is at most the array's length.
        unsafe { self.arenas.vcores.add(vnc as usize) }
    }

    /// Physical core `relative` of logical core `vnc`.
    #[inline]
    pub(crate) fn pcore(&self, vnc: u32, relative: u32) -> NonNull<physical_core_t> {
        debug_assert!(relative < self.settings.logical_core_size);
        // SAFETY: `relative` is less than 2 and the record is valid for ever; only a place is computed.
        unsafe { NonNull::new_unchecked(&raw mut (*self.vcore(vnc).as_ptr()).tpbs[relative as usize]) }
    }

    /// Physical core `relative` of logical core `vnc`, resolved.
    #[inline]
    pub(crate) fn core(&self, vnc: u32, relative: u32) -> Result<ResolvedCore> {
        // SAFETY: the pointer comes from this system.
        unsafe { self.resolve(self.pcore(vnc, relative).as_ptr()) }
    }

    /// Calls `visit` for every core this process owns.
    pub(crate) fn for_each_core(&self, mut visit: impl FnMut(&ResolvedCore)) {
        for device in 0..self.settings.devices {
            for core in 0..self.settings.cores_per_device {
                if let Ok(core) = self.tree.resolve(device, core) {
                    visit(&core);
                }
            }
        }
    }

    /// Device bytes all cores hold now.
    pub(crate) fn device_bytes(&self) -> u64 {
        let mut total = 0;
        self.for_each_core(|core| {
            total += self.arenas.core(core.device, core.core).channel_bytes.iter().map(|bytes| bytes.load(Relaxed)).sum::<u64>();
        });
        total
    }

    /// Nodes in use on all cores.
    pub(crate) fn live_nodes(&self) -> u64 {
        let mut total = 0;
        self.for_each_core(|core| total += u64::from(self.arenas.core(core.device, core.core).live_nodes.load(Acquire)));
        total
    }
}
