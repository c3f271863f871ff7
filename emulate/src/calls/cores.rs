//! Core reservation and core resets (`driver-abi` §8, §18).

use nrt_sim::kernel::{CoreMap, NoCores};

use super::{Call, Outcome};

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
    let (map, longest, errno) = match call.world.kernel.reserve(call.pid, call.device, count, first, last) {
        Ok(reserved) => (reserved.map, reserved.longest, 0),
        Err(NoCores::Busy { longest }) => (CoreMap::default(), longest, libc::EBUSY),
        Err(NoCores::Range) => return Outcome::Errno(libc::EINVAL),
    };
    call.put_u32(12, longest);
    for (index, word) in map.iter().take(words).enumerate() {
        call.put_u64(16 + 8 * index, *word);
    }
    let written = call.write_back();
    if errno == 0 { written } else { Outcome::Errno(errno) }
}

/// `CRWL_NC_RANGE_UNMARK_EXT0`.
pub(super) fn unmark(call: &mut Call<'_>) -> Outcome {
    let map = std::array::from_fn(|index| call.u64(16 + 8 * index));
    call.world.kernel.unreserve(call.pid, call.device, &map).into()
}

/// `CRWL_NC_RANGE_UNMARK`.
pub(super) fn unmark_64(call: &mut Call<'_>) -> Outcome {
    let mut map = CoreMap::default();
    map[0] = call.u64(16);
    call.world.kernel.unreserve(call.pid, call.device, &map).into()
}

/// `NC_RESET`: one request for each process and device until it is waited for.
pub(super) fn reset(call: &mut Call<'_>) -> Outcome {
    let key = (call.pid, call.device);
    if !call.world.resets.borrow_mut().insert(key) {
        return Outcome::Value(1);
    }
    if let Err(errno) = call.world.kernel.reset_cores(call.device, call.u32(0)) {
        return errno.into();
    }
    call.put_u32(4, call.pid);
    call.write_back()
}

/// `NC_RESET_READY`: the reset is done at once; without one the result is 1.
pub(super) fn reset_ready(call: &mut Call<'_>) -> Outcome {
    let pending = call.world.resets.borrow_mut().remove(&(call.pid, call.device));
    call.put_u32(4, u32::from(!pending));
    call.write_back()
}
