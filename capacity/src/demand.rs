//! What a deployment takes from the pools of the runtime's storage: for the check in front of the main job, and for whoever
//! lays out a storage of exactly that size.
//!
//! # Why it is enough
//! All models are resident at most once at a time: a reload gives back everything of a model before it takes it again, and
//! one thread reloads at a time. The tensors of the serving threads are allocated once. Requests take nothing. So the sum
//! of the needs below is the most that is ever live, in whatever order models come and go.
//!
//! Slots are all alike, so a pool with as many slots as are live at most is never full. Tables are runs of a power of two of
//! blocks, and fit as well: a storage with as many blocks as all runs together has room for them, since what is left over is
//! always a sum of powers of two not smaller than the next run; and taking the smallest free run that is large enough
//! never makes a layout impossible that was possible, since the run that a request would have had elsewhere can be exchanged
//! with what would have been here. After an unload the runs of the model are free where they were.
//!
//! # Where it is more than is used
//! *Models*: a runtime has at least as many slots as a logical core has cores. *Nodes*: at least 8. *`mem_refs`* is one number
//! for the records of variables and for the blocks of their tables: the larger one counts. *Scratchpad in one piece*: whether the
//! machine can have it is not known here, nor how far it grows there; so the larger of both ways is counted, and a piece of
//! memory for what finds no place in it. *Scratchpads of an HBM on one core, in logical cores of one core*: which cores are
//! together depends on the first one that the process gets, so each is counted by itself.

use nrt_core::arch::Arch;
use nrt_core::{Capacities, Pool};

use crate::deployment::{Deployment, Model};

/// Scratchpad page in bytes when nothing else is asked for, which is also the one that models are compiled for: no variable
/// of a scratchpad in pages is larger. Where the pages are smaller, one that fits none has memory of its own.
pub const SCRATCHPAD_PAGE_BYTES: u64 = 512 << 20;
/// Scratchpad page in bytes where the scratchpad is in one piece.
pub const CONTIGUOUS_PAGE_BYTES: u64 = 64 << 20;
/// A slice of the scratchpad begins where the one before ends, and what is in it at a multiple of this.
pub const SLICE_ALIGN: u64 = 4096;
/// Engines that have code.
pub const ENGINES: usize = 5;
/// Variables of the scratchpad on each core, and on every core but the first.
const SCRATCHPAD_VARIABLES: (u64, u64) = (4, 5);
/// Entries of a pointer table beside the inputs and outputs.
pub const TABLE_EXTRA: usize = 2;
/// Allocations of a set of microcode libraries: the images and the table.
pub const LIBRARY_NODES: u32 = 2;
/// Functions of a microcode library.
pub const LIBRARY_FUNCTIONS: usize = 2;

/// How the runtime cuts scratchpads: what the environment can change about a demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratchpads {
    /// Bytes of a page, a multiple of 4,096 and not 0; not used where they are in one piece.
    pub page_bytes: u64,
    /// In one piece, where the machine can have it.
    pub contiguous: bool,
    /// Those of all cores of an HBM on the first one.
    pub one_core: bool,
}

impl Scratchpads {
    /// What a deployment asks for, where the environment asks for nothing.
    #[must_use]
    pub fn of(deployment: &Deployment) -> Self {
        Self { page_bytes: SCRATCHPAD_PAGE_BYTES, contiguous: deployment.contiguous_scratchpad, one_core: false }
    }

    /// Scratchpad pages of a model: on each of its cores, or for all of them together where they are on one.
    #[must_use]
    pub fn pages(&self, model: &Model) -> u64 {
        let slice = model.scratchpad_bytes.next_multiple_of(SLICE_ALIGN);
        if self.contiguous {
            (slice * u64::from(model.subgraphs)).div_ceil(CONTIGUOUS_PAGE_BYTES)
        } else if self.one_core {
            self.pages_together(slice, model.subgraphs)
        } else {
            slice.div_ceil(self.page())
        }
    }

    /// Pages of `slices` slices one behind the other: one that would cross the end of a page begins on the next.
    fn pages_together(&self, slice: u64, slices: u32) -> u64 {
        let page = self.page();
        let end = (0..slices).fold(0_u64, |end, _| {
            let left = end.next_multiple_of(page) - end;
            if left < slice { end + left + slice } else { end + slice }
        });
        end.div_ceil(page)
    }

