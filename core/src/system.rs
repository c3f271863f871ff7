//! What every part needs: the arenas, the tree, the driver, the platform, the settings.

use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::abi::{dmem_allocator_t, physical_core_t, virtual_core_t};
use crate::arch::Arch;
use crate::arena::{Arenas, flat};
use crate::context::{ResolvedCore, Tree};
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::instance::Instance;
use crate::lnc;
use crate::model_db::Taking;
use crate::sync::{self, BriefGuard};
use crate::tensor::CompletionPlane;

/// What init settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) arch: Arch,
    pub(crate) instance: Instance,
    pub(crate) cores_per_device: u32,
    pub(crate) logical_core_size: u32,
    /// Number of the first owned logical core, counted from core 0 of the driver's device 0.
    pub(crate) first_vcore: u32,
    /// Owned logical cores.
    pub(crate) vcores: u32,
    /// Entries of a device's event ring.
    pub(crate) ring_entries: u32,
    pub(crate) scratchpad_page_size: u64,
    pub(crate) scratchpad_on_single_core: bool,
    /// Asked for and possible.
    pub(crate) contiguous_scratchpad: bool,
    /// Feature bits of the driver.
    pub(crate) features: u64,
    /// Whether copies go without the bounce buffer where the driver can do that.
    pub(crate) zero_copy: bool,
    /// Zero-copy writes of at most this many bytes may go through the PCI window.
    pub(crate) window_bytes: u32,
    pub(crate) verbose_memory_table: bool,
    /// How models are found and counted.
    pub(crate) taking: Taking,
    /// It is the runtime of the process.
    pub(crate) process_wide: bool,
}

impl Settings {
    /// Owned physical cores, counted from core 0 of device 0.
    pub(crate) const fn owned_cores(&self) -> Range<u32> {
        let start = lnc::physical_core(self.first_vcore, 0, self.logical_core_size);
        start..start + lnc::physical_core_count(self.vcores, self.logical_core_size)
    }

    /// Devices with an owned core.
    pub(crate) const fn owned_devices(&self) -> Range<u32> {
        let Range { start, end } = self.owned_cores();
        start / self.cores_per_device..end.div_ceil(self.cores_per_device)
    }

    /// Owned cores of a device; empty when there is none.
    pub(crate) fn owned_of(&self, device: u32) -> Range<u32> {
        let Range { start, end } = self.owned_cores();
        let base = device * self.cores_per_device;
        let inside = |flat: u32| flat.saturating_sub(base).min(self.cores_per_device);
        inside(start)..inside(end)
    }

    /// Entries of one core's segment of the event ring of a device with these owned cores.
    pub(crate) fn ring_segment(&self, owned: &Range<u32>) -> u32 {
        if self.ring_entries == 0 { 0 } else { (self.ring_entries / (owned.len() as u32).max(1)).max(1) }
    }

    /// Logical core and slot of an owned physical core.
    pub(crate) fn locate(&self, core: &ResolvedCore) -> (u32, u32) {
        let flat = core.device * self.cores_per_device + core.core - self.owned_cores().start;
        (flat / self.logical_core_size, flat % self.logical_core_size)
    }
}

/// The parts work on this; [`Runtime`](crate::Runtime) puts the state gate in front.
pub(crate) struct System<D, H> {
    pub(crate) arenas: Arenas,
    pub(crate) tree: Tree,
    pub(crate) driver: D,
    pub(crate) hooks: H,
    pub(crate) settings: Settings,
    /// Until the driver says that it cannot align memory.
    pub(crate) driver_aligns: AtomicBool,
    /// Where those sleep who wait for the completion of an output.
    pub(crate) completions: CompletionPlane,
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
    pub(crate) fn memory_lock(&self, core: &ResolvedCore) -> BriefGuard<'_, H> {
        // SAFETY: the allocator records live for ever; the reference covers the lock word only.
        let lock = unsafe { &(*self.global_allocator(core).as_ptr()).lock };
        sync::lock_brief(lock, &self.hooks)
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

    /// Refuses a device without a core of this process.
    pub(crate) fn owned_device(&self, device: u32) -> Result<()> {
        if self.settings.owned_devices().contains(&device) { Ok(()) } else { Err(Error::invalid(Cause::DeviceNotInUse(device))) }
    }

    /// The cores this process owns, by rising number.
    pub(crate) fn cores(&self) -> impl DoubleEndedIterator<Item = ResolvedCore> {
        let cores_per_device = self.settings.cores_per_device;
        self.settings
            .owned_cores()
            .filter_map(move |flat| self.tree.resolve(flat / cores_per_device, flat % cores_per_device).ok())
    }

    /// Calls `visit` for every core this process owns.
    pub(crate) fn for_each_core(&self, mut visit: impl FnMut(&ResolvedCore)) {
        self.cores().for_each(|core| visit(&core));
    }

    /// Owned cores among those that share the HBM of `core`, by rising number.
    pub(crate) fn hbm_cores(&self, core: &ResolvedCore) -> heapless::Vec<u32, 2> {
        let group = self.settings.arch.cores_per_hbm();
        let first = core.core / group * group;
        (first..first + group).filter(|&core_idx| self.tree.resolve(core.device, core_idx).is_ok()).collect()
    }

    /// Whether the calling thread executes a model on any core.
    pub(crate) fn executes(&self) -> bool {
        let thread = self.hooks.thread_id();
        let mut executes = false;
        self.for_each_core(|core| executes |= self.arenas.core(core.device, core.core).running_thread.load(Relaxed) == thread);
        executes
    }

    /// Device bytes all cores hold now.
    pub(crate) fn device_bytes(&self) -> u64 {
        self.cores().map(|core| self.core_device_bytes(&core)).sum()
    }

    /// Device bytes a core holds now.
    pub(crate) fn core_device_bytes(&self, core: &ResolvedCore) -> u64 {
        self.arenas.core(core.device, core.core).channel_bytes.iter().map(|bytes| bytes.load(Relaxed)).sum()
    }

    /// Nodes in use on all cores.
    pub(crate) fn live_nodes(&self) -> u64 {
        self.cores().map(|core| self.core_live_nodes(&core)).sum()
    }

    /// Nodes in use on a core.
    pub(crate) fn core_live_nodes(&self, core: &ResolvedCore) -> u64 {
        self.arenas.core(core.device, core.core).live_nodes.load(Acquire).into()
    }
}
