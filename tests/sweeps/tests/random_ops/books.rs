//! The reference: what each core holds, kept as plainly as possible.

use nrt_core::{Location, Usage};

use crate::arena::Mode;

/// Slots of the storage under test.
pub(crate) const NODES: u32 = 512;
pub(crate) const MODELS: u32 = 8;
pub(crate) const MEM_REFS: u32 = 256;
pub(crate) const TENSORS: usize = 32;

/// Bytes of the two parts of a staged library.
pub(crate) const LIBRARY: [u64; 2] = [700, size_of::<nrt_core::abi::SUNDA_UCODE_LIB_INFO>() as u64];

/// What the driver rounds every chunk up to.
const GRANULE: u64 = 4096;

#[derive(Clone, Default)]
pub(crate) struct CoreBooks {
    /// Device bytes by usage without scratchpad pages and library.
    device: [u64; Usage::COUNT],
    /// The same as the driver counts them, in pages of 4 KiB.
    rounded: u64,
    /// Allocations without scratchpad pages and library.
    nodes: u32,
    /// Bytes of a scratchpad page.
    page: u64,
    /// Pages that each resident model needs, by model id.
    pages: Vec<(u32, u32)>,
    pub(crate) residents: u64,
    pub(crate) library_users: u32,
    pub(crate) library_staged: bool,
}

impl CoreBooks {
    pub(crate) fn new(mode: Mode) -> Self {
        Self { page: mode.page, ..Self::default() }
    }

    pub(crate) fn add(&mut self, usage: Usage, location: Location, bytes: u64) {
        self.nodes += 1;
        if location == Location::Device {
            self.device[usage.number()] += bytes;
            self.rounded += bytes.next_multiple_of(GRANULE);
        }
    }

    pub(crate) fn remove(&mut self, usage: Usage, location: Location, bytes: u64) {
        self.nodes -= 1;
        if location == Location::Device {
            self.device[usage.number()] -= bytes;
            self.rounded -= bytes.next_multiple_of(GRANULE);
        }
    }

    pub(crate) fn add_pages(&mut self, model: u32, pages: u32) {
        self.pages.push((model, pages));
    }

    pub(crate) fn remove_pages(&mut self, model: u32) {
        self.pages.retain(|(id, _)| *id != model);
    }

    /// Pages the arena has.
    pub(crate) fn arena(&self) -> u32 {
        self.pages.iter().map(|(_, pages)| *pages).max().unwrap_or(0)
    }

    /// Models that count on each page.
    pub(crate) fn page_references(&self) -> Vec<u32> {
        (0..self.arena()).map(|page| self.pages.iter().filter(|(_, pages)| *pages > page).count() as u32).collect()
    }

    pub(crate) fn bytes(&self) -> [u64; Usage::COUNT] {
        let mut bytes = self.device;
        bytes[Usage::Scratchpad.number()] += u64::from(self.arena()) * self.page;
        if self.library_staged {
            bytes[Usage::UcodeLib.number()] += LIBRARY.iter().sum::<u64>();
        }
        bytes
    }

    /// Device bytes as the driver counts them.
    pub(crate) fn driver_bytes(&self) -> u64 {
        let library = LIBRARY.map(|bytes| bytes.next_multiple_of(GRANULE)).iter().sum::<u64>();
        self.rounded + u64::from(self.arena()) * self.page + if self.library_staged { library } else { 0 }
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.nodes + self.arena() + if self.library_staged { 2 } else { 0 }
    }
}

/// What a model takes on one core.
#[derive(Clone, Default)]
pub(crate) struct Share {
    pub(crate) pieces: Vec<(Usage, Location, u64)>,
    pub(crate) pages: u32,
    pub(crate) mem_refs: u32,
}
