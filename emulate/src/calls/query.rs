//! Queries about chunks and processes (`driver-abi` §11).

use nrt_sim::kernel::ChunkEntry;

use super::{Call, Outcome};
use crate::remote;

/// Bit of `apps_info_flags` that asks for memory totals.
const MEMORY_TOTALS: u32 = 2;
/// Bytes of an entry of `DEVICE_GET_ALL_APPS_INFO`.
const APP: usize = 152;

/// `MEM_GET_PA`.
pub(super) fn address(call: &mut Call<'_>) -> Outcome {
    match call.world.kernel.chunk(call.device, call.u64(0)) {
        Ok(chunk) => Outcome::Value(call.write_u64("pa", call.u64(8), chunk.pa) as i64),
        Err(errno) => errno.into(),
    }
}

/// `MEM_GET_INFO`: the first pointer may be null.
pub(super) fn info(call: &mut Call<'_>) -> Outcome {
    let chunk = match call.world.kernel.chunk(call.device, call.u64(0)) {
        Ok(chunk) => chunk,
        Err(errno) => return errno.into(),
    };
    let offset = call.u64(8);
    if offset != 0 {
        let missing = call.write_u64("mmap_offset", offset, chunk.pa);
        if missing != 0 {
            return Outcome::Value(missing as i64);
        }
    }
    Outcome::Value(call.write_u64("pa", call.u64(16), chunk.pa) as i64)
}

/// `MEM_GET_EXTENDED_INFO`: a bad handle is a positive `EINVAL`, and the handle that comes back is a kernel address.
pub(super) fn extended_info(call: &mut Call<'_>) -> Outcome {
    let handle = call.u64(0);
    let chunk = match call.world.kernel.chunk(call.device, handle) {
        Ok(chunk) => chunk,
        Err(errno) => return Outcome::Value(errno.0.into()),
    };
    call.put_u64(0, 0xFFFF_8880_0000_0000 | handle << 8);
    call.put_u32(12, chunk.host.into());
    call.put_u64(16, chunk.pa);
    call.put_u64(24, chunk.pa);
    call.put_u64(32, chunk.pid.unwrap_or(0).into());
    call.put_u64(40, chunk.size);
    call.write_back()
}

/// `MEM_MC_GET_INFO`.
pub(super) fn by_address(call: &mut Call<'_>) -> Outcome {
    let Some(chunk) = call.world.kernel.chunk_at(call.device, call.u64(0)) else { return Outcome::Errno(libc::ENOMEM) };
    call.put_u64(8, chunk.pa);
    call.put_u64(16, chunk.size);
    call.write_back()
}

/// `MEM_MC_GET_INFO_V2`: makes a handle for any chunk.
pub(super) fn by_address_with_handle(call: &mut Call<'_>) -> Outcome {
    let chunk = match call.world.kernel.handle_at(call.device, call.u64(0)) {
        Ok(chunk) => chunk,
        Err(errno) => return errno.into(),
    };
    call.put_u64(8, chunk.pa);
    call.put_u64(16, chunk.size);
    call.put_u64(24, chunk.handle);
    call.write_back()
}

/// `DUMP_MEM_CHUNKS`: the count is told even when the array is too small.
pub(super) fn dump(call: &mut Call<'_>) -> Outcome {
    let (channel, room, address) = (call.u32(0), call.u32(4), call.u64(16));
    let known = call.world.kernel.record_capacity() as usize;
    let mut entries = vec![ChunkEntry::default(); (room as usize).min(known)];
    let result = call.world.kernel.dump_chunks(call.device, channel, &mut entries);
    let count = match result {
        Ok(count) => count as u64,
        Err(small) => small.needed,
    };
    call.put_u32(8, count as u32);
    let written = call.write_back();
    if result.is_err() || written != Outcome::Value(0) {
        return if result.is_err() { Outcome::Errno(libc::EAGAIN) } else { written };
    }
    let mut bytes = Vec::with_capacity(entries.len() * 24);
    for entry in &entries[..count as usize] {
        bytes.extend_from_slice(&entry.pa.to_le_bytes());
        bytes.extend_from_slice(&entry.size.to_le_bytes());
        bytes.extend_from_slice(&u64::from(entry.category).to_le_bytes());
    }
    Outcome::Value(remote::write(call.tid, address, &bytes) as i64)
}

/// `DEVICE_GET_ALL_APPS_INFO`: attached processes. Locks of cores are not modelled, their map is 0.
pub(super) fn processes(call: &mut Call<'_>) -> Outcome {
    let (flags, room) = (call.u32(0) & 0xFFFF, call.u32(4));
    let mut bytes = Vec::new();
    let mut count = 0;
    for usage in call.world.kernel.processes(call.device).into_iter().flatten().take(room as usize) {
        let mut entry = [0; APP];
        entry[..4].copy_from_slice(&usage.pid.to_le_bytes());
        if flags & MEMORY_TOTALS != 0 {
            entry[136..144].copy_from_slice(&usage.host_bytes.to_le_bytes());
            entry[144..].copy_from_slice(&usage.device_bytes.to_le_bytes());
        }
        bytes.extend_from_slice(&entry);
        count += 1;
    }
    call.put_u32(8, count);
    let written = call.write_back();
    if written != Outcome::Value(0) {
        return written;
    }
    Outcome::Value(remote::write(call.tid, call.address + 16, &bytes) as i64)
}
