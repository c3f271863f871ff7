//! `dmem` §§2, 3, 5, 6, 8, 9: allocation, lists, categories, names, release.

use nrt_core::abi::dmem_t;
use nrt_core::driver::Call;
use nrt_core::{Allocation, Arch, Cause, Error, Location, Status, Usage};
use nrt_tests::runtime;

use crate::books::{KIB, MIB, TestDmem, books, finish, on_every_arch, sim};
use crate::plans::{NOTHING, device, host, load, refused, region, weights};
use crate::raw;

fn invalid(cause: Cause) -> Error {
    Error { status: Status::Invalid, cause }
}

#[test]
fn the_global_list_is_in_order_of_allocation() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(1).unwrap();
    assert_eq!(raw::nodes(raw::global(&runtime, 3)), []);
    let mut kept: Vec<TestDmem<'_>> = Vec::new();
    for bytes in [100, 5000, 1, 70_000, 4096] {
        kept.push(core.allocate(1, &device(bytes, Usage::Generic)).unwrap());
    }
    kept.push(core.allocate(1, &host(17, Usage::Generic)).unwrap());
    assert_eq!(raw::sizes(raw::global(&runtime, 3)), [100, 5000, 1, 70_000, 4096, 17]);
    assert_eq!(raw::nodes(raw::global(&runtime, 2)), []);
    kept.remove(2);
    assert_eq!(raw::sizes(raw::global(&runtime, 3)), [100, 5000, 70_000, 4096, 17]);
    kept.push(core.allocate(1, &device(9, Usage::Generic)).unwrap());
    assert_eq!(raw::sizes(raw::global(&runtime, 3)), [100, 5000, 70_000, 4096, 17, 9]);
    kept.remove(0);
    kept.pop();
    assert_eq!(raw::sizes(raw::global(&runtime, 3)), [5000, 70_000, 4096, 17]);
    drop(kept);
    assert_eq!(raw::nodes(raw::global(&runtime, 3)), []);
    finish(&runtime);
}

#[test]
fn a_models_memory_hangs_on_its_own_heap_not_on_the_cores() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let regions = [weights(3000), region(2, Usage::InstrPe, 7000, None), region(3, Usage::DramSpill, 200, None)];
    let model = load(&core, nrt_core::model::SubgraphPlan { regions: &regions, ..NOTHING }).unwrap();
    let record = raw::model(&runtime, 0, model.id());
    // SAFETY: a resident model; its heap is live.
    unsafe {
        assert_eq!((*(*record).dmem_allocator).r#type.0, 1);
        assert_eq!((*(*record).dmem_allocator).pcore, (*raw::global(&runtime, 0)).pcore);
        assert_eq!(raw::sizes((*record).dmem_allocator), [3000, 7000, 200]);
        // §9: the group list names the same memory in the same order, one duty each.
        assert_eq!(raw::group((*record).gc_tracker), raw::nodes((*record).dmem_allocator));
        for node in raw::group((*record).gc_tracker) {
            assert_eq!((*node).ref_count.load(std::sync::atomic::Ordering::Relaxed), 1);
        }
    }
    assert_eq!(raw::nodes(raw::global(&runtime, 0)), []);
    model.unload().unwrap();
    finish(&runtime);
}

#[test]
fn a_node_says_what_it_is() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(2).unwrap();
    let request = Allocation { align: 64 * KIB, ..device(12_345, Usage::Weight) };
    let memory = core.allocate(1, &request).unwrap();
    let [node] = raw::nodes(raw::global(&runtime, 5))[..] else { panic!("one node") };
    // SAFETY: a live node and the records it points to.
    unsafe {
        assert_eq!(((*(*node).pcore).device_tpb_idx, (*node).size, (*node).allocated_size), (5, 12_345, 12_345));
        assert_eq!(((*node).mem_type.0, (*node).mem_usage_type.0, (*node).tdram_channel), (2, 6, 2));
        assert_eq!(((*node).align_offset, (*node)._pa), (0, memory.address().unwrap()));
        assert!((*node)._va.load(std::sync::atomic::Ordering::Relaxed).is_null());
        assert_eq!((*node).ref_count.load(std::sync::atomic::Ordering::Relaxed), 1);
        // §2.6: the bounce buffers stand at +104 of the device object, 56 bytes each.
        assert_eq!((*node).cpy_buf.addr(), (*raw::mla(&runtime, 0)).device.addr() + 104 + 5 * 56);
        // The handle points to the 64-byte record of the driver library.
        let info = std::ptr::with_exposed_provenance::<nrt_core::abi::ndl_mem_info_t>((*node).mem_handle as usize);
        assert_eq!(((*info).pa, (*info).size, (*info).host_memory, (*info).nc_id), ((*node)._pa, 16_384, 0, 5));
    }
    assert_eq!(memory.bytes(), Ok(12_345));
    drop(memory);
    finish(&runtime);
}

