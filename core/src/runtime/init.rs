//! Bring-up (fact sheet `context-tree` §10, without the engines).
//!
//! 1. Claim the storage and the process (a second runtime is refused here), write the empty tree and install it.
//! 2. Ask the driver what there is; settle the logical cores and which of them are ours.
//! 3. Read the routing ids, write the table of logical cores.
//! 4. Pass A, per device with a core of ours: open it, write its record; per core bounce buffer and GLOBAL heap; the ledger.
//! 5. Pass B, per core of ours: library cache, model database, execution queue, scratchpad.
//! 6. Open the gate.
//!
//! Whatever fails, the destroy runs on what is there.

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use crate::abi::{dmem_allocator_type_t, mem_alloc_category_t, physical_core_t, tpb_t};
use crate::arena::{AnyStorage, Arenas, MAX_CORES_PER_DEVICE};
use crate::context::{self, ResolvedCore, Tree};
use crate::dmem::{BOUNCE_BYTES, EMPTY_RANGE};
use crate::driver::{AllocRequest, Call, Driver, Errno};
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::lnc;
use crate::status::Status;
use crate::sync::Gate;
use crate::system::{Settings, System};
use crate::tensor::CompletionPlane;

use super::callers::Callers;
use super::routing::RoutingMap;
use super::settle::settle;
use super::{Config, Runtime};

impl<D: Driver, H: Hooks> Runtime<D, H> {
    /// Brings up the selected cores of the devices the driver offers. All or nothing: on an error the storage is free again.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the storage is in use, when another runtime is open in this process (unless the configuration is
    /// [`side_by_side`](Config::side_by_side)), or when a driver request fails; `NRT_INVALID` when there is no device, or the
    /// configuration does not fit the machine; `NRT_RESOURCE` when the storage is too small for it;
    /// `NRT_FAIL_HOST_MEM_ALLOC` when the driver has no pinned host memory for the bounce buffers.
    pub fn init<S: AnyStorage + ?Sized>(storage: &'static S, driver: D, config: Config<H>) -> Result<Self> {
        Self::init_erased(storage.claim()?, driver, config)
    }

