//! Two threads map one allocation for the first time.

use std::sync::Barrier;

use nrt_core::driver::{Call, Errno};
use nrt_core::{Allocation, Arch, Location, Status, Usage};

use crate::rig::{Watchdog, cycles, open};

const REQUEST: Allocation<'static> =
    Allocation { bytes: 4096, align: 0, location: Location::Device, channel: None, usage: Usage::Generic, hint: "mapped" };

#[test]
fn first_map() {
    let _watchdog = Watchdog::new("first_map");
    let (runtime, driver) = open(Arch::Cayman, 2);
    let core = runtime.core(0).unwrap();
    let before = driver.inner().live(0);
    for cycle in 0..cycles(1000) {
        let block = core.allocate(1, &REQUEST).unwrap();
        let barrier = Barrier::new(2);
        // In every fourth cycle one of the requests is refused: by then the other thread may have mapped, or not.
        let refuse = cycle % 4 == 3;
        driver.watch(&[Call::Map]);
        if refuse {
            driver.fail_nth(1, Errno::EFAULT);
        }
        let [first, second] = std::thread::scope(|scope| {
            [0_u8, 1]
                .map(|byte| {
                    let (block, barrier) = (&block, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        block.map().map(|base| {
                            // SAFETY: the mapping spans the block, and each thread writes a byte of its own.
                            unsafe { base.add(byte.into()).write(byte + 1) };
                            base.addr()
                        })
                    })
                })
                .map(|thread| thread.join().unwrap())
        });
        if refuse {
            assert!([first, second].iter().filter_map(|base| base.err()).all(|error| error.status == Status::Failure));
            assert!(first.is_ok() || second.is_ok());
        } else {
            assert_eq!(first.unwrap(), second.unwrap());
            let mut back = [0; 2];
            block.read(0, &mut back).unwrap();
            assert_eq!(back, [1, 2]);
        }
        assert_eq!(driver.inner().live(0).mappings, before.mappings + 1, "one mapping is left");
        drop(block);
        assert_eq!(driver.inner().live(0), before);
    }
    assert_eq!(driver.inner().hazards(0), nrt_sim::Hazards::default());
    assert!(runtime.close(Some(0)).unwrap().is_clean());
}
