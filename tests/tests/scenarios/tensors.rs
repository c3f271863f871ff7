//! `tensor` §§2 to 4, 7 to 9, 11: placements, reading and writing, copies, completion.

use std::ffi::CStr;
use std::sync::atomic::Ordering::Relaxed;

use nrt_core::abi::{nrt_tensor_mem_type_t, nrt_tensor_storage_t, nrt_tensor_t};
use nrt_core::driver::{Call, Errno};
use nrt_core::model::{CopyExecutor, SubgraphPlan};
use nrt_core::{Arch, Cause, Config, Error, Fence, Placement, Result, Runtime, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_tests::{TestStorage, one_device, runtime, storage};

use crate::books::{GIB, MIB, books, finish, held, on_every_arch};
use crate::plans::{Inside, NOTHING, formula, io, load, refused, weights};
use crate::raw;

const PLACEMENTS: [Placement; 3] = [Placement::Device, Placement::Host, Placement::Virtual];

/// The view with this name, found in a storage by its shape: a text pointer to the text right behind the 192 bytes.
fn view(storage: &TestStorage, name: &str) -> *const nrt_tensor_t {
    let base = std::ptr::from_ref(storage).cast::<u8>();
    let mut at = 0;
    while at + 192 + 256 <= size_of::<TestStorage>() {
        // SAFETY: inside the storage, which nobody else uses; any bytes are an address, and a text behind a pointer to
        // itself is NUL-terminated.
        unsafe {
            let candidate = base.add(at);
            if candidate.cast::<usize>().read() == candidate.addr() + 192
                && CStr::from_ptr(candidate.add(192).cast()).to_str() == Ok(name)
            {
                return candidate.cast();
            }
        }
        at += 64;
    }
    panic!("no tensor {name}");
}

fn read(tensor: &crate::books::TestTensor<'_>, offset: u64, bytes: usize) -> Vec<u8> {
    let mut seen = vec![0; bytes];
    tensor.read(offset, &mut seen).unwrap();
    seen
}

#[test]
fn bytes_come_back_from_every_placement() {
    on_every_arch(|runtime| {
        let core = runtime.core(1).unwrap();
        for placement in PLACEMENTS {
            if placement == Placement::Host && runtime.arch() == Arch::Cayman {
                continue;
            }
            let tensor = core.tensor(placement, 3 * MIB + 5, "bytes").unwrap();
            assert_eq!(tensor.bytes(), 3 * MIB + 5);
            tensor.with_name(|name| assert_eq!(name, "bytes")).unwrap();
            let content = formula(1, (3 << 20) + 5);
            tensor.write(0, &content).unwrap();
            tensor.write(1000, &[0; 3]).unwrap();
            assert_eq!(read(&tensor, 999, 5), [content[999], 0, 0, 0, content[1003]]);
            assert!(read(&tensor, 1003, (3 << 20) + 5 - 1003) == content[1003..]);
        }
    });
}

#[test]
fn pinned_host_tensors_are_refused_on_cayman_alone() {
    for arch in Arch::ALL {
        let runtime = runtime(arch);
        let core = runtime.core(0).unwrap();
        let before = books(&runtime);
        let result = core.tensor(Placement::Host, 4096, "t");
        if arch == Arch::Cayman {
            assert_eq!(refused(result), Error { status: Status::Resource, cause: Cause::HostTensor });
            assert_eq!(books(&runtime), before);
        } else {
            let tensor = result.unwrap();
            // Pinned memory of the GLOBAL heap: a node, a category of the driver, no counter.
            assert_eq!((runtime.live_nodes(), runtime.device_bytes()), (1, 0));
            assert_eq!(crate::books::sim(&runtime).category_usage(0, 2).bytes, 4096);
            drop(tensor);
        }
        finish(&runtime);
    }
}

/// State, logical core, pinned memory on CAYMAN: in this order, in front of every other check, and the driver hears of none.
#[test]
fn the_gates_of_a_tensor_come_in_order_and_reach_no_driver() {
    for arch in Arch::ALL {
        let runtime = runtime(arch);
        let count = runtime.logical_cores();
        let last = runtime.core(count - 1).unwrap();
        let before = books(&runtime);
        runtime.driver().watch_all();
        // 1. One logical core too far, before anything of the tensor is looked at.
        for vnc in [count, count + 1, u32::MAX] {
            let error = refused(runtime.core(vnc).and_then(|core| core.tensor(Placement::Host, 0, &"n".repeat(256))));
            assert_eq!(error, Error { status: Status::Invalid, cause: Cause::VncOutOfRange { vnc, count } });
            assert_eq!(error.to_string(), format!("NRT_INVALID: logical core {vnc} does not exist, this process has {count}"));
        }
        // 2. Pinned memory on CAYMAN, before size and name; elsewhere those are what is wrong.
        for (bytes, name) in [(4096, "t".into()), (0, "t".into()), (4096, "n".repeat(256))] {
            if arch == Arch::Cayman {
                let error = refused(last.tensor(Placement::Host, bytes, &name));
                assert_eq!(error, Error { status: Status::Resource, cause: Cause::HostTensor });
                assert_eq!(
                    error.to_string(),
                    "NRT_RESOURCE: tensors in pinned host memory are not possible on this architecture"
                );
            } else if bytes == 0 || name.len() > 255 {
                assert_eq!(refused(last.tensor(Placement::Host, bytes, &name)).status, Status::Invalid);
            }
        }
        assert_eq!((runtime.driver().seen(), books(&runtime)), (0, before));
        // 3. The last core there is, and every placement it can have.
        for placement in PLACEMENTS {
            if (placement, arch) != (Placement::Host, Arch::Cayman) {
                assert_eq!(last.tensor(placement, 10, "t").unwrap().bytes(), 10);
            }
        }
        // 4. After close the state is what is told, whatever else is wrong.
        let one = runtime.core(0).unwrap();
        let mut tensor = one.tensor(Placement::Device, 10, "t").unwrap();
        runtime.close(None).unwrap();
        runtime.driver().watch_all();
        let closed = Error { status: Status::Closed, cause: Cause::NotOpen };
        assert_eq!(refused(one.tensor(Placement::Host, 0, &"n".repeat(256))), closed);
        assert_eq!(refused(runtime.core(count)), closed);
        assert_eq!(refused(runtime.host_tensor(0, "t")), closed);
        assert_eq!(tensor.fill(100, 0, 100), Err(closed));
        assert_eq!(tensor.map(), Err(closed));
        assert_eq!(tensor.address(), Err(closed));
        assert_eq!(refused(tensor.device_allocation()), closed);
        assert_eq!(tensor.begin(nrt_core::Access::Read).err(), Some(closed));
        assert_eq!((tensor.completions(), tensor.reset_completions()), (Err(closed), Err(closed)));
        assert_eq!(tensor.attach_size_only(0), Err(closed));
        assert_eq!(tensor.slice(100, 100, "s").err(), Some(closed));
        assert_eq!(runtime.write_batch(&[], Fence::Wait), Err(closed));
        assert_eq!(runtime.read_batch(&mut [], Fence::Wait), Err(closed));
        drop(tensor);
        assert_eq!(runtime.driver().seen(), 0);
    }
}

#[test]
fn device_tensors_are_of_the_first_core_on_its_default_channel() {
    on_every_arch(|runtime| {
        for vnc in 0..runtime.logical_cores() {
            let core = runtime.core(vnc).unwrap();
            let (_, flat) = core.physical(0).unwrap();
            let tensor = core.tensor(Placement::Device, 5000, "mine").unwrap();
            let [node] = raw::nodes(raw::global(runtime, flat))[..] else { panic!("one node") };
            // SAFETY: a live node.
            unsafe {
                assert_eq!(((*node).size, (*node).mem_usage_type.0, (*node).mem_type.0), (5000, 12, 2));
                assert_eq!((*node).tdram_channel, runtime.arch().default_channel(flat));
                assert_eq!((*node).align_offset, 0);
            }
            assert_eq!(raw::hint(node), "mine");
            assert_eq!(held(&core, 0, Usage::Tensor), 5000);
            assert_eq!(crate::books::sim(runtime).category_usage(0, 9).bytes, 8192);
            if runtime.logical_core_size() == 2 {
                assert_eq!(held(&core, 1, Usage::Tensor), 0);
            }
            drop(tensor);
        }
    });
}

#[test]
fn plain_host_tensors_are_in_no_book() {
    let runtime = runtime(Arch::Cayman);
    let before = books(&runtime);
    let tensor = runtime.core(0).unwrap().tensor(Placement::Virtual, 100 * MIB, "plain").unwrap();
    assert_eq!(books(&runtime), before);
    tensor.write(100 * MIB - 3, b"end").unwrap();
    assert_eq!(read(&tensor, 100 * MIB - 4, 4), b"\0end");
    drop(tensor);
    let error = refused(runtime.core(0).unwrap().tensor(Placement::Virtual, u64::MAX, "t"));
    assert_eq!(error, Error { status: Status::FailHostMemAlloc, cause: Cause::HostMemory { size: u64::MAX } });
    finish(&runtime);
}

#[test]
fn tensors_are_checked_before_anything_is_taken() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    for placement in PLACEMENTS {
        assert_eq!(refused(core.tensor(placement, 0, "t")), Error { status: Status::Invalid, cause: Cause::ZeroSize });
        let cause = Cause::NameTooLong { length: 256, limit: 255 };
        assert_eq!(refused(core.tensor(placement, 1, &"n".repeat(256))), Error { status: Status::Invalid, cause });
        let long = core.tensor(placement, 1, &"n".repeat(255)).unwrap();
        long.with_name(|name| assert_eq!(name.len(), 255)).unwrap();
        let unnamed = core.tensor(placement, 1, "").unwrap();
        unnamed.with_name(|name| assert_eq!(name, "unnamed")).unwrap();
    }
    assert_eq!(books(&runtime), before);
    finish(&runtime);
}

