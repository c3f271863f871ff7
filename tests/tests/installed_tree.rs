//! `context-tree` §§8, 10: the process-wide tree. A binary of its own, because the symbol belongs to the process.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use nrt_core::abi::tdrv_ctx_t;
use nrt_core::context::{self, Tree, tdrv_ctx_0};
use nrt_core::driver::{Call, Errno};
use nrt_core::{Arch, Cause, Config, Error, Result, Runtime, Status};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::Live;
use nrt_tests::{TestDriver, TestRuntime, TestStorage, one_device, runtime, storage};

const SET: Error = Error { status: Status::Failure, cause: Cause::TreeSet };

/// What others that know only the symbol read there.
fn symbol() -> *mut tdrv_ctx_t {
    tdrv_ctx_0.load(Relaxed)
}

fn root(runtime: &TestRuntime) -> *mut tdrv_ctx_t {
    runtime.with_tree(Tree::as_ptr).unwrap()
}

/// The runtime of this process.
fn process_wide(storage: &'static TestStorage, driver: TestDriver) -> Result<TestRuntime> {
    Runtime::init(storage, driver, Config { process_wide: true, ..Config::new(LinuxHooks::new()) })
}

/// One test: the steps share one symbol.
#[test]
fn the_process_wide_tree_is_set_once_and_cleared_by_its_owner() {
    let (first, second): (TestRuntime, TestRuntime) = (runtime(Arch::Sunda), runtime(Arch::Cayman));

    // 1. Nothing is installed by bringing a runtime up.
    assert!(symbol().is_null());
    assert_eq!(context::installed(), None);

    // 2. Set once.
    assert_eq!(first.install(), Ok(()));
    assert_eq!((symbol(), context::installed()), (root(&first), NonNull::new(root(&first))));
    assert_eq!(first.install(), Err(SET));
    assert_eq!(second.install(), Err(SET));

    // 3. The resolver works from the symbol.
    // SAFETY: the tree of a runtime that is open here and stays as it is.
    let tree = unsafe { Tree::new(context::installed().unwrap()) };
    assert_eq!(tree.resolve(0, 1), first.with_tree(|tree| tree.resolve(0, 1)).unwrap());

    // 4. Closing another runtime leaves it alone.
    assert!(second.close(None).unwrap().is_clean());
    assert_eq!(symbol(), root(&first));
    assert_eq!(second.install(), Err(Error { status: Status::Closed, cause: Cause::NotOpen }));

    // 5. A second runtime of the process is refused before its driver is asked anything, and its storage is free again.
    let (fresh, driver) = (storage(), one_device(Arch::Cayman));
    for _ in 0..2 {
        assert_eq!(process_wide(fresh, driver).err(), Some(SET));
    }
    assert_eq!((driver.seen(), symbol()), (0, root(&first)));

    // 6. Closing clears.
    assert!(first.close(None).unwrap().is_clean());
    assert!(symbol().is_null());

    // 7. Now it is the runtime of the process, also after a close, and again.
    for _ in 0..3 {
        let third = process_wide(fresh, driver).unwrap();
        assert_eq!(symbol(), root(&third));
        assert_eq!(third.install(), Err(SET));
        assert!(third.close(None).unwrap().is_clean());
        assert!(symbol().is_null());
    }

    // 8. An init that fails at any step, before or after the tree is installed, leaves nothing there.
    for nth in 1.. {
        driver.fail_nth(nth, Errno::EIO);
        match process_wide(fresh, driver) {
            Err(error) => assert_eq!(error.status, Status::Failure, "request {nth}"),
            Ok(runtime) => {
                drop(runtime);
                break;
            }
        }
        assert!(symbol().is_null(), "request {nth}");
    }
    driver.reset();
    assert_eq!((symbol().is_null(), driver.inner().live(0)), (true, Live::default()));

    // 9. While the devices are opened the (empty) tree stands there already: nobody can be the second one meanwhile.
    driver.watch(&[Call::Open]);
    let fourth = process_wide(fresh, driver).unwrap();
    assert_eq!((driver.seen(), symbol()), (1, root(&fourth)));
    // Dropping clears, too.
    drop(fourth);
    assert_eq!(context::installed(), None);
}
