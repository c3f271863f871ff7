//! From the kernel to `main`.

use core::arch::naked_asm;
use core::ffi::c_char;

use nrt_appliance::cli::Exit;
use nrt_linux::args::Args;
use nrt_linux::env::Env;
use nrt_linux::{process, threads};

/// Where the kernel starts the program.
///
/// The stack pointer is a multiple of 16 and points to argc, argv, a null pointer, envp, a null pointer, auxv. The
/// kernel clears all other registers but promises nothing about rbp, which ends the chain of frames. The `call` keeps the
/// alignment that the C convention wants, and `begin` does not return.
// SAFETY: the body is the whole function and does not return; the linker takes this one name for the entry, nobody else has it.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn _start() -> ! {
    naked_asm!("xor ebp, ebp", "mov rdi, rsp", "and rsp, -16", "call {begin}", "ud2", begin = sym begin)
}

/// # Safety
/// `stack` points to what the kernel hands to a program, see [`_start`]. Called once, before any other code.
unsafe extern "C" fn begin(stack: *const usize) -> ! {
    // SAFETY: the first word is argc; argv follows, with argc pointers and a null pointer; then envp, up to its null
    // pointer. All of it, the strings included, lies above the stack of the program, which nothing here writes to, and
    // stays for as long as the process.
    let (args, env) = unsafe {
        let argc = *stack;
        let argv = stack.add(1).cast::<*const c_char>();
        (Args::from_raw(argc, argv), Env::from_raw(argv.add(argc + 1)))
    };
    if process::open_standard_descriptors().is_err() {
        // Nobody to tell.
        process::exit(Exit::NoStart as i32);
    }
    // What cannot be written is an error that is said, not the end of the program without a word. Both signals exist and
    // can be ignored; should a sandbox refuse it, they end the program as they would have.
    let _ = process::ignore(process::SIGXFSZ).and(process::ignore(process::SIGPIPE));
    // SAFETY: this program is linked without a libc and without std (build.rs: -nostdlib; the crates are no_std), and
    // nothing in it uses thread-local storage.
    unsafe { threads::enable() };
    process::exit(crate::main(args, env))
}
