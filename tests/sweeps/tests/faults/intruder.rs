//! The last node goes to somebody else while the driver works on an allocation.

use std::sync::Mutex;

use nrt_core::driver::{Call, DriverResult, Errno, FaultInjector, ForwardDriver};
use nrt_core::{Arch, Cause, CloseReport, Config, Error, Pool, Runtime, Status, Storage, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_linux::log::Log;
use nrt_linux::output::stderr;
use nrt_sim::{Live, Sim};
use nrt_tests::TestDriver;

use crate::pools::block;

/// Lets something happen in the middle of the next allocation.
struct Intruder {
    inner: TestDriver,
    during_alloc: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    during_map: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

// SAFETY: every request goes to the driver inside.
unsafe impl ForwardDriver for Intruder {
    type Inner = TestDriver;

    fn forward(&self, call: Call) -> DriverResult<&TestDriver> {
        let intrusion = match call {
            Call::Alloc => self.during_alloc.lock().unwrap().take(),
            Call::Map => self.during_map.lock().unwrap().take(),
            _ => None,
        };
        if let Some(intrusion) = intrusion {
            intrusion();
        }
        Ok(&self.inner)
    }
}

type IntrudedRuntime = Runtime<&'static Intruder, LinuxHooks>;

struct Rig {
    runtime: &'static IntrudedRuntime,
    intruder: &'static Intruder,
}

impl Rig {
    fn new() -> Self {
        let inner = nrt_tests::one_device(Arch::Sunda);
        let intruder: &'static Intruder =
            Box::leak(Box::new(Intruder { inner, during_alloc: Mutex::new(None), during_map: Mutex::new(None) }));
        let storage: &'static Storage<8, 1, 8, 1, 64> = nrt_tests::storage();
        let hooks = LinuxHooks::with_log(Log::new(stderr(), None));
        let runtime = Box::leak(Box::new(Runtime::init(storage, intruder, Config::new(hooks).side_by_side()).unwrap()));
        Self { runtime, intruder }
    }

    fn sim(&self) -> &'static Sim {
        FaultInjector::inner(self.intruder.inner)
    }

    /// Allocates on core 0 while core 1 takes the last node; `then` follows in the middle of it.
    fn intruded(&self, then: impl FnOnce() + Send + 'static) -> Error {
        let core = self.runtime.core(0).unwrap();
        let held: Vec<_> = (0..7).map(|_| core.allocate(0, &block(Usage::Weight)).unwrap()).collect();
        let runtime = self.runtime;
        let before = std::sync::Arc::new(Mutex::new(Live::default()));
        let (seen, sim) = (before.clone(), self.sim());
        *self.intruder.during_alloc.lock().unwrap() = Some(Box::new(move || {
            std::mem::forget(runtime.core(1).unwrap().allocate(0, &block(Usage::Cc)).unwrap());
            *seen.lock().unwrap() = sim.live(0);
            then();
        }));
        let error = core.allocate(0, &block(Usage::Weight)).err().unwrap();
        assert_eq!(error, Error { status: Status::Resource, cause: Cause::PoolFull(Pool::Nodes) });
        assert_eq!(self.runtime.live_nodes(), 8);
        let refused = self.intruder.inner.injected();
        assert_eq!(sim.live(0).chunks, before.lock().unwrap().chunks + refused);
        drop(held);
        error
    }
}

/// The range goes back to the driver.
#[test]
fn the_last_node_is_gone_when_the_driver_answers() {
    let rig = Rig::new();
    rig.intruded(|| {});
    assert_eq!(rig.runtime.live_nodes(), 1);
    let report = rig.runtime.close(Some(0)).unwrap();
    assert_eq!(report, CloseReport { allocations: 1, ..CloseReport::default() });
    assert_eq!(rig.sim().live(0), Live::default());
}

/// And when the driver does not take it back, it is reported: there is no node to keep it with.
#[test]
fn nor_does_the_driver_take_it_back() {
    let rig = Rig::new();
    let inner = rig.intruder.inner;
    rig.intruded(move || {
        inner.watch(&[Call::Free]);
        inner.fail_nth(1, Errno::EIO);
    });
    assert_eq!(inner.injected(), 1);
    let usage = rig.runtime.core(0).unwrap().usage(0).unwrap();
    assert_eq!((usage.quarantined, usage.allocations, usage.total), (1, 0, 0));
    let report = rig.runtime.close(Some(0)).unwrap();
    assert_eq!(report, CloseReport { allocations: 1, quarantined: 1, quarantined_bytes: 4096, ..CloseReport::default() });
    assert_eq!(rig.sim().live(0), Live::default(), "the device's close frees it");
}

/// Two threads map the same memory at once: one mapping stays, and the other one that the driver refuses to remove is told of
/// at close.
#[test]
fn the_mapping_of_the_slower_thread_is_removed_or_reported() {
    for refuse in [false, true] {
        let rig = Rig::new();
        let memory = rig.runtime.core(0).unwrap().allocate(0, &block(Usage::Weight)).unwrap();
        let memory: &'static _ = Box::leak(Box::new(memory));
        let inner = rig.intruder.inner;
        *rig.intruder.during_map.lock().unwrap() = Some(Box::new(move || {
            memory.write(0, &[7; 16]).unwrap();
            memory.map().unwrap();
            inner.watch(&[Call::Unmap]);
            if refuse {
                inner.fail_nth(1, Errno::EBUSY);
            }
        }));
        let address = memory.map().unwrap();
        assert_eq!((inner.seen(), inner.injected()), (1, u64::from(refuse)));
        assert_eq!(memory.map(), Ok(address));
        // SAFETY: the mapping spans the memory, which nobody writes.
        assert_eq!(unsafe { address.cast::<[u8; 16]>().read() }, [7; 16]);
        assert_eq!(rig.sim().live(0).mappings, 2 + 1 + u64::from(refuse));
        inner.reset();
        let report = rig.runtime.close(None).unwrap();
        assert_eq!(report, CloseReport { allocations: 1, refused_requests: refuse.into(), ..CloseReport::default() });
    }
}