    /// Whether the variable of a model's scratchpad has memory of its own, or may have. No slice crosses a page that it does not
    /// fill, so only the length counts.
    fn private(&self, model: &Model) -> bool {
        self.contiguous || model.scratchpad_bytes.min(SCRATCHPAD_PAGE_BYTES) > self.page()
    }

    /// Bytes of a page in pieces.
    fn page(&self) -> u64 {
        self.page_bytes.max(SLICE_ALIGN)
    }
}

/// Who needs something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The model with this number in the deployment, on one of its cores: its place in the logical core.
    Model {
        /// Number of the model.
        model: usize,
        /// Place of the core.
        relative: u32,
    },
    /// Several models of one physical core together, counted over all devices.
    Core(u32),
    /// The serving threads together, for this model.
    Threads(usize),
}

/// Slots of a pool that are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Which pool: nodes, models, `mem_refs`, tables or tensors.
    pub pool: Pool,
    /// How many slots of it.
    pub slots: u64,
    /// Who needs them.
    pub holder: Holder,
    /// What for.
    pub what: &'static str,
}

/// The sums for each pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Live allocations.
    pub nodes: u64,
    /// Models times their cores.
    pub models: u64,
    /// Variables.
    pub mem_refs: u64,
    /// Blocks of tables.
    pub tables: u64,
    /// Tensors, of which those of a thread for a model are slices of one; and their names in tensor sets.
    pub tensors: u64,
}

impl Demand {
    /// The demand of a deployment whose weights have the bytes that `weight_bytes` tells by the number of the model; or that
    /// of one of its models if it were alone.
    #[must_use]
    pub fn of(
        deployment: &Deployment,
        scratchpads: &Scratchpads,
        weight_bytes: &dyn Fn(usize) -> u64,
        only: Option<usize>,
    ) -> Self {
        let mut demand = Self::default();
        for_each_need(deployment, scratchpads, weight_bytes, only, &mut |need| {
            let sum = match need.pool {
                Pool::Nodes => &mut demand.nodes,
                Pool::Models => &mut demand.models,
                Pool::MemRefs => &mut demand.mem_refs,
                Pool::Tables => &mut demand.tables,
                _ => &mut demand.tensors,
            };
            *sum = sum.saturating_add(need.slots);
        });
        demand
    }

    /// The smallest capacities that meet the demand, with `ring` event-ring entries for each device, on logical cores of
    /// `logical_core_size` cores.
    #[must_use]
    pub fn capacities(&self, logical_core_size: u32, ring: usize) -> Capacities {
        let least = Capacities::LEAST;
        let slots = |count: u64, least: usize| usize::try_from(count).unwrap_or(usize::MAX).max(least);
        Capacities {
            nodes: slots(self.nodes, least.nodes),
            models: slots(self.models.max(logical_core_size.into()), least.models),
            mem_refs: slots(self.mem_refs.max(self.tables), least.mem_refs),
            tensors: slots(self.tensors, least.tensors),
            ring: ring.max(least.ring),
        }
    }
}

/// Bytes of code of each engine: a fifth each, and what is left over on the first ones.
#[must_use]
pub fn code_bytes(model: &Model) -> [u64; ENGINES] {
    let (each, rest) = (model.code_bytes / ENGINES as u64, model.code_bytes % ENGINES as u64);
    core::array::from_fn(|engine| each + u64::from((engine as u64) < rest))
}

/// Number of weight chunks on each core.
fn weight_chunks(model: &Model, weight_bytes: u64, relative: u32) -> u64 {
    let (chunks, step) = (model.weight_chunks(weight_bytes), u64::from(model.subgraphs.max(1)));
    chunks.saturating_sub(u64::from(relative)).div_ceil(step)
}

