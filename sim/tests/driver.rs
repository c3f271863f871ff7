//! The `Driver` interface: configuration, ranges, bounds, protocol, hazards.

mod common;

use common::{Nothing, Sparse, alloc, hbm, host, no_range};
use nrt_core::arch::Arch;
use nrt_core::driver::{AllocRequest, Driver, Errno, feature};
use nrt_sim::kernel::ASYNC_COPY_LIMIT;
use nrt_sim::{DriverVersion, Hazards, Live, Region, Routing, Sim, SimConfig, SimError, SimStorage};

/// A model in a storage of its own.
macro_rules! sim {
    ($config:expr) => {{
        static STORAGE: SimStorage<1000> = SimStorage::new();
        Sim::new(&STORAGE, $config, &Sparse).unwrap()
    }};
}

/// One open SUNDA device.
macro_rules! sunda {
    () => {{
        let sim = sim!(SimConfig::new(Arch::Sunda));
        sim.open(0).unwrap();
        sim
    }};
}

#[test]
fn storage_belongs_to_one_model() {
    static STORAGE: SimStorage<1000> = SimStorage::new();
    let config = SimConfig::new(Arch::Cayman);
    let region = Region::Hbm { device: 0, channel: 0 };
    let error = Sim::new(&STORAGE, config, &Nothing).err();
    assert_eq!(error, Some(SimError::Backing { region, bytes: 24 << 30 }));
    // After a failure the storage is free again.
    let sim = Sim::new(&STORAGE, config, &Sparse).unwrap();
    assert_eq!(Sim::new(&STORAGE, config, &Sparse).err(), Some(SimError::StorageInUse));
    sim.open(0).unwrap();
    assert_eq!(
        Sim::new(&STORAGE, config, &Sparse).err().unwrap().to_string(),
        "the simulation storage already belongs to another model"
    );
}

#[test]
fn what_never_existed_is_refused() {
    static STORAGE: SimStorage<30, 2> = SimStorage::new();
    let sunda = SimConfig::new(Arch::Sunda);
    let error = |config| Sim::new(&STORAGE, config, &Sparse).err();
    let mariana = SimConfig { version: DriverVersion::V2_24_7, ..SimConfig::new(Arch::Mariana) };
    assert_eq!(error(mariana), Some(SimError::Version { version: DriverVersion::V2_24_7, arch: Arch::Mariana }));
    assert_eq!(error(SimConfig { devices: 0, ..sunda }), Some(SimError::Devices { devices: 0, most: 32 }));
    assert_eq!(error(SimConfig { devices: 33, ..sunda }), Some(SimError::Devices { devices: 33, most: 32 }));
    let host = |first_host_device| SimConfig { devices: 2, first_host_device, ..sunda };
    assert_eq!((host(62).check(), error(host(63))), (Ok(()), Some(SimError::HostDevices { first: 63, most: 64 })));
    assert_eq!(error(SimConfig { cores_per_device: 3, ..sunda }), Some(SimError::Cores { cores: 3, most: 2 }));
    assert_eq!(error(SimConfig { host_bytes: 4097, ..sunda }), Some(SimError::HostBytes { bytes: 4097 }));
    assert_eq!(error(SimConfig { devices: 3, ..sunda }), Some(SimError::TooFewDevices { needed: 3, have: 2 }));
    let cayman = SimConfig { devices: 2, ..SimConfig::new(Arch::Cayman) };
    assert_eq!(error(cayman), None, "26 records and the one that is never used");
    static SMALLER: SimStorage<26, 2> = SimStorage::new();
    assert_eq!(Sim::new(&SMALLER, cayman, &Sparse).err(), Some(SimError::TooFewRecords { needed: 27, have: 26 }));
}

#[test]
fn probe_follows_the_version() {
    for (version, bits) in [(DriverVersion::V2_24_7, 0xFF), (DriverVersion::V2_25_4, 0x1FF), (DriverVersion::V2_26_5, 0x1FF)] {
        assert_eq!(version.features(), bits, "{}", version.text());
        assert_eq!(version.features() & feature::ZEROCOPY != 0, version > DriverVersion::V2_24_7);
    }
    let sim = sim!(SimConfig { devices: 4, version: DriverVersion::V2_26_5, ..SimConfig::new(Arch::Mariana) });
    let probe = sim.probe().unwrap();
    assert_eq!((probe.arch, probe.devices, probe.cores_per_device, probe.features), (Arch::Mariana, 4, 8, 0x1FF));
    assert_eq!(sim.open(4), Err(Errno::EINVAL));
    assert_eq!(sim.open(3).unwrap().host_device_id, 3);
}