/// §3: the two tables as the sheet prints them.
const HOST: [u8; 22] = [4, 1, 1, 4, 1, 4, 3, 6, 4, 1, 1, 20, 2, 1, 4, 20, 20, 4, 17, 17, 17, 17];
const DEVICE: [u8; 22] = [12, 8, 8, 12, 8, 12, 10, 16, 12, 8, 8, 11, 9, 8, 12, 14, 15, 12, 18, 18, 18, 18];

#[test]
fn the_driver_sees_the_category_of_each_usage() {
    on_every_arch(|runtime| {
        let core = runtime.core(0).unwrap();
        let used = |category: u8| sim(runtime).category_usage(0, category.into()).bytes;
        for (usage, (host_category, device_category)) in Usage::ALL.into_iter().zip(HOST.into_iter().zip(DEVICE)) {
            for (request, category) in [(host(5000, usage), host_category), (device(5000, usage), device_category)] {
                if category == 20 {
                    continue;
                }
                let before = used(category);
                let memory = core.allocate(0, &request).unwrap();
                assert_eq!(used(category) - before, 8192, "usage {} at {:?}", usage.name(), request.location);
                drop(memory);
                assert_eq!(used(category), before);
            }
        }
    });
}

#[test]
fn host_memory_is_refused_for_usages_11_15_and_16_before_the_driver_is_asked() {
    on_every_arch(|runtime| {
        let core = runtime.core(0).unwrap();
        let before = books(runtime);
        runtime.driver().reset();
        for (number, usage) in Usage::ALL.into_iter().enumerate() {
            if HOST[number] == 20 {
                let cause = Cause::UsageNotAllowed { usage, location: Location::Host };
                assert_eq!(refused(core.allocate(0, &host(4096, usage))), invalid(cause));
                assert!(core.allocate(0, &device(4096, usage)).is_ok());
            }
        }
        // Three allocations in device memory and their releases, nothing else.
        assert_eq!(runtime.driver().seen(), 6);
        assert_eq!(books(runtime), before);
    });
}

#[test]
fn usage_numbers_end_at_21() {
    assert_eq!(Usage::from_number(21), Some(Usage::DmaRingCollectives));
    for number in [22, 23, 255, u32::MAX] {
        assert_eq!(Usage::from_number(number), None);
    }
}

#[test]
fn addresses_lie_in_the_hbm_of_the_core_and_are_aligned_by_the_driver() {
    on_every_arch(|runtime| {
        let (arch, size) = (runtime.arch(), runtime.logical_core_size());
        for flat in 0..arch.cores_per_device() {
            let core = runtime.core(flat / size).unwrap();
            let base = arch.hbm_base(flat / arch.cores_per_hbm()).unwrap();
            for align in [0, 1, 4096, 64 * KIB, 4 * MIB] {
                let memory = core.allocate(flat % size, &Allocation { align, ..device(100, Usage::Generic) }).unwrap();
                let address = memory.address().unwrap();
                assert!(address >= base && address < base + arch.hbm_bytes(), "{address:#x}");
                assert!(address.is_multiple_of(align.max(4096)));
            }
        }
    });
}

#[test]
fn a_channel_can_be_named_and_must_exist() {
    on_every_arch(|runtime| {
        let core = runtime.core(0).unwrap();
        let channels = runtime.arch().channels_per_device();
        for channel in 0..channels {
            let memory = core.allocate(0, &Allocation { channel: Some(channel), ..device(100, Usage::Generic) }).unwrap();
            let base = runtime.arch().hbm_base(channel).unwrap();
            assert!((base..base + runtime.arch().hbm_bytes()).contains(&memory.address().unwrap()));
        }
        for channel in [channels, u32::MAX] {
            for request in [device(100, Usage::Generic), host(100, Usage::Generic)] {
                let error = refused(core.allocate(0, &Allocation { channel: Some(channel), ..request }));
                assert_eq!(error, invalid(Cause::ChannelOutOfRange { channel, channels }));
            }
        }
    });
}

#[test]
fn sizes_and_alignments_are_checked_before_the_driver_is_asked() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    runtime.driver().reset();
    let ask = |bytes, align, location| refused(core.allocate(0, &Allocation { align, location, ..device(bytes, Usage::Io) }));
    assert_eq!(ask(0, 0, Location::Device), invalid(Cause::ZeroSize));
    assert_eq!(ask(0, 0, Location::Host), invalid(Cause::ZeroSize));
    for align in [3, 4097, u64::MAX] {
        assert_eq!(ask(1, align, Location::Device), invalid(Cause::Alignment(align)));
        assert_eq!(ask(1, align, Location::Host), invalid(Cause::Alignment(align)));
    }
    let no_core = refused(core.allocate(2, &device(1, Usage::Io)));
    assert_eq!(no_core, invalid(Cause::CoreOutOfRange(2)));
    assert_eq!(runtime.driver().seen(), 0);
    assert!(core.allocate(0, &Allocation { align: 4096, ..host(1, Usage::Io) }).is_ok());
    finish(&runtime);
}

