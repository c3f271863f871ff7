//! nrt-linux.
