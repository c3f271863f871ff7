//! Everything that can be seen of a runtime and its driver, in a form that can be compared.

use std::sync::atomic::Ordering::Relaxed;

use nrt_core::Usage;
use nrt_sim::Live;

use crate::rig::{FaultyRuntime, Rig};

/// One node of a core's GLOBAL heap, in the order of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    size: usize,
    location: u32,
    usage: u32,
    channel: u32,
    references: u64,
    mapped: bool,
    hint: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Core {
    ledger: [u64; Usage::COUNT],
    total: u64,
    allocations: u32,
    heap: Vec<Node>,
    pages: Vec<u32>,
    library: (u32, bool),
    residents: u64,
    running: u32,
    models: Vec<(String, [u64; Usage::COUNT], u32)>,
}

/// The state between two operations. Addresses and model ids are left out: they differ from run to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    cores: Vec<Core>,
    /// The documented place of the bytes per HBM channel.
    channels: [usize; 4],
    device_bytes: u64,
    nodes: u64,
    host_bytes: u64,
}

/// What the driver holds, and how much of it the runtime has given up on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holdings {
    live: Live,
    categories: [u64; 20],
    pub(crate) quarantined: u32,
}

impl Snapshot {
    pub(crate) fn take(runtime: &FaultyRuntime, rig: &Rig) -> (Self, Holdings) {
        let mut cores = Vec::new();
        let mut quarantined = 0;
        // The mapping of a contiguous page is kept with it, also when the load that asked for it fails: it goes with the page.
        let mut kept = 0;
        for vnc in 0..runtime.logical_cores() {
            for relative in 0..runtime.logical_core_size() {
                let core = runtime.core(vnc).unwrap();
                let (device, index) = core.physical(relative).unwrap();
                let usage = core.usage(relative).unwrap();
                quarantined += usage.quarantined;
                let mut refs = [0; 16];
                let pages = core.scratchpad_pages(relative, &mut refs).unwrap();
                let mut models = Vec::new();
                let residents = core.resident_models(relative).unwrap();
                if residents > 0 {
                    runtime
                        .for_each_model_usage(device, index, |usage, name| {
                            models.push((name.to_owned(), usage.bytes, usage.allocations));
                        })
                        .unwrap();
                }
                models.sort();
                let mut heap = heap(runtime, device, index);
                if runtime.contiguous_scratchpad() {
                    let pages = heap.iter_mut().filter(|node| node.usage == Usage::Scratchpad as u32);
                    kept += pages.filter_map(|page| std::mem::take(&mut page.mapped).then_some(1)).sum::<u64>();
                }
                cores.push(Core {
                    ledger: usage.bytes,
                    total: usage.total,
                    allocations: usage.allocations,
                    heap,
                    pages: refs[..pages as usize].to_vec(),
                    library: core.library_users(relative).unwrap(),
                    residents,
                    running: core.running_model(relative).unwrap(),
                    models,
                });
            }
        }
        runtime.refresh_ledger(0).unwrap();
        let ledger = runtime.with_tree(|tree| tree.mla(0)).unwrap().unwrap().as_ptr();
        // SAFETY: the tree lives for ever; the counters are atomics.
        let channels = std::array::from_fn(|channel| unsafe { (&(*ledger).dmem_logger.memory_usage)[channel].load(Relaxed) });
        let snapshot = Self {
            cores,
            channels,
            device_bytes: runtime.device_bytes(),
            nodes: runtime.live_nodes(),
            host_bytes: rig.hooks.live_bytes(),
        };
        snapshot.check();
        let categories = std::array::from_fn(|category| rig.sim().category_usage(0, category as u32).bytes);
        let live = rig.live();
        (snapshot, Holdings { live: Live { mappings: live.mappings - kept, ..live }, categories, quarantined })
    }

    /// Bytes of one usage on all cores.
    pub(crate) fn bytes(&self, usage: Usage) -> u64 {
        self.cores.iter().map(|core| core.ledger[usage.number()]).sum()
    }

    /// The books agree with each other.
    fn check(&self) {
        assert_eq!(self.nodes, self.cores.iter().map(|core| u64::from(core.allocations)).sum::<u64>());
        assert_eq!(self.device_bytes, self.channels.iter().sum::<usize>() as u64);
        assert_eq!(self.device_bytes, self.cores.iter().map(|core| core.total).sum::<u64>());
        for core in &self.cores {
            assert_eq!(core.total, core.ledger.iter().sum::<u64>());
            assert_eq!(core.residents, core.models.len() as u64);
            let owned: u32 = core.models.iter().map(|(_, _, allocations)| allocations).sum();
            // What models hold in the heap of the core counts as theirs.
            let theirs = core.heap.iter().filter(|node| node.hint == crate::plans::OF_THE_CORE).count() as u32;
            assert_eq!(core.allocations, owned + core.heap.len() as u32 - theirs);
            assert_eq!(core.pages.len(), core.heap.iter().filter(|node| node.usage == Usage::Scratchpad as u32).count());
            assert!(core.pages.iter().all(|refs| *refs > 0), "no page without a user");
            assert_eq!(core.running, 0);
        }
    }
}

impl Holdings {
    /// The same as `expected`, apart from `quarantined` chunks the runtime could not give back.
    pub(crate) fn check(&self, expected: &Self, quarantined: u32, rig: &Rig, step: &str) {
        assert_eq!(self.quarantined, quarantined, "{step}: quarantined");
        let chunks = expected.live.chunks..=expected.live.chunks + u64::from(quarantined);
        // Memory that was carved out of a reservation is no chunk of the driver's.
        let kept = if rig.reserve == 0 { self.live.chunks == *chunks.end() } else { chunks.contains(&self.live.chunks) };
        assert!(kept, "{step}: the driver has {} chunks, expected {chunks:?}", self.live.chunks);
        if quarantined == 0 {
            assert_eq!(self, expected, "{step}: the driver");
        }
    }
}

/// Walks the GLOBAL heap of a core as a debugger would.
fn heap(runtime: &FaultyRuntime, device: u32, core: u32) -> Vec<Node> {
    let tpb = runtime.with_tree(|tree| tree.resolve(device, core)).unwrap().unwrap().tpb.as_ptr();
    let mut nodes = Vec::new();
    // SAFETY: the record of an open runtime; only this thread changes the list. The links lead to live nodes, the last one
    // to the sentinel, and the hint of a live node is NUL-terminated text.
    unsafe {
        let allocator = (*tpb).tpb_allocator;
        let (head, tail) = (&raw const (*allocator).dummy_head, &raw const (*allocator).dummy_tail);
        let (mut before, mut node) = (head, (*head).next.load(Relaxed).cast_const());
        while !std::ptr::eq(node, tail) {
            assert_eq!((*node).prev.load(Relaxed).cast_const(), before);
            assert_eq!((*node).allocator.load(Relaxed), allocator);
            nodes.push(Node {
                size: (*node).size,
                location: (*node).mem_type.0,
                usage: (*node).mem_usage_type.0,
                channel: (*node).tdram_channel,
                references: (*node).ref_count.load(Relaxed),
                mapped: !(*node)._va.load(Relaxed).is_null(),
                hint: std::ffi::CStr::from_ptr((*node).hint).to_string_lossy().into_owned(),
            });
            (before, node) = (node, (*node).next.load(Relaxed).cast_const());
        }
        assert_eq!((*tail).prev.load(Relaxed).cast_const(), before);
    }
    nodes
}
