//! Whether device memory still holds what was loaded: every weight chunk and every piece of code is read back and compared
//! with its source.

use super::plan;
use super::progress::Progress;
use super::say::Unread;
use super::server::{Loaded, Server};
use super::source::Source;
use crate::deployment::Model;
use crate::weights;

/// Bytes that are compared at a time.
const STEP: usize = 256 << 10;

/// What is held, and what should be.
pub(super) struct Buffers {
    held: [u8; STEP],
    expected: [u8; STEP],
}

impl Buffers {
    pub(super) const fn new() -> Self {
        Self { held: [0; STEP], expected: [0; STEP] }
    }
}

/// Reads everything back and records what differs; `true` when nothing does and every model is there.
#[inline(never)]
pub(super) fn verify(server: &Server<'_>, buffers: &mut Buffers, progress: &mut Progress) -> bool {
    let mut equal = true;
    server.for_each_entry(|model, source, _, loaded| match loaded {
        Some(loaded) => {
            for piece in plan::known_pieces(model, source.bytes()) {
                progress.show(format_args!("verifying \"{}\", {} of {} bytes", model.name, piece.offset, source.bytes()));
                equal &= verify_piece(server, (model, source, loaded), &piece, buffers);
            }
        }
        None => equal = false,
    });
    equal
}

/// Compares one piece up to the first difference.
#[inline(never)]
fn verify_piece(
    server: &Server<'_>,
    (model, source, loaded): (&Model, &Source, &Loaded<'_>),
    piece: &plan::Piece,
    buffers: &mut Buffers,
) -> bool {
    let what = if piece.code.is_some() { "code" } else { "weights" };
    let name = &model.name;
    let mut done = 0;
    while done < piece.bytes {
        let length = (piece.bytes - done).min(STEP as u64) as usize;
        let (held, expected) = (&mut buffers.held[..length], &mut buffers.expected[..length]);
        let offset = piece.offset + done;
        if let Err(error) = loaded.read_variable(piece.relative, piece.variable, done, held) {
            server.findings.error(format_args!("model \"{name}\", {what} at offset {offset} cannot be read back: {error}"));
            return false;
        }
        let read = match piece.code {
            Some(seed) => {
                weights::fill(expected, seed, offset);
                Ok(())
            }
            None => source.read(offset, expected),
        };
        if let Err(error) = read {
            server.findings.error(format_args!("model \"{name}\", key \"weights.file\": {}", Unread(error)));
            return false;
        }
        if held != expected {
            let differs = held.iter().zip(expected.iter()).position(|(found, expected)| found != expected).unwrap_or(0);
            server.findings.error(format_args!(
                "model \"{name}\", {what} differ at offset {}: {:#04x} on the device (core {} of the logical core, variable \
                 {:#x}), {:#04x} in the source",
                offset + differs as u64,
                held[differs],
                piece.relative,
                piece.variable,
                expected[differs]
            ));
            return false;
        }
        done += length as u64;
    }
    true
}
