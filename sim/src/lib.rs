//! nrt-sim.
