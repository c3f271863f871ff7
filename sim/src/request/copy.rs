//! Copies and fills (`driver-abi` §13).

use nrt_core::driver::{DriverResult, Errno};

use super::{Call, Outcome};
use crate::backing::Region;
use crate::kernel::ASYNC_COPY_LIMIT;

/// `MEM_COPY64`.
pub(super) fn copy64(call: &mut Call<'_>) -> Outcome {
    copy(call, call.u64(16), call.u64(24), call.u64(32))
}

/// `MEM_COPY`.
pub(super) fn copy32(call: &mut Call<'_>) -> Outcome {
    copy(call, call.u32(16).into(), call.u32(20).into(), call.u32(24).into())
}

fn copy(call: &Call<'_>, size: u64, from: u64, to: u64) -> Outcome {
    let (src, dst) = (call.u64(0), call.u64(8));
    if let Some(end) = call.doomed(&[src, dst]) {
        return end;
    }
    match call.kernel.copy(call.device, (src, from), (dst, to), size) {
        Ok((from, to)) => {
            call.environment.copy(&from, &to);
            Outcome::Value(0)
        }
        Err(errno) => errno.into(),
    }
}

/// `MEMSET64`.
pub(super) fn fill64(call: &mut Call<'_>) -> Outcome {
    fill(call, call.u64(24))
}

/// `MEMSET`.
pub(super) fn fill32(call: &mut Call<'_>) -> Outcome {
    fill(call, call.u32(20).into())
}

fn fill(call: &Call<'_>, size: u64) -> Outcome {
    let (kernel, device, handle) = (call.kernel, call.device, call.u64(0));
    if let Some(end) = call.doomed(&[handle]) {
        return end;
    }
    let filled: DriverResult<()> = kernel.fill(device, handle, call.u64(8), size).map(|span| {
        // The low byte of the value.
        let value = kernel.staged_byte(device, call.u32(16) as u8, size);
        call.environment.fill(&span, value);
    });
    filled.into()
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
    if let Some(end) = call.doomed(&[call.u64(0)]) {
        return end;
    }
    let mut span = match call.kernel.access(call.device, call.u64(0), offset, size) {
        Ok(span) => span,
        Err(errno) => return errno.into(),
    };
    if size > u64::from(u32::MAX) && matches!(span.region, Region::Hbm { .. }) {
        // The driver's loop counter has 32 bits.
        call.environment.hazard("buffer copy of 4 GiB or more: only the size modulo 4 GiB is copied");
        if call.kernel.config().strict {
            return Outcome::Errno(Errno::EINVAL);
        }
        span.bytes &= u64::from(u32::MAX);
    }
    let missing = if to_device {
        call.environment.user_to_device(call.u64(8), &span)
    } else {
        call.environment.device_to_user(call.u64(8), &span)
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
    let (src, dst) = (call.u64(0), call.u64(8));
    if let Some(end) = call.doomed(&[src, dst]) {
        return end;
    }
    let started = call.kernel.copy_start(call.device, (src, from), (dst, to), size, call.u32(pointer) as i32);
    match started {
        Ok(started) => {
            call.environment.copy(&started.src, &started.dst);
            call.put_u32(pointer + 4, started.wait as u32);
            call.write_back()
        }
        Err(errno) => {
            if size > ASYNC_COPY_LIMIT && errno == Errno::EINVAL && !call.kernel.config().strict {
                first_part(call, (src, from), (dst, to));
            }
            Outcome::Errno(errno)
        }
    }
}

/// An oversize request is refused after its first part has been copied.
fn first_part(call: &Call<'_>, (src, from): (u64, u64), (dst, to): (u64, u64)) {
    let kernel = call.kernel;
    let spans = (kernel.access(call.device, src, from, ASYNC_COPY_LIMIT), kernel.access(call.device, dst, to, ASYNC_COPY_LIMIT));
    if let (Ok(from), Ok(to)) = spans {
        call.environment.copy(&from, &to);
    }
}

/// `MEM_COPY_ASYNC_WAIT`.
pub(super) fn wait(call: &mut Call<'_>) -> Outcome {
    call.kernel.copy_wait(call.device, call.u64(0), call.u64(8), call.u32(16) as i32).into()
}
