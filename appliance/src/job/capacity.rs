//! Whether a deployment fits the static memory, before anything is allocated.

use nrt_core::Capacities;
use nrt_core::environment::Environment;

use super::say::say;
use super::source::Sources;
use super::tensors::MAX_BOUND;
use crate::cli::Exit;
use crate::demand::{Demand, Scratchpads};
use crate::deployment::Deployment;

/// Most scratchpad pages of a core.
const MAX_SCRATCHPAD_PAGES: u64 = 1024;

/// Slots of one pool.
type Slots = fn(&Demand) -> u64;

/// Checks that all models, with everything that serving them needs, have room at the same time.
///
/// # Errors
/// [`Exit::Usage`] when a pool is too small; each such pool has been reported.
#[inline(never)]
pub(super) fn check(
    deployment: &Deployment,
    environment: &Environment,
    sources: &Sources,
    capacities: Capacities,
) -> Result<(), Exit> {
    let scratchpads = Scratchpads {
        page_bytes: environment.scratchpad_page_size,
        contiguous: deployment.contiguous_scratchpad || environment.contiguous_scratchpad,
        one_core: environment.scratchpad_on_single_core,
    };
    let mut fits = true;
    for model in deployment.models() {
        let need = scratchpads.pages(model);
        if need > MAX_SCRATCHPAD_PAGES {
            let name = &model.name;
            say(format_args!(
                "model \"{name}\", key \"scratchpad_bytes\": {need} scratchpad pages are needed, a core has {MAX_SCRATCHPAD_PAGES}"
            ));
            fits = false;
        }
    }
    let weight_bytes = |model: usize| sources.get(model).map_or(0, |source| source.bytes());
    let demand = |only| Demand::of(deployment, &scratchpads, &weight_bytes, only);
    let have = capacities;
    let pools: [(&str, usize, Slots); 5] = [
        ("nodes", have.nodes, |demand| demand.nodes),
        ("models", have.models, |demand| demand.models),
        ("mem_refs", have.mem_refs, |demand| demand.mem_refs),
        ("tables (mem_refs)", have.mem_refs, |demand| demand.tables),
        ("tensors", have.tensors.min(MAX_BOUND), |demand| demand.tensors),
    ];
    let all = demand(None);
    for (pool, have, of) in pools {
        let need = of(&all);
        if need <= have as u64 {
            continue;
        }
        fits = false;
        // The first of those that need most.
        let alone = |index| of(&demand(Some(index)));
        let most = (0..deployment.models().len()).rev().max_by_key(|index| alone(*index)).unwrap_or(0);
        let name = deployment.models().get(most).map_or("", |model| model.name.as_str());
        say(format_args!(
            "the deployment does not fit the static memory: {need} {pool} are needed, there are {have}; model \"{name}\" \
             alone needs {}",
            alone(most)
        ));
    }
    if fits { Ok(()) } else { Err(Exit::Usage) }
}
