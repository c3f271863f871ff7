//! Core reservation and core resets (`driver-abi` §8, §18).

use nrt_core::driver::Errno;

use super::{Call, Outcome};
use crate::kernel::{CoreMap, NoCores, ResetRequest};

/// `CRWL_NC_RANGE_MARK_EXT0`.
pub(super) fn mark(call: &mut Call<'_>) -> Outcome {
    mark_words(call, 8)
}

/// `CRWL_NC_RANGE_MARK`: only the first 64 cores are told.
pub(super) fn mark_64(call: &mut Call<'_>) -> Outcome {
    mark_words(call, 1)
}

fn mark_words(call: &mut Call<'_>, words: usize) -> Outcome {
    let (count, first, last) = (call.u32(0), call.u32(4), call.u32(8));
    let (map, longest, reserved) = match call.kernel.reserve(call.pid, call.device, count, first, last) {
        Ok(reserved) => (reserved.map, reserved.longest, true),
        Err(NoCores::Busy { longest }) => (CoreMap::default(), longest, false),
        Err(NoCores::Range) => return Outcome::Errno(Errno::EINVAL),
    };
    call.put_u32(12, longest);
    for (index, word) in map.iter().take(words).enumerate() {
        call.put_u64(16 + 8 * index, *word);
    }
    let written = call.write_back();
    if reserved { written } else { Outcome::Errno(Errno::EBUSY) }
}

/// `CRWL_NC_RANGE_UNMARK_EXT0`.
pub(super) fn unmark(call: &mut Call<'_>) -> Outcome {
    let map = core::array::from_fn(|index| call.u64(16 + 8 * index));
    call.kernel.unreserve(call.pid, call.device, &map).into()
}

/// `CRWL_NC_RANGE_UNMARK`.
pub(super) fn unmark_64(call: &mut Call<'_>) -> Outcome {
    let mut map = CoreMap::default();
    map[0] = call.u64(16);
    call.kernel.unreserve(call.pid, call.device, &map).into()
}

/// `NC_RESET`: one request for each process and device until it is waited for.
pub(super) fn reset(call: &mut Call<'_>) -> Outcome {
    match call.kernel.request_reset(call.pid, call.device, call.u32(0)) {
        Ok(ResetRequest::Done) => {
            call.put_u32(4, call.pid);
            call.write_back()
        }
        Ok(ResetRequest::Pending) => Outcome::Value(1),
        Err(errno) => errno.into(),
    }
}

/// `NC_RESET_READY`: the reset is done at once; without one the result is 1.
pub(super) fn reset_ready(call: &mut Call<'_>) -> Outcome {
    let pending = call.kernel.take_reset(call.pid, call.device);
    call.put_u32(4, u32::from(!pending));
    call.write_back()
}
