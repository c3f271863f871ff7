//! Microcode libraries (fact sheet `ulib`): the single library that all models of one SUNDA core share.
//!
//! The first model that brings it stages the image and the device table into the core's GLOBAL heap; later models alias
//! it. It stays until the core is torn down, and is counted meanwhile. Sets of 2 to 9 private libraries are not built yet.

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use zerocopy::IntoBytes;

use crate::abi::{
    SUNDA_UCODE_LIB_INFO, SUNDA_UCODE_LIB_LIBRARY_TABLE_ENTRY, dmem_t, tpb_sunda_t, ucode_func_info_t, ucode_lib_info_t,
    ucode_lib_set_info_t,
};
use crate::arena::{UlibSlot, flat};
use crate::context::ResolvedCore;
use crate::dmem::DmemRequest;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::model::{UcodeLibrary, fill};
use crate::sync;
use crate::system::System;
use crate::text;
use crate::usage::{Location, Usage};

/// Flag bits that reach the device.
const DEVICE_FLAGS: u32 = 7;
const ROW: u64 = size_of::<SUNDA_UCODE_LIB_LIBRARY_TABLE_ENTRY>() as u64;
const ROWS_AT: u64 = core::mem::offset_of!(SUNDA_UCODE_LIB_INFO, table) as u64;
const TABLE: u64 = size_of::<SUNDA_UCODE_LIB_INFO>() as u64;

/// The only arm of the union in a core's record.
fn sunda(core: &ResolvedCore) -> *mut tpb_sunda_t {
    // SAFETY: a place inside the live record of the core.
    unsafe { (&raw mut (*core.tpb.as_ptr()).u).cast() }
}

impl<D: Driver, H: Hooks> System<D, H> {
    fn ulib_slot(&self, core: &ResolvedCore) -> NonNull<UlibSlot> {
        // SAFETY: resolved cores have indices inside the array.
        unsafe { self.arenas.ulibs.add(flat(core.device, core.core)) }
    }

    fn ulib_cache(&self, core: &ResolvedCore) -> &AtomicPtr<ucode_lib_set_info_t> {
        // SAFETY: an atomic inside the live record of the core.
        unsafe { &(*sunda(core)).ulib_set_info_extisa_only }
    }

