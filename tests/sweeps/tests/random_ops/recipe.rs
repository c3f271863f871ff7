//! What a random model is made of, and its plan.

use nrt_core::model::{
    Arena, ByteSource, Carveout, Chunks, IoPlan, ModelPlan, RegionPlan, SourceError, SubgraphPlan, UcodeLibrary, VariableKind,
    VariablePlan,
};
use nrt_core::{Location, Usage};

use crate::arena::{Mode, Slices};
use crate::books::{LIBRARY, Share};

/// First variable of the weights.
pub(crate) const WEIGHT: u32 = 1000;

/// Bytes that name the model they belong to.
pub(crate) struct Weights(pub(crate) u8);

impl Weights {
    pub(crate) fn byte(seed: u8, offset: u64) -> u8 {
        seed ^ (offset % 253) as u8
    }
}

impl ByteSource for Weights {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
        for (at, byte) in (offset..).zip(buffer) {
            *byte = Self::byte(self.0, at);
        }
        Ok(())
    }
}

/// What a random model is made of.
pub(crate) struct Recipe {
    pub(crate) mode: Mode,
    pub(crate) cores: u32,
    pub(crate) weight_bytes: u64,
    pub(crate) chunk: u64,
    pub(crate) spill: u64,
    pub(crate) ring: u64,
    pub(crate) local: Vec<u64>,
    pub(crate) shared: u64,
    /// Libraries of each core: none, the one that the core keeps, or a set of the model's own.
    pub(crate) libraries: usize,
    /// Libraries are staged on SUNDA only.
    pub(crate) sunda: bool,
    pub(crate) input: u64,
    pub(crate) output: u64,
    /// Bytes of a planned temporary on each core, with a pointer, a list and a table that name it; 0 = none of them.
    pub(crate) planned: u64,
    /// The shared slice lies on another core than its own: the first one of the HBM.
    pub(crate) elsewhere: bool,
}

impl Recipe {
    pub(crate) fn slices(&self) -> Slices {
        Slices::new(&self.local, if self.elsewhere { 0 } else { self.shared }, self.mode)
    }

    /// What each core has of it when so many pages of the first arena can be had.
    pub(crate) fn shares(&self, granted: u32) -> Vec<Share> {
        let slices = self.slices();
        (0..u64::from(self.cores))
            .map(|core| {
                let mut pieces = Vec::new();
                let mut index = core;
                while index * self.chunk < self.weight_bytes {
                    let bytes = self.chunk.min(self.weight_bytes - index * self.chunk);
                    pieces.push((Usage::Weight, Location::Device, bytes));
                    index += u64::from(self.cores);
                }
                if self.spill > 0 {
                    pieces.push((Usage::DramSpill, Location::Device, self.spill));
                }
                if self.ring > 0 {
                    pieces.push((Usage::DmaRingIo, Location::Host, self.ring));
                }
                let mut mem_refs = pieces.len() as u32 + 2;
                if self.planned > 0 {
                    pieces.push((Usage::ScratchpadNotShared, Location::Device, self.planned));
                    pieces.push((Usage::Generic, Location::Device, 8));
                    mem_refs += 4;
                }
                if self.sunda && self.libraries > 1 {
                    pieces.extend(self.own_set().map(|bytes| (Usage::UcodeLib, Location::Device, bytes)));
                }
                // The state buffer, and what lies on the last core.
                mem_refs += 1 + u32::from(self.planned > 0);
                if let Some(bytes) = self.scratch(core as usize) {
                    mem_refs += 1;
                    if !self.mode.holds(granted, slices.offsets[core as usize], bytes) {
                        pieces.push((Usage::ScratchpadNotShared, Location::Device, bytes));
                    }
                }
                let pages = if core == 0 { granted } else { slices.pages(core as usize, self.mode) };
                Share { pieces, pages, mem_refs }
            })
            .collect()
    }

    pub(crate) fn shares_library(&self) -> bool {
        self.sunda && self.libraries == 1
    }

    /// Bytes of the two parts of a set of its own: images at multiples of 64, and the table.
    pub(crate) fn own_set(&self) -> [u64; 2] {
        [(self.libraries as u64 - 1) * LIBRARY[0].next_multiple_of(64) + LIBRARY[0], LIBRARY[1]]
    }