#[test]
fn refused_memory_answers_by_placement_and_leaves_the_slots() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    for (placement, errno, status) in [
        (Placement::Device, Errno::ENOMEM, Status::Resource),
        (Placement::Host, Errno::ENOMEM, Status::FailHostMemAlloc),
        (Placement::Device, Errno::EIO, Status::Failure),
        (Placement::Host, Errno::EIO, Status::Failure),
    ] {
        // More often than there are slots.
        for _ in 0..40 {
            runtime.driver().watch(&[Call::Alloc]);
            runtime.driver().fail_nth(1, errno);
            assert_eq!(refused(core.tensor(placement, 100, "t")).status, status);
        }
    }
    assert_eq!(books(&runtime), before);
    finish(&runtime);
}

#[test]
fn spans_are_checked_on_every_placement() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let other = core.tensor(Placement::Device, 1000, "other").unwrap();
    for placement in PLACEMENTS {
        let tensor = core.tensor(placement, 100, "t").unwrap();
        for (offset, size) in [(0, 101), (100, 1), (99, 2), (u64::MAX, 1), (u64::MAX - 99, 100)] {
            let outside = Err(Error { status: Status::Invalid, cause: Cause::OutOfBounds { offset, size, limit: 100 } });
            assert_eq!(tensor.write(offset, &vec![0; size as usize]), outside);
            assert_eq!(tensor.read(offset, &mut vec![0; size as usize]), outside);
            assert_eq!(tensor.copy_to(offset, &other, 0, size), outside);
            assert_eq!(other.copy_to(0, &tensor, offset, size), outside);
        }
        let empty = Err(Error { status: Status::Invalid, cause: Cause::ZeroSize });
        assert_eq!(tensor.write(0, &[]), empty);
        assert_eq!(tensor.read(0, &mut []), empty);
        assert_eq!(tensor.copy_to(0, &other, 0, 0), empty);
        assert_eq!(tensor.copy_to(0, &other, 900, 100), Ok(()));
    }
    drop(other);
    finish(&runtime);
}

