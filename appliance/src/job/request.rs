//! One request: bytes into the inputs in a batch, a run, bytes out of the outputs in a batch, compared.
//!
//! The bytes of a request are a stream of [`crate::weights`] for each input, seeded by the request's number and the
//! input's, so that outputs of another request, another thread or another model are told apart from the right ones.

use core::{fmt, slice};

use heapless::Vec;
use nrt_core::hooks::Hooks;
use nrt_core::model::CopyExecutor;
use nrt_core::{Cause, Error, Fence, ReadPiece, Status, WritePiece};

use super::server::{Bound, PATIENCE_NS, Seat, Server};
use super::statics::HOOKS;
use super::tensors::{self, OfModel, Own, Sets};
use crate::deployment::{MAX_TENSORS, Model};
use crate::weights::{self, Mismatch};

/// How long outputs are waited for, in microseconds.
const PATIENCE_US: i64 = (PATIENCE_NS / 1000) as i64;
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
    let OfModel { inputs, outputs, whole } = tensors::of_model(own, server.deployment.models(), index);
    let Some(whole) = whole else { return Ok(Outcome::Abandoned) };
    let mut buffer = [0; BUFFER_BYTES];
    write(server, whole, inputs, number, &mut buffer).map_err(during("writing the inputs"))?;
    sets.bind(model, inputs, outputs).map_err(during("binding"))?;
    let first = outputs.first().zip(outputs.first().and_then(|output| output.completions().ok()));
    if !run(server, sets, model, seat).map_err(during("running"))? {
        return Ok(Outcome::Abandoned);
    }
    if let Some((output, before)) = first {
        output.wait_completed(PATIENCE_US, before + 1).map_err(during("waiting for the outputs"))?;
    }
    read(server, inputs, outputs, number, &mut buffer).map_err(during("reading the outputs"))
}

/// Bytes of each tensor that are in the buffer at a time, when `tensors` share it, and where these pieces start.
fn steps(tensors: Own<'_, '_>) -> (usize, impl Iterator<Item = u64> + use<>) {
    let longest = tensors.iter().map(Bound::bytes).max().unwrap_or(0);
    let step = BUFFER_BYTES / tensors.len().max(1);
    (step, (0..longest).step_by(step))
}

/// The part of a tensor's piece of the buffer that lies inside the tensor; `None` behind its end.
fn inside<'b>(part: &'b mut [u8], tensor: &Bound<'_>, start: u64) -> Option<&'b mut [u8]> {
    let left = tensor.bytes().saturating_sub(start).min(part.len() as u64) as usize;
    part.get_mut(..left).filter(|part| !part.is_empty())
}

/// Writes the bytes of request `number` into the inputs, a piece of each at a time, in one batch: through the tensor whose slices
/// they are, while the model gets the slices.
fn write(server: &Server<'_>, whole: &Bound<'_>, inputs: Own<'_, '_>, number: u64, buffer: &mut [u8]) -> nrt_core::Result<()> {
    let (step, starts) = steps(inputs);
    for start in starts {
        let mut pieces = Vec::<_, MAX_TENSORS>::new();
        let mut slice = 0;
        for (input, (tensor, part)) in inputs.iter().zip(buffer.chunks_mut(step)).enumerate() {
            if let Some(part) = inside(part, tensor, start) {
                weights::fill(part, seed(number, input), start);
                // There is room, here and below: a model has at most so many tensors.
                let _ = pieces.push(WritePiece::new(slice + start, part));
            }
            slice = tensors::behind(slice, tensor.bytes());
        }
        server.runtime.write_batch(&[(whole, &pieces)], Fence::Wait)?;
    }
    Ok(())
}

/// Reads the outputs of request `number`, a piece of each at a time, in one batch, and compares them with the inputs.
fn read(
    server: &Server<'_>,
    inputs: Own<'_, '_>,
    outputs: Own<'_, '_>,
    number: u64,
    buffer: &mut [u8],
) -> nrt_core::Result<Outcome> {
    let (step, starts) = steps(outputs);
    for start in starts {
        let mut pieces = Vec::<_, MAX_TENSORS>::new();
        for (tensor, part) in outputs.iter().zip(buffer.chunks_mut(step)) {
            let Some(part) = inside(part, tensor, start) else { continue };
            let _ = pieces.push((tensor, ReadPiece::new(start, part)));
        }
        let mut batch: Vec<(&Bound<'_>, &mut [ReadPiece<'_>]), MAX_TENSORS> =
            pieces.iter_mut().map(|(tensor, piece)| (*tensor, slice::from_mut(piece))).collect();
        server.runtime.read_batch(&mut batch, Fence::Wait)?;
        drop(batch);
        drop(pieces);
        for (output, (tensor, part)) in outputs.iter().zip(buffer.chunks_mut(step)).enumerate() {
            let input = output % inputs.len().max(1);
            let (Some(part), Some(source)) = (inside(part, tensor, start), inputs.get(input)) else { continue };
            if let Some(mismatch) = compare(part, seed(number, input), start, source.bytes()) {
                return Ok(Outcome::Wrong { output, mismatch });
            }
        }
    }
    Ok(Outcome::Right)
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
