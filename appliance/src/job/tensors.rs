//! The inputs and outputs of every thread for every model, in device memory.

use heapless::Vec;
use nrt_core::Placement;

use super::server::{Bound, BoundSet, Server};
use crate::deployment::Model;

/// Most tensors of all threads together: the capacity of the runtime's default storage.
pub(super) const MAX_BOUND: usize = super::statics::STORAGE.capacities().tensors;

/// All tensors: for each thread, for each model, the inputs and then the outputs.
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
    pub(super) fn bind(&self, model: &Model, inputs: Own<'_, '_>, outputs: Own<'_, '_>) -> nrt_core::Result<()> {
        let add = |set: &BoundSet<'_>, plans: &[crate::deployment::Tensor], tensors: Own<'_, '_>| {
            plans.iter().zip(tensors).try_for_each(|(plan, tensor)| set.add(&plan.name, tensor))
        };
        add(&self.inputs, &model.inputs, inputs)?;
        add(&self.outputs, &model.outputs, outputs)
    }
}

fn count(model: &Model) -> usize {
    model.inputs.len() + model.outputs.len()
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
                for tensor in model.inputs.iter().chain(&model.outputs) {
                    let core = server.runtime.core(model.vnc);
                    match core.and_then(|core| core.tensor(Placement::Device, tensor.bytes, &tensor.name)) {
                        Ok(bound) => {
                            // There is room: the deployment was checked against the same number.
                            let _ = self.all.push(bound);
                        }
                        Err(error) => {
                            return server.fail(model, "has no tensor", format_args!("\"{}\": {error}", tensor.name));
                        }
                    }
                }
            }
        }
    }

    /// The tensors of a thread.
    pub(super) fn of_thread(&self, thread: usize) -> Own<'_, 'a> {
        let start = thread * self.per_thread;
        self.all.get(start..start + self.per_thread).unwrap_or_default()
    }
}

/// Inputs and outputs of model `index` among the tensors of a thread.
pub(super) fn of_model<'t, 'a>(own: Own<'t, 'a>, models: &[Model], index: usize) -> (Own<'t, 'a>, Own<'t, 'a>) {
    let start = models.iter().take(index).map(count).sum::<usize>();
    let Some((model, own)) = models.get(index).zip(own.get(start..)) else { return (&[], &[]) };
    let (inputs, rest) = own.split_at_checked(model.inputs.len()).unwrap_or_default();
    (inputs, rest.get(..model.outputs.len()).unwrap_or_default())
}
