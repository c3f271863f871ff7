//! The runtime and the reference side by side, and the choice of the next operation.

use std::fmt;

use nrt_core::driver::{Call, Errno};
use nrt_core::{Dmem, Error, Location, Model, Status, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_tests::{TestDriver, TestRuntime};

use crate::arena::{Column, Mode};
use crate::books::{CoreBooks, NODES, Share};
use crate::rng::Rng;
use crate::sets::Named;
use crate::views::Held;

#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) operations: u64,
    pub(crate) refused: u64,
    pub(crate) pools_full: u64,
    pub(crate) faults: u64,
    pub(crate) quarantined: u64,
    pub(crate) checks: u64,
    pub(crate) slices: u64,
    pub(crate) exchanges: u64,
    pub(crate) batches: u64,
    pub(crate) runs: u64,
    pub(crate) runs_by_sets: u64,
    /// Views whose bytes were compared.
    pub(crate) compared: u64,
    /// Contiguous arenas that did not become as large as they should.
    pub(crate) short_arenas: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} operations, {} refused as they should, {} full pools, {} faults, {} quarantined, {} full checks; ",
            self.operations, self.refused, self.pools_full, self.faults, self.quarantined, self.checks
        )?;
        write!(
            f,
            "{} slices, {} storages exchanged, {} batches, {} runs by lists, {} by sets, bytes of {} views compared, \
             {} short arenas",
            self.slices, self.exchanges, self.batches, self.runs, self.runs_by_sets, self.compared, self.short_arenas
        )
    }
}

/// An allocation in a GLOBAL heap. `content` is what was last written to all of it.
pub(crate) struct Block<'r> {
    pub(crate) dmem: Dmem<'r, TestDriver, LinuxHooks>,
    pub(crate) core: usize,
    pub(crate) usage: Usage,
    pub(crate) location: Location,
    pub(crate) bytes: u64,
    pub(crate) content: Option<Vec<u8>>,
}

pub(crate) struct Loaded<'r> {
    pub(crate) model: Model<'r, TestDriver, LinuxHooks>,
    pub(crate) vnc: u32,
    pub(crate) shares: Vec<Share>,
    pub(crate) library: bool,
    /// On each core the offset of its planned scratchpad variable, and its bytes, if it lies in the arena.
    pub(crate) scratch: Vec<Option<(u64, u64)>>,
    pub(crate) seed: u8,
    pub(crate) input: u64,
    pub(crate) output: u64,
}

pub(crate) struct World<'r> {
    pub(crate) runtime: &'r TestRuntime,
    pub(crate) driver: TestDriver,
    pub(crate) rng: Rng,
    pub(crate) counts: Counts,
    /// Logical core size.
    pub(crate) size: u32,
    pub(crate) mode: Mode,
    /// Pages of each logical core, in contiguous mode.
    pub(crate) columns: Vec<Column>,
    /// The error number of the fault that is armed.
    armed: Errno,
    /// By flat core.
    pub(crate) books: Vec<CoreBooks>,
    pub(crate) blocks: Vec<Block<'r>>,
    pub(crate) models: Vec<Loaded<'r>>,
    pub(crate) tensors: Vec<Held<'r>>,
    /// Views made so far.
    pub(crate) next_id: u64,
    pub(crate) sets: Vec<Named<'r>>,
    pub(crate) quarantined: u32,
    /// Chunks in quarantine when the driver was last looked at, and the bytes it held for them.
    pub(crate) quarantined_bytes: (u32, u64),
    /// Grow or shrink: changes now and then, so that pools are full for a while and empty for a while.
    pub(crate) growing: bool,
}

/// How an operation that may fail went.
pub(crate) enum Outcome<T> {
    Done(T),
    /// By a fault, or because it was expected to.
    Refused(Error),
}

const ERRNOS: [Errno; 5] = [Errno::EPERM, Errno::ENOMEM, Errno::EINVAL, Errno::EIO, Errno::SHORT];

impl<'r> World<'r> {
    pub(crate) fn new(runtime: &'r TestRuntime, driver: TestDriver, mode: Mode, rng: Rng, counts: Counts) -> Self {
        let size = runtime.logical_core_size();
        let cores = (runtime.logical_cores() * size) as usize;
        Self {
            runtime,
            driver,
            rng,
            counts,
            size,
            mode,
            columns: vec![Column::default(); runtime.logical_cores() as usize],
            armed: Errno::SHORT,
            books: vec![CoreBooks::new(mode); cores],
            blocks: Vec::new(),
            models: Vec::new(),
            tensors: Vec::new(),
            next_id: 0,
            sets: Vec::new(),
            quarantined: 0,
            quarantined_bytes: (0, 0),
            growing: true,
        }
    }

