//! Microcode libraries on SUNDA (fact sheet `ulib`).
//!
//! A model with one library shares it with the other models of its core: the first one stages it into the core's GLOBAL heap,
//! later ones alias it; it stays until the core is torn down, and is counted meanwhile. A model with 2 to 9 libraries has a
//! set of its own, in its own heap.
//!
//! | file | holds |
//! | --- | --- |
//! | this one | who shares what |
//! | [`stage`] | memory and content of a set |
//! | [`table`] | the table the device reads |

mod stage;
mod table;

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::abi::{tpb_sunda_t, ucode_lib_set_info_t};
use crate::arena::{ModelSlot, UlibSlot, flat};
use crate::context::ResolvedCore;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::model::{LibrarySupport, SubgraphPlan, UcodeLibrary};
use crate::sync;
use crate::system::System;
use crate::text;

/// Whose set a model uses.
pub(crate) mod user {
    /// It has no library.
    pub(crate) const NONE: u32 = 0;
    /// The set of its core.
    pub(crate) const SHARED: u32 = 1;
    /// Its own.
    pub(crate) const PRIVATE: u32 = 2;
}

/// A set as the plan brings it.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    libraries: &'a [UcodeLibrary<'a>],
    support: &'a LibrarySupport<'a>,
}

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

    /// Gives a model the libraries of its plan: none, the shared one of the core, or a set of its own (`ucode_stage_libs`).
    ///
    /// # Errors
    /// `NRT_INVALID` when a single library differs from the one its core has staged; what the pools, allocation and copying
    /// answer. A failed staging leaves nothing, and is not reported as success (errata 32).
    ///
    /// # Concurrency
    /// For a single library the staging lock of the core during the whole staging; the leaves inside it. None for a set.
    ///
    /// # Safety
    /// The slot is this caller's alone; its allocator is live.
    pub(crate) unsafe fn ulib_add(
        &self,
        core: &ResolvedCore,
        slot: NonNull<ModelSlot>,
        subgraph: &SubgraphPlan<'_>,
    ) -> Result<()> {
        let wanted = Wanted { libraries: subgraph.libraries, support: &subgraph.library_support };
        let raw = slot.as_ptr();
        // SAFETY: by contract.
        unsafe {
            let (set, whose) = match wanted.libraries {
                [] => return Ok(()),
                [_] => (self.ulib_attach(core, wanted)?, user::SHARED),
                _ => {
                    let own = NonNull::new_unchecked(&raw mut (*raw).ulib);
                    let allocator = NonNull::new_unchecked(&raw mut (*raw).allocator);
                    (self.ulib_stage(core, allocator, wanted, own)?, user::PRIVATE)
                }
            };
            (*raw).model.ulib_set_info = set;
            (*raw).uses_ulib.store(whose, Relaxed);
        }
        Ok(())
    }

    /// Takes the libraries of a model away: one user less for a shared one, which stays; a set of its own goes.
    ///
    /// # Safety
    /// The slot is this caller's alone.
    pub(crate) unsafe fn ulib_remove(&self, slot: NonNull<ModelSlot>) {
        // SAFETY: by contract.
        unsafe {
            let raw = slot.as_ptr();
            match (*raw).uses_ulib.swap(user::NONE, Relaxed) {
                user::SHARED => {
                    if let Ok(core) = self.core((*raw).vnc.load(Relaxed), (*raw).relative.load(Relaxed)) {
                        self.ulib_detach(&core);
                    }
                }
                user::PRIVATE => self.ulib_free(NonNull::new_unchecked(&raw mut (*raw).ulib)),
                _ => {}
            }
            (*raw).model.ulib_set_info = null_mut();
        }
    }

    /// The core's shared library: staged now, or as an earlier model staged it. Counts the caller as a user.
    ///
    /// The original aliases whatever is cached; here a library that visibly differs from the staged one is refused, because
    /// the model would call the wrong code. Sizes, flags, processors and functions are compared, not the images.
    fn ulib_attach(&self, core: &ResolvedCore, wanted: Wanted<'_>) -> Result<*mut ucode_lib_set_info_t> {
        let _held = self.ulib_lock(core);
        let users = &self.arenas.core(core.device, core.core).ulib_users;
        let cached = self.ulib_cache(core).load(Acquire);
        let set = if cached.is_null() {
            // SAFETY: nothing is cached, so the record is unused; the staging lock makes it this thread's. The GLOBAL
            // allocator of an owned core is live.
            let set = unsafe { self.ulib_stage(core, self.global_allocator(core), wanted, self.ulib_slot(core))? };
            self.ulib_cache(core).store(set, Release);
            set
        } else {
            self.check_same_set(core, wanted)?;
            cached
        };
        users.store(users.load(Relaxed) + 1, Relaxed);
        Ok(set)
    }

    /// One user less. The library stays.
    fn ulib_detach(&self, core: &ResolvedCore) {
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
            unsafe { self.ulib_free(self.ulib_slot(core)) };
        }
    }

    fn check_same_set(&self, core: &ResolvedCore, wanted: Wanted<'_>) -> Result<()> {
        let slot = self.ulib_slot(core).as_ptr();
        let Wanted { libraries, support } = wanted;
        let [library] = libraries else { return Err(Error::invalid(Cause::StaleHandle)) };
        // SAFETY: the staged set is read under the lock that guards it; its memory are live nodes, its functions were written
        // when it was staged.
        let same = unsafe {
            let size = |node: *mut crate::abi::dmem_t| NonNull::new(node).map_or(0, |node| (*node.as_ptr()).size as u64);
            let (set, staged) = ((*slot).set, (*slot).libs[0]);
            let functions: &[crate::abi::ucode_func_info_t] = match staged.num_funcs {
                0 => &[],
                count => core::slice::from_raw_parts(staged.funcs, count as usize),
            };
            functions.len() == library.functions.len()
                && (staged.flags, staged.cpu_id, staged.total_cpus) == (library.flags, library.cpu_id, library.total_cpus)
                && size(set.lib_dmem) == library.bytes
                && size(set.scratch_space) == support.scratch_bytes
                && size(set.extram) == support.external_memory.map_or(0, |image| image.bytes)
                && functions.iter().zip(library.functions).all(|(staged, wanted)| {
                    (staged.opcode, staged.sub_opcode) == (wanted.opcode, wanted.sub_opcode)
                        && text::from_nul_terminated(&staged.name) == wanted.name
                })
        };
        if same {
            Ok(())
        } else {
            Err(Error::invalid(Cause::Ucode("it differs from the one this core has staged for its models")))
        }
    }
}
