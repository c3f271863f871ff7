//! nrt-linux: what the memory core needs from Linux, without a libc and without a heap.
//!
//! Thin by intent: each module wraps a handful of system calls and keeps no state beyond what its types show.
//!
//! | module | holds |
//! | --- | --- |
//! | [`hooks`] | [`LinuxHooks`], the platform services of the core |
//! | [`futex`] | waiting and waking on a 32-bit word, by address |
//! | [`clock`] | the monotonic clock |
//! | [`output`] | writing all bytes to a descriptor; formatted text without allocation |
//! | [`log`] | one line per record, filtered by level |
//! | [`memory`] | anonymous and shareable mappings, with an owner |
//! | [`file`](mod@file) | reading files at offsets |
//! | [`args`], [`env`](mod@env) | the C strings a program was started with |
//! | [`threads`] | threads for programs that have no libc |
//! | [`process`] | leaving, standard descriptors, signals, limits, resident memory |
//! | [`neuron`] | [`LinuxDriver`](neuron::LinuxDriver): devices, memory, copies and core reservation of the kernel driver |
//! | [`request`] | the requests of the kernel driver, one type each |
//!
//! # Design
//! * *The word of a futex is an address, not a reference.* After an unlock the memory of a lock may be gone before the
//!   wake call is made; the kernel copes with any address, a Rust reference would not. So [`futex`] does not use
//!   rustix, which takes references.
//! * *Nothing here needs thread-local storage.* The same code runs in an ordinary program and in one whose threads
//!   were cloned by [`threads`] and have none.
//! * *Errors are error numbers*, [`Errno`], with the facts beside them where a number alone would not tell enough.
//!
//! Architecture: x86-64. The system-call instruction and the start of a thread are assembly, in one file each.
#![no_std]
#![deny(missing_docs, unsafe_code)]

#[cfg(test)]
extern crate std;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("nrt-linux is written for Linux on x86-64: `raw` and `threads::raw` hold its assembly");

pub mod args;
pub mod clock;
pub mod env;
mod event_clock;
pub mod file;
pub mod futex;
pub mod hooks;
pub mod log;
pub mod memory;
pub mod neuron;
pub mod output;
pub mod process;
mod process_fence;
mod raw;
pub mod request;
mod strings;
pub mod threads;

pub use hooks::LinuxHooks;
pub use rustix::fd;
pub use rustix::io::Errno;

/// Size of a memory page in bytes on this architecture.
pub const PAGE: usize = 4096;

/// The same error number in the core's terms.
#[must_use]
pub fn driver_errno(errno: Errno) -> nrt_core::driver::Errno {
    nrt_core::driver::Errno(errno.raw_os_error())
}
