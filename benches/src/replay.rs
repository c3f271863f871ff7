//! Group `trace`: the whole allocation path under the load of a trace.

use std::cell::UnsafeCell;
use std::hint::black_box;

use nrt_linux::hooks::LinuxHooks;

use crate::c::Object;
use crate::measure::{BATCH, Peer, Scenario};
use crate::node::{self, LinuxWorld};
use crate::trace::Script;
use crate::world::{self, Memory};

/// What is live of a script, and the next step.
struct Live<T> {
    places: Vec<Option<T>>,
    at: usize,
}

/// One measuring thread works at a time.
struct Alone<T>(UnsafeCell<Live<T>>);

// SAFETY: the scenario has one thread; threads of later runs start after the earlier ones were joined. What is live may be
// freed by any thread, on both sides.
unsafe impl<T> Sync for Alone<T> {}

impl<T> Alone<T> {
    fn new(script: &Script) -> Self {
        Self(UnsafeCell::new(Live { places: (0..script.places).map(|_| None).collect(), at: 0 }))
    }

    /// Does the next `n` steps.
    ///
    /// # Safety
    /// Nobody else does at the same time.
    #[inline]
    unsafe fn steps(&self, script: &Script, n: u32, allocate: impl Fn(u64) -> T, free: impl Fn(T)) {
        // SAFETY: by contract.
        let live = unsafe { &mut *self.0.get() };
        for _ in 0..n {
            let step = script.steps[live.at];
            live.at = if live.at + 1 == script.steps.len() { 0 } else { live.at + 1 };
            let place = &mut live.places[step.place as usize];
            match place.take() {
                Some(old) => free(old),
                None => *place = Some(allocate(step.bytes)),
            }
        }
    }
}

/// The two sides of a replay; what is live at the end is given back by [`finish`](Self::finish).
pub struct Replay {
    script: &'static Script,
    nrt: Alone<Memory<LinuxHooks>>,
    c: Alone<Object>,
}

impl Replay {
    /// Nothing is live yet.
    #[must_use]
    pub fn new(script: &'static Script) -> Self {
        Self { script, nrt: Alone::new(script), c: Alone::new(script) }
    }

    /// The scenario.
    #[must_use]
    pub fn scenario(&self, world: LinuxWorld) -> Scenario<'_> {
        let core = world::core(world, 0, 0);
        let request = node::c_request(0, 0, world.arch());
        let peers = vec![
            Peer {
                name: "nrt",
                touches: "as in group node; nodes of many ages",
                locks: "as in group node",
                work: Box::new(move |_, n| {
                    let allocate = |bytes| {
                        let request = black_box(nrt_core::Allocation { bytes, ..world::allocation() });
                        world::allocate(&core, &request)
                    };
                    // SAFETY: see `Alone`.
                    unsafe { self.nrt.steps(self.script, n * 2, allocate, drop) };
                }),
            },
            Peer {
                name: "C object path",
                touches: "as in group node; a call from Rust to C per step; every object of 4 KiB, which costs it nothing",
                locks: "as in group node",
                // SAFETY: see `Alone`.
                work: Box::new(move |_, n| unsafe { self.c.steps(self.script, n * 2, |_| request.allocate(), Object::free) }),
            },
        ];
        Scenario { name: "trace/objects", operation: "two steps of the trace", threads: 1, batch: BATCH, alone: "", peers }
    }

    /// Gives back what is live.
    pub fn finish(self) {
        self.nrt.0.into_inner().places.into_iter().flatten().for_each(drop);
        self.c.0.into_inner().places.into_iter().flatten().for_each(Object::free);
    }
}
