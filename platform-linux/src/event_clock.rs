//! The clock of the event ring: the processor's time-stamp counter, where it counts evenly.
#![allow(unsafe_code, reason = "processor intrinsics")]

use core::sync::atomic::AtomicU8;
#[cfg(target_arch = "x86_64")]
use core::sync::atomic::Ordering::Relaxed;

#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only x86-64 has a counter that is asked"))]
const UNKNOWN: u8 = 0;
#[cfg(target_arch = "x86_64")]
const ABSENT: u8 = 1;
#[cfg(target_arch = "x86_64")]
const PRESENT: u8 = 2;

/// Whether there is such a counter, asked once: the question costs microseconds in a virtual machine.
#[derive(Debug)]
pub(crate) struct EventClock {
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "as above"))]
    state: AtomicU8,
}

impl EventClock {
    pub(crate) const fn new() -> Self {
        Self { state: AtomicU8::new(UNKNOWN) }
    }

    /// The invariant time-stamp counter, which runs at one speed in all states of power and, reset together, shows one time on
    /// all processors. `None` where the processor does not promise it.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn now(&self) -> Option<u64> {
        use core::arch::x86_64::_rdtsc;
        if self.state.load(Relaxed) != PRESENT && !self.ask() {
            return None;
        }
        // No fence in front: it would cost as much again, and the reading strays by no more than what the processor has under
        // way, some hundred cycles.
        // SAFETY: part of every x86-64 processor.
        Some(unsafe { _rdtsc() })
    }

    /// No counter is known to be even on all processors.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn now(&self) -> Option<u64> {
        None
    }

    #[cfg(target_arch = "x86_64")]
    #[cold]
    fn ask(&self) -> bool {
        use core::arch::x86_64::__cpuid;
        const ADVANCED: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        if self.state.load(Relaxed) == ABSENT {
            return false;
        }
        let present = __cpuid(0x8000_0000).eax >= ADVANCED && __cpuid(ADVANCED).edx & INVARIANT != 0;
        self.state.store(if present { PRESENT } else { ABSENT }, Relaxed);
        present
    }
}
