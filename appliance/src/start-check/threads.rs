//! Threads on static and on mapped stacks: results, borrowing, waiting, reuse.

use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use nrt_core::hooks::{Hooks, Wait};
use nrt_linux::threads::{MappedStack, ThreadStack, scope, spawn};
use nrt_linux::{Errno, LinuxHooks};

const THREADS: usize = 4;

static STACKS: [ThreadStack<{ 64 << 10 }>; THREADS] = [const { ThreadStack::new() }; THREADS];
static HOOKS: LinuxHooks = LinuxHooks::new();

/// Checks everything.
pub(crate) fn check() {
    results();
    turns();
    borrowed();
    for _ in 0..200 {
        reuse();
    }
    abandoned();
    refused();
}

fn sum_below(limit: usize) -> usize {
    (0..limit).sum()
}

/// Every thread has its argument and gives its result.
fn results() {
    let threads = [0, 1, 2, 3].map(|index| {
        let stack = STACKS[index].stack().expect("a guard page");
        spawn(stack, sum_below, 1000 * (index + 1)).expect("a thread")
    });
    for (index, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join(), sum_below(1000 * (index + 1)));
    }
}

/// Threads take turns by sleeping on one word; each has an id of its own and all see one another's writes.
fn turns() {
    const ROUNDS: u32 = 500;
    let turn = AtomicU32::new(0);
    let ids = [const { AtomicUsize::new(0) }; THREADS];
    let mut total = 0u64;
    let total_of = SharedTotal(&raw mut total);
    scope(|scope| {
        for (index, stack) in STACKS.iter().enumerate() {
            let (turn, ids, total_of) = (&turn, &ids, &total_of);
            let work = move || {
                ids[index].store(HOOKS.thread_id() as usize, Ordering::Relaxed);
                for round in 0..ROUNDS {
                    let mine = round * THREADS as u32 + index as u32;
                    loop {
                        let now = turn.load(Ordering::Acquire);
                        if now == mine {
                            break;
                        }
                        assert_eq!(HOOKS.wait(turn.as_ptr(), now, Some(HOOKS.now_ns() + 30_000_000_000)), Wait::Woken);
                    }
                    // SAFETY: only the thread whose turn it is gets here, and the hand-over orders the accesses.
                    unsafe { *total_of.0 += u64::from(mine) };
                    turn.store(mine + 1, Ordering::Release);
                    HOOKS.wake(turn.as_ptr(), u32::MAX);
                }
            };
            scope.spawn(stack.stack().expect("a guard page"), work).expect("a thread");
        }
    });
    let turns = u64::from(ROUNDS) * THREADS as u64;
    assert_eq!(total, turns * (turns - 1) / 2);
    let main = HOOKS.thread_id() as usize;
    for (index, id) in ids.iter().enumerate() {
        let id = id.load(Ordering::Relaxed);
        assert!(id != 0 && id != main);
        assert!(ids[..index].iter().all(|other| other.load(Ordering::Relaxed) != id));
    }
}

/// A place that threads write to in turn.
struct SharedTotal(*mut u64);

// SAFETY: accessed only by the thread whose turn it is, see `turns`.
unsafe impl Sync for SharedTotal {}

/// Threads write to borrowed memory without synchronisation of their own, start further threads, need alignment.
fn borrowed() {
    #[repr(align(64))]
    struct Aligned([u8; 64]);

    let mapped = [MappedStack::new(32 << 10), MappedStack::new(1)].map(|stack| stack.expect("a mapped stack"));
    let mut parts = [[0usize; 100]; 2];
    let nested = AtomicU32::new(0);
    let aligned = Aligned([7; 64]);
    scope(|scope| {
        for (part, stack) in parts.iter_mut().zip(&STACKS) {
            let thread = scope.spawn(stack.stack().expect("a guard page"), move || {
                for (index, place) in part.iter_mut().enumerate() {
                    *place = index;
                }
            });
            thread.expect("a thread").join();
        }
        let (mapped, nested) = (&mapped, &nested);
        let outer = move || {
            assert!(ptr::from_ref(&aligned).addr().is_multiple_of(64) && aligned.0[63] == 7);
            let inner = || {
                HOOKS.wait(nested.as_ptr(), 0, Some(HOOKS.now_ns() + 2_000_000));
                nested.store(1, Ordering::Relaxed);
            };
            scope.spawn(mapped[1].stack(), inner).expect("a thread");
        };
        scope.spawn(mapped[0].stack(), outer).expect("a thread");
    });
    assert_eq!(nested.load(Ordering::Relaxed), 1);
    for part in &parts {
        assert_eq!(part.iter().sum::<usize>(), sum_below(100));
    }
}

/// A stack is free as soon as its thread has been joined, and at the end of a scope.
fn reuse() {
    let stack = STACKS[0].stack().expect("a guard page");
    assert_eq!(spawn(stack, sum_below, 10).expect("a thread").join(), 45);
    let count = AtomicU32::new(0);
    scope(|scope| {
        for stack in &STACKS {
            let thread = scope.spawn(stack.stack().expect("a guard page"), || {
                count.fetch_add(1, Ordering::Relaxed);
            });
            thread.expect("a thread");
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), THREADS as u32);
}

static GATE: AtomicU32 = AtomicU32::new(0);

fn wait_at_gate(result: usize) -> usize {
    while GATE.load(Ordering::Acquire) == 0 {
        HOOKS.wait(GATE.as_ptr(), 0, None);
    }
    result
}

/// The stack of a thread that nobody waits for is taken until the thread has ended.
fn abandoned() {
    let stack = STACKS[1].stack().expect("a guard page");
    drop(spawn(stack, wait_at_gate, 0).expect("a thread"));
    for _ in 0..100 {
        assert_eq!(spawn(stack, sum_below, 1).err(), Some(Errno::BUSY));
    }
    GATE.store(1, Ordering::Release);
    HOOKS.wake(GATE.as_ptr(), u32::MAX);
    let deadline = HOOKS.now_ns() + 30_000_000_000;
    let thread = loop {
        match spawn(stack, wait_at_gate, 5) {
            Ok(thread) => break thread,
            Err(errno) => assert!(errno == Errno::BUSY && HOOKS.now_ns() < deadline, "{errno}"),
        }
        HOOKS.wait(GATE.as_ptr(), 1, Some(HOOKS.now_ns() + 100_000));
    };
    assert_eq!(thread.join(), 5);
}

/// What does not fit, or is taken, is refused and changes nothing.
fn refused() {
    let large = [1u8; 64 << 10];
    scope(|scope| {
        let stack = STACKS[2].stack().expect("a guard page");
        let refused = scope.spawn(stack, move || assert_eq!(large[0], 1));
        assert_eq!(refused.err(), Some(Errno::NOMEM));
        let thread = scope.spawn(stack, || {}).expect("a thread");
        thread.join();
        assert_eq!(scope.spawn(stack, || {}).err(), Some(Errno::BUSY), "one thread of a scope per stack");
    });
}
