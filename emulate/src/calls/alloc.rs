//! Allocation in its four forms, and free (`driver-abi` §9).

use nrt_sim::kernel::MemAlloc;

use super::{Call, Outcome};

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
    if request.host && request.category == 19 {
        // The real driver succeeds here, and dies with a lock held when the chunk is used or freed.
        call.world.hazard(call.pid, "category 19 in host memory: the real driver cannot free it and hangs");
        return Outcome::NotModelled("contiguous scratchpad in host memory");
    }
    let handle = match call.world.kernel.alloc(call.pid, call.device, request) {
        Ok(handle) => handle,
        Err(errno) => return errno.into(),
    };
    let missing = call.write_u64("handle", call.u64(pointer), handle);
    if missing != 0 {
        let undone = call.world.kernel.free(call.pid, call.device, handle);
        return if undone.is_ok() { Outcome::Value(missing as i64) } else { Outcome::from(undone) };
    }
    if let Ok(chunk) = call.world.kernel.chunk(call.device, handle) {
        call.world.ledger.borrow_mut().allocated(call.device, &chunk);
    }
    Outcome::Value(0)
}

/// `MEM_FREE`.
pub(super) fn free(call: &mut Call<'_>) -> Outcome {
    let handle = call.u64(0);
    let result = call.world.kernel.free(call.pid, call.device, handle);
    if result.is_ok() {
        call.world.ledger.borrow_mut().freed(call.device, handle);
    }
    result.into()
}
