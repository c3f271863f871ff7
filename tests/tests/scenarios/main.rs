//! Scenarios: the fact sheets, step by step, on the modelled driver. One module for each sheet or part of one.

mod books;
mod context_tree;
mod core_slice;
mod coverage;
mod dmem;
mod dmem_copy;
mod dmem_failures;
mod evtaccel;
mod ledger;
mod lifecycle;
mod logical_cores;
mod model_db;
mod model_load;
mod model_run;
mod plans;
mod pools;
mod raw;
mod reserved;
mod ring;
mod scratchpad;
mod scratchpad_cores;
mod tensors;
mod ulib;
mod unload;
