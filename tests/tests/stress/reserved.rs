//! Two threads on one core's reservation, others on other cores, and one that makes it grow and shrink.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

use nrt_core::Arch;
use nrt_core::driver::{AllocRequest, DeviceRange, Driver, Errno};
use nrt_core::reserved_hbm::{ReserveStorage, ReservedHbm};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::{Hazards, Live};
use nrt_tests::TestDriver;

use crate::rig::{Stops, Watchdog, cycles, new_driver};

type Reserved = ReservedHbm<TestDriver, LinuxHooks>;

/// Allocates and frees; every range keeps the bytes of its owner. Gives how often there was no room.
fn churn(reserved: &Reserved, core: u32, mark: u8, rounds: u64) -> u64 {
    let mut held: Vec<DeviceRange> = Vec::new();
    let mut full = 0;
    for round in 0..rounds {
        let align = if round % 3 == 0 { 1 << (12 + round % 5) } else { 0 };
        let size = 1 + (round * 7919) % 20_000;
        let request = AllocRequest { size, align, host: false, channel: 0, nc_id: core, category: 9 };
        // SAFETY: integers and pointers, for which zero is a value.
        let mut range = unsafe { std::mem::zeroed() };
        match reserved.alloc(0, &request, &mut range) {
            Ok(()) => {
                reserved.fill(0, &range, 0, mark, range.size).unwrap();
                if round % 4 == 0 {
                    let at = reserved.map(0, &range).unwrap();
                    // SAFETY: mapped, and this thread's alone; unmapped once, not used afterwards.
                    unsafe {
                        assert_eq!(at.add(range.size as usize - 1).read(), mark);
                        reserved.unmap(0, &range, at).unwrap();
                    }
                }
                held.push(range);
            }
            Err(errno) => {
                assert_eq!(errno, Errno::ENOMEM);
                full += 1;
            }
        }
        if held.len() > 12 || (full > 0 && held.len() > 8) {
            let range = held.swap_remove((round * 31) as usize % held.len());
            let mut back = vec![0; range.size as usize];
            reserved.read(0, &range, 0, &mut back).unwrap();
            assert!(back.iter().all(|byte| *byte == mark), "somebody else wrote to the range");
            reserved.free(0, &range).unwrap();
        }
    }
    held.iter().for_each(|range| reserved.free(0, range).unwrap());
    full
}

#[test]
fn reservations_are_shared_by_threads() {
    let _watchdog = Watchdog::new("reservations_are_shared_by_threads");
    static STORAGE: ReserveStorage<1, 8, 128> = ReserveStorage::new();
    let driver = new_driver(Arch::Cayman);
    let reserved = ReservedHbm::new(driver, LinuxHooks::new(), &STORAGE).unwrap();
    reserved.open(0).unwrap();
    for core in [0, 1] {
        reserved.reserve(0, core, 0, 256 << 10).unwrap();
    }
    let rounds = cycles(4000);
    let stop = AtomicBool::new(false);
    let (full, grown) = std::thread::scope(|scope| {
        let (reserved, stop) = (&reserved, &stop);
        let churning: Vec<_> =
            [(0, 1), (0, 2), (1, 3)].map(|(core, mark)| scope.spawn(move || churn(reserved, core, mark, rounds))).into();
        let growing = scope.spawn(move || {
            let mut grown = 0_u64;
            while !stop.load(Acquire) {
                let more = reserved.reserve(0, 0, 0, 128 << 10).is_ok();
                grown += u64::from(more);
                std::thread::yield_now();
                reserved.give_back(0, 0, 0).unwrap();
                let now = reserved.statistics(0, 0, 0).unwrap();
                assert!(now.asked_bytes <= now.carved_bytes && now.largest_free_run <= now.free_bytes());
            }
            grown
        });
        let stops = Stops(stop);
        let full: u64 = churning.into_iter().map(|thread| thread.join().unwrap()).sum();
        drop(stops);
        (full, growing.join().unwrap())
    });
    stop.store(true, Release);
    println!("{} allocations, {full} found no room, {grown} reservations came and went", 3 * rounds);
    assert!(full > 0 && grown > 0);
    for core in [0, 1] {
        let left = reserved.statistics(0, core, 0).unwrap();
        assert_eq!((left.ranges, left.carved_bytes, left.asked_bytes), (0, 0, 0));
        assert_eq!((left.free_runs, left.free_bytes()), (left.reservations, left.reserved_bytes));
    }
    reserved.close(0).unwrap();
    assert_eq!((driver.inner().live(0), driver.inner().hazards(0)), (Live::default(), Hazards::default()));
}
