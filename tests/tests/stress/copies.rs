//! Tensors copied in both directions at once, and a model whose weights come out of a tensor.
//!
//! Every eight bytes say who wrote them, in which round, and where they belong, so that bytes of another writer, of an earlier
//! round, or of another place are seen for what they are.

use nrt_core::model::{ByteSource, SourceError};
use nrt_core::{Arch, Placement};

use crate::rig::{TestTensor, WEIGHT, Watchdog, cycles, load, open};

const BYTES: u64 = 8192;
/// A writer has two halves of a lane in every tensor; nobody else writes there.
const HALF: u64 = 512;
/// Behind the lanes, the same bytes all the time, of a writer of its own.
const STILL: u64 = 4096;
const STILL_WRITER: u64 = 0xFF;

/// What `writer` wrote in `round` into words `0..bytes / 8`.
fn written(writer: u64, round: u64, bytes: u64) -> Vec<u8> {
    (0..bytes / 8).flat_map(|word| (writer << 56 | round << 16 | word).to_le_bytes()).collect()
}

#[track_caller]
fn holds(tensor: &TestTensor<'_>, offset: u64, expected: &[u8]) {
    let mut back = vec![0; expected.len()];
    tensor.read(offset, &mut back).unwrap();
    let Some(at) = back.iter().zip(expected).position(|(found, expected)| found != expected) else { return };
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes[at / 8 * 8..][..8].try_into().unwrap());
    panic!("at {offset} + {at}: writer, round and place are {:#x}, not {:#x}", word(&back), word(expected));
}

struct OutOf<'a>(&'a TestTensor<'a>);

impl ByteSource for OutOf<'_> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
        // Others run in between, with whatever locks they want.
        std::thread::yield_now();
        self.0.read(STILL + offset, buffer).map_err(|_| "the tensor cannot be read")
    }
}

/// No two locks are taken in both orders, and no byte goes astray.
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
    let still = written(STILL_WRITER, 0, BYTES - STILL);
    tensors.iter().for_each(|tensor| tensor.write(STILL, &still).unwrap());
    let rounds = cycles(1000);
    std::thread::scope(|scope| {
        for writer in 1..4_u64 {
            scope.spawn(move || {
                let (first, second) = ((writer - 1) * 2 * HALF, (writer * 2 - 1) * HALF);
                // The round each tensor's halves are of.
                let mut rounds_of = [[None; 2]; 4];
                for round in 0..rounds {
                    // From the first half of one tensor into the second half of another, in a direction of this writer's own.
                    let (from, to) = ((round % 4) as usize, ((round + writer) % 4) as usize);
                    let bytes = written(writer, round, HALF);
                    tensors[from].write(first, &bytes).unwrap();
                    tensors[from].copy_to(first, tensors[to], second, HALF).unwrap();
                    holds(tensors[to], second, &bytes);
                    (rounds_of[from][0], rounds_of[to][1]) = (Some(round), Some(round));
                }
                // What was written last is there, whatever the others did meanwhile.
                for (tensor, [one, two]) in tensors.iter().zip(rounds_of) {
                    holds(tensor, first, &written(writer, one.unwrap(), HALF));
                    holds(tensor, second, &written(writer, two.unwrap(), HALF));
                }
            });
        }
        for tensor in [&plain, &other] {
            let still = &still;
            scope.spawn(move || {
                for _ in 0..rounds / 5 {
                    let model = load(core, 2, &OutOf(tensor)).unwrap();
                    for relative in 0..2 {
                        let mut back = vec![0; 3000];
                        model.read_variable(relative, WEIGHT, 0, &mut back).unwrap();
                        assert!(back == still[..3000], "the weights of core {relative} are not those of the tensor");
                    }
                    model.unload().unwrap();
                }
            });
        }
    });
    tensors.iter().for_each(|tensor| holds(tensor, STILL, &still));
    drop((plain, other, device, host));
    assert!(runtime.close(Some(0)).unwrap().is_clean());
    assert_eq!(driver.inner().live(0).chunks, 0);
}
