//! `context-tree` §§8, 10: the process-wide tree. A binary of its own, because the symbol belongs to the process.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Barrier, Mutex, PoisonError};

use nrt_core::abi::tdrv_ctx_t;
use nrt_core::context::{self, Tree, tdrv_ctx_0};
use nrt_core::driver::{Call, DriverResult, Errno, ForwardDriver};
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
    Runtime::init(storage, driver, Config::new(LinuxHooks::new()))
}

/// The tests share one symbol and one process.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn the_process_wide_tree_is_set_once_and_cleared_by_its_owner() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (first, second): (TestRuntime, TestRuntime) = (runtime(Arch::Sunda), runtime(Arch::Cayman));

    // 1. Nothing is installed by bringing up runtimes that stand side by side.
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

    // 5. A runtime of the process needs the symbol: it is refused before its driver is asked anything, and its storage is free
    //    again.
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

const SECOND: Error = Error { status: Status::Failure, cause: Cause::ProcessHasRuntime };

/// A driver that opens a runtime while another one closes a device.
struct Hasty {
    inner: TestDriver,
    open: fn() -> Option<Error>,
    seen: Mutex<Vec<Option<Error>>>,
}

// SAFETY: every request goes to the driver inside.
unsafe impl ForwardDriver for Hasty {
    type Inner = TestDriver;

    fn forward(&self, call: Call) -> DriverResult<&TestDriver> {
        if call == Call::Close {
            self.seen.lock().unwrap().push((self.open)());
        }
        Ok(&self.inner)
    }
}

#[test]
fn a_second_runtime_of_the_process_is_refused() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (fresh, driver): (&'static TestStorage, _) = (storage(), one_device(Arch::Cayman));

    // 1. By default, on a storage and devices of its own, before its driver is asked anything; and it says so.
    let first = process_wide(storage(), one_device(Arch::Sunda)).unwrap();
    for _ in 0..2 {
        assert_eq!(process_wide(fresh, driver).err(), Some(SECOND));
    }
    assert_eq!(SECOND.to_string(), "NRT_FAILURE: a runtime is open in this process already; close it first");
    assert_eq!((driver.seen(), symbol()), (0, root(&first)));

    // 2. Those that ask for it stand beside it, come and go, and let nobody else in.
    let beside = runtime(Arch::Mariana);
    assert_eq!(process_wide(fresh, driver).err(), Some(SECOND));
    drop(beside);
    assert_eq!(process_wide(fresh, driver).err(), Some(SECOND));

    // 3. Closed is closed, also with the object still there; so is dropped, and an init that failed.
    assert!(first.close(None).unwrap().is_clean());
    drop(process_wide(fresh, driver).unwrap());
    driver.fail_nth(5, Errno::EIO);
    assert_eq!(process_wide(fresh, driver).map_err(|error| error.cause == SECOND.cause).err(), Some(false));
    driver.reset();
    let second = process_wide(fresh, driver).unwrap();
    drop(first);
    assert_eq!(process_wide(storage(), driver).err(), Some(SECOND), "the first one has nothing to give back any more");
    drop(second);

    // 4. Until its last request, long after its tree is gone from the symbol, a runtime that closes is still the only one.
    let open = || {
        assert!(symbol().is_null());
        process_wide(storage(), one_device(Arch::Sunda)).err()
    };
    let hasty: &'static Hasty = Box::leak(Box::new(Hasty { inner: driver, open, seen: Mutex::default() }));
    let closing = Runtime::init(fresh, hasty, Config::new(LinuxHooks::new())).unwrap();
    assert!(closing.close(None).unwrap().is_clean());
    assert_eq!(*hasty.seen.lock().unwrap(), [Some(SECOND)]);
    assert_eq!(open(), None);
}

#[test]
fn of_runtimes_that_open_at_once_exactly_one_wins() {
    const THREADS: usize = 4;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let places: [(&'static TestStorage, TestDriver); THREADS] = [(); THREADS].map(|()| (storage(), one_device(Arch::Sunda)));
    let start = Barrier::new(THREADS);
    for _ in 0..50 {
        let opened: Vec<_> = std::thread::scope(|scope| {
            let open = |(storage, driver)| {
                start.wait();
                process_wide(storage, driver)
            };
            let threads = places.map(|place| scope.spawn(move || open(place)));
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        // The winner is open until here, so the others cannot have come before or after it.
        let (won, lost): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, THREADS - 1));
        assert!(lost.into_iter().all(|lost| lost.err() == Some(SECOND)));
        assert!(symbol() == root(won[0].as_ref().unwrap()));
    }
    assert!(symbol().is_null());
}
