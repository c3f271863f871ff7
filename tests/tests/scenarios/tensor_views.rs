//! `tensor` §§7.2, 7.5, 7.6, 8, 9.2, 9.5: empty tensors, attached buffers, slices, fills, addresses.

use std::ptr::NonNull;

use nrt_core::driver::Call;
use nrt_core::{Arch, Cause, Error, Placement, Pool, Status};
use nrt_tests::runtime;

use crate::books::{GIB, TestTensor, books, finish, on_every_arch};
use crate::plans::{formula, refused};

fn invalid(cause: Cause) -> Error {
    Error { status: Status::Invalid, cause }
}

fn read(tensor: &TestTensor<'_>) -> Vec<u8> {
    let mut bytes = vec![0; tensor.bytes() as usize];
    tensor.read(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn an_empty_tensor_is_a_view_of_nothing() {
    let runtime = runtime(Arch::Cayman);
    let mut tensor = runtime.empty_tensor("").unwrap();
    assert_eq!((tensor.bytes(), tensor.with_name(str::to_owned).unwrap()), (0, "unnamed".into()));
    let nothing = invalid(Cause::NoStorage);
    assert_eq!(tensor.write(0, &[1]), Err(nothing));
    assert_eq!(tensor.read(0, &mut [1]), Err(nothing));
    assert_eq!(tensor.fill(0, 1, 1), Err(nothing));
    assert_eq!(tensor.map(), Err(nothing));
    assert_eq!(tensor.address(), Err(nothing));
    assert_eq!(refused(tensor.device_allocation()), nothing);
    assert_eq!(refused(tensor.slice(0, 1, "slice")), nothing);
    assert_eq!(refused(tensor.begin(nrt_core::Access::Read)), nothing);
    assert_eq!(tensor.detach(), Ok(()), "detaching nothing is nothing");
    assert_eq!(tensor.completions(), Ok(0));
    drop(tensor);
    finish(&runtime);
}

/// An attached buffer is the caller's: read and written where it is, and left alone in the end. What the tensor had is freed.
#[test]
fn a_buffer_is_attached_and_stays_the_callers() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let before = books(&runtime);
    let mut buffer = formula(5, 1000);
    let memory = NonNull::from(&mut buffer[..]).cast::<u8>();
    let mut tensor = core.tensor(Placement::Device, 500, "t").unwrap();
    // SAFETY: the buffer outlives the tensor and its slices, and is looked at through it only meanwhile.
    unsafe { tensor.attach(memory, 1000) }.unwrap();
    assert_eq!(books(&runtime), before, "the device memory is gone");
    assert_eq!((tensor.bytes(), tensor.map()), (1000, Ok(memory)));
    assert_eq!(tensor.address(), Err(invalid(Cause::NotDeviceMemory)));
    assert!(read(&tensor) == formula(5, 1000));
    let slice = tensor.slice(100, 50, "slice").unwrap();
    slice.fill(10, 0xEE, 5).unwrap();
    tensor.detach().unwrap();
    assert_eq!((tensor.bytes(), slice.bytes()), (0, 50));
    assert_eq!(read(&slice)[8..17], [[113, 114].as_slice(), &[0xEE; 5], &[120, 121]].concat());
    // A size of 0 is refused and changes nothing.
    let mut slice = slice;
    // SAFETY: refused.
    assert_eq!(unsafe { slice.attach(memory, 0) }, Err(invalid(Cause::ZeroSize)));
    assert_eq!(slice.bytes(), 50);
    drop((tensor, slice));
    assert_eq!(buffer[110..115], [0xEE; 5]);
    finish(&runtime);
}

/// A size without bytes: everything succeeds and nothing moves.
#[test]
fn a_size_without_bytes_takes_everything_and_gives_nothing() {
    let runtime = runtime(Arch::Mariana);
    let core = runtime.core(0).unwrap();
    let mut fake = runtime.empty_tensor("fake").unwrap();
    fake.attach_size_only(64 * GIB).unwrap();
    assert_eq!(fake.bytes(), 64 * GIB);
    assert_eq!(fake.write(64 * GIB - 3, &[1; 3]), Ok(()));
    let mut untouched = [7; 3];
    assert_eq!(fake.read(0, &mut untouched), Ok(()));
    assert_eq!(untouched, [7; 3]);
    assert_eq!(fake.fill(0, 1, 64 * GIB), Ok(()));
    assert!(fake.write(64 * GIB - 2, &[1; 3]).is_err(), "bounds hold");
    assert_eq!(fake.map(), Err(invalid(Cause::NoBytes)));
    assert_eq!(fake.address(), Err(invalid(Cause::NotDeviceMemory)));
    let plain = runtime.host_tensor(8, "plain").unwrap();
    plain.fill(0, 9, 8).unwrap();
    assert_eq!(fake.copy_to(0, &plain, 0, 8), Ok(()));
    assert_eq!(plain.copy_to(0, &fake, 0, 8), Ok(()));
    assert_eq!(read(&plain), [9; 8]);
    let device = core.tensor(Placement::Device, 8, "device").unwrap();
    assert_eq!(fake.copy_to(0, &device, 0, 8), Err(invalid(Cause::NoBytes)));
    assert_eq!(device.copy_to(0, &fake, 0, 8), Err(invalid(Cause::NoBytes)));
    drop((fake, plain, device));
    finish(&runtime);
}

/// Slices are bounded by their source's view, compose, share the bytes, and keep the storage when the source is freed.
#[test]
fn slices_share_and_keep_the_storage() {
    on_every_arch(|runtime| {
        let core = runtime.core(0).unwrap();
        let before = books(runtime);
        let placements = [Placement::Device, Placement::Host, Placement::Virtual];
        for placement in placements.into_iter().filter(|place| runtime.arch() != Arch::Cayman || *place != Placement::Host) {
            let source = core.tensor(placement, 1000, "source").unwrap();
            source.write(0, &formula(0, 1000)).unwrap();
            let slice = source.slice(200, 100, "slice").unwrap();
            let inner = slice.slice(90, 10, "").unwrap();
            assert!(read(&slice) == formula(200, 100) && read(&inner) == formula(290 % 251, 10));
            for (offset, bytes) in [(1, 100), (100, 1), (0, 101), (u64::MAX, 2)] {
                let outside = invalid(Cause::OutOfBounds { offset, size: bytes, limit: 100 });
                assert_eq!(refused(slice.slice(offset, bytes, "")), outside);
            }
            assert_eq!(refused(slice.slice(0, 0, "")), invalid(Cause::ZeroSize));
            assert!(slice.write(99, &[0; 2]).is_err(), "the source's bytes behind the slice are not its own");
            if placement != Placement::Virtual {
                assert_eq!(inner.address().unwrap(), source.address().unwrap() + 290);
            }
            assert_eq!(inner.map().unwrap().addr().get(), source.map().unwrap().addr().get() + 290);
            inner.fill(0, 0x77, 10).unwrap();
            drop((source, slice));
            assert_ne!(books(runtime).nodes, if placement == Placement::Virtual { 1 } else { 0 });
            assert_eq!(read(&inner), [0x77; 10]);
            drop(inner);
            assert_eq!(books(runtime), before);
        }
    });
}

#[test]
fn a_slice_of_a_full_pool_leaves_the_source_alone() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let source = core.tensor(Placement::Virtual, 10, "source").unwrap();
    let slices: Vec<_> = (0..31).map(|_| source.slice(0, 10, "slice").unwrap()).collect();
    let full = Error { status: Status::Resource, cause: Cause::PoolFull(Pool::Tensors) };
    assert_eq!(refused(source.slice(0, 10, "slice")), full);
    assert_eq!(refused(runtime.empty_tensor("empty")), full);
    drop(source);
    let more = slices[0].slice(0, 10, "slice").unwrap();
    drop((slices, more));
    finish(&runtime);
}

