//! The models that are being served, and what the serving threads share.

use core::fmt;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

use heapless::Vec;
use nrt_core::hooks::Hooks;
use nrt_core::model::ModelPlan;
use nrt_core::reserved_hbm::ReservedHbm;

use super::driver::Door;
use super::findings::Findings;
use super::hooks::JobHooks;
use super::locked::Locked;
use super::plan;
use super::say::Unread;
use super::source::{Reading, Source};
use super::statics::HOOKS;
use crate::demand::SCRATCHPAD_PAGE_BYTES;
use crate::deployment::{Deployment, MAX_MODELS, Model};

/// The driver of the job, with reservations in front of it if there are any.
pub(super) type Reserved<'a> = ReservedHbm<&'a Door<'a>, &'static JobHooks>;
/// The runtime of the job.
pub(super) type Runtime<'a> = nrt_core::Runtime<&'a Reserved<'a>, &'static JobHooks>;
/// A model in it.
pub(super) type Loaded<'a> = nrt_core::Model<'a, &'a Reserved<'a>, &'static JobHooks>;
/// A tensor in it.
pub(super) type Bound<'a> = nrt_core::Tensor<'a, &'a Reserved<'a>, &'static JobHooks>;
/// A tensor set of the job's runtime.
pub(super) type BoundSet<'a> = nrt_core::TensorSet<'a, &'a Reserved<'a>, &'static JobHooks>;

/// How long anything is waited for that others are busy with, in nanoseconds: ten minutes, after which it is an error.
pub(super) const PATIENCE_NS: u64 = 600_000_000_000;

/// What requests look at: which id a model has now, and how many requests it has completed.
pub(super) struct Seat {
    /// Id of the model while it is resident, the id it had while it is being reloaded, 0 before the first load and after
    /// a reload that failed. Also the word that threads sleep on which found the model gone.
    id: AtomicU32,
    requests: AtomicU64,
}

/// Everything the threads share.
pub(super) struct Server<'a> {
    pub(super) runtime: &'a Runtime<'a>,
    pub(super) deployment: &'static Deployment,
    pub(super) sources: &'a [Source],
    pub(super) findings: &'a Findings,
    seats: [Seat; MAX_MODELS],
    /// The models themselves, in the order of the deployment; a place is empty while its model is reloaded.
    models: Locked<Vec<Option<Loaded<'a>>, MAX_MODELS>>,
}

impl<'a> Server<'a> {
    pub(super) const fn new(
        runtime: &'a Runtime<'a>,
        deployment: &'static Deployment,
        sources: &'a [Source],
        findings: &'a Findings,
    ) -> Self {
        Self {
            runtime,
            deployment,
            sources,
            findings,
            seats: [const { Seat { id: AtomicU32::new(0), requests: AtomicU64::new(0) } }; MAX_MODELS],
            models: Locked::new(Vec::new()),
        }
    }

    /// The models of the deployment, each with its number, its seat and the source of its weights.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, &'static Model, &Seat, &'a Source)> {
        let models = self.deployment.models().iter().zip(&self.seats).zip(self.sources);
        models.enumerate().map(|(index, ((model, seat), source))| (index, model, seat, source))
    }

    /// One of the entries.
    pub(super) fn entry(&self, index: usize) -> Option<(&'static Model, &Seat, &'a Source)> {
        Some((self.deployment.models().get(index)?, self.seats.get(index)?, self.sources.get(index)?))
    }

    /// Loads every model, one after the other, until one fails, which is recorded.
    pub(super) fn load_all(&self, mut before: impl FnMut(&Model)) {
        for (index, model, _, _) in self.entries() {
            before(model);
            let loaded = self.load(index);
            let complete = loaded.is_some();
            self.models.with(|models| {
                // There is room: a deployment has at most MAX_MODELS models.
                let _ = models.push(loaded);
            });
            if !complete {
                return;
            }
        }
    }

    /// Most bytes of scratchpad that are in one piece.
    fn scratchpad_piece(&self) -> u64 {
        if self.runtime.contiguous_scratchpad() { u64::MAX } else { SCRATCHPAD_PAGE_BYTES }
    }

    /// Loads a model and makes its new id known. A failure is recorded, and all stop.
    fn load(&self, index: usize) -> Option<Loaded<'a>> {
        let (model, seat, source) = self.entry(index)?;
        let reading = Reading::new(source);
        let load = |plan: &ModelPlan<'_>| self.runtime.core(model.vnc)?.load(plan);
        let loaded = plan::with_plan(model, self.runtime.arch(), &reading, source.bytes(), self.scratchpad_piece(), load);
        match loaded {
            Ok(loaded) => {
                seat.set(loaded.id());
                Some(loaded)
            }
            Err(error) => {
                self.fail(model, "cannot be loaded", format_args!("{error}"));
                if let Some(failure) = reading.failure() {
                    self.fail(model, "key \"weights.file\"", format_args!("{}", Unread(failure)));
                }
                seat.set(0);
                None
            }
        }
    }

    /// Unloads a model once its users have left, and loads it again. One thread at a time does this.
    pub(super) fn reload(&self, index: usize) {
        self.models.with(|models| {
            let Some((place, (model, _, _))) = models.get_mut(index).zip(self.entry(index)) else { return };
            let Some(loaded) = place.take() else { return };
            match loaded.unload_within(PATIENCE_NS) {
                Ok(None) => *place = self.load(index),
                Ok(Some(draining)) => {
                    *place = draining.cancel();
                    self.fail(model, "cannot be unloaded", format_args!("it is still in use after ten minutes"));
                }
                Err(error) => self.fail(model, "cannot be unloaded", format_args!("{error}")),
            }
        });
    }

    /// Calls `work` with every model, and with what is resident of it. For when no thread serves.
    pub(super) fn for_each_entry(&self, mut work: impl FnMut(&'static Model, &'a Source, &Seat, Option<&Loaded<'a>>)) {
        self.models.with(|models| {
            for (index, model, seat, source) in self.entries() {
                work(model, source, seat, models.get(index).and_then(Option::as_ref));
            }
        });
    }

    /// Unloads every model. Failures are recorded.
    pub(super) fn unload_all(&self) {
        self.models.with(|models| {
            for ((_, model, _, _), place) in self.entries().zip(models) {
                if let Some(loaded) = place.take()
                    && let Err(error) = loaded.unload()
                {
                    self.fail(model, "cannot be unloaded", format_args!("{error}"));
                }
            }
        });
    }

    /// Records what stops the job, for a model.
    pub(super) fn fail(&self, model: &Model, what: &str, why: fmt::Arguments<'_>) {
        self.findings.fail(format_args!("model \"{}\" {what}: {why}", model.name));
    }
}

impl Seat {
    /// Id of the model; 0 when it is gone for good.
    pub(super) fn id(&self) -> u32 {
        self.id.load(Acquire)
    }

    /// Makes another id known and wakes those who wait for it.
    fn set(&self, id: u32) {
        self.id.store(id, Release);
        HOOKS.wake(self.id.as_ptr(), u32::MAX);
    }

    /// Sleeps while the id is `old`, at most until `deadline_ns`.
    pub(super) fn wait(&self, old: u32, deadline_ns: u64) {
        let _ = HOOKS.wait(self.id.as_ptr(), old, Some(deadline_ns));
    }

    /// Counts one more completed request.
    pub(super) fn completed(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    /// Requests completed so far.
    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }
}
