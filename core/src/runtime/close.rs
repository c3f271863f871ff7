//! Teardown (fact sheet `context-tree` §11): tolerant of a partial tree, never stops half-way.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;

use crate::arena::MAX_DEVICES;
use crate::context::{self, ResolvedCore};
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::{Hooks, Level};
use crate::status::Status;
use crate::system::System;

use super::Runtime;

/// What a close found and could not give back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloseReport {
    /// Models that were still resident; they were unloaded.
    pub models: u32,
    /// Tensors that were still alive; they were freed.
    pub tensors: u32,
    /// Allocations that were still alive apart from those; they were freed.
    pub allocations: u32,
    /// Allocations the driver refused to take back, also now.
    pub quarantined: u32,
    /// Bytes of these.
    pub quarantined_bytes: u64,
    /// Device bytes on the books at the end; anything but 0 is a defect of the runtime.
    pub device_bytes: u64,
    /// Nodes in use at the end; anything but 0 is a defect of the runtime.
    pub nodes: u64,
    /// Slots of the other pools in use at the end; anything but 0 is a defect of the runtime.
    pub slots: u32,
    /// Requests the driver refused again while bounce buffers and devices were closed, and mappings it refused to remove when
    /// two threads had mapped the same memory at once.
    pub refused_requests: u32,
}

impl CloseReport {
    /// Whether nothing was left over and the driver took everything back.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

impl<D: Driver, H: Hooks> Runtime<D, H> {
    /// Closes the runtime: nobody gets in any more, those inside have `timeout_ns` to leave (`None` = for ever), then
    /// everything is taken down and the storage is free for another runtime. Handles dropped meanwhile give back what they
    /// hold, so that nothing is forgotten when the close gives up. A [`Draining`](super::Draining) token is inside as long as
    /// it lives.
    ///
    /// A thread that is inside itself (an executor, a source of bytes, a visitor) waits for nobody: with a deadline it gets
    /// the counts at once.
    ///
    /// # Errors
    /// `NRT_CLOSED` when it is closed already; `NRT_EXEC_NC_BUSY` with the counts when operations are still inside at the
    /// deadline; `NRT_INVALID` without a deadline from inside an operation. After these two the runtime is open as before.
    pub fn close(&self, timeout_ns: Option<u64>) -> Result<CloseReport> {
        let itself = self.calls_back();
        if itself && timeout_ns.is_none() {
            return Err(Error::invalid(Cause::WaitsForItself));
        }
        if !self.gate.begin_close() {
            return Err(Error::new(Status::Closed, Cause::NotOpen));
        }
        let deadline = self.deadline(if itself { Some(0) } else { timeout_ns });
        let operations = self.gate.wait_empty(&self.system.hooks, deadline);
        if operations != 0 {
            let models = self.system.referenced_models();
            self.gate.open();
            return Err(Error::new(Status::ExecNcBusy, Cause::Busy { operations, models }));
        }
        // Only releases can have come in since, and these come to an end.
        self.gate.shut();
        self.gate.wait_empty(&self.system.hooks, None);
        Ok(self.destroy())
    }
}

impl<D: Driver, H: Hooks> Drop for Runtime<D, H> {
    fn drop(&mut self) {
        // Whoever is inside borrows the runtime, so nobody is.
        if self.gate.shut() {
            self.destroy();
        }
        let refused = self.close_devices(self.unclosed.load(Relaxed));
        if refused != 0 {
            self.system.hooks.log(
                Level::Error,
                format_args!("the driver refuses to close devices (bit map {refused:#x}); they stay open until the process ends"),
            );
        }
    }
}

impl<D: Driver, H: Hooks> Runtime<D, H> {
    /// Takes everything down and releases the storage; what the driver refuses to close is tried again when the runtime is
    /// dropped. Nobody is inside.
    pub(super) fn destroy(&self) -> CloseReport {
        let mut report = CloseReport::default();
        let opened = self.system.take_down(&mut report);
        // What was refused may have been in the way of something else: once more.
        let refused = self.close_devices(self.close_devices(opened));
        self.unclosed.store(refused, Relaxed);
        report.refused_requests += refused.count_ones();
        self.system.finish(&report);
        report
    }

    /// Closes the devices of a bit map; gives those the driver refused.
    fn close_devices(&self, devices: u32) -> u32 {
        (0..MAX_DEVICES as u32)
            .filter(|device| devices >> device & 1 != 0 && self.system.driver.close(*device).is_err())
            .fold(0, |refused, device| refused | 1 << device)
    }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Models that somebody holds a reference to. Whoever holds one holds it on the first core too.
    fn referenced_models(&self) -> u32 {
        let mut models = 0;
        for core in (0..self.settings.vcores).filter_map(|vnc| self.core(vnc, 0).ok()) {
            self.for_each_resident(&core, |slot| models += u32::from(self.references(slot) > 0));
        }
        models
    }

