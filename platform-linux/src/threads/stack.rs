//! Stacks with a guard page.
#![allow(unsafe_code, reason = "hands stack memory to threads")]

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::mm::{MprotectFlags, mprotect};

use super::control::Control;
use crate::PAGE;
use crate::memory::Mapping;

/// A stack that a thread can be started on, valid for `'a`.
#[derive(Clone, Copy)]
pub struct Stack<'a> {
    pub(super) control: &'a Control,
    /// Lowest byte above the guard page.
    pub(super) low: NonNull<u8>,
    pub(super) bytes: usize,
    memory: PhantomData<&'a UnsafeCell<u8>>,
}

// SAFETY: only the holder of the claim in the control block touches the memory, whichever thread that is.
unsafe impl Send for Stack<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Stack<'_> {}

impl fmt::Debug for Stack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("low", &self.low).field("bytes", &self.bytes).finish()
    }
}

/// A stack of `BYTES` bytes in static memory; pages it never touches cost nothing.
///
/// `BYTES` is a multiple of 4096, at least 8192; another page lies below as the guard, and one above for bookkeeping.
#[repr(C, align(4096))]
pub struct ThreadStack<const BYTES: usize> {
    guard: UnsafeCell<MaybeUninit<[u8; PAGE]>>,
    memory: UnsafeCell<MaybeUninit<[u8; BYTES]>>,
    guarded: AtomicBool,
    control: Control,
}

// SAFETY: `guard` is never accessed, `memory` only by the thread that the claim in `control` admits; the rest is atomic.
unsafe impl<const BYTES: usize> Sync for ThreadStack<BYTES> {}

impl<const BYTES: usize> ThreadStack<BYTES> {
    /// A free stack.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(BYTES.is_multiple_of(PAGE) && BYTES >= 2 * PAGE, "a stack is at least two whole pages") };
        Self {
            guard: UnsafeCell::new(MaybeUninit::uninit()),
            memory: UnsafeCell::new(MaybeUninit::uninit()),
            guarded: AtomicBool::new(false),
            control: Control::new(),
        }
    }

    /// The stack, with its guard page in place. The page stays without access for ever, hence the `'static`.
    ///
    /// # Errors
    /// What `mprotect` answered: [`Errno::NOMEM`] when the process has too many separate mappings.
    pub fn stack(&'static self) -> Result<Stack<'static>, Errno> {
        if !self.guarded.load(Ordering::Acquire) {
            // SAFETY: the guard is a whole page, aligned to a page, of an object that lives for ever; nothing reads or
            // writes it. Two threads doing this at once do the same.
            unsafe { mprotect(self.guard.get().cast(), PAGE, MprotectFlags::empty()) }?;
            self.guarded.store(true, Ordering::Release);
        }
        let low = NonNull::from(&self.memory).cast();
        Ok(Stack { control: &self.control, low, bytes: BYTES, memory: PhantomData })
    }
}

impl<const BYTES: usize> Default for ThreadStack<BYTES> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const BYTES: usize> fmt::Debug for ThreadStack<BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadStack").field("bytes", &BYTES).field("control", &self.control).finish_non_exhaustive()
    }
}

/// A stack in memory of its own, given back at the end of its life.
#[derive(Debug)]
pub struct MappedStack {
    mapping: Mapping,
    control: Control,
}

impl MappedStack {
    /// Maps a stack of at least `bytes` bytes, rounded up to whole pages, at least two.
    ///
    /// # Errors
    /// [`Errno::NOMEM`] when there is no room.
    pub fn new(bytes: usize) -> Result<Self, Errno> {
        let bytes = bytes.max(2 * PAGE).checked_next_multiple_of(PAGE).and_then(|bytes| bytes.checked_add(PAGE));
        let mapping = Mapping::sparse(bytes.ok_or(Errno::NOMEM)?)?;
        // SAFETY: the first page of a mapping of at least three, which nothing uses yet.
        unsafe { mprotect(mapping.base().as_ptr().cast(), PAGE, MprotectFlags::empty()) }?;
        Ok(Self { mapping, control: Control::new() })
    }

    /// The stack.
    #[must_use]
    pub fn stack(&self) -> Stack<'_> {
        // SAFETY: the mapping is at least three pages long.
        let low = unsafe { self.mapping.base().add(PAGE) };
        Stack { control: &self.control, low, bytes: self.mapping.bytes() - PAGE, memory: PhantomData }
    }
}
