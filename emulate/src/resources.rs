//! Constants of the architectures that only some requests tell (`driver-abi` §12, §17).

use nrt_core::arch::Arch;
use nrt_sim::{Region, Routing, SimConfig};

/// A window of the address space that can be mapped by its exact offset and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Special {
    /// 0 core, 1 synchronisation unit, 2 HBM.
    pub(crate) block: u32,
    pub(crate) id: u32,
    /// 0 semaphores, 1 all, 2 state buffer, 3 device memory.
    pub(crate) resource: u32,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

const STATE_BUFFER: u64 = 32 << 20;
const SEMAPHORES: u64 = 8 << 10;
const UNIT: u64 = 4 << 20;

/// The special windows of the configured architecture.
pub(crate) fn special(config: &SimConfig) -> Vec<Special> {
    let mut all = Vec::new();
    let mut add = |block, id, resource, offset, size| all.push(Special { block, id, resource, offset, size });
    let (cores, units) = if config.arch == Arch::Sunda { (2, 6) } else { (8, 16) };
    for id in 0..cores {
        let base = if config.arch == Arch::Sunda { 0xFFF_C000_0000 } else { 0x20_0000_0000 } + u64::from(id) * 0x400_0000;
        add(0, id, 0, base + 0x270_0000, SEMAPHORES);
        add(0, id, 2, base, STATE_BUFFER);
    }
    for id in 0..units {
        let base = match (config.arch, id) {
            (Arch::Sunda, _) => 0xFFF_D000_0000 + u64::from(id) * 0x40_0000,
            (_, 0..8) => 0x82_8000_0000 + u64::from(id) * 0x4000_0000,
            _ => 0x8082_8000_0000 + u64::from(id - 8) * 0x4000_0000,
        };
        add(1, id, 0, base, SEMAPHORES);
        add(1, id, 1, base, UNIT);
    }
    if config.arch != Arch::Sunda {
        for id in 0..config.arch.channels_per_device() {
            if let Some(base) = config.region_base(Region::Hbm { device: 0, channel: id }) {
                add(2, id, 3, base, config.hbm_bytes);
            }
        }
    }
    all
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