#[test]
fn copies_go_between_all_placements() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let bytes = (5 << 20) / 2;
    let content = formula(17, bytes);
    for from in PLACEMENTS {
        for to in PLACEMENTS {
            let (source, target) =
                (core.tensor(from, bytes as u64 + 10, "source").unwrap(), core.tensor(to, bytes as u64 + 10, "target").unwrap());
            // Memory comes as the one before left it.
            target.write(0, &vec![0; bytes + 10]).unwrap();
            source.write(3, &content).unwrap();
            source.copy_to(3, &target, 7, bytes as u64).unwrap();
            assert!(read(&target, 7, bytes) == content, "{from:?} to {to:?}");
            assert_eq!((read(&target, 0, 7), read(&target, bytes as u64 + 7, 3)), (vec![0; 7], vec![0; 3]));
        }
    }
    finish(&runtime);
}

#[test]
fn device_copies_stay_on_one_hbm() {
    let runtime = nrt_tests::open(
        one_device(Arch::Cayman),
        Config { logical_core_size: Some(1), ..Config::new(LinuxHooks::new()).side_by_side() },
    );
    let on = |vnc, placement| runtime.core(vnc).unwrap().tensor(placement, 100, "t").unwrap();
    // Cores 0 and 1 share HBM 0, cores 2 and 3 HBM 1.
    let tensors = [0, 1, 2, 7].map(|vnc| on(vnc, Placement::Device));
    tensors[0].write(0, &formula(5, 100)).unwrap();
    assert_eq!(tensors[0].copy_to(0, &tensors[1], 0, 100), Ok(()));
    assert_eq!(read(&tensors[1], 0, 100), formula(5, 100));
    for (target, channel) in [(2, 1), (3, 3)] {
        let refused = Err(Error { status: Status::Invalid, cause: Cause::DifferentHbm { source: 0, target: channel } });
        assert_eq!(tensors[0].copy_to(0, &tensors[target], 0, 100), refused);
        assert_eq!(read(&tensors[target], 0, 100), [0; 100]);
    }
    // A plain host side lies on no HBM.
    let plain = on(0, Placement::Virtual);
    tensors[0].copy_to(0, &plain, 0, 100).unwrap();
    plain.copy_to(0, &tensors[3], 0, 100).unwrap();
    assert_eq!(read(&tensors[3], 0, 100), formula(5, 100));
    drop((plain, tensors));
    finish(&runtime);
}

