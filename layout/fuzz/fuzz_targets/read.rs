//! Any bytes as a file: read all types, then say everything about them.
//!
//! `cargo fuzz run read` in `layout/`; on a stable toolchain `cargo fuzz run -s none read`. Without cargo-fuzz, in
//! `layout/fuzz/`, with overflow checks and coverage of branches and comparisons:
//!
//! ```sh
//! export RUSTFLAGS="--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Cpasses=sancov-module \
//!     -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
//!     -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
//! cargo build --release --target x86_64-unknown-linux-gnu
//! target/x86_64-unknown-linux-gnu/release/read corpus/read -timeout=15 -rss_limit_mb=1500 -max_total_time=900
//! ```
//!
//! Where there is no libFuzzer, `NRT_HOSTILE_ROUNDS=100000 cargo test --package nrt-layout --test layout hostile::` damages the same
//! files without looking at coverage.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| nrt_layout::hostile::exercise(bytes));
