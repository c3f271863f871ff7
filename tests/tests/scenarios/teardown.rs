//! `context-tree` §§10, 11: what bring-up asks of the driver, in which order, and that teardown is the same backwards.

use nrt_core::driver::{Call, Errno};
use nrt_core::hooks::Hooks;
use nrt_core::model::{ModelPlan, SubgraphPlan, UcodeLibrary};
use nrt_core::{Arch, Cause, Config, Error, LogicalCore, Result, Runtime, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::SimConfig;
use nrt_tests::{TestStorage, driver, one_device, storage};

use crate::books::{assert_quiet, finish};
use crate::lifecycle::init;
use crate::noted::{Note, Noted};
use crate::plans::{Formula, NOTHING, device, refused, weights};

type NotedRuntime = Runtime<&'static Noted, LinuxHooks>;

fn noted(arch: Arch) -> &'static Noted {
    Noted::leak(driver(SimConfig { devices: 2, ..SimConfig::new(arch) }))
}

fn init_noted(driver: &'static Noted) -> Result<NotedRuntime> {
    let fresh: &'static TestStorage = storage();
    Runtime::init(fresh, driver, Config::new(LinuxHooks::new()).side_by_side())
}

/// What bring-up asks of a machine of two devices: device by device the device, then for each core the bounce buffer and its
/// mapping. Nothing of pass B asks the driver.
fn bring_up(arch: Arch) -> Vec<Note> {
    let mut requests = vec![(Call::Probe, 0, None), (Call::RoutingIds, 0, None)];
    for device in 0..2 {
        requests.push((Call::Open, device, None));
        for core in 0..arch.cores_per_device() {
            requests.extend([(Call::Alloc, device, Some(core)), (Call::Map, device, Some(core))]);
        }
    }
    requests
}

/// What undoes `requests`, from the last one to the first; questions need no undoing.
fn backwards(requests: &[Note]) -> Vec<Note> {
    let inverse = |call| match call {
        Call::Open => Some(Call::Close),
        Call::Alloc => Some(Call::Free),
        Call::Map => Some(Call::Unmap),
        _ => None,
    };
    requests.iter().rev().filter_map(|&(call, device, core)| Some((inverse(call)?, device, core))).collect()
}

#[test]
fn the_order_of_bring_up_and_teardown_is_the_documented_one() {
    for arch in Arch::ALL {
        let driver = noted(arch);
        let runtime = init_noted(driver).unwrap();
        let asked = driver.take();
        assert_eq!(asked, bring_up(arch));
        assert!(runtime.close(None).unwrap().is_clean());
        assert_eq!(driver.take(), backwards(&asked), "{arch}");
        assert_quiet(driver.inner(), 2);
    }
}

#[test]
fn an_init_that_fails_goes_back_the_way_it_came() {
    for arch in [Arch::Sunda, Arch::Cayman] {
        let (driver, whole) = (noted(arch), bring_up(arch));
        for (done, &(call, ..)) in whole.iter().enumerate() {
            driver.inner().fail_nth(done as u64 + 1, Errno::EIO);
            assert_eq!(refused(init_noted(driver)).status, Status::Failure);
            assert_eq!(driver.inner().last_failed(), Some(call), "request {done}");
            driver.inner().reset();
            // The request that failed had no effect; what was done before it is undone, last first.
            let asked = driver.take();
            let (forth, back) = asked.split_at(done + 1);
            assert_eq!(forth, &whole[..=done]);
            assert_eq!(back, backwards(&whole[..done]), "request {done}");
            assert_quiet(driver.inner(), 2);
        }
    }
}

const LIBRARY: UcodeLibrary<'static> =
    UcodeLibrary { content: &Formula, bytes: 5000, flags: 0, cpu_id: 0, total_cpus: 1, functions: &[] };

fn load<H: Hooks>(core: &LogicalCore<'_, &'static Noted, H>, subgraph: SubgraphPlan<'_>) {
    let _ = core.load(&ModelPlan { name: "model", subgraphs: &[subgraph] }).unwrap().into_id();
}