#[test]
fn device_copies_stay_on_one_device() {
    let two = nrt_sim::SimConfig { devices: 2, ..nrt_sim::SimConfig::new(Arch::Sunda) };
    let runtime = nrt_tests::open(nrt_tests::driver(two), Config::new(LinuxHooks::new()).side_by_side());
    let [near, far] = [1, 3].map(|vnc| runtime.core(vnc).unwrap().tensor(Placement::Device, 100, "t").unwrap());
    let refused = Err(Error { status: Status::Invalid, cause: Cause::DifferentDevices { source: 0, target: 1 } });
    assert_eq!(near.copy_to(0, &far, 0, 100), refused);
    drop((near, far));
    finish(&runtime);
}

#[test]
fn copies_in_both_directions_at_the_same_time_finish() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let plain = [(); 2].map(|()| core.tensor(Placement::Virtual, 5000, "plain").unwrap());
    let device = core.tensor(Placement::Device, 5000, "device").unwrap();
    let rounds = |work: &dyn Fn() -> Result<()>| (0..300).for_each(|_| work().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| rounds(&|| plain[0].copy_to(0, &device, 0, 5000)));
        scope.spawn(|| rounds(&|| device.copy_to(0, &plain[0], 0, 5000)));
        scope.spawn(|| rounds(&|| plain[0].copy_to(0, &plain[1], 0, 5000)));
        scope.spawn(|| rounds(&|| plain[1].copy_to(0, &plain[0], 0, 5000)));
        scope.spawn(|| rounds(&|| plain[1].copy_to(0, &plain[1], 1, 4999)));
    });
    drop((plain, device));
    finish(&runtime);
}

#[test]
fn a_tensor_outlives_the_models_that_used_it() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let (inputs, outputs) = ([io("x", 100, 2)], [io("y", 100, 3)]);
    let subgraph = SubgraphPlan { regions: &[weights(1000)], inputs: &inputs, outputs: &outputs, ..NOTHING };
    let [x, y] = ["x", "y"].map(|name| core.tensor(Placement::Device, 100, name).unwrap());
    x.write(0, &formula(40, 100)).unwrap();
    let model = load(&core, subgraph).unwrap();
    model.run(&[&x], &[&y], None, &CopyExecutor).unwrap();
    model.unload().unwrap();
    assert_eq!(read(&y, 0, 100), formula(40, 100));
    assert_eq!(core.usage(0).unwrap().total, 200);
    drop((x, y));
    finish(&runtime);
}

