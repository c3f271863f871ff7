//! Everything that answers depend on: the kernel model, its memory, and the books about both.

use std::cell::{Cell, RefCell};
use std::io;

use nrt_sim::{Hazards, Kernel, SimConfig, SimError, SimStorage};

use crate::ledger::Ledger;
use crate::memory::Memory;
use crate::output::Output;

/// Chunk records: enough for several HBMs full of the smallest chunks.
const RECORDS: usize = 1 << 21;

static STORAGE: SimStorage<RECORDS, 32> = SimStorage::new();

/// The devices.
pub(crate) struct World {
    pub(crate) kernel: Kernel,
    pub(crate) memory: Memory,
    pub(crate) ledger: RefCell<Ledger>,
    pub(crate) output: Output,
    /// Whether requests are traced.
    pub(crate) traced: bool,
    /// Diagnoses given.
    pub(crate) diagnoses: Cell<u64>,
}

/// Why there are no devices.
#[derive(Debug)]
pub(crate) enum WorldError {
    Config(SimError),
    Memory(io::Error),
}

impl World {
    /// Makes the devices.
    pub(crate) fn new(config: SimConfig, output: Output, traced: bool, report: bool) -> Result<Self, WorldError> {
        let kernel = Kernel::new(&STORAGE, config).map_err(WorldError::Config)?;
        let memory = Memory::new(&config).map_err(WorldError::Memory)?;
        Ok(Self { kernel, memory, ledger: RefCell::new(Ledger::new(report)), output, traced, diagnoses: Cell::new(0) })
    }

    /// Tells about a mistake that a real driver does not report: always in strict mode, else only in a trace.
    pub(crate) fn hazard(&self, pid: u32, what: &str) {
        self.diagnoses.set(self.diagnoses.get() + 1);
        if self.kernel.config().strict || self.traced {
            self.output.diagnosis(pid, what);
        }
    }

    /// Tells what the kernel model has counted since `before`.
    pub(crate) fn hazards_since(&self, pid: u32, device: u32, before: &Hazards) {
        let now = self.kernel.hazards(device);
        let told = [
            (
                now.unattached_alloc,
                before.unattached_alloc,
                "allocation by a process that is not attached (a forked child, or a copy of the descriptor was closed): the real driver fails an assertion with a lock held",
            ),
            (now.zero_length, before.zero_length, "copy or fill of length 0: the device moves 64 KiB"),
            (
                now.wrapped_range,
                before.wrapped_range,
                "offset + size is beyond 2^64: drivers before 2.26 touch the memory below the chunk",
            ),
            (
                now.contiguous_order,
                before.contiguous_order,
                "contiguous scratchpad freed in another order than newest first: later requests fail",
            ),
            (
                now.oversize_async,
                before.oversize_async,
                "asynchronous copy above 133169152 bytes: ring entries of the core are lost until it is reset",
            ),
            (
                now.overlapping_async,
                before.overlapping_async,
                "asynchronous copy started while another of this core was not waited for",
            ),
            (
                now.abandoned_async,
                before.abandoned_async,
                "asynchronous copies that nobody waited for when the device was closed",
            ),
            (
                now.out_of_records,
                before.out_of_records,
                "the model has no room for more chunks: a limit of the emulator, not of the driver",
            ),
        ];
        for (_, _, what) in told.into_iter().filter(|(now, before, _)| now > before) {
            self.hazard(pid, what);
        }
    }
}
