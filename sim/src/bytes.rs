//! Moving the bytes of modelled memory.
//!
//! Modelled memory is shared like real device memory: a mapping, a copy of another thread and a copy of another
//! process may touch the same bytes at the same time, and then each byte is the old or the new one. Rust's plain copies
//! do not allow that, so the bytes are moved by machine instructions that the compiler sees as opaque (x86-64), or one
//! by one as relaxed atomics.

/// Copies `bytes` bytes from `src` to `dst`; the two may overlap.
///
/// # Safety
/// `src` is readable and `dst` is writable for `bytes` bytes. Other accesses to modelled memory at the same time are
/// allowed; memory that is not modelled memory must not be written by others (`src`) or touched by them (`dst`).
pub(crate) unsafe fn copy(src: *const u8, dst: *mut u8, bytes: usize) {
    let ahead = dst.addr().wrapping_sub(src.addr());
    if ahead == 0 || ahead >= bytes {
        // SAFETY: the caller's; the destination does not start inside the source, so ascending order reads each byte
        // before it is overwritten.
        unsafe { copy_up(src, dst, bytes) }
        return;
    }
    // The destination starts inside the source: blocks no longer than the distance do not overlap their own target,
    // and go from the top down.
    let mut left = bytes;
    while left != 0 {
        let block = left.min(ahead);
        left -= block;
        // SAFETY: `left + block <= bytes`, so both blocks lie inside what the caller vouches for.
        unsafe { copy_up(src.add(left), dst.add(left), block) }
    }
}

/// Copies in ascending order.
///
/// # Safety
/// As [`copy`]; `dst` does not lie inside the source, except at its start.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn copy_up(src: *const u8, dst: *mut u8, bytes: usize) {
    // SAFETY: `rep movsb` reads `bytes` bytes from `src` and writes them to `dst`, which the caller allows; the
    // direction flag is clear on entry to every asm block, no stack is used.
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rcx") bytes => _,
            inout("rsi") src => _,
            inout("rdi") dst => _,
            options(nostack, preserves_flags)
        );
    }
}

/// Sets `bytes` bytes at `dst` to `value`.
///
/// # Safety
/// As `dst` of [`copy`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) unsafe fn fill(dst: *mut u8, value: u8, bytes: usize) {
    // SAFETY: `rep stosb` writes `bytes` bytes to `dst`, which the caller allows; the direction flag is clear on entry
    // to every asm block, no stack is used.
    unsafe {
        core::arch::asm!(
            "rep stosb",
            inout("rcx") bytes => _,
            inout("rdi") dst => _,
            in("al") value,
            options(nostack, preserves_flags)
        );
    }
}

/// Copies in ascending order.
///
/// # Safety
/// As [`copy`]; `dst` does not lie inside the source, except at its start.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn copy_up(src: *const u8, dst: *mut u8, bytes: usize) {
    for index in 0..bytes {
        // SAFETY: `index < bytes`, so the address is inside what the caller allows to be read; a byte is always
        // aligned. The memory may be read-only, where a relaxed load of one byte is fine too.
        let byte = unsafe { atomic(src.add(index).cast_mut()) }.load(core::sync::atomic::Ordering::Relaxed);
        // SAFETY: the same for the destination, which may be written.
        unsafe { atomic(dst.add(index)) }.store(byte, core::sync::atomic::Ordering::Relaxed);
    }
}

/// Sets `bytes` bytes at `dst` to `value`.
///
/// # Safety
/// As `dst` of [`copy`].
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) unsafe fn fill(dst: *mut u8, value: u8, bytes: usize) {
    for index in 0..bytes {
        // SAFETY: `index < bytes`, so the byte may be written.
        unsafe { atomic(dst.add(index)) }.store(value, core::sync::atomic::Ordering::Relaxed);
    }
}

/// One byte of shared memory.
///
/// # Safety
/// `byte` is valid while the result is used.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn atomic<'a>(byte: *mut u8) -> &'a core::sync::atomic::AtomicU8 {
    // SAFETY: the caller's; `AtomicU8` has the size and alignment of `u8`.
    unsafe { core::sync::atomic::AtomicU8::from_ptr(byte) }
}

#[cfg(test)]
#[path = "bytes_tests.rs"]
mod tests;
