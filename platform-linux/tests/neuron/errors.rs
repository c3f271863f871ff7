//! What the driver's answers become.

use nrt_core::driver::{AllocRequest, Call, Driver as _, Errno};
use nrt_core::status::Status;
use nrt_core::{Config, Placement, Runtime, SmallStorage};
use nrt_linux::LinuxHooks;
use nrt_linux::neuron::{Fault, status};
use nrt_linux::request::*;

use crate::fake::Setup;

const REQUEST: AllocRequest = AllocRequest { size: 4096, align: 0, host: false, channel: 0, nc_id: 0, category: 9 };

/// `driver-abi` §5: bad pointers come back as the number of bytes that could not be copied.
#[test]
fn positive_answers_are_errors_from_every_request() {
    let driver = Setup::sunda().attach();
    let range = driver.allocate(0, &REQUEST).unwrap();
    let system = driver.system();
    for returned in [1, 8, 40, 56] {
        system.fail::<MemAllocV2Mt64<'_>>(returned);
        assert_eq!(driver.allocate(0, &REQUEST).unwrap_err().errno(), Errno::SHORT);
        system.fail::<MemBufCopy64<'_>>(returned);
        assert_eq!(driver.write(0, &range, 0, b"x"), Err(Errno::SHORT));
        system.fail::<MemCopy64<'_>>(returned);
        assert_eq!(driver.copy(0, &range, 0, &range, 8, 4), Err(Errno::SHORT));
        system.fail::<MemCopyAsync64<'_>>(returned);
        let mut wait = -1;
        assert_eq!(driver.copy_start(0, &range, 0, &range, 8, 4, 0, &mut wait), Err(Errno::SHORT));
        assert_eq!(wait, -1);
        system.fail::<MemCopyAsyncWait<'_>>(returned);
        assert_eq!(driver.copy_wait(0, &range, &range, 1), Err(Errno::SHORT));
        system.fail::<Memset64<'_>>(returned);
        assert_eq!(driver.fill(0, &range, 0, 1, 4), Err(Errno::SHORT));
        system.fail::<HostDeviceIdToRidMap<'_>>(returned);
        assert_eq!(driver.routing_ids().map(drop), Err(Errno::SHORT));
        system.fail::<MemFree<'_>>(returned);
        assert_eq!(driver.free(0, &range), Err(Errno::SHORT));
    }
    driver.free(0, &range).unwrap();
}

/// Errors are passed on with what they mean, and nothing is tried twice.
#[test]
fn numbers_keep_their_meaning() {
    let driver = Setup::sunda().attach();
    let range = driver.allocate(0, &REQUEST).unwrap();
    driver.system().requests();
    let system = driver.system();
    let text = |fault: Fault| fault.to_string();
    system.fail::<MemCopy64<'_>>(-1);
    let fault = driver.copy_between(0, (&range, 0), (&range, 8), 8).unwrap_err();
    assert_eq!(text(fault), "MEM_COPY64: EPERM (the DMA failed or timed out)");
    system.fail::<MemBufCopy64<'_>>(-12);
    let fault = driver.transfer(0, &range, 0, Buffer::In(b"x")).unwrap_err();
    assert_eq!(text(fault), "MEM_BUF_COPY64: ENOMEM (the copy ring of the core has no free entries)");
    system.fail::<MemAllocV2Mt64<'_>>(-12);
    assert_eq!(text(driver.allocate(0, &REQUEST).unwrap_err()), "MEM_ALLOC_V2MT64: ENOMEM (no room)");
    system.fail::<MemAllocV2Mt64<'_>>(-2);
    let fault = driver.allocate(0, &REQUEST).unwrap_err();
    assert_eq!(text(fault), "MEM_ALLOC_V2MT64: ENOENT (the handle table is exhausted)");
    system.fail::<MemFree<'_>>(-13);
    let fault = driver.release(0, &range).unwrap_err();
    assert_eq!(text(fault), "MEM_FREE: EACCES (the process is not attached to the device)");
    system.fail::<MemAllocV2Mt64<'_>>(-4);
    assert_eq!(driver.allocate(0, &REQUEST).unwrap_err().errno(), Errno::EINTR);
    assert_eq!(
        driver.system().requests(),
        ["MEM_COPY64", "MEM_BUF_COPY64", "MEM_ALLOC_V2MT64", "MEM_ALLOC_V2MT64", "MEM_FREE", "MEM_ALLOC_V2MT64"]
    );
    let map = driver.physical_cores().unwrap_err();
    assert_eq!(
        text(map),
        "GET_LOGICAL_TO_PHYSICAL_NC_MAP: ENOTSUPP (not supported on this architecture)"
            .replace("ENOTSUPP", &Errno::ENOTSUPP.to_string())
    );
    assert_eq!(map.errno(), Errno(524));
}

