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

    /// Whether threads rely on it; the same answer for ever. Linux 4.14 has it; a filter of system calls may not let it pass.
    #[inline]
    pub(crate) fn available(&self) -> bool {
        self.state.load(Relaxed) == PRESENT || self.not_yet_present()
    }

    /// Has all running threads of the process fence. Some microseconds: it interrupts their processors.
    pub(crate) fn execute() -> bool {
        match membarrier(MembarrierCommand::PrivateExpedited) {
            Ok(()) => true,
            // A child of the process that was registered.
            Err(Errno::PERM) => register() && membarrier(MembarrierCommand::PrivateExpedited).is_ok(),
            Err(_) => false,
        }
    }

    #[cold]
    fn not_yet_present(&self) -> bool {
        self.state.load(Relaxed) != ABSENT && self.decide(register())
    }

    /// Decides it once for all threads: one that does not have others fence must not meet one that relies on it. A thread whose
    /// own attempt fails, for want of memory or by a filter of its own, relies on it with the others, and is told when it executes.
    fn decide(&self, registered: bool) -> bool {
        let found = if registered { PRESENT } else { ABSENT };
        let known = self.state.compare_exchange(UNKNOWN, found, Relaxed, Relaxed);
        known.map_or_else(|known| known, |_| found) == PRESENT
    }
}

/// Has the kernel keep the process in mind.
fn register() -> bool {
    membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
}

#[cfg(test)]
mod tests {
    use super::ProcessFence;

    /// Threads that ask for the first time at the same time, of which some could not register.
    #[test]
    fn the_first_answer_is_that_of_all() {
        for first in [true, false] {
            let fence = ProcessFence::new();
            assert_eq!(fence.decide(first), first);
            for registered in [true, false] {
                assert_eq!(fence.decide(registered), first, "registered: {registered}, after a thread that was told {first}");
                assert_eq!(fence.available(), first);
            }
        }
    }
}
