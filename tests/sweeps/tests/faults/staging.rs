//! Transfers of several pieces: a fault in the middle.

use nrt_core::driver::{Call, Errno};
use nrt_core::{Arch, Cause, Placement, Status};

use crate::rig::Rig;

/// 1 MiB goes through a slot of the bounce buffer at a time.
const BYTES: usize = (5 << 20) + 3;

#[test]
fn a_transfer_of_six_pieces() {
    let rig = Rig::new(Arch::Cayman, 2);
    let runtime = rig.init().unwrap();
    let core = runtime.core(0).unwrap();
    let tensor = core.tensor(Placement::Device, BYTES as u64, "large").unwrap();
    let mut back = vec![0; BYTES];
    for (n, value) in (1..=6).zip(1..) {
        let bytes = vec![value; BYTES];
        for write in [true, false] {
            let transfer = |back: &mut Vec<u8>| if write { tensor.write(0, &bytes) } else { tensor.read(0, back) };
            rig.driver.watch(&[Call::CopyStart]);
            rig.driver.fail_nth(n, Errno::EPERM);
            let error = transfer(&mut back).unwrap_err();
            assert_eq!(error.status, Status::Failure);
            assert_eq!(error.cause, Cause::Driver { call: Call::CopyStart, device: 0, errno: Errno::EPERM });
            assert_eq!(rig.driver.seen(), n, "nothing is moved behind the fault");
            rig.driver.watch(&[Call::CopyStart]);
            transfer(&mut back).unwrap();
            assert_eq!(rig.driver.seen(), 6);
        }
        assert!(back == bytes);
    }
    drop(tensor);
    assert!(runtime.close(Some(0)).unwrap().is_clean());
    rig.settle();
}
