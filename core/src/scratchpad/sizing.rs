//! What a model claims, and where (fact sheet `scratchpad` §§4, 7, 9).

use core::ptr::{NonNull, null_mut};

use crate::abi::{physical_core_t, tdrv_scratchpad_cleanup_info_t, tdrv_scratchpad_info_t};
use crate::arena::MAX_CORES_PER_VCORE;
use crate::context::ResolvedCore;
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::system::System;

/// Most cores that share one HBM.
const MAX_GROUP: usize = 2;

/// What one subgraph needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Need {
    pub(crate) local: u64,
    pub(crate) shared: u64,
    /// Its plan names the variables that lie in the arena, so that each can be looked at again when the arena did not become
    /// as large as it should.
    pub(crate) by_variable: bool,
}

/// Where the slices of a model lie in the arenas of the cores of its HBM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    /// Slice of each subgraph.
    pub(crate) local: [tdrv_scratchpad_info_t; MAX_CORES_PER_VCORE],
    /// Slice that all subgraphs share; the sharing core is the first of the HBM that this process owns.
    pub(crate) shared: tdrv_scratchpad_info_t,
    /// Bytes of the arena on each core of the HBM.
    totals: [(Option<ResolvedCore>, u64); MAX_GROUP],
}

/// Places a slice behind `cursor` (`update_scratchpad_offset`): in paged mode a slice that would cross the end of the current
/// page starts on the next one, so that the compiler's page-relative packing holds.
pub(crate) fn place(cursor: &mut u64, size: u64, page_size: u64, contiguous: bool) -> Result<u64> {
    let overflow = Error::invalid(Cause::ScratchpadSpan { offset: *cursor, size, page_size });
    let used = *cursor % page_size;
    let mut base = *cursor;
    if !contiguous && used != 0 && page_size - used < size {
        base = base.checked_add(page_size - used).ok_or(overflow)?;
    }
    *cursor = base.checked_add(size).ok_or(overflow)?;
    Ok(base)
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Sizes the arenas of a model on logical core `vnc` (first half of `tdrv_scratchpad_model_init`). Reserves nothing.
    ///
    /// # Errors
    /// `NRT_INVALID` for needs that no number holds, and for single-core placement when the process lacks a core of the HBM.
    pub(crate) fn scratchpad_size(&self, vnc: u32, needs: &[Need]) -> Result<Placement> {
        let first = self.core(vnc, 0)?;
        let (page_size, contiguous) = self.scratchpad_mode(&first);
        let group = self.hbm_group(&first);
        let single = contiguous || self.settings.scratchpad_on_single_core;
        if single && needs.iter().any(|need| need.local != 0 || need.shared != 0) {
            // One core's arena then serves the whole HBM, so the process must own all of it (errata 28).
            let (owned, needed) = (group.iter().flatten().count() as u32, self.settings.arch.cores_per_hbm());
            if owned != needed {
                return Err(Error::invalid(Cause::ScratchpadNeedsHbm { owned, needed }));
            }
        }
        let mut running = [0_u64; MAX_GROUP];
        // The shared slice sits first on the sharing core, charged once with the largest need.
        let shared = needs.iter().map(|need| need.shared).max().unwrap_or(0);
        let offset = place(&mut running[0], shared, page_size, contiguous)?;
        let empty = tdrv_scratchpad_info_t { pcore: null_mut(), size: 0, offset: 0 };
        let mut placement = Placement {
            local: [empty; MAX_CORES_PER_VCORE],
            shared: tdrv_scratchpad_info_t { pcore: self.pcore_of(vnc, group[0].as_ref()), size: shared, offset },
            totals: [(None, 0); MAX_GROUP],
        };
        for (relative, need) in needs.iter().enumerate() {
            let own = self.core(vnc, relative as u32)?;
            let place_of = |core: &ResolvedCore| (core.device, core.core) == (own.device, own.core);
            let home = if single { 0 } else { group.iter().flatten().position(place_of).unwrap_or(0) };
            let offset = place(&mut running[home], need.local, page_size, contiguous)?;
            placement.local[relative] =
                tdrv_scratchpad_info_t { pcore: self.pcore_of(vnc, group[home].as_ref()), size: need.local, offset };
        }
        for (total, (core, bytes)) in placement.totals.iter_mut().zip(group.into_iter().zip(running)) {
            *total = (core, bytes);
        }
        Ok(placement)
    }

    /// The cores of the HBM that this process owns, the lowest first.
    fn hbm_group(&self, core: &ResolvedCore) -> [Option<ResolvedCore>; MAX_GROUP] {
        let size = self.settings.arch.cores_per_hbm();
        let start = core.core - core.core % size;
        let mut owned = (start..start + size).filter_map(|index| self.tree.resolve(core.device, index).ok());
        core::array::from_fn(|_| owned.next())
    }

    /// The handle of a core: in logical core `vnc` when it belongs to it, else in the one it belongs to.
    fn pcore_of(&self, vnc: u32, core: Option<&ResolvedCore>) -> *mut physical_core_t {
        let Some(core) = core else { return null_mut() };
        let size = self.settings.logical_core_size;
        let own = (0..size).map(|relative| self.pcore(vnc, relative));
        let all = (0..self.settings.vcores).flat_map(|vnc| (0..size).map(move |relative| (vnc, relative)));
        own.chain(all.map(|(vnc, relative)| self.pcore(vnc, relative)))
            // SAFETY: handles of this system, written during init only.
            .find(|pcore| unsafe { ((*pcore.as_ptr()).device_id, (*pcore.as_ptr()).device_tpb_idx) } == (core.device, core.core))
            .map_or(null_mut(), NonNull::as_ptr)
    }

    /// Reserves what [`scratchpad_size`](Self::scratchpad_size) placed (second half of `tdrv_scratchpad_model_init`). The
    /// records then name what the model holds: that of a subgraph its own core, and the first one whatever else there is.
    ///
    /// # Errors
    /// `NRT_RESOURCE` when more than 1,024 pages are needed or the device has no room; what page allocation and, in
    /// contiguous mode, mapping answer. Nothing is held then.
    ///
    /// # Safety
    /// Each pointer in `records` is a live record of the caller's.
    pub(crate) unsafe fn scratchpad_claim(
        &self,
        vnc: u32,
        placement: &Placement,
        needs: &[Need],
        records: &[NonNull<tdrv_scratchpad_cleanup_info_t>],
    ) -> Result<()> {
        // SAFETY: by contract, here and below.
        unsafe {
            for record in records {
                let record = record.as_ptr();
                (*record).pcores = [null_mut(); 2];
                (*record).sizes = [0; 2];
                (*record).num_entries = 0;
                (*record).contiguous_scratchpad_va = null_mut();
            }
            let claimed = self.claim_all(vnc, placement, needs, records);
            if claimed.is_err() {
                records.iter().for_each(|record| self.scratchpad_cleanup(*record));
            }
            claimed
        }
    }

    /// # Safety
    /// As [`scratchpad_claim`](Self::scratchpad_claim); the records are empty.
    unsafe fn claim_all(
        &self,
        vnc: u32,
        placement: &Placement,
        needs: &[Need],
        records: &[NonNull<tdrv_scratchpad_cleanup_info_t>],
    ) -> Result<()> {
        // What nobody can look at again must be there in full.
        let soft = needs.iter().all(|need| need.by_variable || (need.local == 0 && need.shared == 0));
        for (core, bytes) in placement.totals {
            let Some(core) = core.filter(|_| bytes != 0) else { continue };
            let (page_size, contiguous) = self.scratchpad_mode(&core);
            let pcore = self.pcore_of(vnc, Some(&core));
            let owner = (0..records.len()).find(|relative| core::ptr::eq(self.pcore(vnc, *relative as u32).as_ptr(), pcore));
            let record = records[owner.unwrap_or(0)].as_ptr();
            let granted = self.scratchpad_reserve(&core, bytes, soft)?;
            // SAFETY: the caller's record; two entries at most, as there are two cores.
            unsafe {
                let entry = (*record).num_entries as usize;
                (*record).pcores[entry] = pcore;
                (*record).sizes[entry] = bytes.min(u64::from(granted) * page_size);
                (*record).num_entries += 1;
                if contiguous && granted != 0 {
                    (*record).contiguous_scratchpad_va = self.scratchpad_map(&core, granted)?.as_ptr().cast();
                }
            }
        }
        Ok(())
    }

    /// Drops what a cleanup record names; used for roll-back and for unload. The record is empty afterwards.
    ///
    /// The host mapping of a contiguous arena belongs to its lowest page, whose models have the same one; it goes before that
    /// page is given back.
    ///
    /// # Safety
    /// `record` is a live record written by [`scratchpad_claim`](Self::scratchpad_claim), handled by this caller alone.
    pub(crate) unsafe fn scratchpad_cleanup(&self, record: NonNull<tdrv_scratchpad_cleanup_info_t>) {
        // SAFETY: by contract.
        unsafe {
            let record = record.as_ptr();
            (*record).contiguous_scratchpad_va = null_mut();
            for entry in 0..(*record).num_entries as usize {
                if let Ok(core) = self.resolve((*record).pcores[entry]) {
                    self.scratchpad_release(&core, (*record).sizes[entry]);
                }
            }
            (*record).num_entries = 0;
        }
    }

    /// Bytes that the records of a model claim on a core.
    ///
    /// # Safety
    /// The records are live and written by [`scratchpad_claim`](Self::scratchpad_claim).
    pub(crate) unsafe fn scratchpad_claimed(
        &self,
        records: impl Iterator<Item = NonNull<tdrv_scratchpad_cleanup_info_t>>,
        pcore: *const physical_core_t,
    ) -> u64 {
        // SAFETY: by contract.
        records
            .flat_map(|record| unsafe { (0..(*record.as_ptr()).num_entries as usize).map(move |entry| (record, entry)) })
            .find(|(record, entry)| unsafe { core::ptr::eq((*record.as_ptr()).pcores[*entry], pcore) })
            .map_or(0, |(record, entry)| unsafe { (*record.as_ptr()).sizes[entry] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scratchpad` §4, the vectors.
    #[test]
    fn slices_do_not_cross_a_page_they_did_not_start() {
        for (cursor, size, base, after) in [(30, 70, 30, 100), (30, 71, 100, 171), (100, 250, 100, 350), (0, 0, 0, 0)] {
            let mut at = cursor;
            assert_eq!(place(&mut at, size, 100, false).unwrap(), base);
            assert_eq!(at, after);
        }
        let mut at = 30;
        assert_eq!((place(&mut at, 500, 100, true).unwrap(), at), (30, 530), "contiguous");
        let mut at = u64::MAX - 10;
        assert!(place(&mut at, 100, 100, false).is_err());
        assert_eq!(at, u64::MAX - 10);
    }
}
