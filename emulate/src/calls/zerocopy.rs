//! Copies without a bounce buffer: the unadvertised form of 2.24, the advertised ones from 2.25 (`driver-abi` §13).

use nrt_core::arch::Arch;

use super::{Call, Outcome};
use crate::remote;

/// Largest direct write to PCI memory.
const DIRECT_LIMIT: u64 = 8192;
/// Bytes of a batch and of an operation.
const BATCH: usize = 40;
const OPERATION: usize = 24;

/// One piece.
struct Piece {
    handle: u64,
    buffer: u64,
    size: u64,
    offset: u64,
    to_device: bool,
    threshold: u64,
}

/// `MEM_BUF_ZEROCOPY64` of 2.24: 40 bytes.
pub(super) fn early(call: &mut Call<'_>) -> Outcome {
    let (handle, buffer, size, offset) = (call.u64(0), call.u64(8), call.u64(16), call.u64(24));
    if size == 0 {
        call.world.hazard(call.pid, "zero-copy of length 0: the real driver dereferences null");
        return Outcome::NotModelled("zero-copy of length 0");
    }
    piece(call, &Piece { handle, buffer, size, offset, to_device: call.u32(32) != 0, threshold: u64::MAX })
}

/// `MEM_BUF_ZEROCOPY64` from 2.25: 48 bytes.
pub(super) fn single(call: &mut Call<'_>) -> Outcome {
    let (handle, buffer, size, offset) = (call.u64(0), call.u64(8), call.u64(16), call.u64(24));
    if call.u32(40) != u32::MAX {
        return Outcome::NotModelled("zero-copy through an extra queue");
    }
    let (to_device, threshold) = (call.u32(32) != 0, call.u32(36).into());
    piece(call, &Piece { handle, buffer, size, offset, to_device, threshold })
}

/// Copies one piece. SUNDA only has the direct write.
fn piece(call: &Call<'_>, piece: &Piece) -> Outcome {
    let world = call.world;
    let span = match world.kernel.access(call.device, piece.handle, piece.offset, piece.size) {
        Ok(span) => span,
        Err(errno) => return errno.into(),
    };
    if piece.size == 0 {
        return Outcome::Errno(libc::EINVAL);
    }
    let aligned = piece.size.is_multiple_of(4) && piece.offset.is_multiple_of(4);
    let direct = piece.to_device && aligned && piece.size <= piece.threshold.min(DIRECT_LIMIT);
    if world.kernel.config().arch == Arch::Sunda && piece.threshold != u64::MAX && !direct {
        return Outcome::Errno(libc::EINVAL);
    }
    let missing = if piece.to_device {
        world.memory.write(call.tid, piece.buffer, &span)
    } else {
        world.memory.read(call.tid, piece.buffer, &span)
    };
    if missing == 0 { Outcome::Value(0) } else { Outcome::Errno(libc::EFAULT) }
}

/// `MEM_BUF_ZEROCOPY64_BATCHES`: in order, until one fails.
pub(super) fn batches(call: &mut Call<'_>) -> Outcome {
    let (address, count, to_device) = (call.u64(8), call.u32(16), call.u32(20) & 0xFFFF != 0);
    if call.u32(24) != u32::MAX {
        return Outcome::NotModelled("zero-copy through an extra queue");
    }
    if address == 0 || count == 0 {
        return Outcome::Errno(libc::EINVAL);
    }
    for index in 0..u64::from(count) {
        let mut batch = [0; BATCH];
        if remote::read(call.tid, address.wrapping_add(index * BATCH as u64), &mut batch) != 0 {
            return Outcome::Errno(libc::EFAULT);
        }
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| batch[at + byte]));
        let (handle, base, ops, many) = (word(0), word(8), word(16), word(24) as u32);
        let threshold = word(24) >> 32 & 0xFFFF;
        if ops == 0 || many == 0 {
            return Outcome::Errno(libc::EINVAL);
        }
        for operation in 0..u64::from(many) {
            let mut bytes = [0; OPERATION];
            if remote::read(call.tid, ops.wrapping_add(operation * OPERATION as u64), &mut bytes) != 0 {
                return Outcome::Errno(libc::EFAULT);
            }
            let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
            let (offset, size, buffer) = (base.wrapping_add(word(0)), word(8), word(16));
            if size == 0 || buffer == 0 {
                return Outcome::Errno(libc::EINVAL);
            }
            let outcome = piece(call, &Piece { handle, buffer, size, offset, to_device, threshold });
            if outcome != Outcome::Value(0) {
                return outcome;
            }
        }
    }
    Outcome::Value(0)
}