    /// Takes down everything but the devices themselves; gives the bit map of those that are open. Nobody is inside.
    fn take_down(&self, report: &mut CloseReport) -> u32 {
        self.remove_all_models(report);
        for index in 0..self.arenas.sets.touched() {
            if let Some(set) = self.arenas.sets.live_at(index) {
                // SAFETY: the gate is shut, nobody uses a set any more.
                unsafe { self.set_free(set) };
            }
        }
        for index in 0..self.arenas.tensors.touched() {
            if let Some(tensor) = self.arenas.tensors.live_at(index) {
                report.tensors += 1;
                // SAFETY: nobody is inside, and a handle that still exists finds the gate shut.
                unsafe { self.tensor_discard(tensor) };
            }
        }
        self.for_each_ready_core(|core| {
            // SAFETY: the record of an owned core; nobody else is inside.
            if unsafe { !(*core.tpb.as_ptr()).model_db.is_null() } {
                self.ulib_destroy(core);
            }
            // SAFETY: nobody is inside; the GLOBAL heap of a ready core is live.
            report.allocations += unsafe { self.allocator_destroy(self.global_allocator(core)) };
            let (nodes, bytes) = self.retry_quarantine(core);
            report.quarantined += nodes;
            report.quarantined_bytes += bytes;
            report.refused_requests += self.arenas.core(core.device, core.core).lost_mappings.load(Relaxed);
        });
        debug_assert_eq!(self.arenas.tables.live(), 0, "the lists of models and the functions of libraries went with them");
        // The driver's own buffers, also of cores that were not ready: once, and what was refused once more.
        let mut refused = 0;
        self.for_each_core(|core| refused += self.bounce_destroy(core));
        if refused != 0 {
            self.for_each_core(|core| report.refused_requests += self.bounce_destroy(core));
        }
        report.device_bytes = self.device_bytes();
        report.nodes = self.live_nodes();
        let arenas = &self.arenas;
        report.slots = arenas.group.live()
            + arenas.models.live()
            + arenas.mem_refs.live()
            + arenas.tensors.live()
            + arenas.storages.live()
            + arenas.sets.live()
            + arenas.set_entries.live();
        // Readers of the process-wide pointer must not find a tree that is being taken apart.
        context::clear(&self.tree);
        let opened = self.settings.owned_devices().filter(|device| self.device_forget(*device));
        opened.fold(0, |opened, device| opened | 1 << device)
    }

    /// Empties the tree, says what is left, and releases the storage.
    fn finish(&self, report: &CloseReport) {
        // SAFETY: nobody is inside and the process-wide pointer is cleared.
        unsafe {
            (*self.tree.as_ptr()).num_mla = 0;
            (*self.tree.as_ptr()).num_ptpb = 0;
        }
        if !report.is_clean() {
            self.hooks.log(
                Level::Warn,
                format_args!(
                    "close: {} models, {} tensors and {} allocations were still alive and were freed; the driver kept {} \
                     allocations of {} bytes and refused {} requests",
                    report.models,
                    report.tensors,
                    report.allocations,
                    report.quarantined,
                    report.quarantined_bytes,
                    report.refused_requests
                ),
            );
        }
        self.arenas.release();
    }

    /// Cores whose initialisation got as far as the GLOBAL heap.
    fn for_each_ready_core(&self, mut visit: impl FnMut(&ResolvedCore)) {
        self.for_each_core(|core| {
            // SAFETY: the record of an owned core; nobody else is inside.
            if unsafe { !(*core.tpb.as_ptr()).tpb_allocator.is_null() } {
                visit(core);
            }
        });
    }

    fn remove_all_models(&self, report: &mut CloseReport) {
        for vnc in 0..self.settings.vcores {
            let Ok(core) = self.core(vnc, 0) else { continue };
            // SAFETY: as above; a core without database has no models.
            if unsafe { (*core.tpb.as_ptr()).model_db.is_null() } {
                continue;
            }
            while let Some(id) = self.next_resident(&core, 0) {
                let Ok(mut removal) = self.begin_removal(vnc, id) else { break };
                // Nobody is inside, so nobody holds a reference and the wait does not wait.
                self.continue_removal(&mut removal, None);
                self.finish_removal(&removal);
                report.models += 1;
            }
        }
    }

    /// Empties the record of a device; `true` when it was open.
    fn device_forget(&self, device: u32) -> bool {
        let Ok(mla) = self.tree.mla(device) else { return false };
        // SAFETY: nobody is inside and the process-wide pointer is cleared.
        unsafe {
            let mla = mla.as_ptr();
            if !(*mla).is_used {
                return false;
            }
            (*mla).is_used = false;
            (*mla).device_id = u32::MAX;
            (*mla).host_device_id = u32::MAX;
            (*mla).device = null_mut();
            (*mla).dmem_logger.entries = null_mut();
            for core in 0..self.settings.cores_per_device {
                let tpb = &raw mut (*mla)._tpbs[core as usize];
                (*tpb).tpb_allocator = null_mut();
                (*tpb).model_db = null_mut();
                (*mla).tpb_map.map[core as usize] = 0;
                self.arenas.core(device, core).live_nodes.store(0, Relaxed);
            }
        }
        true
    }
}