#[test]
fn fills_and_addresses_by_placement() {
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(1).unwrap();
    for placement in [Placement::Device, Placement::Host, Placement::Virtual] {
        let tensor = core.tensor(placement, 5000, "t").unwrap();
        tensor.fill(0, 1, 5000).unwrap();
        tensor.fill(4990, 2, 10).unwrap();
        assert_eq!(tensor.fill(4990, 3, 11), Err(invalid(Cause::OutOfBounds { offset: 4990, size: 11, limit: 5000 })));
        assert_eq!(tensor.fill(0, 3, 0), Err(invalid(Cause::ZeroSize)));
        assert!(read(&tensor) == [vec![1; 4990], vec![2; 10]].concat());
        let base = tensor.map().unwrap();
        // SAFETY: the mapping spans the tensor and nobody writes meanwhile.
        assert_eq!(unsafe { base.add(4989).cast::<[u8; 2]>().read() }, [1, 2]);
        let allocation = tensor.device_allocation();
        match placement {
            Placement::Device => {
                let allocation = allocation.unwrap();
                assert_eq!(
                    (allocation.physical_address, allocation.size, allocation.hbm_index),
                    (tensor.address().unwrap(), 5000, 1)
                );
                // A slice has the allocation of its source, and an address of its own.
                let slice = tensor.slice(4096, 4, "slice").unwrap();
                assert_eq!(slice.device_allocation().unwrap().physical_address, allocation.physical_address);
                assert_eq!(slice.address().unwrap(), allocation.physical_address + 4096);
            }
            _ => assert_eq!(refused(allocation), invalid(Cause::NotDeviceMemory)),
        }
    }
    finish(&runtime);
}

