//! Group `pool`: a node of 192 bytes taken, zeroed and given back; nothing of what makes it an allocation.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use heapless::pool::boxed::BoxBlock;
use mimalloc::MiMalloc;
use nrt_core::bare::{NodeMemory, NodePool};
use talc::DefaultBinning;
use talc::base::Talc;
use talc::source::Manual;

use crate::c;
use crate::measure::{BATCH, Peer, Scenario};

/// Bytes of a node.
const BYTES: usize = 192;
/// As malloc aligns.
const NODE: Layout = match Layout::from_size_align(BYTES, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("192 bytes, aligned to 16"),
};
/// Nodes of each fixed pool.
const NODES: usize = 1024;
/// Bytes of each heap that is given one.
const HEAP: usize = 1 << 20;

/// A node of the fixed pools, on cache lines of its own as those of `nrt` are.
#[repr(C, align(64))]
pub struct Node(MaybeUninit<[u8; BYTES]>);

mod boxes {
    #![allow(missing_docs, unreachable_pub, reason = "the macro makes a public type without documentation")]
    heapless::box_pool!(Boxes: super::Node);
}
use boxes::Boxes;

static NRT: NodeMemory<NODES> = NodeMemory::new();

/// Slots and the numbers of the free ones under a spin lock.
struct IndexStack {
    free: spin::Mutex<(usize, [u32; NODES])>,
    slots: Box<[UnsafeCell<Node>]>,
}

// SAFETY: a slot belongs to whoever took its number off the stack.
unsafe impl Sync for IndexStack {}

impl IndexStack {
    fn new() -> Self {
        let slots = (0..NODES).map(|_| UnsafeCell::new(Node(MaybeUninit::zeroed()))).collect();
        Self { free: spin::Mutex::new((NODES, std::array::from_fn(|index| index as u32))), slots }
    }

    #[inline]
    fn pair(&self) {
        let index = {
            let mut free = self.free.lock();
            let Some(left) = free.0.checked_sub(1) else { panic!("no slot is free") };
            free.0 = left;
            free.1[left]
        };
        let slot = self.slots[index as usize].get();
        // SAFETY: the number was taken off the stack, so the slot is this thread's.
        unsafe { zero(slot.cast()) };
        let mut free = self.free.lock();
        let place = free.0;
        free.1[place] = index;
        free.0 = place + 1;
    }
}

/// Zeroes a node; the compiler must believe that somebody looks at it.
///
/// # Safety
/// `node` points to 192 bytes of the caller's.
#[inline]
unsafe fn zero(node: *mut u8) {
    // SAFETY: by contract.
    unsafe { node.write_bytes(0, BYTES) };
    black_box(node);
}

/// Memory that is touched in advance and lives for ever.
fn heap() -> &'static mut [MaybeUninit<u8>] {
    Box::leak(vec![MaybeUninit::new(1_u8); HEAP].into_boxed_slice())
}

type Tlsf = rlsf::Tlsf<'static, u32, u32, 32, 32>;

/// Everything that takes part. The pools live for ever.
struct Pools {
    nrt: NodePool,
    stack: IndexStack,
    rlsf: spin::Mutex<Tlsf>,
    talc: spin::Mutex<Talc<Manual, DefaultBinning>>,
}

// SAFETY: the raw pointers inside lead into heaps that only the lock's holder works on; the pool of `nrt` is shared by design.
unsafe impl Sync for Pools {}
// SAFETY: as above; nothing is tied to a thread.
unsafe impl Send for Pools {}

