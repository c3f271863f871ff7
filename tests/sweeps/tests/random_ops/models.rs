//! Models: load, run, look at, unload.

use nrt_core::model::{
    Arena, ByteSource, Carveout, Chunks, CopyExecutor, IoPlan, ModelPlan, RegionPlan, SourceError, SubgraphPlan, UcodeLibrary,
    VariableKind, VariablePlan,
};
use nrt_core::{Arch, Location, Status, Usage};

use crate::PAGE;
use crate::books::{LIBRARY, MEM_REFS, MODELS, Share, arenas};
use crate::world::{Loaded, Outcome, World};

/// Bytes that name the model they belong to.
struct Weights(u8);

impl Weights {
    fn byte(seed: u8, offset: u64) -> u8 {
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
struct Recipe {
    cores: u32,
    weight_bytes: u64,
    chunk: u64,
    spill: u64,
    ring: u64,
    local: Vec<u64>,
    shared: u64,
    /// Libraries of each core: none, the one that the core keeps, or a set of the model's own.
    libraries: usize,
    /// Libraries are staged on SUNDA only.
    sunda: bool,
    input: u64,
    output: u64,
    /// Bytes of a planned temporary on each core, with a pointer, a list and a table that name it; 0 = none of them.
    planned: u64,
    /// The shared slice lies on another core than its own: the first one of the HBM.
    elsewhere: bool,
}

impl World<'_> {
    pub(crate) fn load_or_unload(&mut self) -> usize {
        let grow = if self.growing { 2 } else { 1 };
        if self.rng.below(3) < grow { self.load() } else { self.unload() }
    }

    fn recipe(&mut self) -> Recipe {
        let cores = if self.rng.once_in(2) { 1 } else { self.size };
        let slice = |rng: &mut crate::rng::Rng| match rng.below(3) {
            0 => 0,
            1 => rng.below(PAGE),
            _ => rng.below(3 * PAGE),
        };
        Recipe {
            cores,
            weight_bytes: 1 + self.rng.below(20_000),
            chunk: 64 << self.rng.below(8),
            spill: self.rng.below(3) * self.rng.below(5000),
            ring: self.rng.below(2) * self.rng.below(5000),
            local: (0..cores).map(|_| slice(&mut self.rng)).collect(),
            shared: slice(&mut self.rng),
            libraries: self.rng.pick(&[0, 0, 0, 1, 1, 3]),
            sunda: self.runtime.arch() == Arch::Sunda,
            input: 1 + self.rng.below(800),
            output: 1 + self.rng.below(800),
            planned: self.rng.below(2) * self.rng.below(5000),
            elsewhere: false,
        }
    }

    fn load(&mut self) -> usize {
        let vnc = self.any_vnc();
        let mut recipe = self.recipe();
        // With logical cores of one, the second of the two of an HBM, when this process owns both.
        let (device, first) = self.runtime.core(vnc).unwrap().physical(0).unwrap();
        recipe.elsewhere = self.runtime.hbm_cores(device, first).unwrap()[0] != first;
        let shares = recipe.shares();
        let expected = self.fits(vnc, &recipe, &shares);
        let seed = self.rng.next() as u8;
        let runtime = self.runtime;
        let outcome = self.forward(expected, || recipe.with_plan(seed, |plan| runtime.core(vnc)?.load(plan)));
        let core = self.flat(vnc, 0);
        if let Outcome::Done(model) = outcome {
            for (relative, share) in (0..).zip(&shares) {
                let core = self.flat(vnc, relative);
                let books = &mut self.books[core];
                share.pieces.iter().for_each(|(usage, location, bytes)| books.add(*usage, *location, *bytes));
                books.add_pages(model.id(), share.pages);
                books.residents += 1;
            }
            if recipe.elsewhere {
                self.books[core - 1].add_pages(model.id(), recipe.shared_pages());
            }
            let library = recipe.shares_library();
            if library {
                self.books[core].library_users += 1;
                self.books[core].library_staged = true;
            }
            let Recipe { input, output, .. } = recipe;
            self.models.push(Loaded { model, vnc, shares, library, seed, input, output });
        }
        core
    }

    /// The status a load must be refused with, if it must.
    fn fits(&self, vnc: u32, recipe: &Recipe, shares: &[Share]) -> Option<Status> {
        let slots: usize = self.models.iter().map(|loaded| loaded.shares.len()).sum();
        let mem_refs: u32 = self.models.iter().flat_map(|loaded| &loaded.shares).map(|share| share.mem_refs).sum();
        let mut nodes = 0;
        for (relative, share) in (0..).zip(shares) {
            let books = &self.books[self.flat(vnc, relative)];
            nodes += share.pieces.len() as u32 + share.pages.saturating_sub(books.arena());
            if recipe.shares_library() && !books.library_staged {
                nodes += LIBRARY.len() as u32;
            }
        }
        if recipe.elsewhere {
            nodes += recipe.shared_pages().saturating_sub(self.books[self.flat(vnc, 0) - 1].arena());
        }
        let full = slots + shares.len() > MODELS as usize
            || mem_refs + shares.iter().map(|share| share.mem_refs).sum::<u32>() > MEM_REFS
            || nodes > self.free_nodes();
        full.then_some(Status::Resource)
    }

    /// Takes a model out in one of several ways.
    pub(crate) fn unload(&mut self) -> usize {
        let Some(index) = self.rng.index(self.models.len()) else { return 0 };
        let mut loaded = self.models.swap_remove(index);
        let (vnc, id) = (loaded.vnc, loaded.model.id());
        let core = self.flat(vnc, 0);
        let runtime = self.runtime;
        match self.rng.below(5) {
            0 => self.teardown(|| loaded.model.unload().unwrap()),
            1 => self.teardown(|| runtime.core(vnc).unwrap().unload(loaded.model.into_id()).unwrap()),
            2 => self.teardown(|| drop(loaded.model)),
            3 => self.teardown(|| assert!(loaded.model.unload_within(0).unwrap().is_none())),
            _ => {
                let residents = runtime.core(vnc).unwrap().resident_models(0).unwrap();
                let mut draining = runtime.core(vnc).unwrap().begin_unload(loaded.model.into_id()).unwrap();
                assert_eq!(draining.id(), id);
                assert_eq!(runtime.core(vnc).unwrap().resident_models(0).unwrap(), residents - 1);
                let run = runtime.core(vnc).unwrap().run(id, &[], &[], None, &CopyExecutor);
                assert_eq!(run.unwrap_err().status, Status::InvalidHandle);
                if self.rng.once_in(2) {
                    loaded.model = draining.cancel().unwrap();
                    assert_eq!(loaded.model.id(), id);
                    self.models.push(loaded);
                    return core;
                }
                self.teardown(|| assert!(draining.try_finish()));
                assert!(draining.cancel().is_none());
            }
        }
        for (relative, share) in (0..).zip(&loaded.shares) {
            let core = self.flat(vnc, relative);
            let books = &mut self.books[core];
            share.pieces.iter().for_each(|(usage, location, bytes)| books.remove(*usage, *location, *bytes));
            books.remove_pages(id);
            books.residents -= 1;
        }
        // Where the shared slice was; other cores have no pages of this model.
        self.books[core.saturating_sub(1)].remove_pages(id);
        self.books[core].library_users -= u32::from(loaded.library);
        let again = self.runtime.core(vnc).unwrap().unload(id).unwrap_err();
        assert_eq!(again.status, Status::InvalidHandle);
        core
    }

    /// Runs a model on two views that may fit or not.
    pub(crate) fn run_model(&mut self) -> usize {
        let (Some(index), true) = (self.rng.index(self.models.len()), self.tensors.len() >= 2) else { return 0 };
        let loaded = self.models.swap_remove(index);
        let count = self.tensors.len() as u64;
        let input = self.rng.below(count);
        let output = ((input + 1 + self.rng.below(count - 1)) % count) as usize;
        let input = input as usize;
        let wrong = self.cannot_bind(&loaded, input, loaded.input)
            || self.cannot_bind(&loaded, output, loaded.output)
            || self.cannot_copy(&self.tensors[input], &self.tensors[output]);
        let expected = wrong.then_some(Status::Invalid);
        let tensors = std::mem::take(&mut self.tensors);
        let lists = (&[&tensors[input].tensor], &[&tensors[output].tensor]);
        let outcome = self.forward(expected, || loaded.model.run(lists.0, lists.1, Some(0), &CopyExecutor));
        self.tensors = tensors;
        if !wrong {
            self.ran(input, output, &outcome);
            self.counts.runs += u64::from(matches!(outcome, Outcome::Done(())));
        }
        let core = self.flat(loaded.vnc, 0);
        self.models.push(loaded);
        core
    }

    /// The first bytes of some piece of the weights are those of this model.
    pub(crate) fn read_weights(&mut self) -> usize {
        let Some(index) = self.rng.index(self.models.len()) else { return 0 };
        let loaded = self.models.swap_remove(index);
        let mut bytes = [0; 1];
        let cores = loaded.shares.len() as u64;
        let relative = self.rng.below(cores) as u32;
        let chunk = loaded.shares[0].pieces[0].2;
        let pieces = loaded.shares[relative as usize].pieces.iter().filter(|piece| piece.0 == Usage::Weight).count() as u64;
        let piece = self.rng.below(pieces + 1);
        let expected = (piece == pieces).then_some(Status::Invalid);
        let variable = WEIGHT + piece as u32;
        if let Outcome::Done(()) = self.forward(expected, || loaded.model.read_variable(relative, variable, 0, &mut bytes)) {
            let offset = (u64::from(relative) + piece * cores) * chunk;
            assert_eq!(bytes[0], Weights::byte(loaded.seed, offset), "weights of core {relative}");
        }
        let core = self.flat(loaded.vnc, relative);
        self.models.push(loaded);
        core
    }
}

const WEIGHT: u32 = 1000;

impl Recipe {
    fn shares(&self) -> Vec<Share> {
        let arenas = arenas(&self.local, if self.elsewhere { 0 } else { self.shared });
        (0..u64::from(self.cores))
            .zip(arenas)
            .map(|(core, arena)| {
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
                    if bytes > PAGE {
                        pieces.push((Usage::ScratchpadNotShared, Location::Device, bytes));
                    }
                }
                Share { pieces, pages: arena.div_ceil(PAGE) as u32, mem_refs }
            })
            .collect()
    }

    fn shares_library(&self) -> bool {
        self.sunda && self.libraries == 1
    }

    /// Bytes of the two parts of a set of its own: images at multiples of 64, and the table.
    fn own_set(&self) -> [u64; 2] {
        [(self.libraries as u64 - 1) * LIBRARY[0].next_multiple_of(64) + LIBRARY[0], LIBRARY[1]]
    }

    fn shared_pages(&self) -> u32 {
        self.shared.div_ceil(PAGE) as u32
    }

    /// Bytes of a planned variable that fills the local slice of a core, where the slice starts at a page. It gets memory of
    /// its own when it is larger than a page.
    fn scratch(&self, core: usize) -> Option<u64> {
        Some(self.local[core]).filter(|bytes| self.planned > 0 && *bytes > 0 && self.shared == 0)
    }

    fn planned(&self, core: usize) -> Vec<VariablePlan<'static>> {
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

    fn with_plan<T>(&self, seed: u8, with: impl FnOnce(&ModelPlan<'_>) -> T) -> T {
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
