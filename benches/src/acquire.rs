//! Group `acquire`: a resident model is found by its id and taken, a word of it is read, it is given back.

use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;
use std::sync::{Arc, RwLock};

use arc_swap::ArcSwap;
use nrt_core::bare::Database;
use nrt_linux::hooks::LinuxHooks;
use slotmap::{DefaultKey, SlotMap};

use crate::c::CModel;
use crate::driver::NullDriver;
use crate::measure::{BATCH, Peer, Scenario};

/// The models of a core in a runtime.
pub type Models = Database<'static, NullDriver, LinuxHooks>;

/// What the maps hold: of the size of a `model_t`, on cache lines of its own.
#[repr(C, align(64))]
struct Payload {
    id: u32,
    _rest: [u8; 7740],
}

impl Payload {
    fn new(id: u32) -> Self {
        Self { id, _rest: [0; 7740] }
    }

    #[inline]
    fn read(&self) -> u32 {
        // SAFETY: a live field; volatile, as the other sides read theirs.
        unsafe { std::ptr::from_ref(&self.id).read_volatile() }
    }
}

/// The id is its own hash, as in the documented table; spread over the upper bits too, which some maps take.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }
    #[inline]
    fn write_u32(&mut self, id: u32) {
        self.0 = u64::from(id).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

type State = BuildHasherDefault<Spread>;

/// The same models in every map.
pub struct Maps {
    ids: Vec<u32>,
    papaya: papaya::HashMap<u32, Box<Payload>, State>,
    papaya_arc: papaya::HashMap<u32, Arc<Payload>, State>,
    scc: scc::HashIndex<u32, Arc<Payload>, State>,
    slab: sharded_slab::Slab<Box<Payload>>,
    slab_keys: Vec<usize>,
    swap: ArcSwap<std::collections::HashMap<u32, Box<Payload>, State>>,
    slots: RwLock<SlotMap<DefaultKey, Box<Payload>>>,
    slot_keys: Vec<DefaultKey>,
}

impl Maps {
    /// Fills them.
    ///
    /// # Panics
    /// When an id is given twice.
    #[must_use]
    pub fn new(ids: Vec<u32>) -> Self {
        let (papaya, papaya_arc) =
            (papaya::HashMap::with_hasher(State::default()), papaya::HashMap::with_hasher(State::default()));
        let scc = scc::HashIndex::with_hasher(State::default());
        let slab = sharded_slab::Slab::new();
        let (mut map, mut slots) = (std::collections::HashMap::with_hasher(State::default()), SlotMap::new());
        let (mut slab_keys, mut slot_keys) = (Vec::new(), Vec::new());
        let boxed = |id| Box::new(Payload::new(id));
        for &id in &ids {
            papaya.pin().insert(id, boxed(id));
            papaya_arc.pin().insert(id, Arc::new(Payload::new(id)));
            assert!(scc.insert_sync(id, Arc::new(Payload::new(id))).is_ok(), "ids are different");
            slab_keys.extend(slab.insert(boxed(id)));
            map.insert(id, boxed(id));
            slot_keys.push(slots.insert(boxed(id)));
        }
        assert_eq!(slab_keys.len(), ids.len());
        let (swap, slots) = (ArcSwap::from_pointee(map), RwLock::new(slots));
        Self { ids, papaya, papaya_arc, scc, slab, slab_keys, swap, slots, slot_keys }
    }

    /// Every scenario of the group; `striped` and `c` have models under the same ids, `c` those of the C side.
    #[must_use]
    pub fn scenarios<'a>(&'a self, database: &'a Models, striped: &'a Models, c: &'a [CModel]) -> Vec<Scenario<'a>> {
        vec![
            self.scenario("acquire/1 thread", 1, [10, 10], [database, striped], c),
            self.scenario("acquire/2 threads, two models of a core", 2, [10, 40], [database, striped], c),
            self.scenario("acquire/2 threads, one model", 2, [10, 10], [database, striped], c),
        ]
    }

    fn scenario<'a>(
        &'a self,
        name: &'static str,
        threads: usize,
        targets: [usize; 2],
        [database, striped]: [&'a Models; 2],
        c: &'a [CModel],
    ) -> Scenario<'a> {
        let peers = vec![
            self.peer(
                "nrt",
                "table walk, count raised and lowered, id read",
                "none; 2 atomic read-modify-writes on the model's line",
                targets,
                |at| database.take_read_release(self.ids[at]).ok(),
            ),
            self.peer(
                "nrt, striped",
                "as nrt, with `Config::striped_references`: the count is on the line of the thread's stripe, one of eight",
                "none; 2 atomic read-modify-writes on that line",
                targets,
                |at| striped.take_read_release(self.ids[at]).ok(),
            ),
            Peer {
                name: "C documented shape",
                touches: "table walk, count raised under the mutex and lowered without, id read; loop in C",
                locks: "pthread mutex of the table 1x; 4 atomic read-modify-writes in all",
                work: Box::new(move |thread, n| c[targets[thread]].takes(n)),
            },
            self.peer(
                "papaya, guard",
                "hash look-up, id read under the guard; nobody is counted, so nobody can wait for one model",
                "none; a guard of the thread",
                targets,
                |at| self.papaya.pin().get(&self.ids[at]).map(|model| model.read()),
            ),
            self.peer(
                "papaya, Arc",
                "hash look-up, clone of an Arc, id read, drop of it",
                "none; a guard of the thread, 2 atomic read-modify-writes on the model's line",
                targets,
                |at| {
                    let model = self.papaya_arc.pin().get(&self.ids[at]).cloned();
                    model.map(|model| model.read())
                },
            ),
            self.peer(
                "scc HashIndex, guard",
                "hash look-up, id read under the guard",
                "none; a guard of the thread",
                targets,
                |at| self.scc.peek_with(&self.ids[at], |_, model| model.read()),
            ),
            self.peer(
                "sharded-slab",
                "no hash look-up: a key of its own; count of the slot raised and lowered, id read",
                "none; 2 atomic read-modify-writes on the slot",
                targets,
                |at| self.slab.get(self.slab_keys[at]).map(|model| model.read()),
            ),
            self.peer(
                "arc-swap",
                "the whole map is loaded, hash look-up, id read; a change copies the map",
                "none; a debt slot of the thread: 2 atomic read-modify-writes",
                targets,
                |at| self.swap.load().get(&self.ids[at]).map(|model| model.read()),
            ),
            self.peer(
                "RwLock<SlotMap>",
                "no hash look-up: a key of its own; id read under the lock",
                "read lock 1x: 2 atomic read-modify-writes on one line",
                targets,
                |at| self.slots.read().ok().and_then(|slots| slots.get(self.slot_keys[at]).map(|model| model.read())),
            ),
        ];
        Scenario { name, operation: "take by id, read a word, give back", threads, batch: BATCH, alone: "", peers }
    }

    fn peer<'a>(
        &'a self,
        name: &'static str,
        touches: &'static str,
        locks: &'static str,
        targets: [usize; 2],
        once: impl Fn(usize) -> Option<u32> + Sync + 'a,
    ) -> Peer<'a> {
        let work = move |thread: usize, n| {
            let target = targets[thread];
            for _ in 0..n {
                let read = once(black_box(target));
                assert_eq!(read, Some(self.ids[target]));
            }
        };
        Peer { name, touches, locks, work: Box::new(work) }
    }
}