/// They belong to no logical core, and no driver is asked.
#[test]
fn tensors_of_no_core_are_plain_host_memory() {
    let runtime = runtime(Arch::Cayman);
    runtime.driver().watch_all();
    let tensor = runtime.host_tensor(100, "host").unwrap();
    tensor.write(0, &formula(3, 100)).unwrap();
    assert!(read(&tensor) == formula(3, 100));
    assert_eq!(runtime.driver().seen(), 0);
    assert_eq!(refused(runtime.host_tensor(0, "none")), invalid(Cause::ZeroSize));
    let long = "n".repeat(256);
    assert_eq!(refused(runtime.host_tensor(1, &long)), invalid(Cause::NameTooLong { length: 256, limit: 255 }));
    drop(tensor);
    finish(&runtime);
}

/// After close, handles are inert whatever they were.
#[test]
fn views_are_inert_after_close() {
    let runtime = runtime(Arch::Cayman);
    let mut tensor = runtime.core(0).unwrap().tensor(Placement::Device, 100, "t").unwrap();
    let slice = tensor.slice(0, 10, "slice").unwrap();
    let set = runtime.tensor_set().unwrap();
    set.add("slice", &slice).unwrap();
    let shared = set.get("slice").unwrap();
    let report = runtime.close(None).unwrap();
    assert_eq!((report.tensors, report.nodes), (2, 0));
    let closed = Error { status: Status::Closed, cause: Cause::NotOpen };
    assert_eq!(tensor.detach(), Err(closed));
    assert_eq!(tensor.attach_size_only(1), Err(closed));
    assert_eq!(refused(slice.slice(0, 1, "")), closed);
    assert_eq!(slice.wait_completed(0, 0), Err(closed));
    assert_eq!(set.add("x", &slice), Err(closed));
    assert_eq!(refused(set.get("slice")), closed);
    assert_eq!(refused(runtime.empty_tensor("")), closed);
    assert_eq!(refused(runtime.tensor_set()), closed);
    assert_eq!((tensor.bytes(), shared.bytes()), (100, 10), "the size asks no state");
    runtime.driver().watch(&[Call::Free]);
    drop((tensor, slice, shared, set));
    assert_eq!(runtime.driver().seen(), 0);
}
