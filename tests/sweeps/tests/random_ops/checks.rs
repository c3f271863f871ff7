//! Runtime, reference and driver agree.

use std::sync::atomic::Ordering::Relaxed;

use nrt_core::Usage;
use nrt_core::abi::tpb_t;

use crate::books::CoreBooks;
use crate::world::{Loaded, World};

/// The number of a pointer variable, whose word is memory of the model's.
const POINTER: u32 = nrt_core::abi::mr_type::PTR.0;

impl World<'_> {
    /// The books of one core.
    pub(crate) fn check_core(&self, core: usize) {
        let (vnc, relative) = (core as u32 / self.size, core as u32 % self.size);
        let books = &self.books[core];
        let usage = self.runtime.core(vnc).unwrap().usage(relative).unwrap();
        assert_eq!(usage.bytes, books.bytes(), "bytes of core {core}");
        assert_eq!(usage.total, usage.bytes.iter().sum::<u64>(), "total of core {core}");
        assert_eq!(usage.allocations, books.nodes(), "allocations of core {core}");
    }

    /// What the driver holds is what the books say, and what is in quarantine: that changes with a refused release only.
    pub(crate) fn check_driver(&mut self) {
        let expected: u64 = self.books.iter().map(CoreBooks::driver_bytes).sum();
        let held = self.driver.inner().live(0).device_bytes;
        let beyond = held.checked_sub(expected).expect("the driver holds less than the books say");
        let (quarantined, bytes) = self.quarantined_bytes;
        if self.quarantined == quarantined {
            assert_eq!(beyond, bytes, "bytes beyond the books");
        } else {
            assert!(beyond >= bytes && quarantined < self.quarantined);
        }
        self.quarantined_bytes = (self.quarantined, beyond);
    }

    /// Everything.
    pub(crate) fn check_all(&mut self) {
        self.counts.checks += 1;
        let mut quarantined = 0;
        let mut total = 0;
        for (index, books) in self.books.iter().enumerate() {
            self.check_core(index);
            let (vnc, relative) = (index as u32 / self.size, index as u32 % self.size);
            let core = self.runtime.core(vnc).unwrap();
            let usage = core.usage(relative).unwrap();
            (quarantined, total) = (quarantined + usage.quarantined, total + usage.total);
            let mut refs = [0; 16];
            let pages = core.scratchpad_pages(relative, &mut refs).unwrap() as usize;
            assert_eq!(refs[..pages], books.page_references(), "pages of core {index}");
            assert_eq!(core.library_users(relative).unwrap(), (books.library_users, books.library_staged));
            assert_eq!(core.resident_models(relative).unwrap(), books.residents);
            assert_eq!(core.running_model(relative).unwrap(), 0);
        }
        assert_eq!(quarantined, self.quarantined);
        assert_eq!(self.runtime.device_bytes(), total);
        let nodes: u64 = self.books.iter().map(|books| u64::from(books.nodes())).sum();
        assert_eq!(self.runtime.live_nodes(), nodes);
        // The driver also holds the bounce buffer of each core and what is in quarantine.
        let chunks = nodes + u64::from(self.quarantined) + self.books.len() as u64;
        assert_eq!(self.driver.inner().live(0).chunks, chunks);
        self.check_ranges(nodes);
    }

    /// No two live ranges overlap.
    fn check_ranges(&self, nodes: u64) {
        let mut ranges = Vec::new();
        // Addresses of the scratchpad pages of each core, the first page first.
        let mut pages = Vec::new();
        for vnc in 0..self.runtime.logical_cores() {
            for relative in 0..self.size {
                self.heap_ranges(vnc, relative, &mut ranges);
                pages.push(self.page_addresses(vnc, relative));
            }
        }
        if self.mode.contiguous {
            for (vnc, column) in (0..).zip(&self.columns) {
                assert_eq!(pages[self.flat(vnc, 0)], column.pages, "each page below the one before");
            }
        }
        for loaded in &self.models {
            for relative in 0..loaded.shares.len() as u32 {
                loaded
                    .model
                    .for_each_variable(relative, |variable, _| {
                        match variable.usage {
                            // The memory of another core's variable.
                            _ if variable.remote => {}
                            // In a page, which is on the list of the core.
                            Some(Usage::Scratchpad) => {
                                let core = self.flat(loaded.vnc, if self.mode.one_core { 0 } else { relative });
                                self.check_scratch(loaded, relative, &pages[core], variable.address);
                            }
                            Some(_) => ranges.push((variable.address, variable.bytes)),
                            None if variable.kind == POINTER => ranges.push((variable.address, 8)),
                            None => {}
                        }
                    })
                    .unwrap();
            }
        }
        // A set of libraries of a model's own is no variable.
        let sets = self.models.iter().flat_map(|loaded| &loaded.shares).flat_map(|share| &share.pieces);
        let sets = sets.filter(|(usage, ..)| *usage == Usage::UcodeLib).count();
        assert_eq!((ranges.len() + sets) as u64, nodes, "every node is on a list");
        ranges.sort_unstable();
        for pair in ranges.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{:x?} overlap", pair);
        }
    }

    /// A variable lies where its slice begins, in pages that its model counts on.
    fn check_scratch(&self, loaded: &Loaded<'_>, relative: u32, pages: &[u64], address: u64) {
        let (offset, _) = loaded.scratch[relative as usize].expect("the pages hold it");
        let claimed = &pages[..loaded.shares[if self.mode.one_core { 0 } else { relative as usize }].pages as usize];
        let page = if self.mode.contiguous { claimed.len() - 1 } else { (offset / self.mode.page) as usize };
        let start = if self.mode.contiguous { offset } else { offset % self.mode.page };
        assert_eq!(address, claimed[page] + start, "scratchpad variable at {offset}");
    }

    /// Where the scratchpad pages of a core are.
    fn page_addresses(&self, vnc: u32, relative: u32) -> Vec<u64> {
        // SAFETY: the record of an open runtime; only this thread changes its pages, which are live up to their number.
        unsafe {
            let pad = &raw const (*self.tpb(vnc, relative)).scratchpad;
            let live = (*pad).num_pages.load(Relaxed) as usize;
            (&(*pad).pages)[..live].iter().map(|page| (*page.mem.load(Relaxed))._pa).collect()
        }
    }

    fn tpb(&self, vnc: u32, relative: u32) -> *mut tpb_t {
        let (_, core) = self.runtime.core(vnc).unwrap().physical(relative).unwrap();
        self.runtime.with_tree(|tree| tree.resolve(0, core)).unwrap().unwrap().tpb.as_ptr()
    }

    /// The ranges of a core's GLOBAL heap.
    fn heap_ranges(&self, vnc: u32, relative: u32, ranges: &mut Vec<(u64, u64)>) {
        // SAFETY: the record of an open runtime; only this thread changes the list, whose links lead to live nodes and end
        // at the sentinel.
        unsafe {
            let allocator = (*self.tpb(vnc, relative)).tpb_allocator;
            let tail = &raw const (*allocator).dummy_tail;
            let mut node = (*allocator).dummy_head.next.load(Relaxed).cast_const();
            while !std::ptr::eq(node, tail) {
                assert_eq!((*node).ref_count.load(Relaxed), 1);
                ranges.push(((*node)._pa, (*node).size as u64));
                node = (*node).next.load(Relaxed).cast_const();
            }
        }
    }
}
