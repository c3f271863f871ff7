//! The table of functions as the device reads it (fact sheet `ulib` §§1.3, 4).

use core::mem::offset_of;
use core::ptr::NonNull;

use zerocopy::IntoBytes;

use crate::abi::{SUNDA_UCODE_LIB_INFO, SUNDA_UCODE_LIB_LIBRARY_TABLE_ENTRY, dmem_t, ucode_lib_info_t};
use crate::arena::{MAX_UCODE_LIBRARIES, UlibSlot};
use crate::driver::Driver;
use crate::error::Result;
use crate::hooks::Hooks;
use crate::system::System;
use crate::text;

use super::Wanted;

/// Flag bits that reach the device.
const DEVICE_FLAGS: u32 = 7;
const ROW: usize = size_of::<SUNDA_UCODE_LIB_LIBRARY_TABLE_ENTRY>();
const ROWS_AT: usize = offset_of!(SUNDA_UCODE_LIB_INFO, table);
/// Bytes of the table.
pub(super) const TABLE: u64 = size_of::<SUNDA_UCODE_LIB_INFO>() as u64;

/// Everything in front of the rows: scratch memory, then the queues of the eight processors.
fn header(scratch: (u64, u64), wanted: Wanted<'_>) -> [u64; ROWS_AT / 8] {
    let mut words = [0; ROWS_AT / 8];
    (words[0], words[1]) = scratch;
    if let Some(queues) = wanted.support.queues {
        const M2S: usize = offset_of!(SUNDA_UCODE_LIB_INFO, dma_queue_m2s_offset) / 8;
        const S2M: usize = offset_of!(SUNDA_UCODE_LIB_INFO, dma_queue_s2m_offset) / 8;
        for (processor, queue) in queues.iter().enumerate() {
            words[M2S + processor] = queue.m2s_offset;
            words[S2M + processor] = queue.s2m_offset;
        }
    }
    words
}

/// Row `index`; rows behind the last function are empty.
fn row(
    wanted: Wanted<'_>,
    staged: &[ucode_lib_info_t; MAX_UCODE_LIBRARIES],
    index: usize,
) -> SUNDA_UCODE_LIB_LIBRARY_TABLE_ENTRY {
    let mut entry = SUNDA_UCODE_LIB_LIBRARY_TABLE_ENTRY {
        valid: 0,
        opcode: 0,
        sub_opcode: 0,
        cpu_id: 0,
        total_cpus: 0,
        reserved: [0; 7],
        flags: 0,
        stripped_lib_addr: 0,
        func_name: [0; 256],
    };
    let functions = wanted.libraries.iter().zip(staged);
    let mut functions = functions.flat_map(|(library, staged)| library.functions.iter().map(move |function| (function, staged)));
    if let Some((function, staged)) = functions.nth(index) {
        entry.valid = 1;
        entry.opcode = function.opcode;
        entry.sub_opcode = function.sub_opcode;
        entry.cpu_id = staged.cpu_id;
        entry.total_cpus = staged.total_cpus;
        entry.flags = staged.flags & DEVICE_FLAGS;
        entry.stripped_lib_addr = staged.address;
        text::put(&mut entry.func_name, function.name);
    }
    entry
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Writes the table of a set into its memory.
    ///
    /// # Errors
    /// What copying answers.
    ///
    /// # Safety
    /// The set is this caller's alone, with its memory and its mirror; `table` is its live node.
    pub(super) unsafe fn ulib_bake(&self, table: NonNull<dmem_t>, wanted: Wanted<'_>, slot: NonNull<UlibSlot>) -> Result<()> {
        // SAFETY: by contract.
        let (staged, scratch) = unsafe {
            let set = (*slot.as_ptr()).set;
            let scratch = NonNull::new(set.scratch_space);
            ((*slot.as_ptr()).libs, scratch.map_or((0, 0), |node| (self.dmem_address(node, 0), (*node.as_ptr()).size as u64)))
        };
        let header = header(scratch, wanted);
        let mut bake = |buffer: &mut [u8], at: u64| {
            // Pieces of the table end anywhere.
            let (mut rest, mut at) = (buffer, at as usize);
            while !rest.is_empty() {
                let entry;
                let (part, offset) = match at.checked_sub(ROWS_AT) {
                    None => (header.as_bytes(), at),
                    Some(behind) => {
                        entry = row(wanted, &staged, behind / ROW);
                        (entry.as_bytes(), behind % ROW)
                    }
                };
                let length = (part.len() - offset).min(rest.len());
                let (now, later) = rest.split_at_mut(length);
                now.copy_from_slice(&part[offset..][..length]);
                (rest, at) = (later, at + length);
            }
            Ok(())
        };
        // SAFETY: by contract.
        unsafe { self.dmem_copy_in_from(table, 0, TABLE, &mut bake) }
    }
}
