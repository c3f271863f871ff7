//! nrt-benches.
