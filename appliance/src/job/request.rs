//! One request: bytes into the inputs, a run, bytes out of the outputs, compared.
//!
//! The bytes of a request are a stream of [`crate::weights`] for each input, seeded by the request's number and the
//! input's, so that outputs of another request, another thread or another model are told apart from the right ones.

use core::fmt;

use nrt_core::hooks::Hooks;
use nrt_core::model::CopyExecutor;
use nrt_core::{Cause, Error, Status};

use super::server::{PATIENCE_NS, Seat, Server};
use super::statics::HOOKS;
use super::tensors::{self, Own, Sets};
use crate::deployment::{MAX_TENSORS, Model};
use crate::weights::{self, Mismatch};

/// Bytes that pass through a thread at a time.
const BUFFER_BYTES: usize = 64 << 10;
/// First and longest sleep of a thread that waits for a model to come back, in nanoseconds: 1 ms and 1 s.
const PAUSES_NS: (u64, u64) = (1_000_000, 1_000_000_000);

/// What became of a request.
pub(super) enum Outcome {
    /// The outputs carried the right bytes.
    Right,
    /// They did not.
    Wrong {
        /// Number of the first output with a wrong byte.
        output: usize,
        /// The first wrong byte of it; its offset counts in the output.
        mismatch: Mismatch,
    },
    /// It was not served, because the job stops.
    Abandoned,
}

/// Why a request could not be served.
pub(super) struct Fault {
    what: &'static str,
    error: Error,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.error)
    }
}

/// Adds what was being done to an error.
fn during(what: &'static str) -> impl Fn(Error) -> Fault {
    move |error| Fault { what, error }
}

/// Seed of the bytes of an input.
fn seed(request: u64, input: usize) -> u64 {
    request.wrapping_mul(MAX_TENSORS as u64).wrapping_add(input as u64)
}

/// Serves request `number` to model `index` with the tensors of the calling thread.
///
/// # Errors
/// What the runtime answered, except that a model which is being reloaded is waited for.
#[inline(never)]
pub(super) fn serve(server: &Server<'_>, own: Own<'_, '_>, sets: &Sets<'_>, index: usize, number: u64) -> Result<Outcome, Fault> {
    let Some((model, seat, _)) = server.entry(index) else { return Ok(Outcome::Abandoned) };
    let (inputs, outputs) = tensors::of_model(own, server.deployment.models(), index);
    let mut buffer = [0; BUFFER_BYTES];
    for (input, tensor) in inputs.iter().enumerate() {
        for (offset, length) in spans(tensor.bytes()) {
            let bytes = &mut buffer[..length];
            weights::fill(bytes, seed(number, input), offset);
            tensor.write(offset, bytes).map_err(during("writing an input"))?;
        }
    }
    sets.bind(model, inputs, outputs).map_err(during("binding"))?;
    if !run(server, sets, model, seat).map_err(during("running"))? {
        return Ok(Outcome::Abandoned);
    }
    for (output, tensor) in outputs.iter().enumerate() {
        let input = output % inputs.len().max(1);
        let Some(source) = inputs.get(input) else { continue };
        for (offset, length) in spans(tensor.bytes()) {
            let bytes = &mut buffer[..length];
            tensor.read(offset, bytes).map_err(during("reading an output"))?;
            if let Some(mismatch) = compare(bytes, seed(number, input), offset, source.bytes()) {
                return Ok(Outcome::Wrong { output, mismatch });
            }
        }
    }
    Ok(Outcome::Right)
}

/// Offsets and lengths that cover `bytes` bytes in steps of the buffer.
fn spans(bytes: u64) -> impl Iterator<Item = (u64, usize)> {
    let step = BUFFER_BYTES as u64;
    (0..bytes.div_ceil(step)).map(move |index| (index * step, step.min(bytes - index * step) as usize))
}

/// Compares the bytes of an output from `offset` on with an input of `length` bytes, over and over.
fn compare(bytes: &[u8], seed: u64, offset: u64, length: u64) -> Option<Mismatch> {
    let mut at = 0;
    while at < bytes.len() {
        let position = offset + at as u64;
        let in_input = position % length;
        let here = (length - in_input).min((bytes.len() - at) as u64) as usize;
        if let Some(mismatch) = weights::verify(&bytes[at..at + here], seed, in_input) {
            return Some(Mismatch { offset: position + (mismatch.offset - in_input), ..mismatch });
        }
        at += here;
    }
    None
}

/// Runs a model under the id it has now; while it is being reloaded, sleeps until it has another. `false` when the job
/// stops.
fn run(server: &Server<'_>, sets: &Sets<'_>, model: &Model, seat: &Seat) -> nrt_core::Result<bool> {
    let core = server.runtime.core(model.vnc)?;
    let give_up = HOOKS.now_ns().saturating_add(PATIENCE_NS);
    let mut pause = PAUSES_NS.0;
    loop {
        let id = seat.id();
        if id == 0 || server.findings.failed() {
            return Ok(false);
        }
        match core.run_sets(id, &sets.inputs, &sets.outputs, Some(PATIENCE_NS), &CopyExecutor) {
            Ok(()) => return Ok(true),
            Err(error @ Error { status: Status::InvalidHandle, cause: Cause::UnknownModel(_) }) => {
                let now = HOOKS.now_ns();
                if now >= give_up {
                    return Err(error);
                }
                seat.wait(id, now.saturating_add(pause).min(give_up));
                pause = (pause * 2).min(PAUSES_NS.1);
            }
            Err(error) => return Err(error),
        }
    }
}
