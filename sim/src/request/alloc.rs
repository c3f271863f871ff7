//! Allocation in its four forms, and free (`driver-abi` §9).

use nrt_core::driver::Errno;

use super::{Call, Outcome, SIGSEGV};
use crate::kernel::{CATEGORY_CONTIGUOUS, MemAlloc};

/// `MEM_ALLOC`: no alignment, no category.
pub(super) fn original(call: &mut Call<'_>) -> Outcome {
    let host = call.u32(8) != 0;
    let category = MemAlloc::unknown_category(host);
    let (channel, nc_id) = (call.u32(12), call.u32(20));
    alloc(call, &MemAlloc { size: call.u64(0), align: 0, host, channel, nc_id, category }, 24)
}

/// `MEM_ALLOC_V2`: no category.
pub(super) fn aligned(call: &mut Call<'_>) -> Outcome {
    let request = second(call);
    let category = MemAlloc::unknown_category(request.host);
    alloc(call, &MemAlloc { category, ..request }, 32)
}

/// `MEM_ALLOC_V2MT` and `MEM_ALLOC_V2MT64`, which differ in what follows the fields in use.
pub(super) fn typed(call: &mut Call<'_>) -> Outcome {
    let request = second(call);
    let category = call.u32(32);
    alloc(call, &MemAlloc { category, ..request }, 40)
}

/// The fields that the later forms share.
fn second(call: &Call<'_>) -> MemAlloc {
    MemAlloc {
        size: call.u64(0),
        align: call.u64(8),
        host: call.u32(16) != 0,
        channel: call.u32(20),
        nc_id: call.u32(28),
        category: 0,
    }
}

/// Allocates and delivers the handle through the pointer at `pointer`, or undoes the allocation.
fn alloc(call: &mut Call<'_>, request: &MemAlloc, pointer: usize) -> Outcome {
    let strict = call.kernel.config().strict;
    if request.host && request.category == CATEGORY_CONTIGUOUS && strict {
        return call.fatal(0, "category 19 in host memory: the real driver dies when it is used or freed");
    }
    let handle = match call.kernel.alloc(call.pid, call.device, request) {
        Ok(handle) => handle,
        // Only the later forms come here without being attached; the model has counted it.
        Err(Errno::EACCES) if !strict => {
            let what = "allocation by a process that is not attached: the real driver fails an assertion with a lock held";
            return Outcome::Fatal { signal: SIGSEGV, what };
        }
        Err(errno) => return errno.into(),
    };
    let missing = call.write_u64("handle", call.u64(pointer), handle);
    if missing != 0 {
        let undone = call.kernel.free(call.pid, call.device, handle);
        return if undone.is_ok() { Outcome::Value(missing as i64) } else { Outcome::from(undone) };
    }
    if let Ok(chunk) = call.kernel.chunk(call.device, handle) {
        call.environment.allocated(&chunk);
    }
    Outcome::Value(0)
}

/// `MEM_FREE`.
pub(super) fn free(call: &mut Call<'_>) -> Outcome {
    let handle = call.u64(0);
    if let Some(end) = call.doomed(&[handle]) {
        return end;
    }
    let chunk = call.kernel.chunk(call.device, handle);
    let result = call.kernel.free(call.pid, call.device, handle);
    if let (Ok(()), Ok(chunk)) = (result, chunk) {
        call.environment.freed(&chunk);
    }
    result.into()
}