#[test]
fn a_feature_can_be_missing() {
    let config = SimConfig { version: DriverVersion::V2_25_4, missing_features: 0x182, ..SimConfig::new(Arch::Cayman) };
    let sim = sim!(config);
    assert_eq!(sim.probe().unwrap().features, 0x7D);
    // Without the feature the request is not there, as before 2.25.
    sim.open(0).unwrap();
    let range = alloc(&sim, &hbm(4096)).unwrap();
    assert_eq!(sim.zero_copy_write(0, &range, 0, &[1], 0), Err(Errno::ENOTSUPP));
}

/// A container shows devices 9 to 12 of a host of 16.
#[test]
fn a_container_renumbers_devices() {
    let config = SimConfig { devices: 4, first_host_device: 9, ..SimConfig::new(Arch::Sunda) };
    let sim = sim!(config);
    assert_eq!([0, 1, 2, 3].map(|device| sim.open(device).unwrap().host_device_id), [9, 10, 11, 12]);
    // Routing ids go by the host's numbers: the entries of the whole torus, up to the last device of the container.
    let whole = SimConfig { devices: 16, ..SimConfig::new(Arch::Sunda) }.routing_ids();
    let ids = sim.routing_ids().unwrap();
    assert_eq!((ids.count, &ids.map[..13], ids.map[13]), (13, &whole.map[..13], 0));
}

#[test]
fn routing_ids_invert_the_tables() {
    let trn1 = SimConfig { devices: 16, ..SimConfig::new(Arch::Sunda) }.routing_ids();
    assert_eq!(trn1.count, 16);
    assert_eq!(trn1.map[..16], [0, 2, 6, 4, 1, 3, 7, 5, 9, 11, 15, 13, 8, 10, 14, 12]);
    assert!(trn1.map[16..].iter().all(|&id| id == 0));
    let trn2 = SimConfig { devices: 16, ..SimConfig::new(Arch::Cayman) }.routing_ids();
    assert_eq!(trn2.map[..16], [0, 8, 9, 1, 2, 10, 11, 3, 6, 14, 15, 7, 4, 12, 13, 5]);
    let inf2 = SimConfig { devices: 12, routing: Routing::Identity, ..SimConfig::new(Arch::Sunda) }.routing_ids();
    assert_eq!(inf2.map[..13], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0]);
    assert_eq!(SimConfig::new(Arch::Sunda).routing_ids().map[..2], [0, 0]);
}

#[test]
fn ranges_are_filled_and_bytes_move() {
    let sim = sunda!();
    let mut marker = 0u8;
    let mut range = no_range();
    range.device = (&raw mut marker).cast();
    sim.alloc(0, &AllocRequest { align: 8192, nc_id: 1, channel: 1, ..hbm(5000) }, &mut range).unwrap();
    assert_eq!(range.device, (&raw mut marker).cast());
    assert_eq!((range.driver_handle, range.pa), (1, 0x10_0000_0000 + (15 << 30)));
    assert_eq!((range.mmap_offset, range.size, range.align), (range.pa, 8192, 8192));
    assert_eq!((range.host_memory, range.nc_id), (0, 1));
    let pinned = alloc(&sim, &host(4096)).unwrap();
    assert_eq!((pinned.host_memory, pinned.pa & (1 << 44), pinned.pa % 4096), (1, 1 << 44, 0));

    sim.write(0, &range, 5, b"through the engine").unwrap();
    sim.copy(0, &range, 5, &pinned, 100, 18).unwrap();
    let mapped = sim.map(0, &pinned).unwrap();
    // SAFETY: the mapping spans 4096 bytes and nobody writes to it.
    let seen = unsafe { std::slice::from_raw_parts(mapped.as_ptr().add(100), 18) };
    assert_eq!(seen, b"through the engine");
    sim.fill(0, &range, 8, 0x55, 3).unwrap();
    let mut back = [0; 18];
    sim.read(0, &range, 5, &mut back).unwrap();
    assert_eq!(&back, b"thrUUUh the engine");
    // Nothing is cleared when memory changes hands.
    sim.free(0, &range).unwrap();
    let again = alloc(&sim, &AllocRequest { channel: 1, ..hbm(4096) }).unwrap();
    assert_eq!((again.pa, again.driver_handle), (range.pa, 1));
    sim.read(0, &again, 5, &mut back).unwrap();
    assert_eq!(&back, b"thrUUUh the engine");

    assert_eq!(sim.live(0), Live { chunks: 2, device_bytes: 4096, host_bytes: 4096, mappings: 1 });
    // SAFETY: `seen` is not used any more.
    unsafe { sim.unmap(0, &pinned, mapped) }.unwrap();
    // SAFETY: refused, since the mapping is gone.
    assert_eq!(unsafe { sim.unmap(0, &pinned, mapped) }, Err(Errno::EINVAL));
    sim.free(0, &pinned).unwrap();
    sim.free(0, &again).unwrap();
    assert_eq!(sim.live(0), Live::default());
    assert_eq!(sim.hazards(0), Hazards::default());
}