    pub(crate) fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            if self.rng.once_in(700) {
                self.growing = !self.growing;
            }
            let core = self.operation();
            self.check_core(core);
            self.check_driver();
            self.counts.operations += 1;
            if self.counts.operations.is_multiple_of(16) {
                self.check_all();
            }
        }
    }

    /// Does something; gives the flat core it concerned.
    fn operation(&mut self) -> usize {
        let (make, drop) = if self.growing { (32, 14) } else { (14, 32) };
        let mut dice = self.rng.below(160 + 62);
        for (weight, operation) in [
            (make, Self::allocate as fn(&mut Self) -> usize),
            (drop, Self::free),
            (18, Self::block_bytes),
            (4, Self::allocate_nonsense),
            (10, Self::load_or_unload),
            (24, Self::tensor_or_drop),
            (30, Self::tensor_bytes),
            (16, Self::run_model),
            (4, Self::exchange),
            (6, Self::look_at_view),
            (16, Self::batch),
            (22, Self::set),
            (14, Self::run_by_sets),
        ] {
            if dice < weight {
                return operation(self);
            }
            dice -= weight;
        }
        self.read_weights()
    }

    /// Physical core `relative` of `vnc` in the books.
    pub(crate) fn flat(&self, vnc: u32, relative: u32) -> usize {
        (vnc * self.size + relative) as usize
    }

    pub(crate) fn any_vnc(&mut self) -> u32 {
        self.rng.below(u64::from(self.runtime.logical_cores())) as u32
    }

    pub(crate) fn free_nodes(&self) -> u32 {
        NODES - self.quarantined - self.books.iter().map(CoreBooks::nodes).sum::<u32>()
    }

    /// Now and then lets one of the next requests fail.
    fn arm(&mut self) {
        self.driver.watch_all();
        if self.rng.once_in(20) {
            let furthest = self.rng.pick(&[2, 2, 2, 40]);
            let (n, errno) = (1 + self.rng.below(furthest), self.rng.pick(&ERRNOS));
            self.driver.fail_nth(n, errno);
            self.armed = errno;
        }
    }

    /// An operation that completes or changes nothing; `expected` = it must be refused, and how.
    pub(crate) fn forward<T>(&mut self, expected: Option<Status>, operation: impl FnOnce() -> Result<T, Error>) -> Outcome<T> {
        self.forward_or_short(expected, false, operation).0
    }

    /// The same of an operation that may do with less when the driver has no room and `soft` says so; tells whether it did.
    pub(crate) fn forward_or_short<T>(
        &mut self,
        expected: Option<Status>,
        soft: bool,
        operation: impl FnOnce() -> Result<T, Error>,
    ) -> (Outcome<T>, bool) {
        self.arm();
        let result = operation();
        let (injected, failed) = (self.driver.injected(), self.driver.last_failed());
        self.driver.watch_all();
        self.counts.faults += injected;
        let outcome = match result {
            Ok(value) if soft && injected == 1 => {
                match failed {
                    // What there is no room for is looked at, and a page beyond a hole is given back.
                    Some(Call::Chunks) => assert_eq!(expected, None, "it succeeded"),
                    Some(Call::Free) => self.quarantine(1),
                    _ => assert_eq!((failed, self.armed), (Some(Call::Alloc), Errno::ENOMEM), "it succeeded"),
                }
                return (Outcome::Done(value), failed == Some(Call::Alloc));
            }
            Ok(value) => {
                assert_eq!((injected, expected), (0, None), "it succeeded");
                Outcome::Done(value)
            }
            Err(error) => {
                if injected > 0 && matches!(failed, Some(Call::Free | Call::Unmap)) {
                    // Refused for a reason of its own; what the way back could not release is in quarantine.
                    assert_eq!(Some(error.status), expected, "{error}");
                    self.quarantine(injected);
                } else if injected > 0 {
                    assert!(
                        matches!(error.status, Status::Failure | Status::Resource | Status::FailHostMemAlloc),
                        "a fault gave {error}"
                    );
                } else {
                    assert_eq!(Some(error.status), expected, "{error}");
                    self.counts.refused += 1;
                    self.counts.pools_full += u64::from(matches!(error.cause, nrt_core::Cause::PoolFull(_)));
                }
                Outcome::Refused(error)
            }
        };
        (outcome, false)
    }

    /// An operation that completes; a release that the driver refuses is in quarantine afterwards.
    pub(crate) fn teardown(&mut self, operation: impl FnOnce()) {
        self.arm();
        operation();
        let refused = self.driver.injected();
        if refused > 0 {
            assert!(matches!(self.driver.last_failed(), Some(Call::Free | Call::Unmap)));
            self.counts.faults += refused;
            self.quarantine(refused);
        }
        self.driver.watch_all();
    }

    fn quarantine(&mut self, refused: u64) {
        self.counts.quarantined += refused;
        self.quarantined += refused as u32;
    }

    /// Gives everything back in random order.
    pub(crate) fn finish(mut self) -> (Rng, Counts) {
        while !(self.blocks.is_empty() && self.models.is_empty() && self.tensors.is_empty() && self.sets.is_empty()) {
            let core = match self.rng.below(4) {
                0 => self.free(),
                1 => self.unload(),
                2 => {
                    self.drop_set();
                    0
                }
                _ => self.drop_tensor(),
            };
            self.check_core(core);
            self.check_driver();
        }
        self.check_all();
        for books in &mut self.books {
            let library = if books.library_staged { 2 } else { 0 };
            assert_eq!((books.nodes(), books.residents, books.library_users), (library, 0, 0), "the reference is empty");
        }
        (self.rng, self.counts)
    }
}
