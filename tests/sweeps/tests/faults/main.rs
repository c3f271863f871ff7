//! Every request that can fail, failed once: forward operations leave everything as it was, teardown completes.
//!
//! * `driver_calls`: a load-serve-unload run with the n-th driver request failed, for every n and several error numbers.
//! * `sticky`: the same with every request from the n-th on failed.
//! * `views`: both for slices, attached buffers, sets, batches and fences, and for the ways a machine can be set up.
//! * `sources`: the n-th read of a byte source, the n-th mapping of host memory.
//! * `pools`, `magazines`, `intruder`: every pool filled to its last slot.

mod driver_calls;
mod hooks;
mod intruder;
mod magazines;
mod plans;
mod pools;
mod rig;
mod scenario;
mod session;
mod snapshot;
mod sources;
mod staging;
mod sticky;
mod views;
mod ways;
