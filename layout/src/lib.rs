//! The documented layout tables, and the check that what is implemented, compiled and documented is the same.
//!
//! There are two books. The *documented* one is `layout/tables/`: offsets, sizes, counts, enumerators and byte tables as
//! the sources give them. The *implemented* one is [`nrt_core::abi`]. Neither is made from the other. They are compared
//! on four routes, each of which can be wrong in its own way only:
//!
//! 1. **reflection**: the declarations in `nrt-core` tell their own layout ([`routes::reflection`]).
//! 2. **dwarf**: the debug information of a compiled artifact tells what the Rust compiler really did ([`dwarf`]). `check`
//!    reads that of its own executable, in which [`nrt_core::keep_debug!`] retains every type; `check FILE` reads another
//!    artifact, a C library as well as a Rust one.
//! 3. **gcc**: a C header is emitted from the documented table, from order, types, counts and alignment attributes but
//!    never from offsets ([`header`]). The C compiler lays it out, with the real `pthread_mutex_t`, and the offsets it
//!    finds are compared with the documented ones ([`routes::gcc`]).
//! 4. **witness**: constants seen in the original's instructions (strides, allocation sizes, displacements) must come out
//!    of both books ([`routes::witness`], `tables/evidence.csv`).
//!
//! `show` prints what debug information says about any type, `diff` what changed between two files; both stand on
//! [`types`], the model that [`dwarf`] reads.
//!
//! `cargo layout check` runs all four and exits with 0 if everything agrees; see `cargo layout --help`.
//!
//! | file in `tables/` | holds |
//! | --- | --- |
//! | `layout.csv` | every documented struct and field; the rules of its columns stand in [`table`] |
//! | `enums.csv` | every documented enumerator |
//! | `tables.csv` | the three byte tables indexed by usage, as published and corrected |
//! | `spans.csv` | spans whose size no C type explains |
//! | `errata.csv` | contradictions between the sources, and what was made of them |
//! | `evidence.csv` | constants seen in instructions, and what they are made of |
//! | `required.txt` | the structs an implementation must have; others are counted as not yet implemented |
#![deny(missing_docs)]

pub mod cli;
pub mod compare;
pub mod diff;
pub mod draw;
pub mod dwarf;
pub mod emit;
pub mod error;
pub mod explain;
pub mod expression;
pub mod found;
pub mod gdb;
pub mod header;
pub mod hostile;
mod keep;
pub mod kind;
pub mod manual;
pub mod output;
pub mod report;
pub mod routes;
pub mod show;
pub mod source;
pub mod table;
pub mod types;
