//! What the driver tells about itself and its devices (`driver-abi` §6, §17).

use nrt_core::arch::Arch;
use nrt_core::driver::Errno;

use super::{Call, Outcome, SIGSEGV};
use crate::resources;

/// Device slots of the driver.
const DEVICE_SLOTS: u32 = 64;
/// Entries of the core map.
const MAP_ENTRIES: u32 = 128;
/// `ENOTTY`.
const ENOTTY: Errno = Errno(25);
/// Bytes of `POD_INFO`, which its first field has to tell.
const POD_INFO: u32 = 260;

/// `DEVICE_BASIC_INFO`.
pub(super) fn basic(call: &mut Call<'_>) -> Outcome {
    let config = call.kernel.config();
    let (arch, revision) = (config.arch as u32, config.revision.into());
    call.put_u32(0, arch);
    call.put_u32(4, revision);
    call.write_back()
}

/// `DRIVER_INFO_GET`: 24 bytes, whatever size is asked for.
pub(super) fn driver(call: &mut Call<'_>) -> Outcome {
    let config = call.kernel.config();
    let (arch, revision, features) = (config.arch as u32, config.revision.into(), config.features());
    call.put_u32(0, arch);
    call.put_u32(4, revision);
    call.put_u32(8, 0);
    call.put_u32(12, 24);
    call.put_u64(16, features);
    call.write_back()
}

/// `DRIVER_INFO_SET` and others that always fail like this.
pub(super) fn not_supported(_: &mut Call<'_>) -> Outcome {
    Outcome::Errno(Errno::ENOTSUPP)
}

/// `COMPATIBLE_VERSION`: the newest first.
pub(super) fn compatible(call: &mut Call<'_>) -> Outcome {
    let (max, min) = match call.kernel.config().arch {
        Arch::Sunda => (7, 5),
        Arch::Cayman | Arch::Mariana => (11, 10),
    };
    call.put_u32(0, max);
    call.put_u32(4, min);
    call.write_back()
}

/// `DEVICE_INFO`.
pub(super) fn device(call: &mut Call<'_>) -> Outcome {
    let config = call.kernel.config();
    let neighbours = resources::neighbours(config, call.device);
    let (arch, revision) = (config.arch as u32, config.revision.into());
    call.put_u32(0, arch);
    call.put_u32(4, revision);
    call.put_u32(8, neighbours.len() as u32);
    for (index, &neighbour) in neighbours.iter().enumerate() {
        call.put_u32(12 + 4 * index, neighbour.into());
    }
    // Opaque kernel addresses of the register file and of nothing: register access is not modelled.
    call.put_u64(48, 0xFFFF_C900_0000_0000 | u64::from(call.device) << 32);
    call.put_u64(56, 0);
    call.put_u64(64, 1 << 30);
    call.put_u64(72, 0);
    call.write_back()
}

/// `HOST_DEVICE_ID`.
pub(super) fn host_device_id(call: &mut Call<'_>) -> Outcome {
    let id = call.kernel.config().host_device_id(call.device);
    call.put_u32(0, id);
    call.write_back()
}

/// `HOST_DEVICE_ID_TO_RID_MAP`.
pub(super) fn routing_ids(call: &mut Call<'_>) -> Outcome {
    let ids = call.kernel.config().routing_ids();
    call.put_u32(0, ids.count);
    for (index, &id) in ids.map.iter().enumerate() {
        call.put_u32(4 + 4 * index, id);
    }
    call.write_back()
}

/// `DEVICE_BDF_EXT`: index counted from the device that is asked.
pub(super) fn bus_address(call: &mut Call<'_>) -> Outcome {
    let index = call.u32(0).saturating_add(call.device);
    if (DEVICE_SLOTS..256).contains(&index) {
        return call.fatal(SIGSEGV, "bus address of a device beyond the last slot: the real driver fails an assertion");
    }
    if index >= call.kernel.config().devices {
        return Outcome::Errno(Errno::EINVAL);
    }
    call.put_u32(4, 1);
    call.put_u32(8, index);
    call.put_u32(12, 0);
    call.write_back()
}

/// `DEVICE_BDF`.
pub(super) fn own_bus_address(call: &mut Call<'_>) -> Outcome {
    call.put_u32(0, call.device);
    call.put_u32(4, 0);
    call.write_back()
}

/// `GET_LOGICAL_TO_PHYSICAL_NC_MAP`.
pub(super) fn core_map(call: &mut Call<'_>) -> Outcome {
    let arch = call.kernel.config().arch;
    if arch == Arch::Sunda {
        return Outcome::Errno(Errno::ENOTSUPP);
    }
    let (map, entries, version) = (call.u64(0), call.u32(8), call.u32(12));
    if entries > MAP_ENTRIES || version != 0 {
        return Outcome::Errno(Errno::EINVAL);
    }
    let mut bytes = [0; 4 + 8 * MAP_ENTRIES as usize];
    bytes[..4].copy_from_slice(&entries.to_le_bytes());
    for (place, entry) in bytes[4..].chunks_exact_mut(8).zip(0..entries) {
        let (device, core) = resources::physical_core(entry);
        place[..4].copy_from_slice(&device.to_le_bytes());
        place[4..].copy_from_slice(&core.to_le_bytes());
    }
    let used = 4 + 8 * entries as usize;
    Outcome::Value(call.environment.write_user(map, &bytes[..used]) as i64)
}

/// `RESOURCE_MMAP_INFO`.
pub(super) fn resource(call: &mut Call<'_>) -> Outcome {
    let (block, id, resource) = (call.u32(0), call.u32(4), call.u32(8));
    let found = resources::special(call.kernel.config())
        .find(|special| (special.block, special.id, special.resource) == (block, id, resource));
    let Some(special) = found else { return Outcome::Errno(Errno::EINVAL) };
    let (offset, size) = (special.offset, special.size);
    call.put_u64(16, offset);
    call.put_u64(24, size);
    call.write_back()
}

/// `DEVICE_INIT` and `DEVICE_RELEASE`: nothing.
pub(super) fn nothing(_: &mut Call<'_>) -> Outcome {
    Outcome::Value(0)
}

/// `DMA_QUIESCE_QUEUES`: always this.
pub(super) fn no_such_request(_: &mut Call<'_>) -> Outcome {
    Outcome::Errno(ENOTTY)
}

/// `NOTIFICATIONS_QUEUE_INFO`: always this.
pub(super) fn never_permitted(_: &mut Call<'_>) -> Outcome {
    Outcome::Errno(Errno::EPERM)
}

/// `DMA_ENG_INIT`: the driver does nothing either, it does not even read the argument.
pub(super) fn engine(_: &mut Call<'_>) -> Outcome {
    Outcome::Value(0)
}

/// `POD_INFO`: no pod. The size has to be right.
pub(super) fn pod(call: &mut Call<'_>) -> Outcome {
    if call.u32(0) & 0xFFFF != POD_INFO {
        return Outcome::Errno(Errno::EINVAL);
    }
    if call.kernel.config().arch != Arch::Sunda {
        return Outcome::Refused("pods of devices");
    }
    call.write_back()
}
