//! Group `drain`: from the last release of a reference to the drainer going on, against a bare futex wake.
//!
//! Two threads hand over to each other, there and back: what is timed is two wake-ups and what belongs to them. The partner
//! keeps off the processor of the measuring thread.

use std::sync::atomic::{
    AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use nrt_core::hooks::Hooks as _;
use nrt_core::sync;
use nrt_linux::hooks::LinuxHooks;
use rustix::thread::{CpuSet, Pid, gettid, sched_getcpu, sched_setaffinity};

use crate::measure::{Peer, Scenario, processors};

/// A thread that answers for ever, and where it must not run.
pub(crate) struct Partner {
    id: AtomicI32,
    avoids: AtomicUsize,
}

impl Partner {
    pub(crate) const fn new() -> Self {
        Self { id: AtomicI32::new(0), avoids: AtomicUsize::new(usize::MAX) }
    }

    pub(crate) fn start(&'static self, answer: fn()) {
        std::thread::spawn(move || {
            self.id.store(gettid().as_raw_nonzero().get(), Release);
            loop {
                answer();
            }
        });
    }

    /// Keeps the partner off the processor this thread is on.
    pub(crate) fn keep_off(&self) {
        let here = sched_getcpu();
        let Some(partner) = Pid::from_raw(self.id.load(Acquire)) else { return };
        if self.avoids.swap(here, Relaxed) == here {
            return;
        }
        let mut set = CpuSet::new();
        processors_of_all().iter().filter(|&&cpu| cpu != here).for_each(|&cpu| set.set(cpu));
        // With one processor, or in a container that forbids it, both threads share; it is the same for both peers.
        let _ = sched_setaffinity(Some(partner), &set);
    }
}

/// Those of the whole process: the measuring threads are pinned to one each.
fn processors_of_all() -> &'static [usize] {
    static ALL: std::sync::OnceLock<Vec<usize>> = std::sync::OnceLock::new();
    ALL.get_or_init(processors)
}

#[repr(align(64))]
struct Count(AtomicU64);
#[repr(align(64))]
struct Flag(AtomicU32);

/// References that the measuring thread holds and the partner waits for, and the other way round.
static HERE: Count = Count(AtomicU64::new(1));
static THERE: Count = Count(AtomicU64::new(0));
static DRAINER: Partner = Partner::new();

fn drain(count: &AtomicU64) {
    let hooks = LinuxHooks::new();
    sync::begin_drain(count);
    sync::wait_drained(count, |now| hooks.wait(low_half(count), now, None));
}

fn leave(count: &AtomicU64) {
    if sync::leave(count) {
        LinuxHooks::new().wake(low_half(count), i32::MAX as u32);
    }
}

/// The half that holds the count, on a little-endian machine.
fn low_half(count: &AtomicU64) -> *const u32 {
    const { assert!(cfg!(target_endian = "little")) };
    std::ptr::from_ref(count).cast()
}

fn drain_round() {
    sync::enter(&THERE.0);
    leave(&HERE.0);
    drain(&THERE.0);
}

fn answer_drain() {
    drain(&HERE.0);
    sync::enter(&HERE.0);
    leave(&THERE.0);
}

static TO: Flag = Flag(AtomicU32::new(0));
static FRO: Flag = Flag(AtomicU32::new(0));
static SLEEPER: Partner = Partner::new();

fn set_and_wake(flag: &AtomicU32) {
    flag.store(1, Release);
    LinuxHooks::new().wake(flag.as_ptr(), i32::MAX as u32);
}

fn sleep_until_set(flag: &AtomicU32) {
    let hooks = LinuxHooks::new();
    while flag.swap(0, AcqRel) == 0 {
        hooks.wait(flag.as_ptr(), 0, None);
    }
}

fn wake_round() {
    set_and_wake(&TO.0);
    sleep_until_set(&FRO.0);
}

fn answer_wake() {
    sleep_until_set(&TO.0);
    set_and_wake(&FRO.0);
}

/// The scenario without load: one measuring thread and, for each peer, a partner.
#[must_use]
pub fn scenarios() -> Vec<Scenario<'static>> {
    static START: std::sync::Once = std::sync::Once::new();
    START.call_once(|| {
        processors_of_all();
        DRAINER.start(answer_drain);
        SLEEPER.start(answer_wake);
    });
    let peer = |name, touches, locks, partner: &'static Partner, once: fn()| Peer {
        name,
        touches,
        locks,
        work: Box::new(move |_, n| {
            partner.keep_off();
            (0..n).for_each(|_| once());
        }),
    };
    let peers = vec![
        peer(
            "nrt",
            "two counts, each drained by one thread after the other's release",
            "6 atomic read-modify-writes a side; a futex wait and wake where the drainer sleeps",
            &DRAINER,
            drain_round,
        ),
        peer(
            "futex wake",
            "two flags, each set by one thread and awaited by the other",
            "1 atomic read-modify-write and a futex wake a side, a wait where it sleeps",
            &SLEEPER,
            wake_round,
        ),
    ];
    vec![Scenario {
        name: "drain/there and back",
        operation: "hand over to another thread and back",
        threads: 1,
        batch: 8,
        alone: "",
        peers,
    }]
}

/// Whether both partners were answered as often as they were asked.
///
/// # Errors
/// What is left over.
pub fn verify() -> Result<(), String> {
    let left = (sync::outstanding(&THERE.0), FRO.0.load(Acquire), TO.0.load(Acquire));
    if left == (0, 0, 0) { Ok(()) } else { Err(format!("left over (references, flags): {left:?}")) }
}