    fn ulib_lock(&self, core: &ResolvedCore) -> sync::Guard<'_, H> {
        // SAFETY: the reference covers the lock alone, in a record that lives for ever.
        sync::lock(unsafe { &(*sunda(core)).ulib_staging_lock }, &self.hooks)
    }

    /// Writes the empty cache of a core.
    ///
    /// # Safety
    /// Nobody uses the core yet.
    pub(crate) unsafe fn ulib_initialise(&self, core: &ResolvedCore) {
        self.ulib_cache(core).store(null_mut(), Relaxed);
        self.arenas.core(core.device, core.core).ulib_users.store(0, Relaxed);
        // SAFETY: exclusive by contract.
        unsafe { (*sunda(core)).ulib_staging_lock.word.store(0, Relaxed) };
    }

    /// The core's shared library: staged now, or as an earlier model staged it. Counts the caller as a user.
    ///
    /// The original aliases whatever is cached; here a library that visibly differs from the staged one is
    /// refused, because the model would call the wrong code. Sizes, flags, processors and functions are compared, not the image.
    ///
    /// # Errors
    /// `NRT_INVALID` when it differs from the staged one; what allocation and copying answer. A failed staging leaves
    /// nothing, and is not reported as success (errata 32).
    ///
    /// # Concurrency
    /// The staging lock of the core for the whole staging; the allocator's and copy-buffer's locks inside it.
    pub(crate) fn ulib_attach(&self, core: &ResolvedCore, library: &UcodeLibrary<'_>) -> Result<*mut ucode_lib_set_info_t> {
        let _held = self.ulib_lock(core);
        let users = &self.arenas.core(core.device, core.core).ulib_users;
        let cached = self.ulib_cache(core).load(Acquire);
        let set = if cached.is_null() {
            let set = self.ulib_stage(core, library)?;
            self.ulib_cache(core).store(set, Release);
            set
        } else {
            self.check_same_library(core, library)?;
            cached
        };
        users.store(users.load(Relaxed) + 1, Relaxed);
        Ok(set)
    }

    /// One user less. The library stays.
    pub(crate) fn ulib_detach(&self, core: &ResolvedCore) {
        let _held = self.ulib_lock(core);
        let users = &self.arenas.core(core.device, core.core).ulib_users;
        debug_assert!(users.load(Relaxed) > 0);
        users.store(users.load(Relaxed).saturating_sub(1), Relaxed);
    }

    /// Models that use the core's shared library, and whether it is staged.
    pub(crate) fn ulib_users(&self, core: &ResolvedCore) -> (u32, bool) {
        let _held = self.ulib_lock(core);
        (self.arenas.core(core.device, core.core).ulib_users.load(Relaxed), !self.ulib_cache(core).load(Acquire).is_null())
    }

    /// Frees the cached library of a core. All its models are gone by then.
    pub(crate) fn ulib_destroy(&self, core: &ResolvedCore) {
        let _held = self.ulib_lock(core);
        if !self.ulib_cache(core).swap(null_mut(), Acquire).is_null() {
            // SAFETY: nobody uses the set any more; the lock is held.
            unsafe { self.ulib_set_free(&raw mut (*self.ulib_slot(core).as_ptr()).set) };
        }
    }

    /// # Safety
    /// The set is this caller's alone; its pointers are null or live nodes whose reference it holds.
    unsafe fn ulib_set_free(&self, set: *mut ucode_lib_set_info_t) {
        // SAFETY: by contract.
        unsafe {
            for memory in
                [&raw mut (*set).lib_dmem, &raw mut (*set).scratch_space, &raw mut (*set).ucode_table, &raw mut (*set).extram]
            {
                if let Some(node) = NonNull::new(memory.replace(null_mut())) {
                    self.dmem_free(node);
                }
            }
            (*set).num_libs = 0;
        }
    }

    fn check_same_library(&self, core: &ResolvedCore, library: &UcodeLibrary<'_>) -> Result<()> {
        let slot = self.ulib_slot(core).as_ptr();
        // SAFETY: the staged set is read under the lock that guards it; its image is a live node.
        let same = unsafe {
            let image = (*slot).set.lib_dmem;
            let functions = &(*slot).functions;
            (*slot).lib.num_funcs as usize == library.functions.len()
                && (*slot).lib.flags == library.flags
                && (*slot).lib.total_cpus == library.total_cpus
                && !image.is_null()
                && (*image).size as u64 == library.bytes
                && functions.iter().zip(library.functions).all(|(staged, wanted)| {
                    staged.opcode == wanted.opcode
                        && staged.sub_opcode == wanted.sub_opcode
                        && text::from_nul_terminated(&staged.name) == wanted.name
                })
        };
        if same {
            Ok(())
        } else {
            Err(Error::invalid(Cause::Ucode("it differs from the one this core has staged for its models")))
        }
    }

    /// Allocates, copies, bakes. The caller holds the staging lock.
    fn ulib_stage(&self, core: &ResolvedCore, library: &UcodeLibrary<'_>) -> Result<*mut ucode_lib_set_info_t> {
        let slot = self.ulib_slot(core).as_ptr();
        // SAFETY: nothing is cached, so the record is unused; the staging lock makes it this thread's.
        unsafe {
            let set = &raw mut (*slot).set;
            (*set).scratch_space = null_mut();
            (*set).ucode_table = null_mut();
            (*set).extram = null_mut();
            (*set).lib_dmem = null_mut();
            let staged = self.ulib_stage_parts(core, library, slot);
            if let Err(error) = staged {
                self.ulib_set_free(set);
                return Err(error);
            }
            (*set).num_libs = 1;
            (*set).libs = &raw mut (*slot).lib;
            Ok(set)
        }
    }

    /// # Safety
    /// The record is this caller's alone.
    unsafe fn ulib_stage_parts(&self, core: &ResolvedCore, library: &UcodeLibrary<'_>, slot: *mut UlibSlot) -> Result<()> {
        // SAFETY: by contract; each node is owned by the set as soon as it exists.
        unsafe {
            let image = self.ulib_memory(core, library.bytes, "ulib image")?;
            (*slot).set.lib_dmem = image.as_ptr();
            let table = self.ulib_memory(core, TABLE, "ulib table")?;
            (*slot).set.ucode_table = table.as_ptr();
            self.dmem_copy_in_from(image, 0, library.bytes, &mut |buffer, at| fill(library.content, at, buffer))?;
            let address = self.dmem_address(image, 0);
            (*slot).lib = ucode_lib_info_t {
                address,
                flags: library.flags,
                cpu_id: 0,
                total_cpus: library.total_cpus,
                pad_e: [0; 2],
                num_funcs: library.functions.len() as i32,
                pad_14: [0; 4],
                funcs: (&raw mut (*slot).functions).cast(),
            };
            self.dmem_fill(table, 0, 0, TABLE)?;
            for (row, function) in library.functions.iter().enumerate() {
                let mirror: *mut ucode_func_info_t = (&raw mut (*slot).functions).cast::<ucode_func_info_t>().add(row);
                text::put(&mut (*mirror).name, function.name);
                (*mirror).opcode = function.opcode;
                (*mirror).sub_opcode = function.sub_opcode;
                let mut entry = SUNDA_UCODE_LIB_LIBRARY_TABLE_ENTRY {
                    valid: 1,
                    opcode: function.opcode,
                    sub_opcode: function.sub_opcode,
                    cpu_id: 0,
                    total_cpus: library.total_cpus,
                    reserved: [0; 7],
                    flags: library.flags & DEVICE_FLAGS,
                    stripped_lib_addr: address,
                    func_name: [0; 256],
                };
                text::put(&mut entry.func_name, function.name);
                self.dmem_copy_in(table, ROWS_AT + row as u64 * ROW, entry.as_bytes())?;
            }
        }
        Ok(())
    }

    fn ulib_memory(&self, core: &ResolvedCore, bytes: u64, hint: &str) -> Result<NonNull<dmem_t>> {
        let request = DmemRequest {
            size: bytes,
            align: 0,
            location: Location::Device,
            channel: self.settings.arch.default_channel(core.core),
            usage: Usage::UcodeLib,
            hint,
            group: None,
        };
        // SAFETY: the GLOBAL allocator of an owned core is live.
        unsafe { self.dmem_alloc(self.global_allocator(core), &request) }
    }
}
