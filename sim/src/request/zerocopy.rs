//! Copies without a bounce buffer: the unadvertised form of 2.24, the advertised ones from 2.25 (`driver-abi` §13).

use nrt_core::arch::Arch;

use nrt_core::driver::Errno;

use super::{Call, Outcome, SIGKILL};

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
        return call.fatal(SIGKILL, "zero-copy of length 0: the real driver dereferences null");
    }
    piece(call, &Piece { handle, buffer, size, offset, to_device: call.u32(32) != 0, threshold: u64::MAX })
}

/// `MEM_BUF_ZEROCOPY64` from 2.25: 48 bytes.
pub(super) fn single(call: &mut Call<'_>) -> Outcome {
    let (handle, buffer, size, offset) = (call.u64(0), call.u64(8), call.u64(16), call.u64(24));
    if call.u32(40) != u32::MAX {
        return Outcome::Refused("zero-copy through an extra queue");
    }
    let (to_device, threshold) = (call.u32(32) != 0, call.u32(36).into());
    piece(call, &Piece { handle, buffer, size, offset, to_device, threshold })
}

/// Copies one piece. SUNDA only has the direct write.
fn piece(call: &Call<'_>, piece: &Piece) -> Outcome {
    if let Some(end) = call.doomed(&[piece.handle]) {
        return end;
    }
    let span = match call.kernel.access(call.device, piece.handle, piece.offset, piece.size) {
        Ok(span) => span,
        Err(errno) => return errno.into(),
    };
    if piece.size == 0 {
        return Outcome::Errno(Errno::EINVAL);
    }
    let aligned = piece.size.is_multiple_of(4) && piece.offset.is_multiple_of(4);
    let direct = piece.to_device && aligned && piece.size <= piece.threshold.min(DIRECT_LIMIT);
    if call.kernel.config().arch == Arch::Sunda && piece.threshold != u64::MAX && !direct {
        return Outcome::Errno(Errno::EINVAL);
    }
    let missing = if piece.to_device {
        call.environment.user_to_device(piece.buffer, &span)
    } else {
        call.environment.device_to_user(piece.buffer, &span)
    };
    if missing == 0 { Outcome::Value(0) } else { Outcome::Errno(Errno::EFAULT) }
}

/// `MEM_BUF_ZEROCOPY64_BATCHES`: in order, until one fails.
pub(super) fn batches(call: &mut Call<'_>) -> Outcome {
    let (address, count, to_device) = (call.u64(8), call.u32(16), call.u32(20) & 0xFFFF != 0);
    if call.u32(24) != u32::MAX {
        return Outcome::Refused("zero-copy through an extra queue");
    }
    if address == 0 || count == 0 {
        return Outcome::Errno(Errno::EINVAL);
    }
    for index in 0..u64::from(count) {
        let mut batch = [0; BATCH];
        if call.environment.read_user(address.wrapping_add(index * BATCH as u64), &mut batch) != 0 {
            return Outcome::Errno(Errno::EFAULT);
        }
        let word = |at: usize| u64::from_le_bytes(core::array::from_fn(|byte| batch[at + byte]));
        let (handle, base, ops, many) = (word(0), word(8), word(16), word(24) as u32);
        let threshold = word(24) >> 32 & 0xFFFF;
        if ops == 0 || many == 0 {
            return Outcome::Errno(Errno::EINVAL);
        }
        for operation in 0..u64::from(many) {
            let mut bytes = [0; OPERATION];
            if call.environment.read_user(ops.wrapping_add(operation * OPERATION as u64), &mut bytes) != 0 {
                return Outcome::Errno(Errno::EFAULT);
            }
            let word = |at: usize| u64::from_le_bytes(core::array::from_fn(|byte| bytes[at + byte]));
            let (offset, size, buffer) = (base.wrapping_add(word(0)), word(8), word(16));
            if size == 0 || buffer == 0 {
                return Outcome::Errno(Errno::EINVAL);
            }
            let outcome = piece(call, &Piece { handle, buffer, size, offset, to_device, threshold });
            if outcome != Outcome::Value(0) {
                return outcome;
            }
        }
    }
    Outcome::Value(0)
}
