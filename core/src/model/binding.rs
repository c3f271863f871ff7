//! What a run is given, against what the model declares (fact sheet `tensor` §10).
//!
//! Each subgraph of a model declares inputs and outputs by name and least size. The inputs of a model are those of its first
//! subgraph followed by those of the second that the first does not have; outputs likewise. A name that both declare is one
//! tensor, large enough for both.

use core::ptr::NonNull;

use heapless::Vec;

use crate::abi::{kbl_fmap_set_t, kbl_fmap_t};
use crate::arena::{MAX_CORES_PER_VCORE, MAX_FEATURE_MAPS, SetSlot};
use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::model_db::ModelRef;
use crate::system::System;
use crate::tensor::TensorRef;

use super::Pinned;

/// Inputs plus outputs of one run at most.
pub(crate) const MAX_BOUND: usize = MAX_FEATURE_MAPS * MAX_CORES_PER_VCORE;

/// What a run is given.
pub(crate) enum Binding<'a> {
    /// Tensors in the order of the declarations; their owners keep them.
    Lists { inputs: &'a [TensorRef], outputs: &'a [TensorRef] },
    /// Tensors by name.
    Sets { inputs: NonNull<SetSlot>, outputs: NonNull<SetSlot> },
}

/// The tensors of a run, in the order of the declarations.
#[allow(clippy::large_enum_variant, reason = "lives on the stack of one run, and there is no heap to box in")]
pub(crate) enum Bound<'s, 'l, D: Driver, H: Hooks> {
    /// Lists are used as they came: a run copies no tensor.
    Lists { inputs: &'l [TensorRef], outputs: &'l [TensorRef] },
    /// What the sets had under the names.
    Held(Held<'s, D, H>),
}

/// Tensors that came by name, with a reference each.
pub(crate) struct Held<'s, D: Driver, H: Hooks> {
    system: &'s System<D, H>,
    tensors: Vec<TensorRef, MAX_BOUND>,
    inputs: usize,
}

impl<D: Driver, H: Hooks> Bound<'_, '_, D, H> {
    pub(crate) fn inputs(&self) -> &[TensorRef] {
        match self {
            Self::Lists { inputs, .. } => inputs,
            Self::Held(held) => &held.tensors[..held.inputs],
        }
    }

    pub(crate) fn outputs(&self) -> &[TensorRef] {
        match self {
            Self::Lists { outputs, .. } => outputs,
            Self::Held(held) => &held.tensors[held.inputs..],
        }
    }
}

impl<D: Driver, H: Hooks> Drop for Held<'_, D, H> {
    fn drop(&mut self) {
        // SAFETY: each reference was taken for this binding.
        self.tensors.iter().for_each(|tensor| unsafe { self.system.tensor_release(tensor) });
    }
}

/// One input or output of a model.
struct Declared<'a> {
    map: &'a kbl_fmap_t,
    /// Least size over all subgraphs.
    bytes: u64,
}

impl Declared<'_> {
    fn name(&self) -> &[u8] {
        name(self.map)
    }
}

fn name(map: &kbl_fmap_t) -> &[u8] {
    map.name.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Declarations of one direction, over all subgraphs of a pinned model.
fn declared<'a, D: Driver, H: Hooks>(pinned: &'a Pinned<'_, D, H>, output: bool) -> impl Iterator<Item = Declared<'a>> {
    let of_subgraph = move |index: usize| {
        let held = pinned.held.get(index).copied().flatten();
        held.map_or(&[][..], |(_, ModelRef { slot, .. })| {
            // SAFETY: pinned, so published and unchanging.
            let model = unsafe { &raw const (*slot.as_ptr()).model };
            // SAFETY: as above.
            declarations(unsafe { if output { (*model).output_fmap_set } else { (*model).input_fmap_set } })
        })
    };
    (0..MAX_CORES_PER_VCORE).flat_map(move |index| {
        let new = move |map: &&kbl_fmap_t| !(0..index).any(|earlier| find(of_subgraph(earlier), name(map)).is_some());
        of_subgraph(index).iter().filter(new).map(move |map| {
            let later = (index + 1..MAX_CORES_PER_VCORE).filter_map(|later| find(of_subgraph(later), name(map)));
            Declared { map, bytes: later.map(|map| map.size).fold(map.size, u64::max) }
        })
    })
}

fn find<'a>(maps: &'a [kbl_fmap_t], wanted: &[u8]) -> Option<&'a kbl_fmap_t> {
    maps.iter().find(|map| name(map) == wanted)
}

