//! The protocols of `nrt_core::sync` under the model checker loom: it runs a small program in every interleaving, with
//! every value that the memory model lets a load return.
//!
//! What is checked is the code of the core itself, over words that loom watches. For each protocol there are programs
//! that must hold in every execution, and the same programs with one seeded bug, which loom must find: else the program
//! proves nothing. Each test says on standard error how many executions it took.
//!
//! Loom treats sequentially consistent accesses as acquire and release. The protocols use nothing stronger, but for the fence of
//! the brief lock, which loom knows.

mod brief;
mod free_slots;
mod free_stack;
mod gate;
mod lock;
mod refs;
mod slots;
mod stripes;
mod take;
mod words;

use std::any::Any;
use std::cell::Cell;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Once};

/// How far loom goes.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    /// Every execution.
    None,
    /// Those in which running threads are interrupted at most so often; blocking is no interruption.
    Preemptions(usize),
}

/// Runs `program` in every execution within `bound`; it must hold in all of them.
pub(crate) fn holds(name: &str, bound: Bound, program: impl Fn() + Send + Sync + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    explore(bound, &executions, program);
    let extent = match bound {
        Bound::None => "all there are".to_owned(),
        Bound::Preemptions(limit) => format!("all with at most {limit} preemptions"),
    };
    say(format_args!("{name}: holds in {} executions, {extent}", executions.load(Relaxed)));
}

/// What loom says when an access is not ordered with another that it conflicts with.
pub(crate) const RACE: &str = "Causality violation";
/// What loom says when everybody sleeps.
pub(crate) const DEADLOCK: &str = "deadlock";

/// Runs `program`, which has a bug: some execution within `bound` must fail, with `symptom` in its message.
pub(crate) fn finds(bug: &str, symptom: &str, bound: Bound, program: impl Fn() + Send + Sync + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    silence_expected_panics();
    EXPECTED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(|| explore(bound, &executions, program)));
    EXPECTED.set(false);
    let executions = executions.load(Relaxed);
    let Err(payload) = outcome else { panic!("seeded bug not found in {executions} executions: {bug}") };
    let message = message_of(&*payload);
    assert!(message.contains(symptom), "seeded bug: {bug}: failed for another reason than \"{symptom}\": {message}");
    say(format_args!("seeded bug found in execution {executions}: {bug} ({symptom})"));
}

fn explore(bound: Bound, executions: &Arc<AtomicUsize>, program: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = match bound {
        Bound::None => None,
        Bound::Preemptions(limit) => Some(limit),
    };
    let executions = Arc::clone(executions);
    builder.check(move || {
        executions.fetch_add(1, Relaxed);
        program();
    });
}

/// Past the capture of the test harness, which shows nothing of a test that passes.
fn say(line: std::fmt::Arguments<'_>) {
    // Standard error may be closed; the outcome of the test does not depend on it.
    let _ = writeln!(std::io::stderr().lock(), "loom: {line}");
}

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the panics that [`finds`] looks for out of the output. The threads of a model run on the thread of the test.
fn silence_expected_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !EXPECTED.get() {
                usual(info);
            }
        }));
    });
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}