fn pools() -> &'static Pools {
    static POOLS: std::sync::OnceLock<Pools> = std::sync::OnceLock::new();
    POOLS.get_or_init(|| {
        let nrt = NodePool::new(&NRT).unwrap_or_else(|| unreachable!("claimed here only"));
        // Every page is touched before anything is timed.
        let all: Vec<_> = (0..NODES).filter_map(|_| nrt.take()).collect();
        assert_eq!(all.len(), NODES);
        all.into_iter().for_each(|node| nrt.give(node));
        for _ in 0..NODES {
            Boxes.manage(Box::leak(Box::new(BoxBlock::new())));
        }
        let mut tlsf = Tlsf::new();
        // The pool stays for as long as the allocator: for ever.
        let _ = tlsf.insert_free_block(heap());
        let mut talc = Talc::new(Manual);
        let memory = heap();
        // SAFETY: memory that lives for ever and that nobody else uses.
        let claimed = unsafe { talc.claim(memory.as_mut_ptr().cast(), memory.len()) };
        assert!(claimed.is_some());
        Pools { nrt, stack: IndexStack::new(), rlsf: spin::Mutex::new(tlsf), talc: spin::Mutex::new(talc) }
    })
}

/// Every scenario of the group.
#[must_use]
pub fn scenarios() -> Vec<Scenario<'static>> {
    vec![scenario("pool/1 thread", 1), scenario("pool/2 threads", 2)]
}

fn scenario(name: &'static str, threads: usize) -> Scenario<'static> {
    let pools = pools();
    let peer = |name, touches, locks, once: fn(&Pools)| Peer {
        name,
        touches,
        locks,
        work: Box::new(move |_, n| (0..n).for_each(|_| once(pools))),
    };
    let peers = vec![
        peer(
            "nrt",
            "zeroes 184 B and writes the other 8 (link, generation); slots of 256 B on lines of their own; stale handles are known",
            "none; 2 atomic read-modify-writes on the word of the slot freed last",
            |pools| {
                let Some(node) = pools.nrt.take() else { panic!("no node is free") };
                black_box(pools.nrt.bytes(&node));
                pools.nrt.give(node);
            },
        ),
        peer(
            "heapless BoxPool",
            "zeroes 192 B, slots padded to 64 B",
            "none; 2 atomic read-modify-writes, as portable-atomic makes them",
            |_| {
                let Ok(mut node) = Boxes.alloc(Node(MaybeUninit::uninit())) else { panic!("no block is free") };
                // SAFETY: 192 bytes of this owner's.
                unsafe { zero(node.0.as_mut_ptr().cast()) };
                drop(node);
            },
        ),
        Peer {
            name: "calloc + free",
            touches: "zeroes 192 B, aligned to 16, loop in C",
            locks: "malloc's; the cache of the thread in front",
            work: Box::new(|_, n| c::calloc_pairs(n)),
        },
        peer("mimalloc", "zeroes 192 B, aligned to 16", "none: per-thread heaps", |_| {
            // SAFETY: the layout is not empty, and the block goes back once, with the layout it came with.
            unsafe {
                let node = black_box(MiMalloc.alloc_zeroed(NODE));
                MiMalloc.dealloc(node, NODE);
            }
        }),
        peer(
            "rlsf",
            "zeroes 192 B, aligned to 16; a heap of 1 MiB, empty but for these",
            "spin lock 2x, as an allocator for all threads needs",
            |pools| {
                let node = pools.rlsf.lock().allocate(NODE);
                let Some(node) = node else { panic!("no memory") };
                // SAFETY: a block of 192 bytes that goes back once, with the alignment it came with.
                unsafe {
                    zero(node.as_ptr());
                    pools.rlsf.lock().deallocate(node, NODE.align());
                }
            },
        ),
        peer(
            "talc",
            "zeroes 192 B, aligned to 16; a heap of 1 MiB, empty but for these",
            "spin lock 2x, as an allocator for all threads needs",
            |pools| {
                // SAFETY: the layout is not empty; the block goes back once, with the layout it came with.
                unsafe {
                    let node: Option<NonNull<u8>> = pools.talc.lock().allocate(NODE);
                    let Some(node) = node else { panic!("no memory") };
                    zero(node.as_ptr());
                    pools.talc.lock().deallocate(node.as_ptr(), NODE);
                }
            },
        ),
        peer("spin-locked index stack", "zeroes 192 B, slots padded to 64 B; no generation", "spin lock 2x", |pools| {
            pools.stack.pair();
        }),
    ];
    Scenario { name, operation: "take, zero 192 B, give back", threads, batch: BATCH, alone: "", peers }
}