#[test]
fn the_name_is_inline_and_cut_to_59_bytes_on_a_character() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let long = "n".repeat(100);
    let accents = "\u{e9}".repeat(40);
    let (astral, exact) = (format!("{}\u{1d11e}x", "a".repeat(57)), "e".repeat(59));
    let cases: [(&str, String); 6] = [
        ("", String::new()),
        ("weights", "weights".into()),
        (&exact, exact.clone()),
        (&long, "n".repeat(59)),
        (&accents, "\u{e9}".repeat(29)),
        (&astral, "a".repeat(57)),
    ];
    for (hint, kept) in cases {
        let memory = core.allocate(0, &Allocation { hint, ..device(1, Usage::Generic) }).unwrap();
        let [node] = raw::nodes(raw::global(&runtime, 0))[..] else { panic!("one node") };
        assert_eq!(raw::hint(node), kept);
        // SAFETY: a live node.
        let (text, own): (usize, *const [u8; 60]) = unsafe { ((*node).hint.addr(), &raw const (*node).spare_44_hint) };
        assert_eq!((text, own.addr()), (node.addr() + 68, node.addr() + 68));
        drop(memory);
    }
    finish(&runtime);
}

#[test]
fn freeing_many_in_any_order_ends_at_nothing() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(3).unwrap();
    let before = books(&runtime);
    for round in 0..3 {
        let mut kept: Vec<_> = (0..500_u64)
            .map(|n| core.allocate((n % 2) as u32, &device(1 + n * 97 % 9000, Usage::ALL[(n % 22) as usize])).unwrap())
            .collect();
        assert_eq!(runtime.live_nodes(), 500);
        while !kept.is_empty() {
            let at = (kept.len() * 31 + round) % kept.len();
            kept.swap_remove(at);
            let left = raw::nodes(raw::global(&runtime, 6)).len() + raw::nodes(raw::global(&runtime, 7)).len();
            assert_eq!(left, kept.len());
        }
        assert_eq!(books(&runtime), before);
    }
    finish(&runtime);
}

#[test]
fn shared_memory_goes_with_its_last_handle() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let first = core.allocate(0, &device(4096, Usage::DmaRing)).unwrap();
    let second = first.share().unwrap();
    let [node] = raw::nodes(raw::global(&runtime, 0))[..] else { panic!("one node") };
    // SAFETY: a live node.
    let refs = || unsafe { (*node).ref_count.load(std::sync::atomic::Ordering::Relaxed) };
    assert_eq!((refs(), first.address()), (2, second.address()));
    runtime.driver().watch(&[Call::Free]);
    drop(first);
    assert_eq!((refs(), runtime.driver().seen(), core.usage(0).unwrap().total), (1, 0, 4096));
    assert_eq!(second.write(0, b"still there"), Ok(()));
    drop(second);
    assert_eq!((runtime.driver().seen(), core.usage(0).unwrap().total), (1, 0));
    finish(&runtime);
}

#[test]
fn memory_the_driver_refuses_to_take_back_is_quarantined_and_retried_at_close() {
    for call in [Call::Unmap, Call::Free] {
        let runtime = runtime(Arch::Sunda);
        let core = runtime.core(0).unwrap();
        let memory = core.allocate(0, &device(5000, Usage::Weight)).unwrap();
        memory.map().unwrap();
        runtime.driver().watch(&[call]);
        runtime.driver().fail_nth(1, nrt_core::driver::Errno::EIO);
        drop(memory);
        let usage = core.usage(0).unwrap();
        assert_eq!((usage.total, usage.allocations, usage.quarantined), (0, 0, 1));
        assert_eq!(raw::nodes(raw::global(&runtime, 0)), []);
        assert_eq!(sim(&runtime).live(0).device_bytes, 8192);
        finish(&runtime);
    }
}

#[test]
fn what_close_cannot_give_back_either_is_reported_with_its_bytes() {
    let runtime = runtime(Arch::Sunda);
    let memory = runtime.core(0).unwrap().allocate(0, &device(5000, Usage::Weight)).unwrap();
    runtime.driver().watch(&[Call::Free]);
    runtime.driver().fail_from(1, nrt_core::driver::Errno::EIO);
    drop(memory);
    let report = runtime.close(None).unwrap();
    assert_eq!((report.quarantined, report.quarantined_bytes, report.device_bytes, report.nodes), (1, 8192, 0, 0));
    // Two bounce buffers, of which the driver takes none.
    assert_eq!((report.refused_requests, report.is_clean()), (2, false));
    // Closing the device gave everything back all the same.
    assert_eq!(sim(&runtime).live(0), nrt_sim::Live::default());
}

#[test]
fn nodes_are_192_bytes_on_64_byte_lines() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let kept = [device(1, Usage::Io), device(1, Usage::Io), host(1, Usage::Io)].map(|plan| core.allocate(0, &plan).unwrap());
    assert_eq!((size_of::<dmem_t>(), align_of::<dmem_t>()), (192, 64));
    assert!(raw::nodes(raw::global(&runtime, 0)).iter().all(|node| node.addr().is_multiple_of(64)));
    drop(kept);
    finish(&runtime);
}
