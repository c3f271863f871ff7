//! Stand-ins for the C library's synchronisation objects: its sizes, its alignment, our words.
//!
//! Zero bytes are an unlocked mutex and an unused condition, for the C library as for us.

use core::sync::atomic::AtomicU32;

abi_struct! {
    /// A mutex. The word is where the C library keeps its own, with the same values: 0 free, 1 held, 2 held with waiters.
    #[repr(C, align(8))]
    pub struct pthread_mutex_t: size 40, align 8 {
        /// The futex word.
        @0 pub word: AtomicU32,
        /// Used by the C library only.
        @4 pub spare_4: [u32; 2],
        /// Threads that sleep or are about to, of a lock for brief critical sections; the C library counts users here.
        @12 pub waiting: AtomicU32,
        /// Used by the C library only.
        @16 pub spare_16_rest: [u32; 6],
    }

    /// A condition variable.
    #[repr(C, align(8))]
    pub struct pthread_cond_t: size 48, align 8 {
        /// Counts the wake-ups; waiters sleep on it.
        @0 pub sequence: AtomicU32,
        /// Used by the C library only.
        @4 pub spare_4_rest: [u32; 11],
    }

    /// A lock that readers share. Its words are the C library's own.
    #[repr(C, align(8))]
    pub struct pthread_rwlock_t: size 56, align 8 {
        /// Used by the C library only.
        @0 pub spare_0_rest: [u32; 14],
    }
}

impl pthread_mutex_t {
    /// A mutex nobody holds.
    #[must_use]
    pub const fn unlocked() -> Self {
        Self { word: AtomicU32::new(0), spare_4: [0; 2], waiting: AtomicU32::new(0), spare_16_rest: [0; 6] }
    }
}
