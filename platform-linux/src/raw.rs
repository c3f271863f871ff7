//! The system-call instruction, for the calls that rustix does not offer in the shape needed here.
#![allow(unsafe_code, reason = "system calls in assembly")]

use core::arch::asm;

use rustix::io::Errno;

/// `rt_sigaction`.
pub(crate) const RT_SIGACTION: usize = 13;
/// `futex`.
pub(crate) const FUTEX: usize = 202;
/// `exit_group`.
pub(crate) const EXIT_GROUP: usize = 231;

/// Makes system call `number` and returns what the kernel left in the result register.
///
/// # Safety
/// The call with these arguments must not break a guarantee that Rust code relies on: memory it writes must be the
/// caller's to write, mappings and descriptors it removes must be unused.
pub(crate) unsafe fn syscall(number: usize, arguments: [usize; 6]) -> Result<usize, Errno> {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the x86-64 Linux convention: number in rax, arguments in rdi, rsi, rdx, r10, r8, r9; the instruction
    // overwrites rax, rcx and r11 and keeps every other register, the flags come back from r11, and the kernel does not
    // touch the user stack. Memory is left in the clobber set (no `nomem`). What the call does is the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    // The kernel reports errors as -4095..=-1.
    match result {
        -4095..=-1 => Err(Errno::from_raw_os_error(-(result as i32))),
        _ => Ok(result as usize),
    }
}
