//! One request: bytes into the inputs in a batch, a run, bytes out of the outputs in a batch, compared.
//!
//! The bytes of a request are a stream of [`crate::weights`] for each input, seeded by the request's number and the
//! input's, so that outputs of another request, another thread or another model are told apart from the right ones.

use core::fmt;

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
    let Some(own) = tensors::of_model(own, server.deployment.models(), index) else { return Ok(Outcome::Abandoned) };
    let mut buffer = [0; BUFFER_BYTES];
    write(server, &own, number, &mut buffer).map_err(during("writing the inputs"))?;
    sets.bind(model, &own).map_err(during("binding"))?;
    let first = own.outputs.first().and_then(|output| Some((output, output.completions().ok()?)));
    if !run(server, sets, model, seat).map_err(during("running"))? {
        return Ok(Outcome::Abandoned);
    }
    if let Some((output, before)) = first {
        output.wait_completed(PATIENCE_US, before + 1).map_err(during("waiting for the outputs"))?;
    }
    read(server, &own, number, &mut buffer).map_err(during("reading the outputs"))
}

/// Bytes of each tensor that are in the buffer at a time, when `tensors` share it, and bytes of the longest one.
fn steps(tensors: Own<'_, '_>) -> (usize, u64) {
    (BUFFER_BYTES / tensors.len().max(1), tensors.iter().map(Bound::bytes).max().unwrap_or(0))
}

/// Calls `visit` for each tensor that has bytes from `start` on: with its number, where these bytes are in the tensor whose
/// slices they are, of which the first begins at `slice`, and the part of the buffer that is theirs.
#[inline(never)]
fn for_each_part<'b>(
    tensors: Own<'_, '_>,
    mut slice: u64,
    start: u64,
    buffer: &'b mut [u8],
    visit: &mut dyn FnMut(usize, u64, &'b mut [u8]),
) {
    let (step, _) = steps(tensors);
    for (number, (tensor, part)) in tensors.iter().zip(buffer.chunks_mut(step)).enumerate() {
        let left = tensor.bytes().saturating_sub(start).min(part.len() as u64) as usize;
        if left != 0 {
            visit(number, slice + start, &mut part[..left]);
        }
        slice = tensors::behind(slice, tensor.bytes());
    }
}

/// Writes the bytes of request `number` into the inputs, a piece of each at a time, in one batch: through the tensor whose slices
/// they are, while the model gets the slices.
fn write(server: &Server<'_>, own: &OfModel<'_, '_>, number: u64, buffer: &mut [u8]) -> nrt_core::Result<()> {
    let (step, longest) = steps(own.inputs);
    let mut start = 0;
    while start < longest {
        let mut pieces = Vec::<_, MAX_TENSORS>::new();
        for_each_part(own.inputs, 0, start, buffer, &mut |input, offset, part| {
            weights::fill(part, seed(number, input), start);
            // There is room, here and below: a model has at most so many tensors.
            let _ = pieces.push(WritePiece::new(offset, part));
        });
        server.runtime.write_batch(&[(own.whole, &pieces)], Fence::Wait)?;
        start += step as u64;
    }
    Ok(())
}

/// Reads the outputs of request `number`, a piece of each at a time, in one batch as the inputs were written, and compares them
/// with those.
fn read(server: &Server<'_>, own: &OfModel<'_, '_>, number: u64, buffer: &mut [u8]) -> nrt_core::Result<Outcome> {
    let (step, longest) = steps(own.outputs);
    let first = own.inputs.iter().fold(0, |end, input| tensors::behind(end, input.bytes()));
    let (mut start, mut outcome) = (0, Outcome::Right);
    while start < longest && matches!(outcome, Outcome::Right) {
        let mut pieces = Vec::<_, MAX_TENSORS>::new();
        for_each_part(own.outputs, first, start, buffer, &mut |_, offset, part| {
            let _ = pieces.push(ReadPiece::new(offset, part));
        });
        server.runtime.read_batch(&mut [(own.whole, &mut pieces)], Fence::Wait)?;
        drop(pieces);
        for_each_part(own.outputs, first, start, buffer, &mut |output, _, part| {
            let input = output % own.inputs.len().max(1);
            let mismatch = own.inputs.get(input).and_then(|source| compare(part, seed(number, input), start, source.bytes()));
            if let (Outcome::Right, Some(mismatch)) = (&outcome, mismatch) {
                outcome = Outcome::Wrong { output, mismatch };
            }
        });
        start += step as u64;
    }
    Ok(outcome)
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
