//! The inputs and outputs of every thread for every model: slices of one tensor in device memory, so that one allocation holds
//! all that a request of that thread moves.

use heapless::Vec;
use nrt_core::Placement;

use super::server::{Bound, BoundSet, Server};
use crate::deployment::Model;

/// Most tensors of all threads together: the capacity of the runtime's default storage.
pub(super) const MAX_BOUND: usize = super::statics::STORAGE.capacities().tensors;

/// Each slice starts at a multiple of this in its tensor, in bytes.
const SLICE_ALIGN: u64 = 64;

/// All tensors: for each thread, for each model, the inputs, then the outputs, then the tensor whose slices they are.
pub(super) struct Tensors<'a> {
    all: Vec<Bound<'a>, MAX_BOUND>,
    /// Of one thread.
    per_thread: usize,
}

/// The tensors of one thread.
pub(super) type Own<'t, 'a> = &'t [Bound<'a>];

/// The tensor sets through which one thread binds; every request of the thread uses them again.
pub(super) struct Sets<'a> {
    pub(super) inputs: BoundSet<'a>,
    pub(super) outputs: BoundSet<'a>,
}

impl<'a> Sets<'a> {
    /// Two empty sets.
    pub(super) fn new(server: &Server<'a>) -> nrt_core::Result<Self> {
        Ok(Self { inputs: server.runtime.tensor_set()?, outputs: server.runtime.tensor_set()? })
    }

    /// Puts the tensors of a model into the sets, in place of those of other models that have the same names.
    pub(super) fn bind(&self, model: &Model, own: &OfModel<'_, '_>) -> nrt_core::Result<()> {
        let add = |set: &BoundSet<'_>, plans: &[crate::deployment::Tensor], tensors: Own<'_, '_>| {
            plans.iter().zip(tensors).try_for_each(|(plan, tensor)| set.add(&plan.name, tensor))
        };
        add(&self.inputs, &model.inputs, own.inputs)?;
        add(&self.outputs, &model.outputs, own.outputs)
    }
}

/// Tensors of a thread for a model.
fn count(model: &Model) -> usize {
    model.inputs.len() + model.outputs.len() + 1
}

impl<'a> Tensors<'a> {
    /// None yet.
    pub(super) fn new(server: &Server<'a>) -> Self {
        Self { all: Vec::new(), per_thread: server.deployment.models().iter().map(count).sum() }
    }

    /// Allocates them all, or records the first failure.
    pub(super) fn allocate(&mut self, server: &Server<'a>) {
        for _ in 0..server.deployment.threads {
            for model in server.deployment.models() {
                if let Err(error) = self.allocate_for(server, model) {
                    return server.fail(model, "has no tensors", format_args!("{error}"));
                }
            }
        }
    }

    /// Those of one thread for a model.
    #[inline(never)]
    fn allocate_for(&mut self, server: &Server<'a>, model: &Model) -> nrt_core::Result<()> {
        let lists = [&model.inputs, &model.outputs];
        let bytes = lists.into_iter().flatten().fold(0, |end, plan| behind(end, plan.bytes));
        let whole = server.runtime.core(model.vnc)?.tensor(Placement::Device, bytes, &model.name)?;
        let mut start = 0;
        for plan in lists.into_iter().flatten() {
            // There is room, here and below: the deployment was checked against the same number.
            let _ = self.all.push(whole.slice(start, plan.bytes, &plan.name)?);
            start = behind(start, plan.bytes);
        }
        let _ = self.all.push(whole);
        Ok(())
    }

    /// The tensors of a thread.
    pub(super) fn of_thread(&self, thread: usize) -> Own<'_, 'a> {
        let start = thread * self.per_thread;
        self.all.get(start..start + self.per_thread).unwrap_or_default()
    }
}

/// Where the next slice starts behind one of `bytes` bytes at `start`. No sum of a deployment's sizes wraps.
pub(super) const fn behind(start: u64, bytes: u64) -> u64 {
    (start + bytes).next_multiple_of(SLICE_ALIGN)
}

/// The tensors of a thread for a model.
pub(super) struct OfModel<'t, 'a> {
    pub(super) inputs: Own<'t, 'a>,
    pub(super) outputs: Own<'t, 'a>,
    /// The tensor whose slices they are, each where [`behind`] has it, from byte 0 on.
    pub(super) whole: &'t Bound<'a>,
}

/// The tensors of model `index` among those of a thread.
pub(super) fn of_model<'t, 'a>(own: Own<'t, 'a>, models: &[Model], index: usize) -> Option<OfModel<'t, 'a>> {
    let start = models.iter().take(index).map(count).sum::<usize>();
    let model = models.get(index)?;
    let (inputs, rest) = own.get(start..)?.split_at_checked(model.inputs.len())?;
    let (outputs, rest) = rest.split_at_checked(model.outputs.len())?;
    Some(OfModel { inputs, outputs, whole: rest.first()? })
}
