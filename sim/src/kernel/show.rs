//! What `mmap` shows of a device (`driver-abi` §12).

use nrt_core::driver::{DriverResult, Errno};

use super::Kernel;
use crate::resources;

/// What a mapping shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A chunk, from its start.
    Chunk {
        /// It belongs to another process: without the permission to write, until `mprotect` gives it.
        foreign: bool,
        /// The offset asked for was inside of the chunk.
        inside: bool,
    },
    /// A window of the special table: memory on the chip, or all of an HBM.
    Window,
    /// Registers that may be read only.
    Registers,
    /// Raw device memory, which needs a capability.
    Raw,
}

/// A mapping that the driver allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Physical address of its first byte.
    pub pa: u64,
    /// Whether the permission to write is taken from it.
    pub read_only: bool,
    /// What it shows.
    pub shown: Shown,
}

impl Kernel {
    /// The mapping that a process gets for `bytes` at `offset`: a chunk, a special window, or raw device memory if it
    /// has the raw-I/O capability, which is asked for then.
    ///
    /// # Errors
    /// [`Errno::EPERM`] for anything else, and for semaphores, which the model has not.
    pub fn show(&self, pid: u32, device: u32, offset: u64, bytes: u64, raw_io: impl FnOnce() -> bool) -> DriverResult<Mapping> {
        if let Ok(chunk) = self.mapping_at(device, offset, bytes) {
            let foreign = chunk.pid.is_some_and(|owner| owner != pid);
            let shown = Shown::Chunk { foreign, inside: chunk.pa != offset };
            return Ok(Mapping { pa: chunk.pa, read_only: foreign, shown });
        }
        let mut special = resources::special(self.config());
        if let Some(special) = special.find(|special| (special.offset, special.size) == (offset, bytes)) {
            return match special.resource {
                resources::STATE_BUFFERS | resources::MEMORY => {
                    Ok(Mapping { pa: offset, read_only: false, shown: Shown::Window })
                }
                resources::EVERYTHING => Ok(Mapping { pa: offset, read_only: true, shown: Shown::Registers }),
                _ => Err(Errno::EPERM),
            };
        }
        if raw_io() { Ok(Mapping { pa: offset, read_only: false, shown: Shown::Raw }) } else { Err(Errno::EPERM) }
    }
}
