//! The system call that makes a thread, and the first instructions of one.
#![allow(unsafe_code, reason = "clones threads in assembly")]

use core::arch::naked_asm;

use rustix::io::Errno;

const CLONE_VM: usize = 0x100;
const CLONE_FS: usize = 0x200;
const CLONE_FILES: usize = 0x400;
const CLONE_SIGHAND: usize = 0x800;
const CLONE_THREAD: usize = 0x1_0000;
const CLONE_SYSVSEM: usize = 0x4_0000;
const CLONE_PARENT_SETTID: usize = 0x10_0000;
const CLONE_CHILD_CLEARTID: usize = 0x20_0000;

/// A thread of this process. `PARENT_SETTID` stores the thread id in the word before the new thread runs;
/// `CHILD_CLEARTID` clears the word, and wakes one waiter on it, when the thread has left its memory for good.
const FLAGS: usize =
    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

/// Makes a thread that calls `run(data)` on the stack below `top` and then ends.
///
/// # Errors
/// [`Errno::AGAIN`] for a limit on threads, [`Errno::NOMEM`] for memory. No thread exists then and `word` is untouched,
/// or holds the id of a thread that never ran.
///
/// # Safety
/// `top` is a multiple of 16, and the memory below it is a stack that is large enough for `run` and belongs to the new
/// thread alone until `word` is cleared. `word` is valid for atomic writes until then. `run(data)` may be called once,
/// on another thread, and does not unwind. The process has no thread-local storage.
pub(super) unsafe fn clone_thread(
    top: *mut u8,
    word: *mut u32,
    run: unsafe extern "C" fn(*mut u8),
    data: *mut u8,
) -> Result<(), Errno> {
    // SAFETY: `thread_entry` returns in the calling thread only, with the kernel's answer, and the new thread works on
    // the memory that the caller gives it and never returns from the call.
    match unsafe { thread_entry(FLAGS, top, word, run, data) } {
        answer @ -4095..=-1 => Err(Errno::from_raw_os_error(-(answer as i32))),
        _ => Ok(()),
    }
}

/// `clone(flags, stack, parent_tid = word, child_tid = word, tls = unused)`.
///
/// C convention in: rdi flags, rsi stack, rdx word, rcx run, r8 data. System call: rdi, rsi, rdx, r10, r8; the new
/// thread starts behind the `syscall` instruction with rsp = stack, rax = 0, and every other register as here, but for
/// rcx and r11. So `run` waits in r9 and `data` in r8, the tls argument, which is not looked at without `CLONE_SETTLS`.
/// Neither thread has used its stack between the two: the caller's return address is on the caller's stack, which only
/// the caller returns through.
///
/// In the new thread rsp is a multiple of 16 before the `call`, as the C convention wants it. The frame pointer is 0,
/// so that whoever walks frames stops here. Afterwards `exit` (60) ends this thread only.
// SAFETY: the body keeps to the C convention, as told above, and does not fall off its end.
#[unsafe(naked)]
unsafe extern "C" fn thread_entry(
    flags: usize,
    top: *mut u8,
    word: *mut u32,
    run: unsafe extern "C" fn(*mut u8),
    data: *mut u8,
) -> isize {
    naked_asm!(
        "mov r9, rcx",
        "mov r10, rdx",
        "mov eax, 56",
        "syscall",
        "test rax, rax",
        "jz 2f",
        "ret",
        "2:",
        "xor ebp, ebp",
        "mov rdi, r8",
        "call r9",
        "mov eax, 60",
        "xor edi, edi",
        "syscall",
        "ud2",
    )
}