#[test]
fn a_tensor_beyond_4_gib_is_reached_at_both_ends() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let tensor = core.tensor(Placement::Device, 5 * GIB, "large").unwrap();
    assert_eq!((tensor.bytes(), held(&core, 0, Usage::Tensor)), (5 * GIB, 5 * GIB));
    let places = [0, 4 * GIB - 2, 4 * GIB, 4 * GIB + 123, 5 * GIB - 16];
    for (seed, offset) in (0..).zip(places) {
        tensor.write(offset, &formula(seed * 50, 16)).unwrap();
    }
    // The write at 4 GiB went over the end of the one before it, and nothing wrapped to the start.
    let second = [&formula(50, 2)[..], &formula(100, 16)].concat();
    assert_eq!(read(&tensor, 4 * GIB - 2, 18), second);
    assert_eq!(read(&tensor, 0, 16), formula(0, 16));
    assert_eq!(read(&tensor, 123, 16), [0; 16]);
    assert_eq!(read(&tensor, 4 * GIB + 123, 16), formula(150, 16));
    assert_eq!(read(&tensor, 5 * GIB - 16, 16), formula(200, 16));
    let outside = Cause::OutOfBounds { offset: 5 * GIB - 1, size: 2, limit: 5 * GIB };
    assert_eq!(tensor.write(5 * GIB - 1, &[0; 2]), Err(Error { status: Status::Invalid, cause: outside }));
    tensor.copy_to(4 * GIB + 123, &tensor, 1000, 16).unwrap();
    assert_eq!(read(&tensor, 1000, 16), formula(150, 16));
    drop(tensor);
    finish(&runtime);
}

#[test]
fn the_records_of_a_tensor_are_as_documented() {
    let fresh: &'static TestStorage = storage();
    let runtime = Runtime::init(fresh, one_device(Arch::Mariana), Config::new(LinuxHooks::new()).side_by_side()).unwrap();
    let core = runtime.core(3).unwrap();
    for (placement, name, kind, channel) in [
        (Placement::Device, "on device", nrt_tensor_mem_type_t::DMA, 3),
        (Placement::Host, "on host", nrt_tensor_mem_type_t::DMA, 3),
        (Placement::Virtual, "plain", nrt_tensor_mem_type_t::MALLOC, u32::MAX),
    ] {
        let tensor = core.tensor(placement, 777, name).unwrap();
        let view = view(fresh, name);
        // SAFETY: a live tensor and its storage.
        unsafe {
            assert_eq!(((*view)._offset.load(Relaxed), (*view)._size.load(Relaxed)), (0, 777));
            assert_eq!(((*view).ref_count.load(Relaxed), (*view).output_completion_count.load(Relaxed)), (1, 0));
            let storage: *const nrt_tensor_storage_t = (*view).sto.load(Relaxed);
            assert_eq!(((*storage).hbm_idx, (*storage).allocated_size, (*storage).r#type), (channel, 777, kind));
            assert_eq!(((*storage).ref_count.load(Relaxed), (*storage).mem_owned_by_tensor), (1, true));
            assert_eq!((*storage).vtpb_idx, 3);
        }
        drop(tensor);
    }
    finish(&runtime);
}

#[test]
fn each_successful_run_counts_the_outputs_once() {
    let fresh: &'static TestStorage = storage();
    let runtime = Runtime::init(fresh, one_device(Arch::Cayman), Config::new(LinuxHooks::new()).side_by_side()).unwrap();
    let core = runtime.core(0).unwrap();
    let (inputs, outputs) = ([io("x", 8, 1)], [io("y", 8, 2), io("z", 8, 3)]);
    let model = load(&core, SubgraphPlan { inputs: &inputs, outputs: &outputs, ..NOTHING }).unwrap();
    let [x, y, z] = ["x", "y", "z"].map(|name| core.tensor(Placement::Device, 8, name).unwrap());
    // SAFETY: live tensors; the count is an atomic.
    let counts = || ["x", "y", "z"].map(|name| unsafe { (*view(fresh, name)).output_completion_count.load(Relaxed) });
    let failure = Error { status: Status::HwError, cause: Cause::Source("the engine stopped") };
    let failing = Inside(|_| {
        assert_eq!(counts(), [0, 1, 1]);
        Err(failure)
    });
    assert_eq!(counts(), [0; 3]);
    model.run(&[&x], &[&y, &z], None, &CopyExecutor).unwrap();
    assert_eq!(model.run(&[&x], &[&y, &z], None, &failing), Err(failure));
    assert_eq!(counts(), [0, 1, 1]);
    model.run(&[&x], &[&z, &z], None, &CopyExecutor).unwrap();
    assert_eq!(counts(), [0, 1, 3]);
    drop((x, y, z));
    model.unload().unwrap();
    finish(&runtime);
}
