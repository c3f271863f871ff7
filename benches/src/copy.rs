//! Group `copy`: bytes of the host into device memory through the bounce buffer, against the same by hand.
//!
//! Device memory is memory of this process here, and the copy engine a `memcpy`: what is compared is what the runtime adds to
//! two copies of every byte.

use std::hint::black_box;
use std::sync::Mutex;

use nrt_core::{Allocation, Config, DefaultStorage, Dmem, Runtime};
use nrt_linux::hooks::LinuxHooks;

use crate::driver::NullDriver;
use crate::measure::{BATCH, Peer, Scenario};
use crate::world;

/// Bytes of a large transfer.
const LARGE: usize = 64 << 20;
/// Bytes of the buffer in between, of both sides.
const BOUNCE: usize = 2 << 20;

/// The hand-written side: a bounce buffer and what stands for device memory.
struct ByHand {
    bounce: Vec<u8>,
    device: Vec<u8>,
}

impl ByHand {
    fn write(&mut self, bytes: &[u8]) {
        for (piece, target) in bytes.chunks(BOUNCE).zip(self.device.chunks_mut(BOUNCE)) {
            let bounce = &mut self.bounce[..piece.len()];
            bounce.copy_from_slice(piece);
            black_box(&mut *bounce);
            target[..piece.len()].copy_from_slice(bounce);
        }
        black_box(&mut self.device);
    }
}

/// Both sides, and the bytes to move.
pub struct Copies {
    memory: Dmem<'static, NullDriver<true>, LinuxHooks>,
    by_hand: Mutex<ByHand>,
    source: Vec<u8>,
}

impl Copies {
    /// Every page of both sides is touched.
    ///
    /// # Panics
    /// When the runtime does not come up.
    #[must_use]
    pub fn new() -> Self {
        // SAFETY: zeroed memory is an unclaimed storage.
        let storage: &'static DefaultStorage = Box::leak(unsafe { Box::new_zeroed().assume_init() });
        let config = Config { logical_core_size: Some(1), ..Config::new(LinuxHooks::new()).side_by_side() };
        let runtime = Runtime::init(storage, NullDriver::<true> { devices: 1 }, config);
        let runtime = Box::leak(Box::new(runtime.unwrap_or_else(|error| panic!("the runtime does not come up: {error}"))));
        let request = Allocation { bytes: LARGE as u64, ..world::allocation() };
        let memory = runtime.core(0).and_then(|core| core.allocate(0, &request));
        let memory = memory.unwrap_or_else(|error| panic!("allocate: {error}"));
        let source: Vec<u8> = (0..LARGE).map(|at| (at * 7 + at / 4096) as u8).collect();
        let by_hand = Mutex::new(ByHand { bounce: vec![1; BOUNCE], device: vec![1; LARGE] });
        let copies = Self { memory, by_hand, source };
        copies.nrt(LARGE);
        copies
    }

    fn nrt(&self, bytes: usize) {
        let written = self.memory.write(0, black_box(&self.source[..bytes]));
        assert!(written.is_ok(), "write: {written:?}");
    }

    /// Every scenario of the group.
    #[must_use]
    pub fn scenarios(&self) -> Vec<Scenario<'_>> {
        vec![
            self.scenario("copy/64 MiB", "copy in, staged", LARGE, 1),
            self.scenario("copy/64 B", "copy in, one pass", 64, BATCH),
            self.scenario("copy/4 KiB", "copy in, one pass", 4096, BATCH),
        ]
    }

    fn scenario(&self, name: &'static str, operation: &'static str, bytes: usize, batch: u32) -> Scenario<'_> {
        let peers = vec![
            Peer {
                name: "nrt",
                touches: "every byte twice, in pieces of 1 MiB through a bounce buffer of 2 MiB",
                locks: "gate; lock of the core's copy buffer 1x",
                work: Box::new(move |_, n| (0..n).for_each(|_| self.nrt(bytes))),
            },
            Peer {
                name: "by hand",
                touches: "every byte twice, in pieces of 2 MiB through a buffer of that size",
                locks: "a mutex once in a batch",
                work: Box::new(move |_, n| {
                    let Ok(mut by_hand) = self.by_hand.lock() else { panic!("a batch panicked") };
                    (0..n).for_each(|_| by_hand.write(black_box(&self.source[..bytes])));
                }),
            },
        ];
        Scenario { name, operation, threads: 1, batch, alone: "", peers }
    }

    /// Whether what was written arrived.
    ///
    /// # Errors
    /// That it did not.
    pub fn verify(&self) -> Result<(), String> {
        let mut found = vec![0; LARGE];
        self.memory.read(0, &mut found).map_err(|error| error.to_string())?;
        if found == self.source { Ok(()) } else { Err("the copy differs from its source".into()) }
    }
}

impl Default for Copies {
    fn default() -> Self {
        Self::new()
    }
}
