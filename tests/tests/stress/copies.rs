//! Tensors copied in both directions at once, and a model whose weights come out of a tensor.

use nrt_core::model::{ByteSource, SourceError};
use nrt_core::{Arch, Placement};

use crate::rig::{TestTensor, Watchdog, cycles, load, open};

const BYTES: u64 = 4096;

struct OutOf<'a>(&'a TestTensor<'a>);

impl ByteSource for OutOf<'_> {
    fn read(&self, _: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
        // Others run in between, with whatever locks they want.
        std::thread::yield_now();
        self.0.read(0, buffer).map_err(|_| "the tensor cannot be read")
    }
}

/// No two locks are taken in both orders.
#[test]
fn both_directions() {
    let _watchdog = Watchdog::new("both_directions");
    let (runtime, driver) = open(Arch::Mariana, 2);
    let core = runtime.core(0).unwrap();
    let plain = core.tensor(Placement::Virtual, BYTES, "plain").unwrap();
    let other = core.tensor(Placement::Virtual, BYTES, "other").unwrap();
    let device = core.tensor(Placement::Device, BYTES, "device").unwrap();
    let host = core.tensor(Placement::Host, BYTES, "host").unwrap();
    let tensors = [&plain, &other, &device, &host];
    tensors.iter().for_each(|tensor| tensor.write(0, &[7; BYTES as usize]).unwrap());
    let rounds = cycles(2000);
    std::thread::scope(|scope| {
        for shift in 1..4 {
            scope.spawn(move || {
                for round in 0..rounds as usize {
                    tensors[round % 4].copy_to(0, tensors[(round + shift) % 4], 0, BYTES).unwrap();
                }
            });
        }
        for tensor in [&plain, &other] {
            scope.spawn(move || {
                for _ in 0..rounds / 10 {
                    load(core, 2, &OutOf(tensor)).unwrap().unload().unwrap();
                }
            });
        }
    });
    for tensor in tensors {
        let mut back = [0; BYTES as usize];
        tensor.read(0, &mut back).unwrap();
        assert_eq!(back, [7; BYTES as usize]);
    }
    drop((plain, other, device, host));
    assert!(runtime.close(Some(0)).unwrap().is_clean());
    assert_eq!(driver.inner().live(0).chunks, 0);
}
