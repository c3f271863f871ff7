//! A fence executed by all threads of the process: `membarrier`.

use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::Relaxed;

use rustix::io::Errno;
use rustix::thread::{MembarrierCommand, membarrier};

const UNKNOWN: u8 = 0;
const ABSENT: u8 = 1;
const PRESENT: u8 = 2;

/// Whether the kernel does it, asked once.
#[derive(Debug)]
pub(crate) struct ProcessFence {
    state: AtomicU8,
}

impl ProcessFence {
    pub(crate) const fn new() -> Self {
        Self { state: AtomicU8::new(UNKNOWN) }
    }

    /// Whether the process is registered for it. Linux 4.14 has it; a filter of system calls may not let it pass.
    #[inline]
    pub(crate) fn available(&self) -> bool {
        match self.state.load(Relaxed) {
            PRESENT => true,
            ABSENT => false,
            _ => self.register(),
        }
    }

    /// Has all running threads of the process fence. Some microseconds: it interrupts their processors.
    pub(crate) fn execute(&self) -> bool {
        match membarrier(MembarrierCommand::PrivateExpedited) {
            Ok(()) => true,
            // A child of the process that was registered.
            Err(Errno::PERM) => self.register() && membarrier(MembarrierCommand::PrivateExpedited).is_ok(),
            Err(_) => false,
        }
    }

    #[cold]
    fn register(&self) -> bool {
        let registered = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
        // Nothing is withdrawn that was promised: threads may rely on it already.
        let found = if registered { PRESENT } else { ABSENT };
        let known = self.state.compare_exchange(UNKNOWN, found, Relaxed, Relaxed).err();
        registered && known.is_none_or(|known| known == PRESENT)
    }
}
