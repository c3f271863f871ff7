//! Any bytes as a file: read all types, then say everything about them.
//!
//! `cargo fuzz run read` in `layout/`; on a stable toolchain `cargo fuzz run -s none read`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| nrt_layout::hostile::exercise(bytes));