    pub(crate) fn shared_pages(&self) -> u32 {
        self.shared.div_ceil(self.mode.page) as u32
    }

    /// Bytes of a planned variable that fills the local slice of a core, where the slice starts at a place for one. It gets
    /// memory of its own when the pages do not hold it.
    pub(crate) fn scratch(&self, core: usize) -> Option<u64> {
        let start = self.slices().offsets[core] % self.mode.page;
        Some(self.local[core]).filter(|bytes| self.planned > 0 && *bytes > 0 && start.is_multiple_of(4096))
    }

    /// Whether a contiguous arena may be shorter: all that need it name what lies in it.
    pub(crate) fn soft(&self) -> bool {
        (0..self.cores as usize).all(|core| self.scratch(core).is_some() || (self.local[core] == 0 && self.shared == 0))
    }

    pub(crate) fn planned(&self, core: usize) -> Vec<VariablePlan<'static>> {
        let plan = |variable, kind, bytes| VariablePlan { variable, name: "planned", kind, bytes, ..VariablePlan::EMPTY };
        let mut variables = vec![plan(25, VariableKind::StateBuffer, 0)];
        if self.planned > 0 {
            let remote = VariableKind::Remote { subgraph: self.cores - 1, variable: 20 };
            variables.extend([
                plan(26, remote, self.planned),
                plan(20, VariableKind::Temporary { source: None }, self.planned),
                plan(21, VariableKind::Pointer { target: 20, io: false }, 0),
                plan(22, VariableKind::List { variables: &[1, 2, 20] }, 0),
                plan(23, VariableKind::PointerTable { variables: &[20, 21, 1] }, 0),
            ]);
        }
        if let Some(bytes) = self.scratch(core) {
            variables.push(plan(24, VariableKind::VirtualTemporary { arena: Arena::Local, offset: 0 }, bytes));
        }
        variables
    }

    pub(crate) fn with_plan<T>(&self, seed: u8, with: impl FnOnce(&ModelPlan<'_>) -> T) -> T {
        let source = Weights(seed);
        let region = |name, first_variable, usage, location, bytes| RegionPlan {
            name,
            first_variable,
            usage,
            location,
            channel: None,
            align: 0,
            bytes,
            chunks: None,
            source: None,
        };
        let regions: Vec<Vec<RegionPlan<'_>>> = (0..self.cores)
            .map(|core| {
                let weights = region("w", WEIGHT, Usage::Weight, Location::Device, self.weight_bytes);
                let chunks = Chunks { bytes: self.chunk, first: core.into(), step: self.cores.into() };
                let mut regions = vec![RegionPlan { chunks: Some(chunks), source: Some(&source), ..weights }];
                if self.spill > 0 {
                    regions.push(region("spill", 10, Usage::DramSpill, Location::Device, self.spill));
                }
                if self.ring > 0 {
                    let ring = region("ring", 11, Usage::DmaRingIo, Location::Host, self.ring);
                    regions.push(RegionPlan { source: Some(&source), ..ring });
                }
                regions
            })
            .collect();
        let library = UcodeLibrary { content: &source, bytes: LIBRARY[0], flags: 0, cpu_id: 0, total_cpus: 8, functions: &[] };
        let libraries = vec![library; self.libraries];
        let inputs = [IoPlan { name: "x", bytes: self.input, variable: 1 }];
        let outputs = [IoPlan { name: "z", bytes: self.output, variable: 2 }];
        let variables: Vec<_> = (0..self.cores as usize).map(|core| self.planned(core)).collect();
        let subgraphs: Vec<SubgraphPlan<'_>> = regions
            .iter()
            .zip(&self.local)
            .zip(&variables)
            .map(|((regions, local), variables)| SubgraphPlan {
                regions,
                variables,
                local_scratchpad_bytes: *local,
                shared_scratchpad_bytes: self.shared,
                libraries: &libraries,
                carveouts: &[Carveout::EVTACCEL],
                inputs: &inputs,
                outputs: &outputs,
                ..SubgraphPlan::EMPTY
            })
            .collect();
        with(&ModelPlan { name: "random", subgraphs: &subgraphs })
    }
}