#[test]
fn an_interrupted_open_is_reported() {
    let driver = Setup::sunda().connect();
    driver.system().state.lock().unwrap().open_fault = Some(nrt_linux::Errno::INTR);
    let fault = driver.attach(0).unwrap_err();
    assert_eq!(fault.errno(), Errno::EINTR);
    assert!(fault.to_string().contains("while the device was resetting"));
    driver.system().state.lock().unwrap().open_fault = Some(nrt_linux::Errno::INVAL);
    assert!(driver.attach(0).unwrap_err().to_string().contains("invalid state"));
    driver.system().state.lock().unwrap().open_fault = None;
    driver.attach(0).unwrap();
}

#[test]
fn statuses() {
    assert_eq!(status(Call::Alloc, false, Errno::ENOMEM), Status::Resource);
    assert_eq!(status(Call::Alloc, true, Errno::ENOMEM), Status::FailHostMemAlloc);
    assert_eq!(status(Call::Copy, false, Errno::ENOMEM), Status::Failure);
    assert_eq!(status(Call::Probe, false, Errno::ENODEV), Status::Invalid);
    for errno in [Errno::EPERM, Errno::EINTR, Errno::EACCES, Errno::EBUSY, Errno::ENOTSUPP, Errno::SHORT] {
        for call in Call::ALL {
            assert_eq!(status(call, false, errno), Status::Failure);
        }
    }
}

/// The table is what the core does.
#[test]
fn the_core_gives_these_statuses() {
    // SAFETY: a zeroed storage is a valid one.
    let storage: &'static SmallStorage = Box::leak(unsafe { Box::new_zeroed().assume_init() });
    let driver = Setup::sunda().connect();
    let start = || Runtime::init(storage, &driver, Config::new(LinuxHooks::new()).side_by_side());
    for errno in [Errno::ENOMEM, Errno::EINVAL, Errno::EINTR, Errno::EACCES] {
        driver.system().fail::<MemAllocV2Mt64<'_>>(-errno.0);
        let error = start().err().expect("there are no bounce buffers");
        assert_eq!(error.status, status(Call::Alloc, true, errno), "{error}");
    }
    let runtime = start().unwrap();
    let core = runtime.core(0).unwrap();
    for errno in [Errno::ENOMEM, Errno::EINVAL, Errno::ENOENT, Errno::EINTR] {
        driver.system().fail::<MemAllocV2Mt64<'_>>(-errno.0);
        let error = core.tensor(Placement::Device, 64, "x").err().expect("the driver refuses");
        assert_eq!(error.status, status(Call::Alloc, false, errno), "{error}");
    }
    let tensor = core.tensor(Placement::Device, 64, "x").unwrap();
    // Through the core's bounce buffer.
    driver.system().fail::<MemCopyAsync64<'_>>(-1);
    let error = tensor.write(0, &[1; 64]).unwrap_err();
    assert_eq!(error.status, status(Call::Write, false, Errno::EPERM), "{error}");
    drop(tensor);
    runtime.close(None).unwrap();
    driver.system().state.lock().unwrap().open_fault = Some(nrt_linux::Errno::BUSY);
    assert_eq!(start().err().unwrap().status, status(Call::Open, false, Errno::EBUSY));
}
