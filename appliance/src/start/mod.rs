//! What a program without a libc needs before and below its own code: the entry point, the memory functions that
//! compiled code calls, and an end for panics.
//!
//! Belongs to programs, not to libraries: linked into an ordinary program it would be a second `_start`. A program
//! declares this module and has a `main(Args, Env) -> i32` at its root.

mod entry;
mod memory;
mod panic;