#[test]
fn bounds_are_those_of_the_chunk() {
    let sim = sunda!();
    let (a, b) = (alloc(&sim, &hbm(8192)).unwrap(), alloc(&sim, &hbm(4096)).unwrap());
    let refused = Err(Errno::EINVAL);
    assert_eq!(sim.write(0, &a, 8191, &[1]), Ok(()));
    assert_eq!(sim.write(0, &a, 8192, &[1]), refused);
    assert_eq!(sim.write(0, &a, 8192, &[]), Ok(()), "copies of nothing are harmless");
    assert_eq!(sim.read(0, &a, 8193, &mut []), refused);
    assert_eq!(sim.copy(0, &a, 0, &b, 0, 4097), refused);
    assert_eq!(sim.copy(0, &b, 0, &a, 0, 4097), refused);
    assert_eq!(sim.copy(0, &a, 4096, &b, 0, 4096), Ok(()));
    assert_eq!(sim.fill(0, &a, 4096, 1, 4097), refused);
    assert_eq!(sim.hazards(0), Hazards::default());
    assert_eq!(sim.fill(0, &a, u64::MAX, 1, 2), refused);
    assert_eq!(sim.hazards(0).wrapped_range, 1);
    assert_eq!(sim.copy(0, &a, 0, &b, 0, 0), refused);
    assert_eq!(sim.fill(0, &a, 0, 1, 0), refused);
    assert_eq!(sim.hazards(0).zero_length, 2);
    for handle in [0, 3, 1 << 40, u64::MAX] {
        let mut bad = a;
        bad.driver_handle = handle;
        assert_eq!(sim.read(0, &bad, 0, &mut [0]), refused, "handle {handle:#x}");
        assert_eq!(sim.free(0, &bad), refused);
    }
    assert_eq!(sim.fill(7, &a, 0, 1, 1), refused, "no such device");
}

#[test]
fn contiguous_scratchpad_reaches_to_the_end_of_the_main_pool() {
    let sim = sunda!();
    let contiguous = AllocRequest { category: 19, ..hbm(1 << 20) };
    let top = alloc(&sim, &contiguous).unwrap();
    let below = alloc(&sim, &contiguous).unwrap();
    assert_eq!((top.pa, below.pa), ((15 << 30) - (1 << 20), (15 << 30) - (2 << 20)));
    sim.fill(0, &below, 0, 7, 2 << 20).unwrap();
    assert_eq!(sim.fill(0, &below, 0, 7, (2 << 20) + 1), Err(Errno::EINVAL));
    let mut byte = [0];
    sim.read(0, &top, (1 << 20) - 1, &mut byte).unwrap();
    assert_eq!(byte, [7]);
    assert_eq!(sim.category_usage(0, 11).bytes, 2 << 20, "19 is counted as 11");
    sim.free(0, &below).unwrap();
    sim.free(0, &top).unwrap();
    assert_eq!(sim.hazards(0), Hazards::default());

    let mut range = no_range();
    let in_host = AllocRequest { host: true, ..contiguous };
    assert_eq!(sim.alloc(0, &in_host, &mut range), Err(Errno::EINVAL));
    assert_eq!((range.driver_handle, sim.hazards(0).contiguous_host), (0, 1));
    assert_eq!(sim.live(0), Live::default());
}

