//! Scenarios: the fact sheets, step by step, on the modelled driver. One module for each sheet or part of one.

mod books;
mod context_tree;
mod plans;
mod raw;
