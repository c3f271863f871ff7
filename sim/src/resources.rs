//! Constants of the architectures that only some requests tell (`driver-abi` §12, §17).

use crate::backing::Region;
use crate::config::{Routing, SimConfig};
use nrt_core::arch::Arch;

/// A window of the address space that can be mapped by its exact offset and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Special {
    /// 0 core, 1 synchronisation unit, 2 HBM.
    pub block: u32,
    /// Which core, unit or HBM.
    pub id: u32,
    /// [`SEMAPHORE_REGISTERS`], [`EVERYTHING`], [`STATE_BUFFERS`] or [`MEMORY`].
    pub resource: u32,
    /// Offset for `mmap`.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// Resource: registers of semaphores.
pub const SEMAPHORE_REGISTERS: u32 = 0;
/// Resource: all registers of a unit.
pub const EVERYTHING: u32 = 1;
/// Resource: state buffer.
pub const STATE_BUFFERS: u32 = 2;
/// Resource: device memory.
pub const MEMORY: u32 = 3;

const STATE_BUFFER: u64 = 32 << 20;
const SEMAPHORES: u64 = 8 << 10;
const UNIT: u64 = 4 << 20;

/// The special windows of the configured architecture.
pub fn special(config: &SimConfig) -> impl Iterator<Item = Special> {
    let (sunda, config) = (config.arch == Arch::Sunda, *config);
    let (cores, units) = if sunda { (2, 6) } else { (8, 16) };
    let of_cores = (0..cores).flat_map(move |id| {
        let base = if sunda { 0xFFF_C000_0000 } else { 0x20_0000_0000 } + u64::from(id) * 0x400_0000;
        [
            Special { block: 0, id, resource: SEMAPHORE_REGISTERS, offset: base + 0x270_0000, size: SEMAPHORES },
            Special { block: 0, id, resource: STATE_BUFFERS, offset: base, size: STATE_BUFFER },
        ]
    });
    let of_units = (0..units).flat_map(move |id| {
        let base = match id {
            _ if sunda => 0xFFF_D000_0000 + u64::from(id) * 0x40_0000,
            0..8 => 0x82_8000_0000 + u64::from(id) * 0x4000_0000,
            _ => 0x8082_8000_0000 + u64::from(id - 8) * 0x4000_0000,
        };
        [
            Special { block: 1, id, resource: SEMAPHORE_REGISTERS, offset: base, size: SEMAPHORES },
            Special { block: 1, id, resource: EVERYTHING, offset: base, size: UNIT },
        ]
    });
    let channels = if sunda { 0 } else { config.arch.channels_per_device() };
    let of_memory = (0..channels).filter_map(move |id| {
        let offset = config.region_base(Region::Hbm { device: 0, channel: id })?;
        Some(Special { block: 2, id, resource: MEMORY, offset, size: config.hbm_bytes })
    });
    of_cores.chain(of_units).chain(of_memory)
}

/// Neighbours of each device, Trn1.
const TRN1: [[u8; 4]; 16] = [
    [12, 3, 4, 1],
    [13, 0, 5, 2],
    [14, 1, 6, 3],
    [15, 2, 7, 0],
    [0, 7, 8, 5],
    [1, 4, 9, 6],
    [2, 5, 10, 7],
    [3, 6, 11, 4],
    [4, 11, 12, 9],
    [5, 8, 13, 10],
    [6, 9, 14, 11],
    [7, 10, 15, 8],
    [8, 15, 0, 13],
    [9, 12, 1, 14],
    [10, 13, 2, 15],
    [11, 14, 3, 12],
];

/// Neighbours of each device, Trn2 and Trn3.
const TRN2: [[u8; 4]; 16] = [
    [12, 1, 3, 4],
    [0, 13, 5, 2],
    [14, 3, 1, 6],
    [2, 15, 7, 0],
    [8, 5, 7, 0],
    [4, 9, 1, 6],
    [10, 7, 5, 2],
    [6, 11, 3, 4],
    [4, 9, 11, 12],
    [8, 5, 13, 10],
    [6, 11, 9, 14],
    [10, 7, 15, 8],
    [0, 13, 15, 8],
    [12, 1, 9, 14],
    [2, 15, 13, 10],
    [14, 3, 11, 12],
];

/// Neighbours of a device: none unless the host has all 16.
pub(crate) fn neighbours(config: &SimConfig, device: u32) -> &'static [u8] {
    if !config.devices.is_multiple_of(16) || config.routing != Routing::Torus {
        return &[];
    }
    let table = if config.arch == Arch::Sunda { &TRN1 } else { &TRN2 };
    &table[device as usize % 16]
}

/// Device and core behind an entry of the logical core map, Trn2 and Trn3.
pub(crate) fn physical_core(entry: u32) -> (u32, u32) {
    let device = entry / 8;
    let cores = match device % 8 {
        0 | 2 => [4, 5, 6, 7, 2, 3, 0, 1],
        1 | 3 => [2, 3, 0, 1, 4, 5, 6, 7],
        4 | 6 => [0, 1, 2, 3, 6, 7, 4, 5],
        _ => [6, 7, 4, 5, 0, 1, 2, 3],
    };
    (device, cores[entry as usize % 8])
}
