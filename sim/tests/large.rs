//! Copies and fills beyond 4 GiB, and several threads.

mod common;

use common::{Mirrored, Numbers, Sparse, TILE, alloc, hbm, host};
use nrt_core::arch::Arch;
use nrt_core::driver::{AllocRequest, Driver};
use nrt_sim::{Hazards, Live, Sim, SimConfig, SimStorage};

/// A chunk above 4 GiB whose end has memory of its own, on a channel whose middle is one tile many times over.
#[test]
fn more_than_4_gib_in_one_request() {
    static STORAGE: SimStorage<100, 1> = SimStorage::new();
    // 1 GiB small pool and a little more at the top are not mirrored.
    let sim = Sim::new(&STORAGE, SimConfig::new(Arch::Sunda), &Mirrored { own: 16 + 2 }).unwrap();
    sim.open(0).unwrap();
    let whole = (15 << 30) - (16 << 20);
    let size = (4 << 30) + TILE as u64 + 4096;
    let src = alloc(&sim, &hbm(whole)).unwrap();
    let dst = alloc(&sim, &AllocRequest { channel: 1, nc_id: 1, ..hbm(whole) }).unwrap();
    let from = whole - size - 8192;
    let last = whole - 8192 - 5;
    sim.write(0, &src, last, b"right").unwrap();
    sim.write(0, &dst, last, b"wrong guard").unwrap();
    sim.copy(0, &src, from, &dst, from, size).unwrap();
    let mut seen = [0; 11];
    sim.read(0, &dst, last, &mut seen).unwrap();
    assert_eq!(&seen, b"right guard");

    // The end of the fill is what a length cut to 32 bits would not reach.
    sim.fill(0, &dst, from, 0xC3, size - 2).unwrap();
    sim.read(0, &dst, last, &mut seen).unwrap();
    assert_eq!(&seen, b"\xC3\xC3\xC3ht guard");
    assert_eq!(sim.hazards(0), Hazards::default());
}

/// Offsets that differ only above bit 32 name different bytes.
#[test]
fn high_offsets_are_their_own_places() {
    static STORAGE: SimStorage<100, 1> = SimStorage::new();
    let sim = Sim::new(&STORAGE, SimConfig::new(Arch::Mariana), &Sparse).unwrap();
    sim.open(0).unwrap();
    let range = alloc(&sim, &AllocRequest { channel: 3, ..hbm(34 << 30) }).unwrap();
    assert_eq!(range.pa, 0x8040_0000_0000 + (16 << 20));
    for high in 0..8u8 {
        sim.fill(0, &range, (u64::from(high) << 32) + 77, high + 1, 9).unwrap();
    }
    sim.copy(0, &range, 7 << 32, &range, (8 << 32) + 5, 4096).unwrap();
    for high in 0..8u8 {
        let mut seen = [0; 11];
        sim.read(0, &range, (u64::from(high) << 32) + 76, &mut seen).unwrap();
        let byte = high + 1;
        assert_eq!(seen, [0, byte, byte, byte, byte, byte, byte, byte, byte, byte, 0]);
    }
    let mut seen = [0; 3];
    sim.read(0, &range, (8 << 32) + 5 + 76, &mut seen).unwrap();
    assert_eq!(seen, [0, 8, 8]);
}

/// Threads on the same devices and the same record pool: every thread's bytes are its own, and all goes back.
#[test]
fn threads_share_devices() {
    static STORAGE: SimStorage<4000, 2> = SimStorage::new();
    let sim = Sim::new(&STORAGE, SimConfig { devices: 2, ..SimConfig::new(Arch::Cayman) }, &Sparse).unwrap();
    sim.open(0).unwrap();
    sim.open(1).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let sim = &sim;
            scope.spawn(move || {
                let mut numbers = Numbers(thread);
                let mut live = Vec::new();
                for round in 0..3000u64 {
                    let device = numbers.below(2) as u32;
                    if live.len() < 40 && numbers.below(2) == 0 {
                        let channel = numbers.below(4) as u32;
                        let size = 1 + numbers.below(100_000);
                        let request = if numbers.below(4) == 0 { host(size) } else { hbm(size) };
                        let mut range = common::no_range();
                        sim.alloc(device, &AllocRequest { channel, ..request }, &mut range).unwrap();
                        let mark = (thread << 32 | round).to_le_bytes();
                        sim.write(device, &range, range.size - 8, &mark).unwrap();
                        live.push((device, range, mark));
                    } else if let Some((device, range, mark)) = live.pop() {
                        let mut seen = [0; 8];
                        sim.read(device, &range, range.size - 8, &mut seen).unwrap();
                        assert_eq!(seen, mark);
                        sim.free(device, &range).unwrap();
                    }
                }
                for (device, range, _) in live {
                    sim.free(device, &range).unwrap();
                }
            });
        }
    });
    for device in 0..2 {
        assert_eq!(sim.live(device), Live::default());
        assert_eq!(sim.hazards(device), Hazards::default());
    }
}

/// Copies of the same bytes at the same time are allowed: each byte is one of those written.
#[test]
fn racing_copies_tear_but_do_not_invent() {
    static STORAGE: SimStorage<100, 1> = SimStorage::new();
    let sim = Sim::new(&STORAGE, SimConfig::new(Arch::Sunda), &Sparse).unwrap();
    sim.open(0).unwrap();
    let range = alloc(&sim, &hbm(1 << 20)).unwrap();
    std::thread::scope(|scope| {
        for value in [1u8, 2] {
            let sim = &sim;
            // A range holds pointers, which do not matter here.
            let handle = (range.driver_handle, range.mmap_offset);
            scope.spawn(move || {
                let mut range = common::no_range();
                (range.driver_handle, range.mmap_offset) = handle;
                let mut seen = vec![0; 1 << 20];
                for _ in 0..50 {
                    sim.fill(0, &range, 0, value, 1 << 20).unwrap();
                    sim.read(0, &range, 0, &mut seen).unwrap();
                    assert!(seen.iter().all(|&byte| byte == 1 || byte == 2));
                }
            });
        }
    });
}