#[test]
fn asynchronous_protocol() {
    let sim = sunda!();
    let (a, b) = (alloc(&sim, &hbm(200 << 20)).unwrap(), alloc(&sim, &hbm(200 << 20)).unwrap());
    let other = alloc(&sim, &AllocRequest { channel: 1, nc_id: 1, ..hbm(4096) }).unwrap();
    let start = |src, dst, size, wait: i32| {
        let mut wait = wait;
        sim.copy_start(0, src, 0, dst, 0, size, 0, &mut wait).map(|()| wait)
    };
    sim.write(0, &a, 0, b"moved").unwrap();
    assert_eq!(start(&a, &b, 5, -1), Ok(1));
    let mut seen = [0; 5];
    sim.read(0, &b, 0, &mut seen).unwrap();
    assert_eq!(&seen, b"moved");
    assert_eq!(start(&a, &b, 64, 1), Ok(2));
    assert_eq!(start(&a, &b, 64, 1), Err(Errno::EINVAL), "already waited for");
    assert_eq!(start(&a, &b, 64, 2), Ok(1));
    // Another core has numbers of its own.
    assert_eq!(sim.copy_wait(0, &other, &b, 1), Err(Errno::EINVAL));
    assert_eq!(start(&other, &b, 64, -1), Ok(1));
    assert_eq!(sim.copy_wait(0, &other, &b, 1), Ok(()));
    for wait in [0, 2, 3, -1, i32::MIN] {
        assert_eq!(sim.copy_wait(0, &a, &b, wait), Err(Errno::EINVAL), "wait {wait}");
    }
    assert_eq!(sim.copy_wait(0, &a, &b, 1), Ok(()));
    assert_eq!(sim.copy_wait(0, &a, &b, 1), Err(Errno::EINVAL));
    for wait in [1, 2, 3, -2, i32::MAX] {
        assert_eq!(start(&a, &b, 64, wait), Err(Errno::EINVAL), "wait {wait}");
    }
    assert_eq!(start(&a, &b, ASYNC_COPY_LIMIT + 1, 0), Ok(0), "synchronous copies have no limit");
    assert_eq!(start(&a, &b, 0, -1), Err(Errno::EINVAL));
    assert_eq!(sim.hazards(0), Hazards { zero_length: 1, ..Hazards::default() });
    assert_eq!(start(&a, &b, ASYNC_COPY_LIMIT + 1, -1), Err(Errno::EINVAL));
    assert_eq!(start(&a, &b, ASYNC_COPY_LIMIT, -1), Ok(1));
    assert_eq!(start(&a, &b, 1, -1), Ok(1));
    sim.close(0).unwrap();
    let expected = Hazards { zero_length: 1, oversize_async: 1, overlapping_async: 1, abandoned_async: 1, ..Hazards::default() };
    assert_eq!(sim.hazards(0), expected);
}

#[test]
fn mistakes_are_counted() {
    let sim = sim!(SimConfig::new(Arch::Sunda));
    let mut range = no_range();
    assert_eq!(sim.alloc(0, &hbm(1), &mut range), Err(Errno::EACCES), "not open");
    assert_eq!(sim.close(0), Err(Errno(9)));
    sim.open(0).unwrap();
    let first = alloc(&sim, &hbm(1)).unwrap();
    let second = alloc(&sim, &hbm(1)).unwrap();
    sim.map(0, &first).unwrap();
    sim.free(0, &first).unwrap();
    assert_eq!(sim.free(0, &first), Err(Errno::EINVAL));
    sim.free(0, &second).unwrap();
    // Both numbers are given out again, now for the other places.
    let (third, fourth) = (alloc(&sim, &hbm(1)).unwrap(), alloc(&sim, &hbm(1)).unwrap());
    assert_eq!((third.driver_handle, third.pa), (second.driver_handle, first.pa));
    assert_eq!(sim.write(0, &second, 0, &[1]), Err(Errno::EINVAL));
    assert_eq!(sim.free(0, &first), Err(Errno::EINVAL));
    assert_eq!(sim.live(0).chunks, 2);
    let expected = Hazards { unattached_alloc: 1, freed_while_mapped: 1, stale_range: 2, ..Hazards::default() };
    assert_eq!(sim.hazards(0), expected);
    sim.map(0, &fourth).unwrap();
    sim.close(0).unwrap();
    assert_eq!(sim.live(0), Live::default());
    assert_eq!(sim.hazards(0).freed_while_mapped, 2);
}

#[test]
fn categories_count_and_return_to_zero() {
    let sim = sunda!();
    let requests = [(8, false, 8), (9, false, 9), (13, false, 13), (19, false, 11), (25, false, 7), (2, true, 2), (200, true, 0)];
    let mut ranges = Vec::new();
    for (category, host, counted) in requests {
        let before = sim.category_usage(0, counted).bytes;
        ranges.push(alloc(&sim, &AllocRequest { category, host, ..hbm(10_000) }).unwrap());
        let usage = sim.category_usage(0, counted);
        assert_eq!((usage.bytes - before, usage.last_change, usage.peak), (12288, 12288, before + 12288));
    }
    assert_eq!(sim.live(0), Live { chunks: 7, device_bytes: 5 * 12288, host_bytes: 2 * 12288, mappings: 0 });
    for range in &ranges {
        sim.free(0, range).unwrap();
    }
    for category in 0..20 {
        let usage = sim.category_usage(0, category);
        assert_eq!(usage.bytes, 0, "category {category}");
        assert_eq!(usage.peak != 0, [0, 2, 7, 8, 9, 11, 13].contains(&category));
    }
    assert_eq!(sim.category_usage(0, 20), Default::default());
    assert_eq!(sim.live(0), Live::default());
}