/// What is left at a close goes in the order of its dependence: models, the library they share, memory of nobody. Each from
/// the last core to the first.
#[test]
fn what_is_left_goes_before_the_bring_up_is_undone() {
    // 1. On the first core of the first device and on the last one of the second: two models that share a library, one of
    //    them with weights, and memory that hangs on the core.
    let driver = noted(Arch::Sunda);
    let runtime = init_noted(driver).unwrap();
    let asked = driver.take();
    for vnc in [0, 3] {
        let core = runtime.core(vnc).unwrap();
        load(&core, SubgraphPlan { libraries: &[LIBRARY], ..NOTHING });
        load(&core, SubgraphPlan { libraries: &[LIBRARY], regions: &[weights(1000)], ..NOTHING });
        std::mem::forget(core.allocate(0, &device(1, Usage::Io)).unwrap());
    }
    let allocated = |core: Note| driver.take().into_iter().filter(|note| *note == core).count();
    // Image and table of each library, weights, memory: nothing else asks for room.
    assert_eq!(allocated((Call::Alloc, 0, Some(0))), 4);
    // 2. Everything is found and said.
    let report = runtime.close(None).unwrap();
    assert_eq!((report.models, report.tensors, report.allocations), (4, 0, 2));
    // 3. The weights; the libraries once no model is there; then the mirror of the bring-up, and in it the memory of a core
    //    just before its bounce buffer.
    let (first, last) = ((Call::Free, 0, Some(0)), (Call::Free, 1, Some(1)));
    let mut expected = vec![last, first, last, last, first, first];
    for undone in backwards(&asked) {
        if undone == (Call::Unmap, 1, Some(1)) || undone == (Call::Unmap, 0, Some(0)) {
            expected.push((Call::Free, undone.1, undone.2));
        }
        expected.push(undone);
    }
    assert_eq!(driver.take(), expected);
    assert_quiet(driver.inner(), 2);
}

#[test]
fn a_device_the_driver_refuses_to_close_is_tried_again() {
    let fresh: &'static TestStorage = storage();
    let driver = driver(SimConfig { devices: 2, ..SimConfig::new(Arch::Sunda) });
    // Refused once: the close itself tries again, and is clean.
    driver.watch(&[Call::Close]);
    let runtime = init(fresh, driver).unwrap();
    driver.fail_nth(1, Errno::EBUSY);
    assert!(runtime.close(None).unwrap().is_clean());
    assert_eq!(driver.seen(), 3);
    assert_quiet(driver, 2);
    // Refused twice: told, and tried once more when the runtime goes; the storage serves the next one meanwhile.
    driver.reset();
    let runtime = init(fresh, driver).unwrap();
    driver.fail_from(1, Errno::EBUSY);
    let report = runtime.close(None).unwrap();
    assert_eq!((report.refused_requests, driver.seen()), (2, 4));
    driver.reset();
    drop(runtime);
    assert_eq!(driver.seen(), 2);
    assert_quiet(driver, 2);
    // A bounce buffer likewise.
    for call in [Call::Unmap, Call::Free] {
        driver.watch(&[call]);
        let runtime = init(fresh, driver).unwrap();
        driver.fail_nth(2, Errno::EINTR);
        assert!(runtime.close(None).unwrap().is_clean(), "{}", call.name());
        assert_eq!(driver.seen(), 5);
        assert_quiet(driver, 2);
    }
}

#[test]
fn an_init_that_fails_at_any_request_leaves_storage_and_driver_free() {
    for arch in [Arch::Sunda, Arch::Cayman] {
        let fresh: &'static TestStorage = storage();
        let driver = driver(SimConfig { devices: 2, ..SimConfig::new(arch) });
        let mut failures = 0_u32;
        for nth in 1.. {
            driver.fail_nth(nth, Errno::EIO);
            match init(fresh, driver) {
                Ok(runtime) => {
                    finish(&runtime);
                    break;
                }
                Err(error) => assert_eq!(error.status, Status::Failure),
            }
            driver.reset();
            assert_quiet(driver, 2);
            failures += 1;
        }
        // Probe, routing ids, two devices, and for each core a buffer and its mapping.
        assert_eq!(failures, 4 + 2 * 2 * arch.cores_per_device());
    }
}

#[test]
fn no_host_memory_for_the_bounce_buffers_says_so() {
    let driver = one_device(Arch::Cayman);
    driver.watch(&[Call::Alloc]);
    driver.fail_nth(3, Errno::ENOMEM);
    let error = refused(init(storage(), driver));
    let cause = Cause::Driver { call: Call::Alloc, device: 0, errno: Errno::ENOMEM };
    assert_eq!(error, Error { status: Status::FailHostMemAlloc, cause });
    assert_quiet(driver, 1);
}