/// Calls `visit` with everything a deployment takes from the pools, in the order models, cores; with `only`, what one of its
/// models would take if it were alone.
pub fn for_each_need(
    deployment: &Deployment,
    scratchpads: &Scratchpads,
    weight_bytes: &dyn Fn(usize) -> u64,
    only: Option<usize>,
    visit: &mut dyn FnMut(Need),
) {
    let all = deployment.models();
    let models = || all.iter().enumerate().filter(move |(index, _)| only.is_none_or(|only| only == *index));
    let mut need = |pool, slots, holder, what| {
        if slots != 0 {
            visit(Need { pool, slots, holder, what });
        }
    };
    let sunda = deployment.arch() == Arch::Sunda;
    for (index, model) in models() {
        let scratchpad = model.scratchpad_bytes != 0;
        let io = model.inputs.len() + model.outputs.len();
        for relative in 0..model.subgraphs {
            let holder = Holder::Model { model: index, relative };
            let chunks = weight_chunks(model, weight_bytes(index), relative);
            let code = code_bytes(model).iter().filter(|bytes| **bytes != 0).count() as u64;
            let spill = u64::from(model.spill_bytes != 0);
            let regions = model.regions.len() as u64;
            need(Pool::Models, 1, holder, "the model");
            for pool in [Pool::Nodes, Pool::MemRefs] {
                need(pool, chunks, holder, "weight chunks");
                need(pool, code, holder, "code of engines");
                need(pool, spill, holder, "spill");
                need(pool, regions, holder, "regions");
            }
            need(Pool::MemRefs, io as u64, holder, "inputs and outputs");
            if scratchpad {
                let variables = if relative == 0 { SCRATCHPAD_VARIABLES.0 } else { SCRATCHPAD_VARIABLES.1 };
                need(Pool::MemRefs, variables, holder, "variables of the scratchpad");
                need(Pool::Tables, Capacities::pointer_table_blocks(io + TABLE_EXTRA) as u64, holder, "the pointer table");
                need(Pool::Nodes, 1, holder, "pointer variables");
                if scratchpads.private(model) {
                    need(Pool::Nodes, 1, holder, "a variable that finds no scratchpad");
                }
            }
            if sunda && model.ulibs > 1 {
                let functions = model.ulibs as usize * LIBRARY_FUNCTIONS;
                need(Pool::Nodes, LIBRARY_NODES.into(), holder, "microcode libraries of its own");
                need(Pool::Tables, Capacities::function_blocks(functions) as u64, holder, "functions of its libraries");
            }
        }
        let threads = u64::from(deployment.threads);
        need(Pool::Nodes, threads, Holder::Threads(index), "memory of the threads");
        need(
            Pool::Tensors,
            threads * (io as u64 + 1),
            Holder::Threads(index),
            "inputs and outputs of the threads, slices of one",
        );
    }
    // What the models of a core share is as much as the one needs that needs most.
    let size = deployment.logical_core_size.max(1);
    let on_core = |core: u32| models().map(|(_, model)| model).filter(move |model| on_core(model, size, core));
    let group = deployment.arch().cores_per_hbm().max(1);
    let apart = Scratchpads { contiguous: false, one_core: false, ..*scratchpads };
    let together = Scratchpads { contiguous: false, ..*scratchpads };
    for core in 0..deployment.logical_cores() * size {
        let most = |core, way: &Scratchpads| on_core(core).map(|model| way.pages(model)).max().unwrap_or(0);
        let hbm = core..core + group;
        let pages = if !scratchpads.contiguous && (!scratchpads.one_core || size < group) {
            most(core, &apart)
        } else if core.is_multiple_of(group) {
            // The pages of all cores of the HBM are on the first one; in pieces, if the machine cannot have them in one.
            let one = hbm.clone().map(|core| most(core, scratchpads)).max().unwrap_or(0);
            let pieces = if scratchpads.one_core && size == group {
                most(core, &together)
            } else {
                hbm.map(|core| most(core, &apart)).sum()
            };
            one.max(pieces)
        } else {
            0
        };
        need(Pool::Nodes, pages, Holder::Core(core), "scratchpad pages");
        if sunda && on_core(core).any(|model| model.ulibs == 1) {
            let blocks = Capacities::function_blocks(LIBRARY_FUNCTIONS) as u64;
            need(Pool::Nodes, LIBRARY_NODES.into(), Holder::Core(core), "the shared microcode library");
            need(Pool::Tables, blocks, Holder::Core(core), "functions of the shared library");
        }
    }
}

/// Whether a model is on a physical core, in logical cores of `size` cores.
fn on_core(model: &Model, size: u32, core: u32) -> bool {
    core / size == model.vnc && core % size < model.subgraphs
}