#[test]
fn host_window_and_records_run_out_cleanly() {
    static STORAGE: SimStorage<40, 1> = SimStorage::new();
    let config = SimConfig { host_bytes: 8 << 20, ..SimConfig::new(Arch::Sunda) };
    let sim = Sim::new(&STORAGE, config, &Sparse).unwrap();
    sim.open(0).unwrap();
    let mut range = no_range();
    assert_eq!(sim.alloc(0, &host((4 << 20) + 1), &mut range), Err(Errno::ENOMEM));
    assert_eq!(sim.alloc(0, &AllocRequest { align: 1, ..host(1) }, &mut range), Err(Errno::EINVAL));
    let pinned = [alloc(&sim, &host(4 << 20)).unwrap(), alloc(&sim, &host(4 << 20)).unwrap()];
    assert_eq!(sim.alloc(0, &host(1), &mut range), Err(Errno::ENOMEM));
    for _ in 0..2 {
        let mut ranges = Vec::new();
        while let Ok(range) = alloc(&sim, &AllocRequest { align: 8192, ..hbm(4096) }) {
            ranges.push(range);
        }
        assert_eq!(ranges.len(), 16, "39 records, 6 for HBM, 2 for host chunks, two for each chunk but the first");
        for range in &ranges {
            sim.free(0, range).unwrap();
        }
    }
    assert_eq!(sim.hazards(0), Hazards { out_of_records: 2, ..Hazards::default() });
    for range in &pinned {
        sim.free(0, range).unwrap();
    }
    assert_eq!(sim.live(0), Live::default());
}

#[test]
fn thirty_two_devices_share_the_records() {
    let sim = sim!(SimConfig { devices: 32, ..SimConfig::new(Arch::Cayman) });
    let mut range = no_range();
    for device in 0..32 {
        sim.open(device).unwrap();
        sim.alloc(device, &hbm(1 << 20), &mut range).unwrap();
        assert_eq!((range.driver_handle, range.pa), (1, 16 << 20), "numbers and addresses are per device");
        sim.fill(device, &range, 0, device as u8 + 1, 16).unwrap();
        sim.alloc(device, &host(4096), &mut range).unwrap();
        assert_eq!(range.pa, (1 << 46) + (1 << 30) * (1 + u64::from(device)), "host windows are apart");
    }
    for device in 0..32 {
        (range.driver_handle, range.mmap_offset) = (1, 16 << 20);
        let mut seen = [0; 16];
        sim.read(device, &range, 0, &mut seen).unwrap();
        assert_eq!(seen, [device as u8 + 1; 16]);
        sim.close(device).unwrap();
        assert_eq!(sim.live(device), Live::default());
    }
}

/// The handle table of a device ends at 4,194,302 live chunks.
#[test]
fn handle_table_runs_out() {
    static STORAGE: SimStorage<4_200_000, 1> = SimStorage::new();
    let kernel = nrt_sim::Kernel::new(&STORAGE, SimConfig::new(Arch::Mariana)).unwrap();
    kernel.open(1, 0).unwrap();
    let request = nrt_sim::kernel::MemAlloc::from(&hbm(4096));
    for handle in 1..=4_194_302 {
        assert_eq!(kernel.alloc(1, 0, &request), Ok(handle));
    }
    let contiguous = nrt_sim::kernel::MemAlloc { category: 19, ..request };
    let live = kernel.live(0);
    assert_eq!(kernel.alloc(1, 0, &request), Err(Errno::ENOENT));
    assert_eq!(kernel.alloc(1, 0, &contiguous), Err(Errno::ENOENT));
    assert_eq!(kernel.live(0), live, "nothing remains of a refused request");
    kernel.free(1, 0, 77).unwrap();
    assert_eq!(kernel.alloc(1, 0, &contiguous), Ok(77));
    assert_eq!(kernel.chunk(0, 77).unwrap().pa, (35 << 30) - 4096);
    kernel.close(1, 0).unwrap();
    assert_eq!(kernel.live(0), Live::default());
}
