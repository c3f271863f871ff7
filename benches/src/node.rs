//! Group `node`: a device allocation of 4 KiB with a 20-byte hint, and its release.

use std::alloc::{GlobalAlloc, Layout};
use std::hint::black_box;

use mimalloc::MiMalloc;
use nrt_core::{Allocation, Arch};
use nrt_linux::hooks::LinuxHooks;

use crate::c::{self, ObjectRequest};
use crate::measure::{BATCH, Peer, Scenario};
use crate::world::{self, Core, HINT, Stay, World};

/// The runtime as it is on Linux.
pub type LinuxWorld = World<LinuxHooks>;

/// Zeroed bytes the floors ask for: a `dmem_t`, aligned as malloc aligns.
const NODE: Layout = match Layout::from_size_align(192, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("192 bytes, aligned to 16"),
};

/// The peer that shows what a second thread costs.
pub const ALONE: &str = "nrt, one thread alone";

/// Where the threads of a scenario are at work: (device, core) of each.
type Places = [(u32, u32); 2];

/// Every scenario of the group.
#[must_use]
pub fn scenarios(world: LinuxWorld) -> Vec<Scenario<'static>> {
    let pairs = |name, threads, places| scenario(world, name, threads, places, false);
    vec![
        pairs("node/1 thread", 1, [(0, 0); 2]),
        staying(pairs("node/1 thread, one stay", 1, [(0, 0); 2]), world, false),
        scenario(world, "node/1 thread, 64 at a time", 1, [(0, 0); 2], true),
        staying(scenario(world, "node/1 thread, 64 at a time, one stay", 1, [(0, 0); 2], true), world, true),
        pairs("node/2 threads, one core", 2, [(0, 0), (0, 0)]),
        pairs("node/2 threads, one device", 2, [(0, 0), (0, 1)]),
        pairs("node/2 threads, two devices", 2, [(0, 0), (1, 0)]),
    ]
}

/// Whether every allocation of the group was released on both sides.
///
/// # Errors
/// What is left over.
pub fn verify(world: LinuxWorld) -> Result<(), String> {
    let left = (world.device_bytes(), world.live_nodes(), c::object_bytes());
    if left == (0, 0, 0) { Ok(()) } else { Err(format!("left over (nrt bytes, nrt nodes, C bytes): {left:?}")) }
}

/// The same request for the C side.
#[must_use]
pub fn c_request(device: u32, core: u32, arch: Arch) -> ObjectRequest<'static> {
    let request = world::allocation();
    let channel = arch.default_channel(core);
    ObjectRequest::new(device, core, channel, request.usage as u32, request.bytes as usize, HINT)
}

