//! nrt-layout.
