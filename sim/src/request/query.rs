//! Queries about chunks and processes (`driver-abi` §11).

use nrt_core::driver::Errno;

use super::{Call, Outcome};
use crate::kernel::ChunkEntry;

/// Bit of `apps_info_flags` that asks for memory totals.
const MEMORY_TOTALS: u32 = 2;
/// Bytes of an entry of `DEVICE_GET_ALL_APPS_INFO`.
const APP: usize = 152;
/// Bytes of an entry of `DUMP_MEM_CHUNKS`.
const ENTRY: usize = 24;
/// Entries that are written together.
const PIECE: usize = 64;
/// `EAGAIN`.
const EAGAIN: Errno = Errno(11);
/// `ENXIO`.
const ENXIO: Errno = Errno(6);

/// `MEM_GET_PA`.
pub(super) fn address(call: &mut Call<'_>) -> Outcome {
    match call.kernel.chunk(call.device, call.u64(0)) {
        Ok(chunk) => Outcome::Value(call.write_u64("pa", call.u64(8), chunk.pa) as i64),
        Err(errno) => errno.into(),
    }
}

/// `MEM_GET_INFO`: the first pointer may be null.
pub(super) fn info(call: &mut Call<'_>) -> Outcome {
    let chunk = match call.kernel.chunk(call.device, call.u64(0)) {
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
    let chunk = match call.kernel.chunk(call.device, handle) {
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
    let Some(chunk) = call.kernel.chunk_at(call.device, call.u64(0)) else { return Outcome::Errno(Errno::ENOMEM) };
    call.put_u64(8, chunk.pa);
    call.put_u64(16, chunk.size);
    call.write_back()
}

/// `MEM_MC_GET_INFO_V2`: makes a handle for any chunk.
pub(super) fn by_address_with_handle(call: &mut Call<'_>) -> Outcome {
    let chunk = match call.kernel.handle_at(call.device, call.u64(0)) {
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
    let count = call.kernel.for_each_chunk(call.device, channel, |_, _| {}) as u64;
    call.put_u32(8, count as u32);
    let written = call.write_back();
    if count > u64::from(room) {
        return Outcome::Errno(EAGAIN);
    }
    if written != Outcome::Value(0) {
        return written;
    }
    let (mut piece, mut used, mut done, mut missing) = ([0; PIECE * ENTRY], 0, 0_u64, 0);
    let environment = call.environment;
    let mut flush = |piece: &[u8], last: bool| {
        // The kernel copies the array in one go: what is missing counts to its end.
        if missing == 0 && !piece.is_empty() {
            missing = environment.write_user(address.wrapping_add(done), piece);
            done += piece.len() as u64;
        } else {
            missing += piece.len() as u64;
        }
        if last { missing } else { 0 }
    };
    call.kernel.for_each_chunk(call.device, channel, |_, entry: ChunkEntry| {
        let words = [entry.pa, entry.size, entry.category.into()];
        for (place, word) in piece[used..used + ENTRY].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        used += ENTRY;
        if used == piece.len() {
            flush(&piece, false);
            used = 0;
        }
    });
    Outcome::Value(flush(&piece[..used], true) as i64)
}

/// `DEVICE_GET_ALL_APPS_INFO`: attached processes. Locks of cores are not modelled, their map is 0.
pub(super) fn processes(call: &mut Call<'_>) -> Outcome {
    let (flags, room) = (call.u32(0) & 0xFFFF, call.u32(4) as usize);
    let all = call.kernel.processes(call.device);
    let told = || all.iter().flatten().take(room);
    call.put_u32(8, told().count() as u32);
    let written = call.write_back();
    if written != Outcome::Value(0) {
        return written;
    }
    for (usage, index) in told().zip(0_u64..) {
        let mut entry = [0; APP];
        entry[..4].copy_from_slice(&usage.pid.to_le_bytes());
        if flags & MEMORY_TOTALS != 0 {
            entry[136..144].copy_from_slice(&usage.host_bytes.to_le_bytes());
            entry[144..].copy_from_slice(&usage.device_bytes.to_le_bytes());
        }
        let missing = call.environment.write_user(call.address + 16 + index * APP as u64, &entry);
        if missing != 0 {
            // What follows is missing too.
            let rest = (told().count() as u64 - index - 1) * APP as u64;
            return Outcome::Value((missing + rest) as i64);
        }
    }
    Outcome::Value(0)
}

/// `DEVICE_APP_PID`: the process that attached first and still is.
pub(super) fn first_process(call: &mut Call<'_>) -> Outcome {
    let pid = call.kernel.processes(call.device).into_iter().flatten().next().map_or(0, |usage| usage.pid);
    call.put_u32(0, pid);
    call.write_back()
}

/// `GET_VA_PLACEMENT`: the device and the HBM behind a mapping of the caller; −1 for anything else.
pub(super) fn placement(call: &mut Call<'_>) -> Outcome {
    let found = call.environment.mapped(call.u64(0)).and_then(|(device, pa)| {
        let config = call.kernel.config();
        let channels = 0..config.arch.channels_per_device();
        let holds = |&channel: &u32| {
            let base = config.arch.hbm_base(channel);
            base.is_some_and(|base| base <= pa && pa - base < config.hbm_bytes)
        };
        channels.into_iter().find(holds).map(|channel| (device, channel))
    });
    let (device, channel) = found.unwrap_or((u32::MAX, u32::MAX));
    call.put_u32(8, device);
    call.put_u32(12, channel);
    let written = call.write_back();
    if found.is_some() { written } else { Outcome::Errno(ENXIO) }
}