fn scenario(world: LinuxWorld, name: &'static str, threads: usize, places: Places, burst: bool) -> Scenario<'static> {
    let cores = places.map(|(device, core)| world::core(world, device, core));
    let requests = places.map(|(device, core)| c_request(device, core, world.arch()));
    let mut peers = vec![
        Peer {
            name: "nrt",
            touches: "static memory; zeroes nothing, writes about 205 B of a 256 B slot (node, hint and range), and per event \
                      64 B of ring and 40 B beside it (the text is copied); finds a stale handle",
            locks: "gate 2x, memory lock of the core 2x; 6 atomic read-modify-writes in all",
            work: Box::new(move |thread, n| {
                let request = black_box(world::allocation());
                if burst { nrt_burst(&cores[thread], &request, n) } else { nrt_pairs(&cores[thread], &request, n) }
            }),
        },
        Peer {
            name: "C object path",
            touches: "heap; zeroes 192 B, strdup of 21 B, writes 64 B of ring per event (the text is not copied: the ring \
                      names freed memory); no in-flight count, no stale handles",
            locks: "pthread mutex of the list 2x, of the ledger 2x; 9 atomic read-modify-writes besides malloc's",
            work: Box::new(move |thread, n| if burst { requests[thread].burst(n) } else { requests[thread].pairs(n) }),
        },
        Peer {
            name: "calloc + free",
            touches: "floor: zeroes 192 B, no hint, list, ledger or ring",
            locks: "malloc's",
            work: Box::new(move |_, n| if burst { c::calloc_burst(n) } else { c::calloc_pairs(n) }),
        },
        Peer {
            name: "mimalloc",
            touches: "floor: zeroes 192 B, no hint, list, ledger or ring",
            locks: "none: per-thread heaps",
            work: Box::new(move |_, n| if burst { mimalloc_burst(n) } else { mimalloc_pairs(n) }),
        },
    ];
    if threads > 1 {
        peers.push(Peer {
            name: ALONE,
            touches: "as nrt, while the other thread does nothing",
            locks: "as nrt",
            work: Box::new(move |thread, n| nrt_pairs(&cores[thread], &black_box(world::allocation()), n)),
        });
    }
    let operation = if burst { "allocate and release, 64 live in between" } else { "allocate and release" };
    Scenario { name, operation, threads, batch: BATCH, alone: ALONE, peers }
}

fn nrt_pairs(core: &Core<LinuxHooks>, request: &Allocation<'_>, n: u32) {
    for _ in 0..n {
        drop(world::allocate(core, request));
    }
}

/// The same with the gate passed once for a batch: C has no gate.
fn staying(mut scenario: Scenario<'static>, world: LinuxWorld, burst: bool) -> Scenario<'static> {
    let core = world::core(world, 0, 0);
    scenario.peers[0] = Peer {
        name: "nrt",
        touches: "as without a stay, but for the gate, which is passed once for a batch",
        locks: "memory lock of the core 2x; 2 atomic read-modify-writes in all",
        work: Box::new(move |_, n| {
            let (request, inside) = (black_box(world::allocation()), world::stay(world));
            if burst { staying_burst(&inside, &core, &request, n) } else { staying_pairs(&inside, &core, &request, n) }
        }),
    };
    scenario
}

fn staying_pairs(inside: &Stay<LinuxHooks>, core: &Core<LinuxHooks>, request: &Allocation<'_>, n: u32) {
    for _ in 0..n {
        inside.release(world::allocate_inside(inside, core, request));
    }
}

fn staying_burst(inside: &Stay<LinuxHooks>, core: &Core<LinuxHooks>, request: &Allocation<'_>, n: u32) {
    let mut live: [_; 64] = [const { None }; 64];
    let live = &mut live[..n.min(64) as usize];
    live.iter_mut().for_each(|place| *place = Some(world::allocate_inside(inside, core, request)));
    black_box(&mut *live).iter_mut().filter_map(Option::take).for_each(|memory| inside.release(memory));
}

fn nrt_burst(core: &Core<LinuxHooks>, request: &Allocation<'_>, n: u32) {
    let mut live: [_; 64] = [const { None }; 64];
    let live = &mut live[..n.min(64) as usize];
    live.iter_mut().for_each(|place| *place = Some(world::allocate(core, request)));
    black_box(&mut *live).iter_mut().for_each(|place| *place = None);
}

fn mimalloc_pairs(n: u32) {
    for _ in 0..n {
        // SAFETY: the layout is not empty, and each block goes back once, with the layout it came with.
        unsafe {
            let node = black_box(MiMalloc.alloc_zeroed(NODE));
            MiMalloc.dealloc(node, NODE);
        }
    }
}

fn mimalloc_burst(n: u32) {
    let mut live = [std::ptr::null_mut(); 64];
    let live = &mut live[..n.min(64) as usize];
    // SAFETY: as above.
    unsafe {
        live.iter_mut().for_each(|place| *place = MiMalloc.alloc_zeroed(NODE));
        black_box(&mut *live).iter().for_each(|&node| MiMalloc.dealloc(node, NODE));
    }
}
