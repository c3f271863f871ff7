//! The threads that serve, and the reloads under their load.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use nrt_core::hooks::Hooks;
use nrt_linux::threads;

use super::progress::Progress;
use super::request::{self, Outcome};
use super::say::Reason;
use super::server::Server;
use super::statics::{HOOKS, STACKS};
use super::tensors::{Own, Sets, Tensors};
use crate::weights::Mismatch;

/// How the requests are going.
struct Counts {
    /// Requests handed to threads.
    dealt: AtomicU64,
    /// Requests served, with the right bytes or wrong ones.
    completed: AtomicU64,
    /// Reloads that have come due and not been made yet. Whoever finds it at 0 makes them, until it is 0 again: so one
    /// thread at a time reloads, and none is forgotten.
    due: AtomicU64,
    /// Reloads made.
    reloads: AtomicU64,
    /// Set when an output carried wrong bytes.
    wrong: AtomicBool,
    /// Threads at work. The main thread sleeps on it.
    active: AtomicU32,
}

/// Deals the requests of the deployment over its threads and returns when all threads have ended. Records in the report
/// what they did, and whether every request was served with the right bytes.
#[inline(never)]
pub(super) fn serve(server: &Server<'_>, tensors: &Tensors<'_>, progress: &mut Progress) {
    let counts = Counts {
        dealt: AtomicU64::new(0),
        completed: AtomicU64::new(0),
        due: AtomicU64::new(0),
        reloads: AtomicU64::new(0),
        wrong: AtomicBool::new(false),
        active: AtomicU32::new(0),
    };
    let shared = &counts;
    threads::scope(|scope| {
        for (index, stack) in STACKS.iter().enumerate().take(server.deployment.threads as usize) {
            let own = tensors.of_thread(index);
            shared.active.fetch_add(1, Relaxed);
            let work = move || {
                serve_some(server, own, shared);
                shared.active.fetch_sub(1, AcqRel);
                HOOKS.wake(shared.active.as_ptr(), 1);
            };
            if let Err(errno) = stack.stack().and_then(|stack| scope.spawn(stack, work)) {
                shared.active.fetch_sub(1, Relaxed);
                server.findings.fail(format_args!("thread {index} cannot be started: {}", Reason(errno)));
                break;
            }
        }
        let total = server.deployment.requests;
        loop {
            let active = shared.active.load(Acquire);
            if active == 0 {
                break;
            }
            let (done, reloads) = (shared.completed.load(Relaxed), shared.reloads.load(Relaxed));
            let next = progress.show(format_args!("{done} of {total} requests served, {reloads} reloads"));
            let _ = HOOKS.wait(shared.active.as_ptr(), active, Some(next));
        }
    });
    let completed = counts.completed.into_inner();
    server.findings.report(|report| {
        report.requests = completed;
        report.reloads = counts.reloads.into_inner();
        report.outputs_verified = completed == server.deployment.requests && !counts.wrong.into_inner();
    });
}

/// What one thread does.
fn serve_some(server: &Server<'_>, own: Own<'_, '_>, counts: &Counts) {
    let models = server.deployment.models().len() as u64;
    let sets = match Sets::new(server) {
        Ok(sets) => sets,
        Err(error) => return server.findings.fail(format_args!("a thread has no tensor sets: {error}")),
    };
    while !server.findings.failed() {
        let number = counts.dealt.fetch_add(1, Relaxed);
        if number >= server.deployment.requests {
            return;
        }
        let index = (number % models) as usize;
        let Some((model, seat, _)) = server.entry(index) else { return };
        match request::serve(server, own, &sets, index, number) {
            Ok(Outcome::Right) => {}
            Ok(Outcome::Wrong { output, mismatch }) => {
                counts.wrong.store(true, Relaxed);
                let Mismatch { offset, expected, found } = mismatch;
                let tensor = model.outputs.get(output).map_or("", |tensor| tensor.name.as_str());
                server.findings.error(format_args!(
                    "model \"{}\", request {number}, output \"{tensor}\": byte {offset} is {found:#04x}, expected {expected:#04x}",
                    model.name
                ));
            }
            Ok(Outcome::Abandoned) => return,
            Err(fault) => return server.fail(model, "failed", format_args!("request {number}: {fault}")),
        }
        seat.completed();
        reload_when_due(server, counts, counts.completed.fetch_add(1, AcqRel) + 1);
    }
}

/// Makes the reload that the `completed`-th request brings due, and those that come due meanwhile; or leaves it to the
/// thread that reloads now.
fn reload_when_due(server: &Server<'_>, counts: &Counts, completed: u64) {
    let every = server.deployment.reload_every;
    if every == 0 || !completed.is_multiple_of(every) || counts.due.fetch_add(1, AcqRel) != 0 {
        return;
    }
    let models = server.deployment.models().len() as u64;
    loop {
        // Only the thread that reloads changes this count.
        let turn = counts.reloads.load(Relaxed);
        server.reload((turn % models) as usize);
        if server.findings.failed() {
            return;
        }
        counts.reloads.store(turn + 1, Relaxed);
        if counts.due.fetch_sub(1, AcqRel) == 1 {
            return;
        }
    }
}
