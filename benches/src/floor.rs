//! Group `floor`: what the harness itself costs.

use std::hint::black_box;

use crate::measure::{Peer, Scenario};

/// The only scenario: a loop that does nothing.
#[must_use]
pub fn scenarios() -> Vec<Scenario<'static>> {
    let nothing = Peer {
        name: "empty loop",
        touches: "one register",
        locks: "none",
        work: Box::new(|_, n| {
            (0..n).for_each(|i| {
                black_box(i);
            });
        }),
    };
    vec![Scenario { name: "floor/1 thread", operation: "nothing", threads: 1, peers: vec![nothing] }]
}
