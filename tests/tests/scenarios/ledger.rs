//! `dmem` §§14, 16, 17: counters in their documented places, statistics.

use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;

use nrt_core::abi::{dma_mem_log_t, mla_t};
use nrt_core::ledger::TOTAL;
use nrt_core::{Allocation, Arch, Cause, Class, Config, Error, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::SimConfig;
use nrt_tests::{TestRuntime, driver, open, runtime};

use crate::books::{GIB, MIB, finish, on_every_arch};
use crate::plans::{device, host};
use crate::raw::{column, ledger, mla};

/// Per-channel totals of device 0, as a debugger reads them.
fn channels(runtime: &TestRuntime) -> [usize; 4] {
    // SAFETY: the ledger of an open device.
    std::array::from_fn(|channel| unsafe { (&(*ledger(runtime, 0)).memory_usage)[channel].load(Relaxed) })
}

#[test]
fn counters_stand_at_their_documented_offsets() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(1).unwrap();
    let kept = [device(1000, Usage::Weight), device(30, Usage::Weight), device(7, Usage::DmaRingCollectives)]
        .map(|plan| core.allocate(1, &plan).unwrap());
    // Core 3: row stride 184 bytes from +112 of the ledger, which stands at +576768 of the device.
    let row = mla(&runtime, 0).addr() + 576_768 + 112 + 3 * 184;
    // SAFETY: aligned counters inside the device's record.
    let read = |usage: usize| unsafe { *std::ptr::with_exposed_provenance::<usize>(row + 8 * usage) };
    mla(&runtime, 0).expose_provenance();
    assert_eq!((read(6), read(21), read(22), read(0)), (1030, 7, 1037, 0));
    assert_eq!((column(&runtime, 3, 6), column(&runtime, 3, TOTAL)), (1030, 1037));
    assert_eq!((TOTAL, offset_of!(dma_mem_log_t, memory_usage_nc), offset_of!(mla_t, dmem_logger)), (22, 112, 576_768));
    for other in [0, 1, 2, 4, 5, 6, 7] {
        assert_eq!(column(&runtime, other, TOTAL), 0);
    }
    drop(kept);
    assert_eq!((column(&runtime, 3, 6), column(&runtime, 3, 21), column(&runtime, 3, TOTAL)), (0, 0, 0));
    finish(&runtime);
}

#[test]
fn the_total_column_is_the_sum_of_the_usages() {
    on_every_arch(|runtime| {
        let core = runtime.core(0).unwrap();
        let mut kept = Vec::new();
        for (number, usage) in Usage::ALL.into_iter().enumerate() {
            kept.push(core.allocate(0, &device(1 + number as u64, usage)).unwrap());
            kept.extend(core.allocate(0, &host(1 << 20, usage)).ok());
            let row: Vec<_> = (0..TOTAL).map(|usage| column(runtime, 0, usage)).collect();
            assert_eq!(row[number], number + 1);
            assert_eq!(column(runtime, 0, TOTAL), row.iter().sum());
            let usage = core.usage(0).unwrap();
            assert_eq!(usage.total, row.iter().sum::<usize>() as u64);
            assert!(row.iter().zip(usage.bytes).all(|(raw, told)| *raw as u64 == told));
        }
        assert_eq!(column(runtime, 0, TOTAL), 253);
    });
}

#[test]
fn channel_totals_are_written_back_on_refresh_and_match_the_cores() {
    let runtime = runtime(Arch::Cayman);
    let mut kept = Vec::new();
    for flat in 0..8 {
        kept.push(runtime.core(flat / 2).unwrap().allocate(flat % 2, &device(100 + u64::from(flat), Usage::Io)).unwrap());
    }
    // A channel that is not the core's own: booked under the core, on the channel.
    let far = Allocation { channel: Some(3), ..device(5000, Usage::Io) };
    kept.push(runtime.core(0).unwrap().allocate(0, &far).unwrap());
    assert_eq!(channels(&runtime), [0; 4]);
    runtime.refresh_ledger(0).unwrap();
    assert_eq!(channels(&runtime), [201, 205, 209, 5213]);
    assert_eq!(channels(&runtime).iter().sum::<usize>(), (0..8).map(|core| column(&runtime, core, TOTAL)).sum());
    assert_eq!(column(&runtime, 0, TOTAL), 5100);
    assert_eq!(runtime.device_bytes(), 5828);
    drop(kept);
    runtime.refresh_ledger(0).unwrap();
    assert_eq!(channels(&runtime), [0; 4]);
    finish(&runtime);
}

