//! Copies and fills (`driver-abi` §13).

use nrt_core::driver::{DriverResult, Errno};
use nrt_sim::kernel::ASYNC_COPY_LIMIT;

use super::{Call, Outcome};

/// `MEM_COPY64`.
pub(super) fn copy64(call: &mut Call<'_>) -> Outcome {
    copy(call, call.u64(16), call.u64(24), call.u64(32)).into()
}

/// `MEM_COPY`.
pub(super) fn copy32(call: &mut Call<'_>) -> Outcome {
    copy(call, call.u32(16).into(), call.u32(20).into(), call.u32(24).into()).into()
}

fn copy(call: &Call<'_>, size: u64, from: u64, to: u64) -> DriverResult<()> {
    let (src, dst) = ((call.u64(0), from), (call.u64(8), to));
    let (from, to) = call.world.kernel.copy(call.device, src, dst, size)?;
    call.world.memory.copy(&from, &to);
    Ok(())
}

/// `MEMSET64`.
pub(super) fn fill64(call: &mut Call<'_>) -> Outcome {
    fill(call, call.u64(24)).into()
}

/// `MEMSET`.
pub(super) fn fill32(call: &mut Call<'_>) -> Outcome {
    fill(call, call.u32(20).into()).into()
}

fn fill(call: &Call<'_>, size: u64) -> DriverResult<()> {
    let span = call.world.kernel.fill(call.device, call.u64(0), call.u64(8), size)?;
    // The low byte of the value.
    let value = call.world.kernel.staged_byte(call.device, call.u32(16) as u8, size);
    call.world.memory.fill(&span, value);
    Ok(())
}

/// `MEM_BUF_COPY64`.
pub(super) fn buffer64(call: &mut Call<'_>) -> Outcome {
    buffer(call, call.u64(16), call.u64(24), call.u32(32) != 0)
}

/// `MEM_BUF_COPY`.
pub(super) fn buffer32(call: &mut Call<'_>) -> Outcome {
    buffer(call, call.u32(16).into(), call.u32(20).into(), call.u32(24) != 0)
}

fn buffer(call: &Call<'_>, size: u64, offset: u64, to_device: bool) -> Outcome {
    let world = call.world;
    let mut span = match world.kernel.access(call.device, call.u64(0), offset, size) {
        Ok(span) => span,
        Err(errno) => return errno.into(),
    };
    if size > u64::from(u32::MAX) && matches!(span.region, nrt_sim::Region::Hbm { .. }) {
        // The driver's loop counter has 32 bits.
        world.hazard(call.pid, "buffer copy of 4 GiB or more: only the size modulo 4 GiB is copied");
        if world.kernel.config().strict {
            return Outcome::Errno(libc::EINVAL);
        }
        span.bytes &= u64::from(u32::MAX);
    }
    let missing = if to_device {
        world.memory.write(call.tid, call.u64(8), &span)
    } else {
        world.memory.read(call.tid, call.u64(8), &span)
    };
    Outcome::Value(missing as i64)
}

/// `MEM_COPY_ASYNC64`.
pub(super) fn start64(call: &mut Call<'_>) -> Outcome {
    start(call, call.u64(16), call.u64(24), call.u64(32), 48)
}

/// `MEM_COPY_ASYNC`.
pub(super) fn start32(call: &mut Call<'_>) -> Outcome {
    start(call, call.u32(16).into(), call.u32(20).into(), call.u32(24).into(), 40)
}

/// The copy is complete on return; only the protocol of starting and waiting is that of an asynchronous one.
fn start(call: &mut Call<'_>, size: u64, from: u64, to: u64, pointer: usize) -> Outcome {
    let world = call.world;
    let (src, dst) = (call.u64(0), call.u64(8));
    let started = world.kernel.copy_start(call.device, (src, from), (dst, to), size, call.u32(pointer) as i32);
    match started {
        Ok(started) => {
            world.memory.copy(&started.src, &started.dst);
            call.put_u32(pointer + 4, started.wait as u32);
            call.write_back()
        }
        Err(Errno(errno)) => {
            if size > ASYNC_COPY_LIMIT && errno == libc::EINVAL && !world.kernel.config().strict {
                first_part(call, (src, from), (dst, to));
            }
            Outcome::Errno(errno)
        }
    }
}

/// An oversize request is refused after its first part has been copied.
fn first_part(call: &Call<'_>, (src, from): (u64, u64), (dst, to): (u64, u64)) {
    let kernel = &call.world.kernel;
    let spans = (kernel.access(call.device, src, from, ASYNC_COPY_LIMIT), kernel.access(call.device, dst, to, ASYNC_COPY_LIMIT));
    if let (Ok(from), Ok(to)) = spans {
        call.world.memory.copy(&from, &to);
    }
}

/// `MEM_COPY_ASYNC_WAIT`.
pub(super) fn wait(call: &mut Call<'_>) -> Outcome {
    call.world.kernel.copy_wait(call.device, call.u64(0), call.u64(8), call.u32(16) as i32).into()
}
