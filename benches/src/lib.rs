//! Side-by-side measurements of the memory core.
//!
//! `cargo bench -p nrt-benches` measures; this library is what its program, its smoke test and later measurements share.
//! The method and the results are in the crate's README.
//!
//! * [`measure`] — batches, histograms, pinned threads, all peers in turn; [`stats`] — ratios and their intervals.
//! * [`driver`], [`hooks`], [`world`] — a runtime whose driver costs next to nothing.
//! * [`c`] — the original's shape, in C with pthread mutexes.
//! * [`floor`], [`pool`], [`node`], [`acquire`], [`models`], [`drain`], [`drain_load`], [`carve`], [`copy`], [`replay`] — what is measured. A new group is a function that gives
//!   [`Scenario`](measure::Scenario)s, added to the list in [`cli`].
//! * [`bars`] — the ratios that have a name and a bar.
//! * [`counts`] — what an operation executes; [`report`], [`html`], [`machine`] — tables and files; [`trace`] — loads.
#![deny(missing_docs, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod acquire;
pub mod bars;
pub mod c;
pub mod carve;
pub mod cli;
pub mod copy;
pub mod counts;
pub mod drain;
pub mod drain_load;
pub mod driver;
pub mod floor;
pub mod hooks;
pub mod html;
pub mod machine;
pub mod measure;
pub mod models;
pub mod node;
pub mod pool;
pub mod replay;
pub mod report;
pub mod stats;
pub mod tail;
pub mod trace;
pub mod world;
