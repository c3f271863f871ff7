//! Whether a deployment fits the static memory, before anything is allocated.

use nrt_core::Capacities;
use nrt_core::arch::Arch;

use super::plan;
use super::say::say;
use super::source::Sources;
use crate::cli::Exit;
use crate::deployment::{Deployment, Model};

/// Scratchpad page of the runtime in bytes.
pub(super) const SCRATCHPAD_PAGE_BYTES: u64 = 512 << 20;
/// Scratchpad page where the scratchpad is in one piece.
const CONTIGUOUS_PAGE_BYTES: u64 = 64 << 20;
/// Most scratchpad pages of a core.
const MAX_SCRATCHPAD_PAGES: u64 = 1024;

/// Slots of one pool: what a deployment needs and what there is.
struct Demand {
    pool: &'static str,
    need: u64,
    have: u64,
    /// The model that needs most, and how much.
    most: Option<(usize, u64)>,
}

impl Demand {
    fn new(pool: &'static str, have: u64) -> Self {
        Self { pool, need: 0, have, most: None }
    }

    fn add(&mut self, model: usize, slots: u64) {
        self.need = self.need.saturating_add(slots);
        if self.most.is_none_or(|(_, most)| slots > most) {
            self.most = Some((model, slots));
        }
    }
}

/// Checks that all models, with everything that serving them needs, have room at the same time.
///
/// # Errors
/// [`Exit::Usage`] when a pool is too small; each such pool has been reported.
pub(super) fn check(deployment: &Deployment, sources: &Sources, capacities: Capacities) -> Result<(), Exit> {
    let mut nodes = Demand::new("nodes", capacities.nodes as u64);
    let mut models = Demand::new("models", capacities.models as u64);
    let mut mem_refs = Demand::new("mem_refs", capacities.mem_refs as u64);
    let mut tensors = Demand::new("tensors", capacities.tensors as u64);
    let mut fits = true;
    for (index, (model, source)) in deployment.models().iter().zip(sources).enumerate() {
        let io = (model.inputs.len() + model.outputs.len()) as u64;
        let subgraphs = u64::from(model.subgraphs);
        let bound = u64::from(deployment.threads) * io;
        let on_all = |count: &dyn Fn(u32) -> u64| (0..model.subgraphs).map(count).sum::<u64>();
        let own = on_all(&|relative| plan::nodes_on_core(model, deployment.arch(), source.bytes(), relative));
        let variables = on_all(&|relative| plan::variables_on_core(model, source.bytes(), relative));
        // Models of one core share pages and library; what is counted twice here is taken back below.
        let shared = pages(deployment, model) + library_nodes(model, deployment.arch());
        nodes.add(index, own + bound + shared * subgraphs);
        models.add(index, subgraphs);
        mem_refs.add(index, variables + io * subgraphs);
        tensors.add(index, bound);
        // In one piece, the slices of all subgraphs are on one core.
        let slices = if deployment.contiguous_scratchpad { subgraphs } else { 1 };
        let need = pages(deployment, model) * slices;
        if need > MAX_SCRATCHPAD_PAGES {
            let name = &model.name;
            say(format_args!(
                "model \"{name}\", key \"scratchpad_bytes\": {need} scratchpad pages are needed, a core has {MAX_SCRATCHPAD_PAGES}"
            ));
            fits = false;
        }
    }
    nodes.need -= counted_twice(deployment);
    for Demand { pool, need, have, most } in [nodes, models, mem_refs, tensors] {
        if need > have {
            let most = most.and_then(|(model, slots)| Some((&deployment.models().get(model)?.name, slots)));
            let (name, slots) = most.map_or(("", 0), |(name, slots)| (name.as_str(), slots));
            say(format_args!(
                "the deployment does not fit the static memory: {need} {pool} are needed, there are {have}; model \"{name}\" \
                 alone needs {slots}"
            ));
            fits = false;
        }
    }
    if fits { Ok(()) } else { Err(Exit::Usage) }
}

/// Scratchpad pages of a model: on each of its cores or, in one piece, for each of them on the first one.
fn pages(deployment: &Deployment, model: &Model) -> u64 {
    let page = if deployment.contiguous_scratchpad { CONTIGUOUS_PAGE_BYTES } else { SCRATCHPAD_PAGE_BYTES };
    model.scratchpad_bytes.div_ceil(page)
}

/// Allocations of the microcode library that a core keeps for this model and others.
fn library_nodes(model: &Model, arch: Arch) -> u64 {
    if arch == Arch::Sunda && model.ulibs == 1 { plan::LIBRARY_NODES.into() } else { 0 }
}

/// Nodes that models of one core share, beyond the first of each.
fn counted_twice(deployment: &Deployment) -> u64 {
    let mut twice = 0;
    for vnc in 0..deployment.logical_cores() {
        for relative in 0..deployment.logical_core_size {
            let here = || deployment.models().iter().filter(|model| model.vnc == vnc && model.subgraphs > relative);
            let both = |count: &dyn Fn(&Model) -> u64| here().map(count).sum::<u64>() - here().map(count).max().unwrap_or(0);
            twice += both(&|model| pages(deployment, model)) + both(&|model| library_nodes(model, deployment.arch()));
        }
    }
    twice
}
