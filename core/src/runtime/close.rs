//! Teardown (fact sheet `context-tree` §11): the bring-up backwards, tolerant of a partial tree, never stops half-way.
//!
//! 1. Models, newest first; sets; tensors: what was made of the cores.
//! 2. The process-wide pointer, before a record of the tree is touched.
//! 3. Pass B backwards, from the last core to the first: execution queue, model database, library cache. Pages of the
//!    scratchpad went with the models. From here on no core is in use: no device is closed before.
//! 4. Pass A backwards, from the last device to the first: per core, last first, the GLOBAL heap with whatever hangs on it,
//!    then the bounce buffer; then the device itself and its record.
//! 5. The storage, and the claim of the process.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::mla_t;
use crate::arena::{MAX_CORES_PER_DEVICE, MAX_DEVICES};
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
        // What was refused may have been in the way of something else: once more.
        let refused = self.close_devices(self.system.take_down(&mut report));
        self.unclosed.store(refused, Relaxed);
        report.refused_requests += refused.count_ones();
        self.system.finish(&report);
        report
    }

    /// Closes the devices of a bit map; gives those the driver refused.
    fn close_devices(&self, devices: u32) -> u32 {
        (0..MAX_DEVICES as u32)
            .rev()
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

    /// Takes everything down; gives the bit map of the devices the driver refuses to close. Nobody is inside.
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
        // Readers of the process-wide pointer must not find a tree that is being taken apart.
        context::clear(&self.tree);
        self.cores().rev().for_each(|core| self.core_destroy(&core));
        debug_assert_eq!(self.arenas.tables.live(), 0, "the lists of models and the functions of libraries went with them");
        let devices = self.settings.owned_devices().rev();
        let refused = devices.fold(0, |refused, device| refused | u32::from(self.device_destroy(device, report)) << device);
        let arenas = &self.arenas;
        report.slots = arenas.group.live()
            + arenas.models.live()
            + arenas.mem_refs.live()
            + arenas.tensors.live()
            + arenas.storages.live()
            + arenas.sets.live()
            + arenas.set_entries.live();
        refused
    }

    /// Pass B backwards for one core; one whose initialisation did not get there is passed over.
    fn core_destroy(&self, core: &ResolvedCore) {
        // SAFETY: the record of an owned core; nobody else is inside.
        unsafe {
            let tpb = core.tpb.as_ptr();
            if (*tpb).model_db.is_null() {
                return;
            }
            (*tpb).hw_exec_queue.pcore = null_mut();
            (*tpb).model_db = null_mut();
        }
        self.ulib_destroy(core);
    }

    /// Pass A backwards for one device: the heaps and buffers of its cores, the device, its record. `true` when the driver
    /// refuses to close it. One that was never opened is passed over.
    fn device_destroy(&self, device: u32, report: &mut CloseReport) -> bool {
        let Ok(mla) = self.tree.mla_by_device_id(device) else { return false };
        let cores = || self.settings.owned_of(device).rev().filter_map(|core| self.tree.resolve(device, core).ok());
        let mut refused = 0;
        for core in cores() {
            self.heap_destroy(&core, report);
            refused += self.bounce_destroy(&core);
        }
        if refused != 0 {
            // The driver's own buffers: what was refused once more, while the device is open.
            report.refused_requests += cores().map(|core| self.bounce_destroy(&core)).sum::<u32>();
        }
        for core in cores() {
            report.device_bytes += self.core_device_bytes(&core);
            report.nodes += self.core_live_nodes(&core);
        }
        let refused = self.driver.close(device).is_err();
        // SAFETY: nobody is inside and the process-wide pointer is cleared.
        unsafe { self.device_forget(device, mla.as_ptr()) };
        refused
    }

    /// Frees the GLOBAL heap of a core and whatever hangs on it, if its initialisation got that far.
    fn heap_destroy(&self, core: &ResolvedCore, report: &mut CloseReport) {
        // SAFETY: the record of an owned core; nobody else is inside; a heap that the record names is live.
        unsafe {
            let tpb = core.tpb.as_ptr();
            if (*tpb).tpb_allocator.is_null() {
                return;
            }
            report.allocations += self.allocator_destroy(self.global_allocator(core));
            (*tpb).tpb_allocator = null_mut();
        }
        let (nodes, bytes) = self.retry_quarantine(core);
        report.quarantined += nodes;
        report.quarantined_bytes += bytes;
        report.refused_requests += self.arenas.core(core.device, core.core).lost_mappings.load(Relaxed);
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
        if self.settings.process_wide {
            context::leave_process();
        }
    }

    /// Unloads every model, those of the last core first, and of a core the newest first.
    fn remove_all_models(&self, report: &mut CloseReport) {
        for vnc in (0..self.settings.vcores).rev() {
            let Ok(core) = self.core(vnc, 0) else { continue };
            // SAFETY: the record of an owned core; nobody else is inside; a core without database has no models.
            if unsafe { (*core.tpb.as_ptr()).model_db.is_null() } {
                continue;
            }
            while let Some(id) = self.newest_resident(&core) {
                let Ok(mut removal) = self.begin_removal(vnc, id) else { break };
                // Nobody is inside, so nobody holds a reference and the wait does not wait.
                self.continue_removal(&mut removal, None);
                self.finish_removal(&removal);
                report.models += 1;
            }
        }
    }

    /// Empties the record of a device.
    ///
    /// # Safety
    /// `mla` is the record of `device`, and nobody uses it.
    unsafe fn device_forget(&self, device: u32, mla: *mut mla_t) {
        // SAFETY: by contract.
        unsafe {
            (*mla).is_used = false;
            (*mla).device_id = u32::MAX;
            (*mla).host_device_id = u32::MAX;
            (*mla).device = null_mut();
            (*mla).dmem_logger.entries = null_mut();
            (*mla).tpb_map.map = [0; MAX_CORES_PER_DEVICE];
        }
        for core in 0..self.settings.cores_per_device {
            self.arenas.core(device, core).live_nodes.store(0, Relaxed);
        }
    }
}