#[test]
fn the_ledger_charges_what_was_asked_for_the_driver_what_it_reserved() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let before = crate::books::sim(&runtime).live(0).device_bytes;
    let memory = core.allocate(0, &device(4097, Usage::Io)).unwrap();
    assert_eq!(column(&runtime, 0, TOTAL), 4097);
    assert_eq!(crate::books::sim(&runtime).live(0).device_bytes - before, 8192);
    drop(memory);
    finish(&runtime);
}

#[test]
fn host_memory_moves_no_counter() {
    on_every_arch(|runtime| {
        let core = runtime.core(0).unwrap();
        let memory = core.allocate(0, &host(MIB, Usage::DmaRing)).unwrap();
        runtime.refresh_ledger(0).unwrap();
        assert_eq!((channels(runtime), column(runtime, 0, TOTAL)), ([0; 4], 0));
        assert_eq!((runtime.device_bytes(), runtime.live_nodes()), (0, 1));
        assert_eq!(core.memory_stats().unwrap().bytes_used, 0);
        drop(memory);
        runtime.refresh_ledger(0).unwrap();
        assert_eq!((channels(runtime), column(runtime, 0, TOTAL)), ([0; 4], 0));
    });
}

#[test]
fn statistics_add_up_the_cores_of_a_logical_core_against_one_hbm() {
    for (arch, limit) in [(Arch::Sunda, 16 * GIB), (Arch::Cayman, 24 * GIB), (Arch::Mariana, 36 * GIB)] {
        let runtime = runtime(arch);
        let core = runtime.core(1).unwrap();
        let size = runtime.logical_core_size();
        let kept: Vec<_> =
            (0..size).map(|relative| core.allocate(relative, &device(1000 * MIB, Usage::Weight)).unwrap()).collect();
        let stats = core.memory_stats().unwrap();
        assert_eq!((stats.bytes_used, stats.bytes_limit), (u64::from(size) * 1000 * MIB, limit));
        let neighbour = runtime.core(0).unwrap().memory_stats().unwrap();
        assert_eq!((neighbour.bytes_used, neighbour.bytes_limit), (0, limit));
        drop(kept);
        finish(&runtime);
    }
}

#[test]
fn each_device_has_its_own_ledger() {
    let runtime =
        open(driver(SimConfig { devices: 2, ..SimConfig::new(Arch::Sunda) }), Config::new(LinuxHooks::new()).side_by_side());
    let memory = runtime.core(3).unwrap().allocate(0, &device(77, Usage::Cc)).unwrap();
    for device in 0..2 {
        runtime.refresh_ledger(device).unwrap();
        // SAFETY: the ledger of an open device.
        let (index, room, one) = unsafe {
            let ledger = ledger(&runtime, device);
            ((*ledger).mla_idx, (*ledger).max_entries, (&(*ledger).memory_usage)[1].load(Relaxed))
        };
        assert_eq!((index, room, one), (device, 256, if device == 1 { 77 } else { 0 }));
    }
    let refused = Err(Error { status: Status::Invalid, cause: Cause::DeviceNotInUse(2) });
    assert_eq!(runtime.refresh_ledger(2), refused);
    assert_eq!(runtime.for_each_event(2, |_| ()), refused);
    drop(memory);
    finish(&runtime);
}

#[test]
fn classes_are_the_corrected_aggregate_bytes() {
    const CORRECTED: [u8; 22] = [5, 0, 0, 5, 0, 5, 1, 11, 5, 0, 0, 3, 2, 0, 5, 10, 4, 5, 9, 7, 6, 8];
    for (usage, class) in Usage::ALL.into_iter().zip(CORRECTED) {
        assert_eq!(usage.class() as u8, class, "{}", usage.name());
    }
    assert_eq!(Class::ALL[3].name(), "shared scratchpad");
    assert_eq!(Usage::ScratchpadNotShared.class().name(), "scratchpad");
}
