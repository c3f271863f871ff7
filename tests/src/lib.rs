//! nrt-tests.