/// The declarations of a set of a pinned model.
fn declarations<'a>(set: kbl_fmap_set_t) -> &'a [kbl_fmap_t] {
    if set.n == 0 {
        return &[];
    }
    // SAFETY: the set of a published model names `n` declarations in its slot, which nobody writes while it is pinned; the
    // callers hold the pin for as long as they use them.
    unsafe { core::slice::from_raw_parts(set.fmaps, set.n as usize) }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Writes the device address of what is bound into the pointer variables that point to it, on every core of the model. A
    /// tensor without one, as plain host memory is, leaves all ones.
    ///
    /// # Errors
    /// What copying answers; the next binding writes all of them again.
    ///
    /// # Cost
    /// One transfer for each core that has such pointers, else nothing.
    pub(super) fn point_to_bound(&self, pinned: &Pinned<'_, D, H>, bound: &Bound<'_, '_, D, H>) -> Result<()> {
        for (_, ModelRef { slot, .. }) in pinned.held.iter().flatten() {
            // SAFETY: pinned, so published and unchanging.
            let Some(words) = NonNull::new(unsafe { (*slot.as_ptr()).io_pointers }) else { continue };
            let address = |variable| {
                // SAFETY: pinned.
                let (name, is_input) = unsafe { self.io_name(*slot, variable)? };
                let index = declared(pinned, !is_input).position(|declared| declared.name() == name.as_bytes())?;
                let tensor = (if is_input { bound.inputs() } else { bound.outputs() }).get(index)?;
                self.tensor_pa(tensor).ok()
            };
            // SAFETY: pinned, and the caller holds the core.
            unsafe { self.write_pointers(*slot, words, &address)? };
        }
        Ok(())
    }

    /// Finds the tensors of a run and checks them: every declaration has one that is large enough and, unless it is plain
    /// host memory, lives on the model's logical core.
    ///
    /// # Errors
    /// `NRT_INVALID` when one is missing, too small, too many, without storage or on another core; `NRT_INVALID_HANDLE` when
    /// the tensor of a name is gone.
    ///
    /// # Safety
    /// Tensors of lists, and the sets, stay alive while the result exists.
    pub(super) unsafe fn bind<'s, 'l>(
        &'s self,
        pinned: &Pinned<'_, D, H>,
        vnc: u32,
        binding: &Binding<'l>,
    ) -> Result<Bound<'s, 'l, D, H>> {
        match *binding {
            Binding::Lists { inputs, outputs } => {
                for (output, list) in [(false, inputs), (true, outputs)] {
                    let mut count = 0;
                    for (index, slot) in (0..).zip(declared(pinned, output)) {
                        let tensor = list.get(index as usize).ok_or(unbound(output, index, &slot))?;
                        fits(output, index, &slot, tensor, vnc)?;
                        count = index as usize + 1;
                    }
                    if let Some(extra) = list.get(count) {
                        return Err(Error::invalid(Cause::Binding { output, index: count as u32, need: 0, have: extra.bytes }));
                    }
                }
                Ok(Bound::Lists { inputs, outputs })
            }
            // SAFETY: by contract.
            Binding::Sets { inputs, outputs } => unsafe { self.bind_sets(pinned, vnc, [inputs, outputs]) }.map(Bound::Held),
        }
    }

    /// # Safety
    /// The sets, for inputs and outputs, stay alive while the result exists.
    unsafe fn bind_sets(&self, pinned: &Pinned<'_, D, H>, vnc: u32, sets: [NonNull<SetSlot>; 2]) -> Result<Held<'_, D, H>> {
        let mut held = Held { system: self, tensors: Vec::new(), inputs: 0 };
        for (output, set) in [false, true].into_iter().zip(sets) {
            for (index, slot) in (0..).zip(declared(pinned, output)) {
                let missing = unbound(output, index, &slot);
                // SAFETY: live by contract; the reference is the binding's.
                let acquired = unsafe { self.set_acquire(set, slot.name()) };
                // A name that is not there is a mismatch with the contract, not a failure.
                let view = acquired.map_err(|error| if error.cause == Cause::UnknownTensor { missing } else { error })?;
                // SAFETY: held.
                let tensor = unsafe { self.tensor_ref(view) };
                if held.tensors.push(tensor).is_err() {
                    // Both directions of both subgraphs fit; the load has bounded each.
                    // SAFETY: the reference just taken.
                    unsafe { self.tensor_release(&tensor) };
                    return Err(missing);
                }
                fits(output, index, &slot, &tensor, vnc)?;
            }
            if !output {
                held.inputs = held.tensors.len();
            }
        }
        Ok(held)
    }
}

/// Nothing is bound to a declaration.
fn unbound(output: bool, index: u32, slot: &Declared<'_>) -> Error {
    Error::invalid(Cause::Binding { output, index, need: slot.bytes, have: 0 })
}

/// Whether a tensor is large enough for a declaration and lives on the model's logical core.
fn fits(output: bool, index: u32, slot: &Declared<'_>, tensor: &TensorRef, vnc: u32) -> Result<()> {
    if tensor.bytes < slot.bytes {
        return Err(Error::invalid(Cause::Binding { output, index, need: slot.bytes, have: tensor.bytes }));
    }
    if !tensor.is_plain() && tensor.vnc != vnc as i32 {
        return Err(Error::invalid(Cause::WrongCore { tensor: tensor.vnc, model: vnc }));
    }
    Ok(())
}
