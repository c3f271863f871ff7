//! Models: load, run, look at, unload.

use nrt_core::model::CopyExecutor;
use nrt_core::{Arch, Status, Usage};
use nrt_sim::kernel::ChunkEntry;

use crate::arena::Column;
use crate::books::{LIBRARY, MEM_REFS, MODELS, NODES, Share};
use crate::recipe::{Recipe, WEIGHT, Weights};
use crate::world::{Loaded, Outcome, World};

/// What the driver calls a page of the contiguous scratchpad.
const CONTIGUOUS: u32 = 19;

impl World<'_> {
    pub(crate) fn load_or_unload(&mut self) -> usize {
        let grow = if self.growing { 2 } else { 1 };
        if self.rng.below(3) < grow { self.load() } else { self.unload() }
    }

    fn recipe(&mut self) -> Recipe {
        let cores = if self.rng.once_in(2) { 1 } else { self.size };
        let mode = self.mode;
        // Slices that follow one another in an arena are such that each can start with a variable.
        let unit = if mode.one_core { 4096 } else { 1 };
        let slice = |rng: &mut crate::rng::Rng| match rng.below(3) {
            0 => 0,
            1 => rng.below(mode.page).next_multiple_of(unit),
            _ => rng.below(3 * mode.page).next_multiple_of(unit),
        };
        Recipe {
            mode,
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
        let core = self.flat(vnc, 0);
        let need = recipe.slices().pages(0, self.mode);
        let mut pages = self.mode.contiguous.then(|| self.columns[vnc as usize].grown(need, self.top(vnc), self.mode.page));
        let mut granted = pages.as_ref().map_or(need, |pages| need.min(pages.len() as u32));
        let mut shares = recipe.shares(granted);
        let expected = if granted < need && !recipe.soft() { Some(Status::Resource) } else { self.fits(vnc, &recipe, &shares) };
        let seed = self.rng.next() as u8;
        let (runtime, before) = (self.runtime, self.quarantined);
        let load = || recipe.with_plan(seed, |plan| runtime.core(vnc)?.load(plan));
        let (outcome, short) = self.forward_or_short(expected, self.mode.contiguous && recipe.soft(), load);
        if let Outcome::Done(model) = outcome {
            if short {
                // The driver had no room for some page, which one is told by the arena.
                let arena = runtime.core(vnc).unwrap().scratchpad_pages(0, &mut []).unwrap();
                assert!((self.books[core].arena()..=granted).contains(&arena), "{arena} pages");
                granted = arena;
                shares = recipe.shares(granted);
            }
            self.counts.short_arenas += u64::from(granted < need);
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
            if let Some(pages) = &mut pages {
                pages.truncate(self.books[core].arena() as usize);
                self.columns[vnc as usize].pages.clone_from(pages);
            }
            let library = recipe.shares_library();
            if library {
                self.books[core].library_users += 1;
                self.books[core].library_staged = true;
            }
            let offsets = recipe.slices().offsets;
            let held = |(core, offset): (usize, &u64)| {
                recipe.scratch(core).filter(|bytes| self.mode.holds(granted, *offset, *bytes)).map(|bytes| (*offset, bytes))
            };
            let scratch = offsets.iter().enumerate().map(held).collect();
            let Recipe { input, output, .. } = recipe;
            self.models.push(Loaded { model, vnc, shares, library, scratch, seed, input, output });
        }
        self.look_for_stuck_pages(vnc, before);
        core
    }

    /// End of the contiguous pages of a logical core: that of the main pool of its HBM, behind which a GiB of small chunks is.
    fn top(&self, vnc: u32) -> u64 {
        let channel = self.runtime.core(vnc).unwrap().default_channel().unwrap();
        let arch = self.runtime.arch();
        arch.hbm_base(channel).unwrap() + arch.hbm_bytes() - (1 << 30)
    }

    /// Pages whose release was refused since there were `before` such refusals of any kind.
    fn look_for_stuck_pages(&mut self, vnc: u32, before: u32) {
        if !self.mode.contiguous || self.quarantined == before {
            return;
        }
        let channel = self.runtime.core(vnc).unwrap().default_channel().unwrap();
        let mut chunks = vec![ChunkEntry::default(); 2 * NODES as usize];
        let count = self.driver.inner().kernel().dump_chunks(0, channel, &mut chunks).unwrap();
        let Column { pages, stuck } = &mut self.columns[vnc as usize];
        let held = chunks[..count].iter().filter(|chunk| chunk.category == CONTIGUOUS).map(|chunk| chunk.pa);
        let now: Vec<_> = held.filter(|page| !pages.contains(page)).collect();
        assert!(now.len() <= stuck.len() + 1 && stuck.iter().all(|page| now.contains(page)));
        *stuck = now;
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
        let (runtime, before) = (self.runtime, self.quarantined);
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
        self.columns[vnc as usize].pages.truncate(self.books[core].arena() as usize);
        self.look_for_stuck_pages(vnc, before);
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
