//! Whether a thread sleeps in the kernel.
#![allow(dead_code, reason = "each test program uses a part")]

// Also used in a crate without std in its prelude.
use std::format;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whether a thread of this process sleeps.
pub(crate) fn sleeps(tid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap_or_default();
    // The name may hold anything; the state stands behind it.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// Waits until the thread sleeps that tells its id here right before it does.
pub(crate) fn until_asleep(id: &AtomicU64) {
    while !sleeps(id.load(Ordering::Acquire)) {
        std::thread::yield_now();
    }
}