    // Not inlined, as the other steps of the bring-up: each has a frame of its own, which short offsets reach.
    #[inline(never)]
    fn init_erased(arenas: Arenas, driver: D, config: Config<H>) -> Result<Self> {
        if config.process_wide {
            context::enter_process().inspect_err(|_| arenas.release())?;
        }
        // SAFETY: the storage is claimed, lives for ever, and this is the initialisation.
        let tree = unsafe { Tree::new(arenas.tree) };
        // SAFETY: nobody else uses the tree.
        unsafe { tree.initialise() };
        let installed = if config.process_wide { context::install(&tree) } else { Ok(()) };
        let settings = match installed.and_then(|()| settle(&arenas, &driver, &config)) {
            Ok(settings) => settings,
            Err(error) => {
                context::clear(&tree);
                arenas.release();
                if config.process_wide {
                    context::leave_process();
                }
                return Err(error);
            }
        };
        let driver_aligns = AtomicBool::new(true);
        let completions = CompletionPlane::new();
        let system = System { arenas, tree, driver, hooks: config.hooks, settings, driver_aligns, completions };
        let runtime =
            Self { system, gate: Gate::new(), callers: Callers::new(), peak: AtomicU64::new(0), unclosed: AtomicU32::new(0) };
        // SAFETY: nobody else has this runtime yet.
        match unsafe { runtime.system.bring_up() } {
            Ok(()) => {
                runtime.gate.open();
                Ok(runtime)
            }
            Err(error) => {
                runtime.destroy();
                Err(error)
            }
        }
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// # Safety
    /// Nobody else uses the system yet.
    #[inline(never)]
    unsafe fn bring_up(&self) -> Result<()> {
        let Settings { cores_per_device, logical_core_size, first_vcore, vcores, .. } = self.settings;
        // SAFETY: exclusive by contract, here and below.
        unsafe {
            (*self.tree.as_ptr()).target = crate::abi::al_hal_tpb_arch_type_t(self.settings.arch as u32);
            let routing = self.routing_ids()?;
            (*self.tree.as_ptr()).host_did_to_rid_map = routing.ids;
            (*self.tree.as_ptr()).host_did_to_rid_map_size = routing.count;
            self.oom_initialise();
            lnc::write_table(self.arenas.vcores, first_vcore, vcores, cores_per_device, logical_core_size);
            for device in self.settings.owned_devices() {
                self.device_initialise(device, &routing)?;
            }
            for vnc in 0..vcores {
                for relative in 0..logical_core_size {
                    self.core_initialise(&self.core(vnc, relative)?, self.pcore(vnc, relative))?;
                }
            }
        }
        Ok(())
    }

    /// The driver's map, or that of the instance family when the driver does not know the request.
    fn routing_ids(&self) -> Result<RoutingMap> {
        match self.driver.routing_ids() {
            Ok(answer) => Ok(RoutingMap::of_driver(&answer)),
            Err(Errno::EINVAL) => Ok(RoutingMap::of_family(self.settings.instance.family)),
            Err(errno) => Err(Error::driver(Call::RoutingIds, 0, errno)),
        }
    }

    /// Pass A for one device.
    ///
    /// # Safety
    /// As [`bring_up`](Self::bring_up).
    unsafe fn device_initialise(&self, device: u32, routing: &RoutingMap) -> Result<()> {
        let opened = self.driver.open(device).map_err(|errno| Error::driver(Call::Open, device, errno))?;
        // SAFETY: exclusive by contract; indices are below the array lengths.
        unsafe {
            let mla = self.tree.mla(device)?.as_ptr();
            let side = self.arenas.devices.add(device as usize).as_ptr();
            (*side).ring_sequence.store(0, Relaxed);
            (*side).device.device_index = device as u8;
            (*side).device.device_type = self.settings.arch as u8;
            (*side).device.connected_device_count = 0;
            for core in 0..MAX_CORES_PER_DEVICE {
                (*side).bounce[core] = EMPTY_RANGE;
                let buffer = &raw mut (*side).device.cpy_bufs[core];
                (*buffer).mem_handle = 0;
                (*buffer).mmap_va = null_mut();
                (*buffer).lock.word.store(0, Relaxed);
            }
            (*mla).device = &raw mut (*side).device;
            (*mla).device_id = device;
            (*mla).host_device_id = opened.host_device_id;
            (*mla).routing_id = routing.id(opened.host_device_id);
            write_bdf(&mut (*mla).bdf, opened.bdf);
            let context = self.tree.as_ptr();
            for core in 0..self.settings.cores_per_device {
                let tpb: *mut tpb_t = &raw mut (*mla)._tpbs[core as usize];
                (*tpb).idx = core as i32;
                // Null until the core's own initialisation: the destroy of a partial tree passes such a core over.
                (*tpb).tpb_allocator = null_mut();
                (*tpb).model_db = null_mut();
                if !self.settings.owned_of(device).contains(&core) {
                    continue;
                }
                (*mla).tpb_map.map[core as usize] = 1;
                let flat = (*context).num_ptpb as usize;
                (*context).ptpbs[flat].tpb_idx = core;
                (*context).ptpbs[flat].mla = mla;
                (*context).num_ptpb += 1;
            }
            (*context).num_mla += 1;
            (*mla).is_used = true;
        }
        for core in 0..self.settings.cores_per_device {
            self.core_side_reset(device, core);
        }
        for core in self.settings.owned_of(device) {
            let core = self.tree.resolve(device, core)?;
            let (vnc, relative) = self.settings.locate(&core);
            let allocator = self.global_allocator(&core);
            // SAFETY: as above.
            unsafe {
                self.bounce_initialise(&core)?;
                self.allocator_create(allocator, self.pcore(vnc, relative), dmem_allocator_type_t::DMEM_ALLOCATOR_TYPE_GLOBAL);
                (*core.tpb.as_ptr()).tpb_allocator = allocator.as_ptr();
            }
        }
        // SAFETY: as above.
        unsafe { self.ledger_initialise(device) }
    }

    fn core_side_reset(&self, device: u32, core: u32) {
        let side = self.arenas.core(device, core);
        side.magazine.store(0, Relaxed);
        side.magazine_len.store(0, Relaxed);
        side.live_nodes.store(0, Relaxed);
        side.quarantined.store(0, Relaxed);
        side.quarantined_bytes.store(0, Relaxed);
        side.lost_mappings.store(0, Relaxed);
        side.quarantine.store(null_mut(), Relaxed);
        side.usage_row.store(null_mut(), Relaxed);
        side.cpy_buf.store(null_mut(), Relaxed);
        side.channel_bytes.iter().for_each(|bytes| bytes.store(0, Relaxed));
        side.ring_written.store(0, Relaxed);
        let owned = self.settings.owned_of(device);
        let segment = self.settings.ring_segment(&owned);
        side.ring_start.store(core.saturating_sub(owned.start) * segment, Relaxed);
        side.ring_len.store(if owned.contains(&core) { segment } else { 0 }, Relaxed);
        self.ring_rewind(device, side);
        side.running_thread.store(0, Relaxed);
        side.copying_thread.store(0, Relaxed);
        side.unsettled_copies.store(0, Relaxed);
    }

    /// Pass B for one core.
    ///
    /// # Safety
    /// As [`bring_up`](Self::bring_up).
    #[inline(never)]
    unsafe fn core_initialise(&self, core: &ResolvedCore, pcore: NonNull<physical_core_t>) -> Result<()> {
        // SAFETY: exclusive by contract.
        unsafe {
            self.ulib_initialise(core);
            self.database_initialise(core);
            let side = self.arenas.core(core.device, core.core);
            let row = &raw mut (*core.mla.as_ptr()).dmem_logger.memory_usage_nc[core.core as usize];
            side.usage_row.store(row, Relaxed);
            let device = self.arenas.devices.add(core.device as usize).as_ptr();
            side.cpy_buf.store(&raw mut (*device).device.cpy_bufs[core.core as usize], Relaxed);
            let queue = &raw mut (*core.tpb.as_ptr()).hw_exec_queue;
            (*queue).compute_req_lock.word.store(0, Relaxed);
            (*queue).compute_idx_head.store(0, Relaxed);
            (*queue).compute_idx_tail.store(0, Relaxed);
            (*queue).pcore = pcore.as_ptr();
            (*queue).req_buf = null_mut();
            self.scratchpad_initialise(core)
        }
    }

    /// The 2 MiB of pinned host memory through which a core's staged copies go. The driver library owns it, so it is in no
    /// ledger.
    ///
    /// # Safety
    /// As [`bring_up`](Self::bring_up).
    unsafe fn bounce_initialise(&self, core: &ResolvedCore) -> Result<()> {
        let request = AllocRequest {
            size: BOUNCE_BYTES,
            align: 0,
            host: true,
            channel: self.settings.arch.default_channel(core.core),
            nc_id: core.core,
            category: mem_alloc_category_t::NEURON_MEMALLOC_TYPE_MISC_HOST.0 as u8,
        };
        // SAFETY: exclusive by contract; indices below the array lengths.
        unsafe {
            let side = self.arenas.devices.add(core.device as usize).as_ptr();
            let range = &raw mut (*side).bounce[core.core as usize];
            self.driver.alloc(core.device, &request, &mut *range).map_err(|errno| match errno {
                Errno::ENOMEM => {
                    Error::new(Status::FailHostMemAlloc, Cause::Driver { call: Call::Alloc, device: core.device, errno })
                }
                errno => Error::driver(Call::Alloc, core.device, errno),
            })?;
            let buffer = &raw mut (*side).device.cpy_bufs[core.core as usize];
            (*buffer).mem_handle = range.expose_provenance() as u64;
            let address = self.driver.map(core.device, &*range).map_err(|errno| Error::driver(Call::Map, core.device, errno))?;
            (*buffer).mmap_va = address.as_ptr().cast();
        }
        Ok(())
    }

    /// Takes the bounce buffer of a core down again; gives the number of requests the driver refused.
    pub(super) fn bounce_destroy(&self, core: &ResolvedCore) -> u32 {
        self.settle_copies(core);
        // SAFETY: the caller is the only user of the system; indices below the array lengths.
        unsafe {
            let side = self.arenas.devices.add(core.device as usize).as_ptr();
            let buffer = &raw mut (*side).device.cpy_bufs[core.core as usize];
            let range = &raw mut (*side).bounce[core.core as usize];
            if (*range).driver_handle == 0 {
                return 0;
            }
            if let Some(address) = NonNull::new((*buffer).mmap_va) {
                if self.driver.unmap(core.device, &*range, address.cast()).is_err() {
                    return 1;
                }
                (*buffer).mmap_va = null_mut();
            }
            if self.driver.free(core.device, &*range).is_err() {
                return 1;
            }
            *range = EMPTY_RANGE;
            (*buffer).mem_handle = 0;
            0
        }
    }
}

/// "bb:ss.f", or "ff:ff.f" when unknown.
fn write_bdf(field: &mut [u8], bdf: Option<(u8, u8, u8)>) {
    use core::fmt::Write as _;
    let mut text = heapless::String::<16>::new();
    let (bus, slot, function) = bdf.unwrap_or((0xFF, 0xFF, 0xF));
    let _ = write!(text, "{bus:02x}:{slot:02x}.{function:x}");
    crate::text::put(field, &text);
}
