//! Group `floor`: what the harness costs, and what nobody gets below on this machine.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nrt_core::hooks::Hooks as _;
use nrt_linux::hooks::LinuxHooks;

use crate::c;
use crate::measure::{BATCH, Peer, Scenario};

#[repr(align(64))]
struct Line(AtomicU64);

static LINE: Line = Line(AtomicU64::new(0));

/// The only scenario: one thread, one thing each.
#[must_use]
pub fn scenarios() -> Vec<Scenario<'static>> {
    let peer = |name, touches, locks, once: fn()| Peer {
        name,
        touches,
        locks,
        work: Box::new(move |_, n| (0..n).for_each(|_| black_box(once)())),
    };
    let peers = vec![
        peer("empty call", "an indirect call of a function that does nothing, as in all of these", "none", || {}),
        peer("atomic addition", "one line of this thread", "1 atomic read-modify-write", || {
            LINE.0.fetch_add(1, Relaxed);
        }),
        Peer {
            name: "pthread mutex pair",
            touches: "one mutex of this thread, locked and unlocked, in a loop in C",
            locks: "2 atomic read-modify-writes",
            work: Box::new(|_, n| c::mutex_pairs(n)),
        },
        peer("thread id from the kernel", "the cheapest system call", "none", || {
            black_box(LinuxHooks::new().thread_id());
        }),
    ];
    vec![Scenario { name: "floor/1 thread", operation: "one thing", threads: 1, batch: BATCH, alone: "", peers }]
}
