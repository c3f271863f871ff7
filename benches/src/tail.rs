//! Group `tail`: how long the slowest batches take, and how long they would take if nothing but arithmetic were done in them.
//!
//! The processor is taken away by interrupts, and by the hypervisor, which no program sees: whatever is measured has a tail. So
//! the same time is spent in registers alone, in turn with the operation, and its tail is shown beside that of the operation. An
//! interruption of 50 µs is four times as long as 64 allocations and a third of a thousand: hence the longer batches as well.

use std::hint::black_box;
use std::time::Instant;

use crate::measure::{BATCH, Peer, Scenario};

/// The peer that does arithmetic for as long as the first one takes.
pub const ARITHMETIC: &str = "arithmetic, as long";

/// What is compared, its longer batch in operations (some 150 µs each), and the names of both scenarios.
const TAILS: [(&str, u32, [&str; 2]); 3] = [
    ("node/1 thread", 1024, ["tail/allocate and release, 64", "tail/allocate and release, 1,024"]),
    ("acquire/1 thread", 8192, ["tail/take and give back, 64", "tail/take and give back, 8,192"]),
    ("carve/1 thread", 2048, ["tail/carve and give back, 64", "tail/carve and give back, 2,048"]),
];

/// The first peers of those of `scenarios` whose tails are looked at, each beside arithmetic.
///
/// # Panics
/// When one of them is not among `scenarios`.
#[must_use]
pub fn scenarios<'a>(scenarios: impl IntoIterator<Item = Scenario<'a>>) -> Vec<Scenario<'a>> {
    let mut list = Vec::new();
    for scenario in scenarios {
        let Some((_, long, names)) = TAILS.into_iter().find(|(name, ..)| *name == scenario.name) else { continue };
        let operation = scenario.operation;
        let mut peers = scenario.peers;
        let first: &'a Peer<'a> = Box::leak(Box::new(peers.swap_remove(0)));
        for (name, batch) in names.into_iter().zip([BATCH, long]) {
            let own = Peer {
                name: first.name,
                touches: first.touches,
                locks: first.locks,
                work: Box::new(move |thread, n| (first.work)(thread, n)),
            };
            let peers = vec![own, arithmetic(first)];
            list.push(Scenario { name, operation, threads: 1, batch, alone: "", peers });
        }
    }
    assert_eq!(list.len(), TAILS.len() * 2, "every tail has its scenario");
    list
}

/// A peer that multiplies in registers for as long as an operation of `model` takes when nothing interrupts it.
fn arithmetic(model: &Peer<'_>) -> Peer<'static> {
    let steps = (least(|n| (model.work)(0, n)) / least(multiply)).round().max(1.0) as u32;
    Peer {
        name: ARITHMETIC,
        touches: "registers only: multiplications, each waiting for the one before",
        locks: "none",
        work: Box::new(move |_, n| multiply(n * steps)),
    }
}

/// Nanoseconds of one of 64 at best.
fn least(work: impl Fn(u32)) -> f64 {
    let once = || {
        let begin = Instant::now();
        work(BATCH);
        begin.elapsed().as_nanos() as f64 / f64::from(BATCH)
    };
    (0..1000).map(|_| once()).fold(f64::INFINITY, f64::min)
}

fn multiply(steps: u32) {
    let mut product = black_box(3_u64);
    for _ in 0..steps {
        product = black_box(product.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
}
