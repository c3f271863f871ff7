//! Memory and content of a set of libraries (fact sheet `ulib` §§3c, 3d, 6).

use core::ptr::{NonNull, null_mut};

use crate::abi::{dmem_allocator_t, dmem_t, ucode_func_info_t, ucode_lib_info_t, ucode_lib_set_info_t};
use crate::arena::UlibSlot;
use crate::context::ResolvedCore;
use crate::dmem::DmemRequest;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::{Hooks, Level};
use crate::model::{UcodeLibrary, fill};
use crate::system::System;
use crate::text;
use crate::usage::{Location, Usage};

use super::Wanted;
use super::table::TABLE;

/// Images follow each other at multiples of this; the original's rule is not documented.
const IMAGE_ALIGN: u64 = 64;

/// Offset of each image in the memory of the set; `None` from where 64 bits do not count on.
fn layout(libraries: &[UcodeLibrary<'_>]) -> impl Iterator<Item = Option<u64>> {
    let mut end = Some(0_u64);
    libraries.iter().map(move |library| {
        let start = end.and_then(|end| end.checked_next_multiple_of(IMAGE_ALIGN));
        end = start.and_then(|start| start.checked_add(library.bytes));
        start
    })
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Allocates, copies, bakes. All or nothing: the record is empty after a failure.
    ///
    /// # Errors
    /// What the pools, allocation, copying and the sources answer.
    ///
    /// # Safety
    /// The record is this caller's alone and holds nothing; `allocator` is live and belongs to `core`.
    pub(super) unsafe fn ulib_stage(
        &self,
        core: &ResolvedCore,
        allocator: NonNull<dmem_allocator_t>,
        wanted: Wanted<'_>,
        slot: NonNull<UlibSlot>,
    ) -> Result<*mut ucode_lib_set_info_t> {
        // SAFETY: by contract.
        unsafe {
            let raw = slot.as_ptr();
            let set = &raw mut (*raw).set;
            (*set).scratch_space = null_mut();
            (*set).ucode_table = null_mut();
            (*set).extram = null_mut();
            (*set).lib_dmem = null_mut();
            (*set).num_libs = 0;
            (*set).libs = (&raw mut (*raw).libs).cast();
            (*raw).functions = null_mut();
            if let Err(error) = self.ulib_stage_parts(core, allocator, wanted, slot) {
                self.ulib_free(slot);
                return Err(error);
            }
            Ok(set)
        }
    }

    /// # Safety
    /// As [`ulib_stage`](Self::ulib_stage); the record is written as empty.
    unsafe fn ulib_stage_parts(
        &self,
        core: &ResolvedCore,
        allocator: NonNull<dmem_allocator_t>,
        wanted: Wanted<'_>,
        slot: NonNull<UlibSlot>,
    ) -> Result<()> {
        let Wanted { libraries, support } = wanted;
        let memory = |bytes, align, hint| {
            let channel = self.settings.arch.default_channel(core.core);
            let (location, usage) = (Location::Device, Usage::UcodeLib);
            let request = DmemRequest { size: bytes, align, location, channel, usage, hint, group: None };
            // SAFETY: the allocator is live by contract.
            unsafe { self.dmem_alloc(allocator, &request) }
        };
        let end = layout(libraries).zip(libraries).last().and_then(|(start, library)| start?.checked_add(library.bytes));
        let bytes = end.ok_or(Error::invalid(Cause::Ucode("the images together have more bytes than 64 bits count")))?;
        // SAFETY: by contract; each node is owned by the set as soon as it exists.
        unsafe {
            let raw = slot.as_ptr();
            let image = memory(bytes, 0, "ulib image")?;
            (*raw).set.lib_dmem = image.as_ptr();
            let table = memory(TABLE, 0, "ulib table")?;
            (*raw).set.ucode_table = table.as_ptr();
            if let Some(external) = support.external_memory {
                let extram = memory(external.bytes, external.align, "ulib external memory")?;
                (*raw).set.extram = extram.as_ptr();
                self.dmem_copy_in_from(extram, 0, external.bytes, &mut |buffer, at| fill(external.content, at, buffer))?;
            }
            if support.scratch_bytes != 0 {
                (*raw).set.scratch_space = memory(support.scratch_bytes, 0, "ulib scratch")?.as_ptr();
            }
            self.ulib_mirror(libraries, image, slot)?;
            for (start, library) in layout(libraries).zip(libraries) {
                let start = start.unwrap_or(0);
                self.dmem_copy_in_from(image, start, library.bytes, &mut |buffer, at| fill(library.content, at, buffer))?;
            }
            self.ulib_bake(table, wanted, slot)?;
        }
        if support.queues.is_none() {
            self.hooks.log(
                Level::Info,
                format_args!(
                    "microcode libraries on ND{}:NC{} without queue offsets: custom operators have no queues there",
                    core.device, core.core
                ),
            );
        }
        Ok(())
    }

    /// The host mirror: a record for each library, the functions of all in one piece.
    ///
    /// # Safety
    /// As [`ulib_stage_parts`](Self::ulib_stage_parts); `image` is a live node.
    unsafe fn ulib_mirror(&self, libraries: &[UcodeLibrary<'_>], image: NonNull<dmem_t>, slot: NonNull<UlibSlot>) -> Result<()> {
        let raw = slot.as_ptr();
        let count = libraries.iter().map(|library| library.functions.len()).sum::<usize>();
        // SAFETY: by contract; the functions' memory has room for `count` and is this set's.
        unsafe {
            if count != 0 {
                (*raw).functions = self.arenas.tables.take(&self.hooks, count * size_of::<ucode_func_info_t>())?.as_ptr();
            }
            let mut next: *mut ucode_func_info_t = (*raw).functions.cast();
            for (index, (start, library)) in layout(libraries).zip(libraries).enumerate() {
                (*raw).libs[index] = ucode_lib_info_t {
                    address: self.dmem_address(image, start.unwrap_or(0)),
                    flags: library.flags,
                    cpu_id: library.cpu_id,
                    total_cpus: library.total_cpus,
                    pad_e: [0; 2],
                    num_funcs: library.functions.len() as i32,
                    pad_14: [0; 4],
                    funcs: next,
                };
                for function in library.functions {
                    // The memory comes as somebody left it.
                    (*next).name = [0; 256];
                    text::put(&mut (*next).name, function.name);
                    (*next).opcode = function.opcode;
                    (*next).sub_opcode = function.sub_opcode;
                    next = next.add(1);
                }
            }
            (*raw).set.num_libs = libraries.len() as i32;
        }
        Ok(())
    }

    /// Frees what a set holds. The record is empty afterwards.
    ///
    /// # Safety
    /// The set is this caller's alone; its pointers are null or live nodes whose reference it holds.
    pub(super) unsafe fn ulib_free(&self, slot: NonNull<UlibSlot>) {
        // SAFETY: by contract.
        unsafe {
            let raw = slot.as_ptr();
            let set = &raw mut (*raw).set;
            for memory in
                [&raw mut (*set).lib_dmem, &raw mut (*set).scratch_space, &raw mut (*set).ucode_table, &raw mut (*set).extram]
            {
                if let Some(node) = NonNull::new(memory.replace(null_mut())) {
                    self.dmem_free(node);
                }
            }
            (*set).num_libs = 0;
            if let Some(functions) = NonNull::new((&raw mut (*raw).functions).replace(null_mut())) {
                self.arenas.tables.give(&self.hooks, functions);
            }
        }
    }
}
